//! What is told to whoever listens: `GET /events`.

use std::collections::VecDeque;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::broadcast;

use crate::api::view::Status;

/// Small: those who want to know more ask for it.
#[derive(Debug, Clone)]
pub enum ServerEvent {
    /// A server was registered, changed or removed.
    Changed { id: String, name: String, what: &'static str },
    /// Its status is another one now.
    Status { id: String, name: String, status: Status, why: Option<String> },
    /// What it offers has changed.
    Tools { id: String, name: String, tools: usize },
}

/// How many may wait for a slow listener; then the oldest are skipped, and it is told so. As many are
/// kept for listeners that come back.
const WAITING: usize = 1024;

/// Something that was told, and its number.
pub type NumberedEvent = (u64, ServerEvent);

/// Where news are told.
#[derive(Debug)]
pub(super) struct EventBus {
    listeners: broadcast::Sender<NumberedEvent>,
    kept: Mutex<EventHistory>,
}

#[derive(Debug, Default)]
struct EventHistory {
    last: u64,
    newest: VecDeque<NumberedEvent>,
}

impl EventBus {
    /// Numbers go on from `first`, so that one of before a restart is not taken for one of now.
    pub(super) fn new(first: u64) -> Self {
        let kept = EventHistory { last: first, newest: VecDeque::new() };
        Self { listeners: broadcast::Sender::new(WAITING), kept: Mutex::new(kept) }
    }

    pub(super) fn publish(&self, news: ServerEvent) {
        let mut kept = self.kept.lock();
        kept.last += 1;
        let told = (kept.last, news);
        if kept.newest.len() == WAITING {
            kept.newest.pop_front();
        }
        kept.newest.push_back(told.clone());
        // Nobody listens: nobody has to be told.
        drop(self.listeners.send(told));
    }

    /// What was told after this, as far as it is kept, and everything from now on.
    pub(super) fn listen(
        &self,
        after: Option<u64>,
    ) -> (Vec<NumberedEvent>, broadcast::Receiver<NumberedEvent>) {
        let kept = self.kept.lock();
        let is_missed = |told: &&NumberedEvent| after.is_some_and(|after| told.0 > after);
        let missed = kept.newest.iter().filter(is_missed).cloned().collect();
        (missed, self.listeners.subscribe())
    }
}

impl ServerEvent {
    /// The name of the event.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Changed { .. } => "server",
            Self::Status { .. } => "status",
            Self::Tools { .. } => "tools",
        }
    }

    /// The server it is about.
    pub fn server(&self) -> &str {
        match self {
            Self::Changed { name, .. } | Self::Status { name, .. } | Self::Tools { name, .. } => {
                name
            }
        }
    }

    pub fn json(&self) -> Value {
        match self {
            Self::Changed { id, name, what } => json!({"id": id, "name": name, "change": what}),
            Self::Status { id, name, status, why } => {
                json!({"id": id, "name": name, "status": status.as_str(), "reason": why})
            }
            Self::Tools { id, name, tools } => json!({"id": id, "name": name, "tools": tools}),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_comes_back_gets_what_was_told_meanwhile() {
        let room = EventBus::new(100);
        let news = |id: usize| ServerEvent::Changed {
            id: id.to_string(),
            name: "n".to_owned(),
            what: "changed",
        };
        for id in 0..3 {
            room.publish(news(id));
        }
        let numbers = |after| room.listen(after).0.iter().map(|told| told.0).collect::<Vec<_>>();
        assert!(numbers(None).is_empty());
        assert_eq!(numbers(Some(101)), [102, 103]);
        assert!(numbers(Some(103)).is_empty());
        for id in 0..WAITING {
            room.publish(news(id));
        }
        assert_eq!(numbers(Some(0)).len(), WAITING, "no more are kept");
        let (_, mut listener) = room.listen(None);
        room.publish(news(9));
        assert_eq!(listener.try_recv().unwrap().0, 104 + WAITING as u64);
    }
}
