//! `CallerAccount` and `AddressAccount`: everything one caller or one address has, and may have.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use trunkline_catalog::config::LimitRules;

use super::meter::Meter;
use super::refused::{Limit, LimitScope, Overrun};
use crate::limits::{
    SESSIONS, SESSIONS_PER_CALLER, SUBSCRIBED_BYTES_PER_CALLER, SUBSCRIBED_URIS_PER_CALLER,
};

/// What a gate says about the limits of a caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// Who that is, as a message begins: ``key `ci` ``.
    pub name: Arc<str>,
    /// What was said about this one; the others have the gateway's defaults.
    pub rules: LimitRules,
}

/// One caller, in all its sessions and connections.
#[derive(Debug)]
pub(crate) struct CallerAccount {
    pub(crate) name: Arc<str>,
    pub(crate) meter: Arc<Meter>,
    // Relaxed where they are used: each limit is a number alone. A caller that reads the old one is
    // let in or refused once more by it.
    sessions: AtomicUsize,
    connections: Places,
    subscriptions: Places,
    subscription_bytes: AtomicUsize,
}

/// One address, or the network of it.
#[derive(Debug)]
pub(crate) struct AddressAccount {
    pub(crate) name: Box<str>,
    pub(crate) meter: Arc<Meter>,
}

/// Where a call comes from, for those who make it from inside this process in somebody's name.
#[derive(Clone, Debug)]
pub struct CallerAddress(pub(crate) Arc<AddressAccount>);

/// Places that are taken and given back. 0: any number.
#[derive(Debug, Default)]
struct Places {
    most: AtomicU32,
    held: AtomicU32,
}

/// A connection of a caller; it counts until it is dropped.
#[derive(Debug)]
pub(crate) struct ConnectionShare(Arc<CallerAccount>);

/// Subscriptions of a caller; they count until they are dropped.
#[derive(Debug)]
pub(crate) struct SubscriptionRoom {
    account: Arc<CallerAccount>,
    uris: u32,
    bytes: usize,
}

// Relaxed, everywhere here: the counters guard no other memory.
impl Places {
    fn take(&self, number: u32) -> bool {
        // Counted first and given back if it was too many: two threads cannot both take the last.
        let held = self.held.fetch_add(number, Ordering::Relaxed).saturating_add(number);
        let most = self.most.load(Ordering::Relaxed);
        let fits = most == 0 || held <= most;
        if !fits {
            self.give_back(number);
        }
        fits
    }

    fn give_back(&self, number: u32) {
        self.held.fetch_sub(number, Ordering::Relaxed);
    }
}

impl CallerAccount {
    pub(super) fn new(name: Arc<str>, rules: LimitRules) -> Self {
        let account = Self {
            name,
            meter: Arc::default(),
            sessions: AtomicUsize::new(0),
            connections: Places::default(),
            subscriptions: Places::default(),
            subscription_bytes: AtomicUsize::new(0),
        };
        account.set(rules);
        account
    }

    pub(super) fn set(&self, rules: LimitRules) {
        self.meter.set(rules);
        let sessions = rules.sessions.and_then(|most| usize::try_from(most).ok());
        let sessions = match sessions {
            None => SESSIONS_PER_CALLER,
            Some(0) => SESSIONS,
            Some(most) => most,
        };
        self.sessions.store(sessions, Ordering::Relaxed);
        self.connections.most.store(rules.connections.unwrap_or(0), Ordering::Relaxed);
        let subscriptions = rules.subscriptions.unwrap_or(SUBSCRIBED_URIS_PER_CALLER);
        self.subscriptions.most.store(subscriptions, Ordering::Relaxed);
    }

    /// How many sessions it may have.
    pub(crate) fn most_sessions(&self) -> usize {
        self.sessions.load(Ordering::Relaxed)
    }

    /// A place for one more connection.
    pub(crate) fn connect(self: &Arc<Self>) -> Result<ConnectionShare, Overrun> {
        match self.connections.take(1) {
            true => Ok(ConnectionShare(Arc::clone(self))),
            false => Err(self.full(Limit::Connections, &self.connections)),
        }
    }

    /// Room for so many more subscriptions.
    pub(crate) fn subscribe(
        self: &Arc<Self>,
        uris: usize,
        bytes: usize,
    ) -> Result<SubscriptionRoom, Overrun> {
        let uris = u32::try_from(uris).unwrap_or(u32::MAX / 2);
        if !self.subscriptions.take(uris) {
            return Err(self.full(Limit::Subscriptions, &self.subscriptions));
        }
        let held = self.subscription_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let room = SubscriptionRoom { account: Arc::clone(self), uris, bytes };
        // Also where the number is not limited: the URIs are kept in memory.
        match held <= SUBSCRIBED_BYTES_PER_CALLER {
            true => Ok(room),
            false => Err(Overrun {
                words: format!("{SUBSCRIBED_BYTES_PER_CALLER} bytes of URIs of subscriptions"),
                ..self.full(Limit::Subscriptions, &self.subscriptions)
            }),
        }
    }

    fn full(&self, limit: Limit, places: &Places) -> Overrun {
        Overrun {
            scope: LimitScope::Caller,
            limit,
            who: self.name.to_string(),
            server: None,
            words: format!("{} {}", places.most.load(Ordering::Relaxed), limit.name()),
            again: Duration::from_secs(1),
        }
    }

    /// Would nobody notice if it were made anew?
    pub(super) fn is_unused(&self, now: u64) -> bool {
        // Relaxed: nobody holds the account when this is asked (`forget_unused`), so nothing
        // changes beside it.
        self.meter.is_unused(now)
            && self.connections.held.load(Ordering::Relaxed) == 0
            && self.subscriptions.held.load(Ordering::Relaxed) == 0
    }
}

impl ConnectionShare {
    pub(crate) fn is_of(&self, account: &Arc<CallerAccount>) -> bool {
        Arc::ptr_eq(&self.0, account)
    }
}

impl Drop for ConnectionShare {
    fn drop(&mut self) {
        self.0.connections.give_back(1);
    }
}

impl Drop for SubscriptionRoom {
    fn drop(&mut self) {
        self.account.subscriptions.give_back(self.uris);
        self.account.subscription_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(rules: LimitRules) -> Arc<CallerAccount> {
        Arc::new(CallerAccount::new("key `ci`".into(), rules))
    }

    #[test]
    fn connections_are_counted_until_they_go() {
        let account = account(LimitRules { connections: Some(2), ..LimitRules::default() });
        let held = [account.connect().unwrap(), account.connect().unwrap()];
        let refused = account.connect().unwrap_err();
        assert_eq!(refused.words, "2 connections");
        assert!(!account.is_unused(0));
        drop(held);
        assert!(account.is_unused(0) && account.connect().is_ok());
    }

    #[test]
    fn subscriptions_are_bounded_by_number_and_bytes() {
        let account = account(LimitRules { subscriptions: Some(3), ..LimitRules::default() });
        let held = account.subscribe(2, 10).unwrap();
        assert!(account.subscribe(2, 10).is_err() && account.subscribe(1, 10).is_ok());
        assert!(account.subscribe(1, SUBSCRIBED_BYTES_PER_CALLER).is_err());
        drop(held);
        assert!(account.subscribe(3, SUBSCRIBED_BYTES_PER_CALLER).is_ok());
        assert!(account.is_unused(0), "what was refused is given back");
    }
}
