//! `EventBus`: changes of servers, to everyone who listens.

use std::collections::VecDeque;

use parking_lot::Mutex;
use tokio::sync::broadcast;

use crate::health::ServerStatus;

/// Small: a listener that wants to know more asks the API.
#[derive(Debug, Clone)]
pub enum ServerEvent {
    /// A server was registered, changed or removed.
    Changed { id: String, name: String, what: &'static str },
    /// Its status is another one now.
    Status { id: String, name: String, status: ServerStatus, why: Option<String> },
    /// What it offers has changed.
    Tools { id: String, name: String, tools: usize },
}

/// Events that may wait for a slow listener; then it misses the oldest, and hears how many. As many are
/// kept for listeners that come back.
const WAITING: usize = 1024;

/// An event and its number, which a listener that comes back names.
pub type NumberedEvent = (u64, ServerEvent);

/// Numbers events, keeps the newest, and hands them to all listeners.
#[derive(Debug)]
pub struct EventBus {
    listeners: broadcast::Sender<NumberedEvent>,
    /// A leaf lock. It is held while an event is sent, so that a new listener neither misses one nor
    /// gets it twice.
    history: Mutex<EventHistory>,
}

#[derive(Debug, Default)]
struct EventHistory {
    last: u64,
    newest: VecDeque<NumberedEvent>,
}

impl EventBus {
    /// Numbers go on from `first`, so that one of before a restart is not taken for one of now.
    pub(super) fn new(first: u64) -> Self {
        let history = EventHistory { last: first, newest: VecDeque::new() };
        Self { listeners: broadcast::Sender::new(WAITING), history: Mutex::new(history) }
    }

    pub(super) fn publish(&self, event: ServerEvent) {
        // Numbered and sent under one lock: two events at once would otherwise arrive in the wrong
        // order.
        let mut history = self.history.lock();
        history.last += 1;
        let event = (history.last, event);
        // Compared with equality: each event adds one and takes away one.
        if history.newest.len() == WAITING {
            history.newest.pop_front();
        }
        history.newest.push_back(event.clone());
        // Fails only if there is no listener.
        drop(self.listeners.send(event));
    }

    /// What was told after this, as far as it is kept, and everything from now on.
    pub fn listen(
        &self,
        after: Option<u64>,
    ) -> (Vec<NumberedEvent>, broadcast::Receiver<NumberedEvent>) {
        let history = self.history.lock();
        let is_missed = |told: &&NumberedEvent| after.is_some_and(|after| told.0 > after);
        let missed = history.newest.iter().filter(is_missed).cloned().collect();
        // Subscribed under the lock: what is published from now on comes by the channel and is not
        // among `missed`.
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
