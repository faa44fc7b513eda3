//! Who wants to hear of which resource of one server.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use trunkline_wire::{Edits, Message, decode};

use crate::call::{Client, SubscriptionShare};
use crate::error::CallError;
use crate::lock::{Mutex, rank};
use crate::pump::FlushSet;

/// By the server's own URI.
// Counting and adding are one step under it: whoever is first or last has to tell the server. The
// server is told without it.
#[derive(Debug, Default)]
pub(crate) struct Subscriptions(Mutex<BTreeMap<String, Vec<Subscriber>>, rank::Subscriptions>);

#[derive(Debug)]
struct Subscriber {
    // Weak: a subscription must not keep a client that has gone.
    client: Weak<Client>,
    /// The URI as the client spelt it, with quotes: it may know the resource under an alias.
    token: Box<[u8]>,
    /// Its part of what the client may subscribe to.
    _share: SubscriptionShare,
}

impl Subscriptions {
    /// True if nobody had subscribed to it before: the server has to be asked.
    pub(crate) fn add(
        &self,
        uri: &str,
        client: &Arc<Client>,
        token: &[u8],
    ) -> Result<bool, CallError> {
        let weak = Arc::downgrade(client);
        let mut all = self.0.lock();
        // One entry per client: who subscribes again changes the spelling, and is told once. What it held
        // is given back first.
        if let Some(subscribers) = all.get_mut(uri) {
            subscribers.retain(|known| !known.client.ptr_eq(&weak));
        }
        // The longer of both: a client may write each letter as an escape.
        let share = client.subscribed.take(uri.len().max(token.len())).inspect_err(|_| {
            if all.get(uri).is_some_and(Vec::is_empty) {
                all.remove(uri);
            }
        })?;
        let is_first = !all.contains_key(uri);
        let subscriber = Subscriber { client: weak, token: token.into(), _share: share };
        all.entry(uri.to_owned()).or_default().push(subscriber);
        Ok(is_first)
    }

    /// True if it was the last one: the server need not tell any more.
    pub(crate) fn remove(&self, uri: &str, client: &Arc<Client>) -> bool {
        let mut all = self.0.lock();
        let Some(subscribers) = all.get_mut(uri) else { return true };
        let client = Arc::downgrade(client);
        subscribers
            .retain(|known| !known.client.ptr_eq(&client) && known.client.strong_count() > 0);
        let last = subscribers.is_empty();
        if last {
            all.remove(uri);
        }
        last
    }

    /// The client has gone: the URIs nobody wants to hear of any more.
    pub(crate) fn leave(&self, client: &Arc<Client>) -> Vec<String> {
        self.revoke(client, |_| false)
    }

    /// Ends those of the client that it may not have any more; the URIs nobody wants to hear of any more.
    pub(crate) fn revoke(&self, client: &Arc<Client>, may: impl Fn(&str) -> bool) -> Vec<String> {
        // The lock is released before `may`, which takes others, and `remove`, which takes it again.
        let uris: Vec<String> = {
            let known = Arc::downgrade(client);
            let all = self.0.lock();
            let of_client = |subscribers: &Vec<Subscriber>| {
                subscribers.iter().any(|held| held.client.ptr_eq(&known))
            };
            all.iter().filter(|(_, who)| of_client(who)).map(|(uri, _)| uri.clone()).collect()
        };
        uris.into_iter().filter(|uri| !may(uri) && self.remove(uri, client)).collect()
    }

    /// Everything anybody wants to hear of.
    pub(crate) fn uris(&self) -> Vec<String> {
        self.0.lock().keys().cloned().collect()
    }

    /// Takes over what another connection to the same server had.
    pub(crate) fn inherit(&self, from: &Self) {
        // One lock after the other: both have the same rank.
        let mut taken = std::mem::take(&mut *from.0.lock());
        self.0.lock().append(&mut taken);
    }

    /// Tells everybody who wants to hear of it that a resource of this server was updated. Policies may have changed
    /// since it was asked for, and what is below it may not be for everybody: they are asked each time.
    pub(in crate::upstream) fn updated(
        &self,
        message: &Message<'_>,
        server: &str,
        touched: &mut FlushSet,
    ) {
        let Some(span) = message.params.uri else { return };
        let Some(uri) = decode(span.of(message.bytes)) else { return };
        // Told without the lock: writing takes the locks of clients and streams.
        let told = self.of(&uri).into_iter().filter(|(client, _)| client.may_follow(server, &uri));
        for (client, token) in told {
            client.say(message.bytes, &Edits::one(span, &token), touched);
        }
    }

