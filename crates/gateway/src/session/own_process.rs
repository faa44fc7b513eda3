//! Which process of a server that is not shared takes a request, and whether the request may still go there.

use std::sync::Arc;

use trunkline_wire::{Message, Span, decode};

use crate::call::RequestEra;
use crate::error::CallError;
use crate::session::request::SessionRequest;
use crate::upstream::{Server, outdated_call};

/// The client's own process of a server that is not shared; `None`: any process will do.
pub(super) fn own_process(
    asked: &SessionRequest<'_>,
    server: &Arc<Server>,
) -> Result<Option<Arc<Server>>, CallError> {
    let private_servers = &asked.session.private_servers;
    match asked.era {
        RequestEra::Session => private_servers.for_session(server).map(Some),
        // A retry is known by its `requestState`; a client that cannot be asked needs no process
        // of its own.
        RequestEra::Stateless(how)
            if how.can_be_asked() && asked.message.params.request_state.is_none() =>
        {
            private_servers.for_stateless_call(server).map(Some)
        }
        RequestEra::Stateless(_) => Ok(None),
    }
}

/// Why a call that was made by the list of `server` must not go to the process `own`; `None`: it may.
pub(super) fn outdated(
    message: &Message<'_>,
    changes: &[(Span, &[u8])],
    (server, own): (&Server, &Server),
) -> Option<CallError> {
    let name_at = message.params.name.filter(|_| *message.method() == *b"tools/call")?;
    let (_, token) = changes.iter().find(|(at, _)| *at == name_at)?;
    outdated_call(server, own, &decode(token)?)
}
