//! `Calls`: what a client has open, by the ids it gave. One call needs no room but what is there: a
//! request that stands for itself is all that its client has.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use foldhash::fast::RandomState;
use tokio_util::sync::CancellationToken;
use trunkline_wire::Id;

use crate::call::{CallOwner, ResponseSink};

/// Where an open call is.
#[derive(Clone, Debug)]
pub(crate) enum CallHandle {
    /// With a server, under our id.
    Sent { owner: Arc<dyn CallOwner>, id: u32 },
    /// Still here, waiting for a server to start.
    Waiting(Waiting),
}

/// A request that waits.
#[derive(Clone, Debug)]
pub(crate) struct Waiting {
    pub(crate) cancelled: CancellationToken,
    pub(crate) sink: ResponseSink,
}

#[derive(Debug, Default)]
pub(super) struct Calls {
    first: Option<(Id, CallHandle)>,
    more: HashMap<Id, CallHandle, RandomState>,
}

/// Room for open calls that is kept after a burst.
const KEPT_CAPACITY: usize = 4096;

impl Calls {
    /// False if there is one of that id.
    pub(super) fn insert(&mut self, id: &Id, handle: CallHandle) -> bool {
        match &self.first {
            Some((first, _)) if first == id => false,
            Some(_) => match self.more.entry(id.clone()) {
                Entry::Occupied(_) => false,
                Entry::Vacant(place) => {
                    place.insert(handle);
                    true
                }
            },
            None if self.more.contains_key(id) => false,
            None => {
                self.first = Some((id.clone(), handle));
                true
            }
        }
    }

    pub(super) fn contains(&self, id: &Id) -> bool {
        self.first.as_ref().is_some_and(|(first, _)| first == id) || self.more.contains_key(id)
    }

    pub(super) fn remove(&mut self, id: &Id) -> Option<CallHandle> {
        if let Some((_, handle)) = self.first.take_if(|(first, _)| first == id) {
            return Some(handle);
        }
        let handle = self.more.remove(id);
        if self.more.is_empty() && self.more.capacity() > KEPT_CAPACITY {
            self.more.shrink_to(0);
        }
        handle
    }

    pub(super) fn is_empty(&self) -> bool {
        self.first.is_none() && self.more.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&Id, &CallHandle)> {
        self.first.iter().map(|(id, handle)| (id, handle)).chain(&self.more)
    }
}

#[cfg(test)]
mod tests {
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::call::{Discard, ResponseSink, Waiting};

    fn handle() -> CallHandle {
        let sink = ResponseSink::Responder(Arc::new(Discard));
        CallHandle::Waiting(Waiting { cancelled: CancellationToken::new(), sink })
    }

    #[test]
    fn each_id_is_open_once_whichever_place_it_has() {
        let mut calls = Calls::default();
        let ids: Vec<_> = [&b"1"[..], b"\"1\"", b"2", b"1.5"].into_iter().map(Id::new).collect();
        for _ in 0..2 {
            assert!(ids.iter().all(|id| calls.insert(id, handle())));
            assert!(!ids.iter().any(|id| calls.insert(id, handle())));
            assert!(ids.iter().all(|id| calls.contains(id)) && calls.iter().count() == ids.len());
            // The place that is there is free again, and still no id is open twice.
            assert!(ids.iter().take(1).all(|id| calls.remove(id).is_some()));
            assert!(!ids.iter().skip(1).any(|id| calls.insert(id, handle())));
            assert!(!calls.is_empty());
            assert!(ids.iter().skip(1).all(|id| calls.remove(id).is_some()));
            assert!(calls.is_empty() && ids.iter().all(|id| calls.remove(id).is_none()));
        }
    }
}
