//! `IssuerKeys`: one task fetches an issuer's keys, at times and when a token names one that is not
//! known, and hands them to whoever checks tokens.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::fetch::{IssuerClients, NoKeys};
use super::flight::Flight;
use super::trusted::Trusted;
use crate::access::{Issuer, Jwks, Resource};
use crate::keys::ApiKeys;

/// How soon it is noticed that keys are due, or too old.
const TICK: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub struct IssuerKeys {
    trusted: Trusted,
    clients: IssuerClients,
    /// Checks tokens with the keys it was given last.
    holder: Arc<ApiKeys>,
    flight: Mutex<Flight>,
    /// A token names a key that is not known.
    wish: Notify,
    /// Counts the fetches that have ended.
    ended: watch::Sender<u64>,
    /// How the last one has ended.
    is_failing: Mutex<bool>,
}

impl IssuerKeys {
    /// Tokens are taken from now on, but none is good before `run` has fetched a key.
    pub fn new(trusted: Trusted, clients: IssuerClients, holder: Arc<ApiKeys>) -> Self {
        let keys = Self {
            trusted,
            clients,
            holder,
            flight: Mutex::new(Flight::default()),
            wish: Notify::new(),
            ended: watch::Sender::new(0),
            is_failing: Mutex::new(false),
        };
        keys.hand_over(Jwks::default());
        keys
    }

    pub fn resource(&self) -> &Resource {
        self.trusted.resource()
    }

    /// A token names a key that is not known: is it worth to wait for other keys?
    pub fn may_come(&self) -> bool {
        self.flight.lock().is_worth_waiting(now())
    }

    /// Waits until keys were fetched once more, if that is worth it; then the token is to be looked
    /// at again, in any case. The fetch goes on if this is dropped.
    pub async fn renewed(&self) {
        // Before the question: a fetch that ends in between has ended for us, too.
        let mut ended = self.ended.subscribe();
        if self.may_come() {
            self.wish.notify_one();
            // The other side is gone: Trunkline is shutting down.
            let _ = tokio::time::timeout(LONGEST_WAIT, ended.changed()).await;
        }
    }

    /// Keeps the keys fresh until the end.
    pub async fn run(&self, end: CancellationToken) {
        let mut is_wished = false;
        loop {
            if self.flight.lock().take_expired(now()) {
                tracing::error!(
                    "the issuer's keys (--issuer) could not be fetched for a day: its tokens are refused"
                );
                self.hand_over(Jwks::default());
            }
            let begins = self.flight.lock().begin(now(), is_wished);
            if begins {
                tokio::select! {
                    () = self.fetch() => {}
                    () = end.cancelled() => return,
                }
            }
            is_wished = tokio::select! {
                () = self.wish.notified() => true,
                () = sleep(TICK) => false,
                () = end.cancelled() => return,
            };
        }
    }

    pub(super) async fn fetch(&self) {
        let fetched = self.clients.key_set(&self.trusted).await;
        self.tell(&fetched);
        let has_come = fetched.is_ok();
        if let Ok(keys) = fetched {
            self.hand_over(keys);
        }
        self.flight.lock().end(now(), has_come);
        self.ended.send_modify(|count| *count += 1);
    }

    /// Only what differs: everybody who was let in is looked at again then.
    fn hand_over(&self, keys: Jwks) {
        let known = self.holder.known();
        if known.issuer.as_ref().is_some_and(|issuer| *issuer.keys == keys) {
            return;
        }
        self.holder.set_issuer(Some(Issuer {
            issuer: self.trusted.name().to_owned(),
            audiences: self.trusted.audiences().to_vec(),
            keys: Arc::new(keys),
        }));
    }

    /// Trouble is told once, and its end.
    fn tell(&self, fetched: &Result<Jwks, NoKeys>) {
        let mut is_failing = self.is_failing.lock();
        match fetched {
            Err(error) if *is_failing => tracing::debug!(%error, "still no keys of the issuer"),
            Err(error) => tracing::warn!(
                %error, "the issuer's keys cannot be fetched; those at hand are used for a day"
            ),
            Ok(keys) if keys.usable() == 0 => {
                tracing::warn!(ignored = keys.ignored(), "the issuer has no key that can be used");
            }
            Ok(_) if *is_failing => tracing::info!("the issuer's keys are here again"),
            Ok(keys) => tracing::debug!(usable = keys.usable(), "the issuer's keys are here"),
        }
        *is_failing = fetched.is_err();
    }
}

/// Longer than a fetch may take.
const LONGEST_WAIT: Duration = Duration::from_secs(9);

/// By the runtime's clock.
fn now() -> std::time::Instant {
    Instant::now().into_std()
}
