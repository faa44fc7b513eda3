//! What changes while the fixture runs: a tool and a prompt that come and go, and who is told.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rmcp::RoleServer;
use rmcp::model::ServerNotification;
use rmcp::service::{Peer, SubscriptionContext, SubscriptionSink};
use serde_json::json;

/// Shared by all clients of one process.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    tool: AtomicBool,
    prompt: AtomicBool,
    last: AtomicUsize,
    listeners: Mutex<BTreeMap<usize, SubscriptionSink>>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum List {
    Tools,
    Prompts,
}

impl Changes {
    /// Whether the tool (the prompt) that comes and goes is there.
    pub(crate) fn has_more(&self, list: List) -> bool {
        self.flag(list).load(Ordering::Relaxed)
    }

    /// Tells this listener of every change, until its request is cancelled.
    pub(crate) async fn listen(&self, context: &SubscriptionContext) {
        let number = self.last.fetch_add(1, Ordering::Relaxed);
        self.listeners().insert(number, context.sink().clone());
        context.cancelled().await;
        self.listeners().remove(&number);
    }

    /// Really changes the list: what stands between may only pass on a change it can see.
    /// `session` is the client that has no other way to hear of it.
    pub(crate) async fn change(
        &self,
        list: List,
        session: Option<&Peer<RoleServer>>,
    ) -> Result<(), String> {
        self.flag(list).fetch_not(Ordering::Relaxed);
        if let Some(session) = session {
            session.send_notification(told(list)?).await.map_err(|error| error.to_string())?;
        }
        let listeners = self.listeners().clone();
        for listener in listeners.values() {
            // It may have gone meanwhile, or have asked for something else.
            drop(listener.send(told(list)?).await);
        }
        Ok(())
    }

    fn listeners(&self) -> MutexGuard<'_, BTreeMap<usize, SubscriptionSink>> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn flag(&self, list: List) -> &AtomicBool {
        match list {
            List::Tools => &self.tool,
            List::Prompts => &self.prompt,
        }
    }
}

fn told(list: List) -> Result<ServerNotification, String> {
    let method = match list {
        List::Tools => "notifications/tools/list_changed",
        List::Prompts => "notifications/prompts/list_changed",
    };
    serde_json::from_value(json!({ "method": method })).map_err(|error| error.to_string())
}
