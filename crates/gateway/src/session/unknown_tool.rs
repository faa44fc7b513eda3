//! Calls of tools that no server has. A server that is still starting may have the tool; otherwise the
//! error names similar ones.

use std::sync::Arc;

use tokio::task::spawn_blocking;
use trunkline_catalog::MetaTool;

use crate::error::CallError;
use crate::events::Outcome;
use crate::limits::NAMES_AT_ONCE;
use crate::pump::FlushSet;
use crate::registry::View;
use crate::session::client_session::Session;
use crate::session::meta_tools::answer_as_tool;
use crate::session::request::SessionRequest;
use crate::session::waiting::{retry_when_awake, retry_when_ready, wait};
use crate::upstream::State;

/// Where the name was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NamedIn {
    /// As the name of the call.
    Call,
    /// In the arguments of one of Trunkline's own tools: the error is that tool's result.
    MetaTool,
}

pub(super) fn call(
    asked: &SessionRequest<'_>,
    name: &str,
    named_in: NamedIn,
    touched: &mut FlushSet,
) {
    let context = &asked.session.context;
    match context.view.by_prefix(name) {
        Some(server) if context.may_wait() && !server.is_settled() => {
            retry_when_ready(asked, server);
        }
        // What it listed may have changed while it slept.
        Some(server) if server.status().state == State::Idle => {
            retry_when_awake(asked, server);
        }
        _ if asked.retry_if_outdated(touched) => {}
        _ => not_found(asked, name, named_in, touched),
    }
}

/// Compares the name with those of all tools; beside the pump's thread, if there are thousands.
fn not_found(asked: &SessionRequest<'_>, name: &str, named_in: NamedIn, touched: &mut FlushSet) {
    let context = &asked.session.context;
    if context.gateway_info.simple || asked.snapshot.catalog.names() <= NAMES_AT_ONCE {
        let hint = if context.gateway_info.simple {
            String::new()
        } else {
            similar_tools(&context.view, name)
        };
        return answer(asked, name, &hint, named_in, touched);
    }
    let (view, name) = (Arc::clone(&context.view), name.to_owned());
    let registry = Arc::clone(&context.registry);
    let ready = async move {
        // Bounded: many wrong names must not take the processors from calls.
        let _turn = registry.finder().name_turn().await;
        let comparing = spawn_blocking(move || (similar_tools(&view, &name), name));
        comparing.await.unwrap_or_default()
    };
    wait(asked, ready, move |asked, (hint, name), touched| {
        answer(asked, &name, &hint, named_in, touched);
    });
}

fn answer(
    asked: &SessionRequest<'_>,
    name: &str,
    hint: &str,
    named_in: NamedIn,
    touched: &mut FlushSet,
) {
    let error = unknown_tool(asked.session, name, hint);
    match named_in {
        NamedIn::Call => asked.turn_away(&error, touched),
        NamedIn::MetaTool => {
            asked.record_without_server(Some(name), Outcome::Refused);
            let why = asked.client.shown(&error).to_string();
            answer_as_tool(asked, &Err(why), touched);
        }
    }
}

fn unknown_tool(session: &Session, name: &str, hint: &str) -> CallError {
    let view = &session.context.view;
    let (tool, hint) = (name.to_owned(), hint.to_owned());
    if let Some(server) = view.by_prefix(name)
        && !session.context.gateway_info.simple
        && server.connection().is_none()
    {
        let (server, why) = (server.key.to_string(), server.absence());
        return CallError::ToolOfAbsentServer { tool, server, why };
    }
    let separators = [view.naming.separator(), "__"];
    match separators.iter().any(|separator| name.contains(separator)) {
        true => CallError::UnknownTool { tool, hint },
        false => CallError::NoPrefix { tool, hint },
    }
}

/// Names similar tools among those that the caller may see.
fn similar_tools(view: &View, name: &str) -> String {
    let snapshot = view.snapshot();
    let near = snapshot.catalog.near(name);
    if !near.is_empty() {
        let near: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
        return format!(" (did you mean {}?)", near.join(" or "));
    }
    let behind = snapshot.catalog.behind();
    let search = behind.map(|behind| behind.names.name(MetaTool::Search));
    search.map_or_else(String::new, |search| format!(" (find tools with `{search}`)"))
}
