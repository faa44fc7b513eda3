//! The era that opens with `initialize`: revisions 2024-11-05 to 2025-11-25.

use std::sync::atomic::Ordering;

use trunkline_catalog::ListKind;
use trunkline_wire::{Message, Revision, decode, member};

use crate::call::Level;
use crate::era::Era;
use crate::error::CallError;
use crate::instance;
use crate::pump::FlushSet;
use crate::router::Route;
use crate::session::lists;
use crate::session::request::{SessionRequest, unknown_method};
use crate::session::unknown_tool::{self, NamedIn};
use crate::upstream::passed_on;

/// Checks a request that comes before `initialize`. Only `initialize` and `ping` may (2025-11-25,
/// Lifecycle, Initialization); in revision 2026-07-28 a request without its version in `_meta` is
/// malformed (Overview, General fields).
pub(super) fn admit_first(asked: &SessionRequest<'_>) -> Result<(), CallError> {
    match &*asked.message.method() {
        // The simple product knows one era and accepts everything in it.
        _ if asked.session.context.gateway_info.simple => asked.session.join(),
        b"initialize" | b"ping" => {}
        _ => return Err(CallError::NoEra),
    }
    Ok(())
}

/// Answers what this era answers itself. Returns a route that goes on to a server.
pub(super) fn answer_own<'r>(
    asked: &SessionRequest<'_>,
    route: Route<'r>,
    touched: &mut FlushSet,
) -> Option<Route<'r>> {
    let context = &asked.session.context;
    if !matches!(route, Route::Initialize | Route::Ping) {
        // A client that has declared no capabilities has none.
        context.declare(b"{}");
    }
    // JSON-RPC 2.0, 4: an id must not be used again while its request is open; two answers could
    // not be told apart.
    if asked.client.is_open(&asked.id) {
        asked.refuse(&CallError::duplicate_id(), touched);
        return None;
    }
    match route {
        Route::Initialize => match negotiate(asked.message) {
            Ok(agreed) => initialize(asked, agreed, touched),
            Err(error) => asked.refuse(&error, touched),
        },
        // 2025-11-25, Ping: the receiver MUST respond promptly with an empty response.
        Route::Ping => asked.answer(b"{}", touched),
        Route::List(ListKind::Tools) => lists::answer(asked, ListKind::Tools, touched),
        Route::UnknownTool(name) => unknown_tool::call(asked, &name, NamedIn::Call, touched),
        _ if context.gateway_info.simple => asked.refuse(&unknown_method(asked.message), touched),
        Route::List(kind) => lists::answer(asked, kind, touched),
        Route::SetLevel(level) => set_level(asked, level, touched),
        route => return Some(route),
    }
    None
}

/// The revision that an `initialize` leads to.
pub(crate) fn negotiate(message: &Message<'_>) -> Result<Revision, CallError> {
    let params = message.text(message.params.span);
    let version = member(params, "protocolVersion").and_then(decode);
    let version = version.ok_or_else(|| {
        CallError::InvalidParams("initialize needs `protocolVersion`, a string".to_owned())
    })?;
    // 2025-11-25, Lifecycle, Version negotiation: an unknown version is answered with the latest
    // that we speak, not refused.
    Ok(Revision::negotiate(&version))
}

/// Opens the session and answers `initialize`. The answer waits for no server: clients give up on a
/// slow one, and what servers said of themselves before is remembered.
pub(super) fn initialize(asked: &SessionRequest<'_>, agreed: Revision, touched: &mut FlushSet) {
    let (session, message) = (asked.session, asked.message);
    let context = &session.context;
    let params = message.text(message.params.span);
    session.join();
    // Relaxed: the flag publishes nothing else.
    session.agreed.batches.store(agreed.allows_batches(), Ordering::Relaxed);
    let capabilities = member(params, "capabilities").unwrap_or_default();
    let info = member(params, "clientInfo").unwrap_or_default();
    session.client.declares(capabilities);
    session.client.introduces_itself(info, &passed_on(capabilities));
    context.declare(capabilities);
    let name = member(info, "name").and_then(decode);
    let version = member(info, "version").and_then(decode).unwrap_or_default();
    tracing::debug!(client = ?name, %version, revision = agreed.as_str(), "a client says hello");
    session.advise(name.as_deref());
    let kin = !context.gateway_info.simple && instance::is_asked_for(message);
    // Relaxed: read by later requests of this client, which come after the answer.
    session.agreed.is_trunkline.store(kin, Ordering::Relaxed);
    let instances = if kin { context.registry.instances() } else { Vec::new() };
    let instructions = match context.gateway_info.simple {
        true => String::new(),
        false => context.view.instructions(),
    };
    asked.answer(
        &context.gateway_info.initialize_result(agreed, &instructions, &instances),
        touched,
    );
}

/// `logging/setLevel`: servers log from the lowest level that any client wants.
fn set_level(asked: &SessionRequest<'_>, level: Level, touched: &mut FlushSet) {
    let registry = &asked.session.context.registry;
    // The level before and after is that of the whole audience: a server is told only if the lowest
    // has changed.
    let before = registry.audience.level();
    asked.session.client.set_level(level);
    let now = registry.audience.level();
    if let Some(now) = now.filter(|_| now != before) {
        for live in registry.servers().iter().filter_map(|server| server.live()) {
            // The modern era has the level in the `_meta` of each request instead.
            if live.hello.logs && live.connection.link.era() == Era::Legacy {
                live.connection.facts.set_level(&live.connection.link, now);
            }
        }
    }
    asked.answer(b"{}", touched);
}