    /// Who is to be told that `uri` was updated, and under which URI. It may lie below what was
    /// subscribed to.
    pub(crate) fn of(&self, uri: &str) -> Vec<(Arc<Client>, Box<[u8]>)> {
        let all = self.0.lock();
        // 2025-11-25, Resources, Subscriptions: an update may be of a sub-resource of the one that
        // was subscribed to.
        let above = |held: &str| {
            uri.strip_prefix(held).is_some_and(|rest| held.ends_with('/') || rest.starts_with('/'))
        };
        let exact = all.get(uri).into_iter().flatten().map(|known| (known, known.token.clone()));
        let mut told: Vec<_> =
            exact.filter_map(|(known, token)| Some((known.client.upgrade()?, token))).collect();
        for known in all.iter().filter(|(held, _)| above(held)).flat_map(|(_, known)| known) {
            if let Some(client) = known.client.upgrade()
                && !told.iter().any(|(other, _)| Arc::ptr_eq(other, &client))
            {
                told.push((client, trunkline_wire::encode(uri).into()));
            }
        }
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{SUBSCRIBED_BYTES, SUBSCRIBED_URIS};

    #[test]
    fn each_client_hears_of_what_it_asked_for_and_under_its_own_name() {
        let (one, two) = (Arc::new(Client::default()), Arc::new(Client::default()));
        let subscriptions = Subscriptions::default();
        assert!(subscriptions.add("a://x", &one, b"\"a://x\"").unwrap());
        assert!(!subscriptions.add("a://x", &two, b"\"trunkline://k/a://x\"").unwrap());
        assert!(subscriptions.add("a://dir", &one, b"\"a://dir\"").unwrap());
        let heard = |uri: &str| {
            let told = subscriptions.of(uri);
            let told = told.iter().map(|(_, token)| String::from_utf8_lossy(token).into_owned());
            told.collect::<Vec<_>>()
        };
        assert_eq!(heard("a://x"), ["\"a://x\"", "\"trunkline://k/a://x\""]);
        assert_eq!(heard("a://dir/file"), ["\"a://dir/file\""]);
        assert_eq!(heard("a://directory"), Vec::<String>::new());
        assert!(subscriptions.revoke(&one, |_| true).is_empty());
        assert!(!subscriptions.remove("a://x", &one), "the other still wants it");
        assert_eq!(subscriptions.leave(&two), ["a://x"]);
        assert_eq!(subscriptions.uris(), ["a://dir"]);
        assert_eq!(subscriptions.revoke(&one, |uri| uri != "a://dir"), ["a://dir"]);
        assert!(subscriptions.uris().is_empty());
    }

    #[test]
    fn a_client_has_so_many_over_all_servers_and_keeps_what_it_has() {
        let (here, there) = (Subscriptions::default(), Subscriptions::default());
        let [one, two] = [(); 2].map(|()| Arc::new(Client::default()));
        for number in 0..SUBSCRIBED_URIS {
            let servers = [&here, &there];
            servers[number % 2].add(&format!("a://{number}"), &one, b"\"\"").unwrap();
        }
        assert_eq!(here.add("a://new", &one, b"\"\"").unwrap_err().code(), -31015);
        assert!(here.of("a://new").is_empty(), "it is not half there");
        here.add("a://0", &one, b"\"again\"").unwrap();
        here.add("a://new", &two, b"\"\"").unwrap();
        here.remove("a://0", &one);
        here.add("a://new", &one, b"\"\"").unwrap();
        assert!(there.add("a://newer", &one, b"\"\"").is_err());
        drop(here);
        there.add("a://newer", &one, b"\"\"").unwrap();
    }

    #[test]
    fn a_uri_that_is_written_in_escapes_counts_as_it_is_written() {
        let (subscriptions, client) = (Subscriptions::default(), Arc::new(Client::default()));
        let token = br"\u0061".repeat(SUBSCRIBED_BYTES / 6 + 1);
        assert!(subscriptions.add("a", &client, &token).is_err());
        subscriptions.add("a", &client, &token[6..]).unwrap();
    }
}
