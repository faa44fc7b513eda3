//! Whether a request may go on: one decision at the limits of its caller, its server, its tool and its address.

use std::sync::Arc;

use trunkline_wire::decode;

use crate::error::CallError;
use crate::limiter::{Exceeded, LimitScope, Meter, Meters, Overrun, Permit, admit};
use crate::session::request::SessionRequest;
use crate::upstream::Server;

/// What the request holds until it has its outcome, if it may go to this server. `tool`: the tool that it calls.
pub(super) fn for_server(
    asked: &SessionRequest<'_>,
    server: &Server,
    tool: Option<(&Arc<Meter>, &[u8])>,
) -> Result<Permit, CallError> {
    let meters = Meters {
        server: Some(&server.definition.meters.own),
        tool: tool.map(|(meter, _)| meter),
        ..own_meters(asked)
    };
    admit(meters).map_err(|exceeded| {
        let name = tool.map(|(_, name)| name).unwrap_or_default();
        refused(asked, *exceeded, Some((server, name)))
    })
}

/// May a request be carried out that goes to no server, and costs more than a look at a list?
pub(super) fn for_own_tool(asked: &SessionRequest<'_>) -> Result<(), CallError> {
    let admitted = admit(own_meters(asked));
    admitted.map(drop).map_err(|exceeded| refused(asked, *exceeded, None))
}

fn own_meters<'a>(asked: &SessionRequest<'a>) -> Meters<'a> {
    Meters {
        caller: asked.session.account.as_ref().map(|account| &account.meter),
        address: asked.sink.address().map(|address| &address.meter),
        ..Meters::default()
    }
}

#[cold]
fn refused(
    asked: &SessionRequest<'_>,
    exceeded: Exceeded,
    about: Option<(&Server, &[u8])>,
) -> CallError {
    let Exceeded { scope, limit, again, words } = exceeded;
    let session = asked.session;
    session.context.limiter.count(scope, limit);
    let server = about.map(|(server, _)| server.key.to_string());
    let called = server.as_deref().unwrap_or_default();
    let who = match scope {
        LimitScope::Caller => session.account.as_ref().map(|account| account.name.to_string()),
        LimitScope::Address => asked.sink.address().map(|address| address.name.to_string()),
        LimitScope::Server => Some(format!("server `{called}`")),
        LimitScope::Tool => {
            let tool = about.and_then(|(_, name)| decode(name)).unwrap_or_default();
            Some(format!("tool `{tool}` of server `{called}`"))
        }
    };
    let who = who.unwrap_or_default();
    CallError::Limited(Box::new(Overrun { scope, limit, who, server, words, again }))
}
