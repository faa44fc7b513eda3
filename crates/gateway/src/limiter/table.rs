//! `Limiter`: the accounts of everybody, and the limits they have. Asked when a session or a connection begins, never
//! by a call.
//!
//! The counters are this process's own. Replicas that share a limit could lease parts of it from their store: a lease
//! is a `LimitRules` for each replica, set here while its meters run.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Weak};

use foldhash::quality::RandomState;
use trunkline_catalog::config::{LimitRules, SharedLimits};

use super::account::{AddressAccount, Allowance, CallerAccount};
use super::meter::now;
use super::refused::{Limit, LimitScope, LimitedCalls, RefusedCounts};
use super::server_meters::ServerMeters;
use crate::limits::ACCOUNTS_SWEPT;
use crate::lock::{Mutex, rank};

#[derive(Debug, Default)]
pub(crate) struct Limiter {
    // Taken when a session or connection begins, never by a call. Nothing is dropped under it but
    // unused accounts.
    accounts: Mutex<Accounts, rank::LimiterAccounts>,
    pub(crate) refused: RefusedCounts,
}

#[derive(Debug, Default)]
struct Accounts {
    /// What holds where a platform does not say it about a caller.
    shared: SharedLimits,
    /// What holds for callers of a platform, where `shared` says nothing.
    platform: LimitRules,
    /// By their identities.
    callers: HashMap<Arc<[u8]>, KnownCaller, RandomState>,
    /// Sessions of callers that nobody knows.
    strangers: Vec<Weak<CallerAccount>>,
    addresses: HashMap<IpAddr, Arc<AddressAccount>, RandomState>,
    /// By their ids: a server that is replaced by another version of itself keeps what was used.
    // Weak: they go with the server.
    servers: HashMap<Box<str>, Weak<ServerMeters>, RandomState>,
}

#[derive(Debug)]
struct KnownCaller {
    account: Arc<CallerAccount>,
    own: LimitRules,
}

/// A caller that is only known by its session.
const STRANGER: &str = "this client";

impl Limiter {
    /// Other limits of callers and addresses from now on; what was used stays used.
    pub(crate) fn set(&self, shared: SharedLimits) {
        let mut accounts = self.accounts.lock();
        accounts.shared = shared;
        accounts.update();
    }

    /// What callers of a platform may have, where nothing else is said.
    pub(crate) fn set_platform_default(&self, rules: LimitRules) {
        let mut accounts = self.accounts.lock();
        accounts.platform = rules;
        accounts.update();
    }

    /// The account of an authenticated caller.
    pub(crate) fn caller(&self, who: &Arc<[u8]>, allowed: &Allowance) -> Arc<CallerAccount> {
        let mut accounts = self.accounts.lock();
        let rules = accounts.rules(allowed.rules);
        if let Some(known) = accounts.callers.get_mut(who) {
            // The gate has the last word: a key may have been given other limits.
            if known.own != allowed.rules {
                known.own = allowed.rules;
                known.account.set(rules);
            }
            return Arc::clone(&known.account);
        }
        if accounts.callers.len() >= ACCOUNTS_SWEPT {
            accounts.forget_unused();
        }
        let account = Arc::new(CallerAccount::new(Arc::clone(&allowed.name), rules));
        let known = KnownCaller { account: Arc::clone(&account), own: allowed.rules };
        accounts.callers.insert(Arc::clone(who), known);
        account
    }

    /// The account of a session whose caller nobody knows.
    pub(crate) fn stranger(&self) -> Arc<CallerAccount> {
        let mut accounts = self.accounts.lock();
        let account = Arc::new(CallerAccount::new(STRANGER.into(), accounts.shared.per_caller));
        // As often as it grows to twice its size, so that each costs a fixed amount on average.
        if accounts.strangers.len() == accounts.strangers.capacity() {
            accounts.strangers.retain(|account| account.strong_count() > 0);
        }
        accounts.strangers.push(Arc::downgrade(&account));
        account
    }

    /// The account of an address, or of its network.
    pub(crate) fn address(&self, network: IpAddr) -> Arc<AddressAccount> {
        let mut accounts = self.accounts.lock();
        if let Some(known) = accounts.addresses.get(&network) {
            return Arc::clone(known);
        }
        if accounts.addresses.len() >= ACCOUNTS_SWEPT {
            accounts.forget_unused();
        }
        let meter = Arc::default();
        let account = Arc::new(AddressAccount { name: format!("address {network}").into(), meter });
        account.meter.set(accounts.shared.per_address);
        accounts.addresses.insert(network, Arc::clone(&account));
        account
    }

    /// The meters of the server with this id.
    pub(crate) fn server(&self, id: &str) -> Arc<ServerMeters> {
        let mut accounts = self.accounts.lock();
        if let Some(known) = accounts.servers.get(id).and_then(Weak::upgrade) {
            return known;
        }
        accounts.servers.retain(|_, meters| meters.strong_count() > 0);
        let meters = Arc::default();
        accounts.servers.insert(id.into(), Arc::downgrade(&meters));
        meters
    }

    /// Something was refused.
    pub(crate) fn count(&self, scope: LimitScope, limit: Limit) {
        self.refused.count(scope, limit);
    }

