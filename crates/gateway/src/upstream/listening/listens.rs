//! `Listens`: the requests of ours that a server tells of changes on, and which it has taken.

use std::sync::atomic::{AtomicU8, Ordering};

use tokio::sync::{Notify, watch};
use trunkline_catalog::ListKind;

use crate::lock::{Mutex, rank};
use crate::upstream::transport::{Answer, UpstreamId};

/// The `subscriptions/listen` requests a connection has open.
#[derive(Debug, Default)]
pub(crate) struct Listens {
    /// The one for the lists, from when it is made until it is looked after.
    // Held to put it there and to take it out: one task looks after it.
    pub(in crate::upstream) lists: Mutex<Option<ListenRequest>, rank::ListenRequest>,
    /// Those that the server has taken, the last few.
    // Released before whoever waits is woken, who looks under it again.
    pub(in crate::upstream) taken: Mutex<Vec<UpstreamId>, rank::TakenListens>,
    pub(in crate::upstream) acknowledged: Notify,
    // Held while a request is sent: its acknowledgement may be read before its id is noted.
    pub(in crate::upstream) turn: Mutex<ListenTurn, rank::ListenTurn>,
    /// Others are wanted of its resources than before.
    pub(in crate::upstream) wanted: Notify,
    /// The resources it has been asked to tell of, and has taken as far as it ever will.
    pub(in crate::upstream) told: watch::Sender<Followed>,
}

#[derive(Debug)]
pub(in crate::upstream) enum Followed {
    Of(Vec<String>),
    /// It tells of none.
    Nothing,
}

impl Default for Followed {
    fn default() -> Self {
        Self::Of(Vec::new())
    }
}

impl Followed {
    pub(in crate::upstream) fn settles(&self, uri: &str) -> bool {
        match self {
            Self::Of(uris) => uris.iter().any(|told| told == uri),
            Self::Nothing => true,
        }
    }
}

/// When others are wanted of its resources, two requests are open for a moment, and both tell.
#[derive(Debug, Default)]
pub(in crate::upstream) struct ListenTurn {
    /// Its successor has been taken: what still comes of it has been told.
    pub(in crate::upstream) over: Option<UpstreamId>,
    pub(in crate::upstream) current: Option<UpstreamId>,
    pub(in crate::upstream) next: Option<UpstreamId>,
}

impl ListenTurn {
    fn acknowledged(&mut self, id: UpstreamId) {
        if self.next == Some(id) {
            // From now on the new request tells: what the old one still says would be told twice.
            self.over = self.current;
            self.current = self.next.take();
        }
    }
}

/// How many acknowledgements are remembered: each is looked for at once.
const REMEMBERED: usize = 16;

#[derive(Debug)]
pub(in crate::upstream) struct ListenRequest {
    pub(in crate::upstream) id: UpstreamId,
    pub(in crate::upstream) answer: Answer,
}

impl Listens {
    /// The server has taken the request with this id.
    pub(in crate::upstream) fn acknowledged(&self, id: UpstreamId) {
        self.turn.lock().acknowledged(id);
        let mut taken = self.taken.lock();
        // Bounded: whoever waits for one looks as soon as it comes.
        if taken.len() >= REMEMBERED {
            taken.remove(0);
        }
        taken.push(id);
        drop(taken);
        self.acknowledged.notify_waiters();
    }

    /// Waits until the server has taken the request.
    pub(in crate::upstream) async fn taken(&self, id: UpstreamId) {
        loop {
            // Made before looking: an acknowledgement in between still wakes this one.
            let acknowledged = self.acknowledged.notified();
            if self.taken.lock().contains(&id) {
                return;
            }
            acknowledged.await;
        }
    }
}

/// The lists that a server says have changed, until they are read again.
#[derive(Debug, Default)]
pub(in crate::upstream) struct ListChanges {
    stale: AtomicU8,
    changed: Notify,
}

impl ListChanges {
    pub(in crate::upstream) fn mark(&self, kinds: impl IntoIterator<Item = ListKind>) {
        let bits = kinds.into_iter().fold(0, |bits, kind| bits | bit(kind));
        // Relaxed: whoever is woken below reads it after the wake-up, which orders the two.
        self.stale.fetch_or(bits, Ordering::Relaxed);
        self.changed.notify_one();
    }

    /// Waits until some have changed; true for those.
    pub(in crate::upstream) async fn taken(&self) -> impl Fn(ListKind) -> bool + use<> {
        self.changed.notified().await;
        // Relaxed: the bits were set before the wake-up that led here. Those of a later one are
        // taken now, and that wake-up finds none.
        let stale = self.stale.swap(0, Ordering::Relaxed);
        move |kind| stale & bit(kind) != 0
    }
}

/// A list's bit.
pub(in crate::upstream) fn bit(kind: ListKind) -> u8 {
    match kind {
        ListKind::Tools => 1,
        ListKind::Resources => 2,
        ListKind::Templates => 4,
        ListKind::Prompts => 8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_a_successor_is_told_once() {
        let mut turn = ListenTurn { next: Some(1), ..ListenTurn::default() };
        turn.acknowledged(7);
        assert_eq!((turn.current, turn.over), (None, None), "another's");
        turn.acknowledged(1);
        assert_eq!((turn.current, turn.over), (Some(1), None));
        turn.next = Some(2);
        assert_eq!(turn.over, None, "not before the next is taken");
        turn.acknowledged(2);
        assert_eq!((turn.current, turn.over), (Some(2), Some(1)));
    }

    #[tokio::test]
    async fn an_acknowledgement_is_noticed_early_or_late() {
        let listens = Listens::default();
        listens.acknowledged(1);
        listens.taken(1).await;
        let late = async {
            tokio::task::yield_now().await;
            listens.acknowledged(2);
        };
        tokio::join!(listens.taken(2), late);
        for id in 3..100 {
            listens.acknowledged(id);
        }
        assert_eq!(listens.taken.lock().len(), REMEMBERED);
    }
}
