//! `CallLine`: calls in the order in which they are sent. Most come last; one that was sent before and has to be sent
//! again comes first.

use std::collections::BTreeMap;

#[derive(Debug)]
pub(super) struct CallLine<T> {
    calls: BTreeMap<CallTicket, T>,
    /// The tickets given last, at both ends. Each is given once: who holds one can mean no other call.
    first: u64,
    last: u64,
}

/// A place in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CallTicket(u64);

/// Far from both ends of the numbers.
const MIDDLE: u64 = 1 << 62;

impl CallTicket {
    /// What its client knows a call by.
    pub(super) fn handle(self) -> u32 {
        u32::try_from(self.0 & u64::from(u32::MAX)).unwrap_or_default()
    }
}

impl<T> Default for CallLine<T> {
    fn default() -> Self {
        Self { calls: BTreeMap::new(), first: MIDDLE, last: MIDDLE }
    }
}

impl<T> CallLine<T> {
    pub(super) fn len(&self) -> usize {
        self.calls.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// For a call behind all others.
    pub(super) fn last_ticket(&mut self) -> CallTicket {
        self.last += 1;
        CallTicket(self.last)
    }

    /// For a call before all others.
    pub(super) fn first_ticket(&mut self) -> CallTicket {
        self.first -= 1;
        CallTicket(self.first)
    }

    /// The ticket behind a handle, if its call is here.
    pub(super) fn ticket_of(&self, handle: u32) -> Option<CallTicket> {
        let (first, _) = self.calls.first_key_value()?;
        // Calls that wait at the same time are far fewer than there are handles.
        let behind = handle.wrapping_sub(first.handle());
        Some(CallTicket(first.0 + u64::from(behind)))
            .filter(|ticket| self.calls.contains_key(ticket))
    }

    pub(super) fn insert(&mut self, ticket: CallTicket, call: T) {
        self.calls.insert(ticket, call);
    }

    pub(super) fn remove(&mut self, ticket: CallTicket) -> Option<T> {
        self.calls.remove(&ticket)
    }

    /// The call that is sent next.
    pub(super) fn first(&self) -> Option<CallTicket> {
        self.calls.first_key_value().map(|(ticket, _)| *ticket)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (CallTicket, &T)> {
        self.calls.iter().map(|(ticket, call)| (*ticket, call))
    }

    pub(super) fn take(&mut self) -> Vec<T> {
        std::mem::take(&mut self.calls).into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_in_order_and_found_by_their_handles() {
        let mut line = CallLine::default();
        for call in 1..4 {
            let ticket = line.last_ticket();
            line.insert(ticket, call);
        }
        let taken = line.first().unwrap();
        assert_eq!(line.remove(taken), Some(1));
        assert_eq!(line.ticket_of(taken.handle()), None, "it is not here");
        let newest = line.last_ticket();
        line.insert(newest, 4);
        let again = line.first_ticket();
        line.insert(again, 0);
        line.insert(taken, 1);
        for (ticket, call) in [(taken, 1), (newest, 4), (again, 0)] {
            let found = line.ticket_of(ticket.handle()).and_then(|ticket| line.remove(ticket));
            assert_eq!(found, Some(call));
            line.insert(ticket, call);
        }
        assert_eq!(line.take(), [0, 1, 2, 3, 4]);
        assert!(line.is_empty() && line.ticket_of(0).is_none());
    }

    /// After as many calls as there are handles, they begin again.
    #[test]
    fn handles_go_round() {
        let mut line = CallLine { last: MIDDLE + u64::from(u32::MAX) - 1, ..CallLine::default() };
        let tickets: Vec<_> = (0..4).map(|_| line.last_ticket()).collect();
        for (call, ticket) in tickets.iter().enumerate() {
            line.insert(*ticket, call);
        }
        for (call, ticket) in tickets.iter().enumerate() {
            assert_eq!(line.ticket_of(ticket.handle()), Some(*ticket), "{call}");
        }
        assert_eq!(line.take(), [0, 1, 2, 3]);
    }
}
