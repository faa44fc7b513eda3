//! Calls of tools that nobody has: a server that is still starting may have them; otherwise the caller
//! is told which were perhaps meant.

use std::sync::Arc;

use tokio::task::spawn_blocking;
use trunkline_catalog::MetaTool;

use crate::error::CallError;
use crate::events::Outcome;
use crate::limits::NAMES_AT_ONCE;
use crate::pump::FlushSet;
use crate::registry::View;
use crate::session::seek::Said;
use crate::session::{Session, SessionRequest};

/// How the name was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// As the name of the call.
    Directly,
    /// In the arguments of one of Trunkline's own tools: what is wrong is a result.
    Through,
}

impl Session {
    pub(super) fn call_unknown(
        self: &Arc<Self>,
        asked: &SessionRequest<'_>,
        name: &str,
        way: Way,
        touched: &mut FlushSet,
    ) {
        match self.context.view.by_prefix(name) {
            Some(server) if self.may_wait() && !server.is_settled() => {
                self.retry_when_ready(server, asked);
            }
            _ => self.not_found(asked, name, way, touched),
        }
    }

    /// Comparing a name with thousands takes too long for the thread that moves bytes.
    fn not_found(
        self: &Arc<Self>,
        asked: &SessionRequest<'_>,
        name: &str,
        way: Way,
        touched: &mut FlushSet,
    ) {
        if self.context.face.simple || asked.snapshot.catalog.names() <= NAMES_AT_ONCE {
            return self.say_not_found(asked, name, &self.hint(name), way, touched);
        }
        let (view, name) = (Arc::clone(&self.context.view), name.to_owned());
        let registry = Arc::clone(&self.context.registry);
        let ready = async move {
            let _turn = registry.finder().name_turn().await;
            let looking = spawn_blocking(move || (hint(&view, &name), name));
            looking.await.unwrap_or_default()
        };
        self.wait(asked, ready, move |session, asked, (hint, name), touched| {
            session.say_not_found(asked, &name, &hint, way, touched);
        });
    }

    fn hint(&self, name: &str) -> String {
        if self.context.face.simple { String::new() } else { hint(&self.context.view, name) }
    }

    fn say_not_found(
        &self,
        asked: &SessionRequest<'_>,
        name: &str,
        hint: &str,
        way: Way,
        touched: &mut FlushSet,
    ) {
        let error = self.unknown_tool(name, hint);
        match way {
            Way::Directly => self.turn_away(asked, &error, touched),
            Way::Through => {
                self.note_without_server(asked, Some(name), Outcome::Refused);
                let said = Said { text: error.to_string(), is_error: true };
                self.say_as_tool(asked, &said, touched);
            }
        }
    }

    fn unknown_tool(&self, name: &str, hint: &str) -> CallError {
        let view = &self.context.view;
        let (tool, hint) = (name.to_owned(), hint.to_owned());
        if let Some(server) = view.by_prefix(name)
            && !self.context.face.simple
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
}

/// Which tools were perhaps meant, of those that whoever asks may see.
fn hint(view: &View, name: &str) -> String {
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
