//! The stateless era: requests of revision 2026-07-28, each of which stands for itself.

use std::sync::atomic::Ordering;

use trunkline_wire::{decode, find};

use crate::call::Stateless;
use crate::error::CallError;
use crate::pump::FlushSet;
use crate::router::Route;
use crate::session::request::{SessionRequest, unknown_method};
use crate::session::{listen, lists};

/// Where `_meta` names the client.
const CLIENT_NAME: [&str; 2] = ["io.modelcontextprotocol/clientInfo", "name"];

/// Checks a request before it is routed.
pub(super) fn admit(asked: &SessionRequest<'_>, how: &Stateless) -> Result<(), CallError> {
    let SessionRequest { session, message, .. } = asked;
    // Relaxed: if two requests race, `settle` keeps the first declaration.
    let is_first = !session.declared.load(Ordering::Relaxed);
    if is_first && !session.declared.swap(true, Ordering::Relaxed) {
        session.context.declare(message.text(message.params.meta.capabilities));
    }
    if let Some(at) = message.params.input_responses
        && !at.of(message.bytes).starts_with(b"{")
    {
        return Err(CallError::InvalidParams("`inputResponses` is no object".to_owned()));
    }
    // A retry of a parked call names its state; one whose call failed meanwhile learns that here.
    if message.params.request_state.is_some()
        && !asked.client.is_open(&asked.id)
        && let Some(error) = session.context.registry.parking.failed(message, how)
    {
        return Err(error);
    }
    Ok(())
}

/// Answers what this era answers itself. Returns a route that goes on to a server, or the error of
/// routing.
pub(super) fn answer_own<'r>(
    asked: &SessionRequest<'_>,
    route: Result<Route<'r>, CallError>,
    touched: &mut FlushSet,
) -> Option<Result<Route<'r>, CallError>> {
    let method = asked.message.method();
    if is_removed(&method) {
        asked.refuse(&unknown_method(asked.message), touched);
        return None;
    }
    if asked.client.is_open(&asked.id) {
        asked.refuse(&CallError::duplicate_id(), touched);
        return None;
    }
    match (&*method, route) {
        (b"server/discover", _) => discover(asked, touched),
        (b"subscriptions/listen", _) => listen::open(asked, touched),
        (_, Ok(Route::List(kind))) => lists::answer(asked, kind, touched),
        (_, route) => return Some(route),
    }
    None
}

/// `server/discover`: the revisions spoken here, and what servers offer. It waits for no server: clients
/// that hear nothing for three seconds take us for the older era, and some remember that for days.
fn discover(asked: &SessionRequest<'_>, touched: &mut FlushSet) {
    let message = asked.message;
    let name = message.params.meta.span.and_then(|meta| find(message.bytes, meta, &CLIENT_NAME));
    let name = name.and_then(|at| decode(at.of(message.bytes)));
    tracing::debug!(client = ?name, "a client asks who this is");
    asked.session.advise(name.as_deref());
    let context = &asked.session.context;
    let instructions = context.view.instructions();
    let extensions = context.view.extensions();
    let meta = asked.own_meta(true);
    asked.answer(&context.gateway_info.discover_result(&instructions, &extensions, &meta), touched);
}

/// Was the method removed in this revision? No server is asked for it.
fn is_removed(method: &[u8]) -> bool {
    let removed: [&[u8]; 5] = [
        b"initialize",
        b"ping",
        b"logging/setLevel",
        b"resources/subscribe",
        b"resources/unsubscribe",
    ];
    removed.contains(&method) || method.starts_with(b"notifications/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_gone_is_nobodys() {
        for (method, expected) in [
            ("initialize", true),
            ("ping", true),
            ("logging/setLevel", true),
            ("resources/subscribe", true),
            ("resources/unsubscribe", true),
            ("notifications/initialized", true),
            ("tools/call", false),
            ("resources/read", false),
            ("server/discover", false),
            ("subscriptions/listen", false),
            ("unknown/method", false),
        ] {
            assert_eq!(is_removed(method.as_bytes()), expected, "{method}");
        }
    }
}