    /// What was refused since the start.
    pub(crate) fn limited_calls(&self) -> Vec<LimitedCalls> {
        self.refused.all()
    }

    /// How often each caller was refused: by its identity.
    pub(crate) fn limited_callers(&self) -> Vec<(Arc<[u8]>, u64)> {
        let accounts = self.accounts.lock();
        let all = accounts.callers.iter();
        all.map(|(who, known)| (Arc::clone(who), known.account.meter.refused())).collect()
    }
}

impl Accounts {
    /// What holds for a caller of a platform.
    fn rules(&self, own: LimitRules) -> LimitRules {
        own.or(self.shared.per_caller).or(self.platform)
    }

    fn update(&mut self) {
        for known in self.callers.values() {
            known.account.set(self.rules(known.own));
        }
        for stranger in self.strangers.iter().filter_map(Weak::upgrade) {
            stranger.set(self.shared.per_caller);
        }
        for address in self.addresses.values() {
            address.meter.set(self.shared.per_address);
        }
    }

    /// Drops the accounts that nobody holds and that are as good as new: whoever comes back loses and gains nothing.
    fn forget_unused(&mut self) {
        let now = now();
        self.callers.retain(|_, known| {
            Arc::strong_count(&known.account) > 1 || !known.account.is_unused(now)
        });
        self.addresses
            .retain(|_, account| Arc::strong_count(account) > 1 || !account.meter.is_unused(now));
    }
}

#[cfg(test)]
mod tests {
    use super::super::admit::{Meters, admit};
    use super::*;

    fn allowance(rules: LimitRules) -> Allowance {
        Allowance { name: "key `ci`".into(), rules }
    }

    fn open_calls(most: u32) -> LimitRules {
        LimitRules { open_calls: Some(most), ..LimitRules::default() }
    }

    fn fits(account: &CallerAccount) -> bool {
        admit(Meters { caller: Some(&account.meter), ..Meters::default() }).is_ok()
    }

    #[test]
    fn a_caller_has_one_account_and_the_gate_the_last_word() {
        let limiter = Limiter::default();
        let who: Arc<[u8]> = b"key:1".as_slice().into();
        let account = limiter.caller(&who, &allowance(open_calls(1)));
        assert!(Arc::ptr_eq(&account, &limiter.caller(&who, &allowance(open_calls(1)))));
        let meters = Meters { caller: Some(&account.meter), ..Meters::default() };
        let _held = admit(meters).unwrap();
        assert!(!fits(&account));
        limiter.caller(&who, &allowance(open_calls(2)));
        assert!(fits(&account), "another limit, the same count");
        limiter.caller(&who, &allowance(open_calls(0)));
        assert!(fits(&account) && !account.meter.is_on());
    }

    #[test]
    fn what_is_said_of_a_caller_goes_before_what_holds_for_all() {
        let limiter = Limiter::default();
        limiter.set_platform_default(LimitRules { sessions: Some(9), ..open_calls(50) });
        let own = limiter.caller(&b"a"[..].into(), &allowance(open_calls(0)));
        let other = limiter.caller(&b"b"[..].into(), &allowance(LimitRules::default()));
        assert!(!own.meter.is_on() && own.most_sessions() == 9);
        assert!(other.meter.is_on());
        let stranger = limiter.stranger();
        assert!(!stranger.meter.is_on(), "the default is for callers of a platform");
        let address = limiter.address([10, 0, 0, 1].into());
        let per_caller = open_calls(0);
        limiter.set(SharedLimits { per_caller, per_address: open_calls(1) });
        assert!(!other.meter.is_on() && address.meter.is_on());
        limiter.set(SharedLimits { per_caller: open_calls(3), ..SharedLimits::default() });
        assert!(stranger.meter.is_on() && other.meter.is_on() && !address.meter.is_on());
    }

    #[test]
    fn accounts_that_nobody_would_miss_are_forgotten() {
        let limiter = Limiter::default();
        let who = |number: usize| -> Arc<[u8]> { number.to_string().into_bytes().into() };
        let kept = limiter.caller(&who(0), &allowance(open_calls(1)));
        let used = limiter.caller(
            &who(1),
            &allowance(LimitRules { calls_per_second: Some(1), ..LimitRules::default() }),
        );
        admit(Meters { caller: Some(&used.meter), ..Meters::default() }).unwrap();
        drop(used);
        for number in 2..ACCOUNTS_SWEPT * 2 {
            limiter.caller(&who(number), &allowance(open_calls(1)));
        }
        let accounts = limiter.accounts.lock();
        assert!(accounts.callers.len() <= ACCOUNTS_SWEPT);
        assert!(accounts.callers.contains_key(&who(0)) && accounts.callers.contains_key(&who(1)));
        drop((accounts, kept));
    }

    #[test]
    fn a_server_that_is_replaced_keeps_what_was_used() {
        let limiter = Limiter::default();
        let old = limiter.server("file:a");
        assert!(Arc::ptr_eq(&old, &limiter.server("file:a")));
        assert!(!Arc::ptr_eq(&old, &limiter.server("file:b")));
    }
}
