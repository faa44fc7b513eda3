//! Calls of Trunkline's own tools: what is looked for is looked up beside the thread that moves bytes,
//! while the request waits like any other.

use std::sync::Arc;

use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout_at};
use trunkline_wire::encode_into;

use crate::events::Outcome;
use crate::limits::SEEK_TIME;
use crate::pump::FlushSet;
use crate::registry::{Snapshot, read_tools};
use crate::router::MetaToolQuery;
use crate::session::look_up::look_up;
use crate::session::{Session, SessionRequest};

/// What one of our own tools says.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) text: String,
    pub(crate) is_error: bool,
}

impl Session {
    /// Something is looked for among all tools. What starting servers have counts, too.
    pub(super) fn seek(self: &Arc<Self>, asked: &SessionRequest<'_>, seek: MetaToolQuery) {
        let deadline = Instant::now().max(self.context.start_deadline) + SEEK_TIME;
        let settled = self.all_settled(self.context.start_deadline);
        let view = Arc::clone(&self.context.view);
        let found = async move {
            settled.await;
            let finder = view.registry.finder();
            let vector = match &seek {
                MetaToolQuery::Search { text, .. } => finder.question(text).await,
                MetaToolQuery::Describe { .. } => None,
            };
            let _turn = finder.turn().await;
            let looking = {
                let view = Arc::clone(&view);
                spawn_blocking(move || look_up(&view, &seek, vector.as_ref()))
            };
            looking.await.ok()
        };
        let ready = async move { timeout_at(deadline, found).await.ok().flatten() };
        self.wait(asked, ready, |session, asked, found, touched| {
            let (text, is_error) =
                found.unwrap_or_else(|| ("the search took too long; try again".to_owned(), true));
            let outcome = if is_error { Outcome::ToolError } else { Outcome::Ok };
            session.note_without_server(asked, None, outcome);
            session.say_as_tool(asked, &Said { text, is_error }, touched);
        });
    }

    /// Whoever was given a list that does not show everything will ask: what there is is read now,
    /// once, so that the first question does not wait for it.
    pub(super) fn prepare_search(&self, snapshot: &Snapshot) {
        let registry = &self.context.registry;
        if snapshot.catalog.behind().is_none() || !registry.finder().begin_reading() {
            return;
        }
        let registry = Arc::clone(registry);
        let reading = async move {
            let _turn = registry.finder().turn().await;
            let reading = {
                let registry = Arc::clone(&registry);
                spawn_blocking(move || read_tools(&registry))
            };
            drop(reading.await);
        };
        drop(self.context.tasks.spawn_on(reading, &self.context.runtime));
    }

    /// A call of one of our own tools that cannot be carried out.
    pub(super) fn mistaken(
        &self,
        asked: &SessionRequest<'_>,
        about: Option<&str>,
        why: String,
        touched: &mut FlushSet,
    ) {
        self.note_without_server(asked, about, Outcome::ToolError);
        self.say_as_tool(asked, &Said { text: why, is_error: true }, touched);
    }

    /// The result of a call of one of our own tools.
    pub(super) fn say_as_tool(
        &self,
        asked: &SessionRequest<'_>,
        said: &Said,
        touched: &mut FlushSet,
    ) {
        let mut out = Vec::with_capacity(said.text.len() + 128);
        out.push(b'{');
        if !asked.manner.is_session() {
            out.extend_from_slice(br#""resultType":"complete","_meta":"#);
            out.extend_from_slice(&self.own_meta(asked, false));
            out.push(b',');
        }
        out.extend_from_slice(br#""content":[{"type":"text","text":"#);
        encode_into(&said.text, &mut out);
        out.extend_from_slice(b"}]");
        if said.is_error {
            out.extend_from_slice(br#","isError":true"#);
        }
        out.push(b'}');
        asked.answer(&out, touched);
    }
}
