//! `Remembered`: what one server said and listed when it last ran, read before it starts and kept when it
//! runs again.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use trunkline_catalog::config::{Secrets, ServerSpec};
use trunkline_catalog::{ListKind, Listing, is_name};

use crate::era::Era;
use crate::known_listings::{Content, EntryId, KnownListing, KnownListings, Pages};
use crate::limits::{ENTRIES_PER_LISTING, SEEN_AGAIN};
use crate::lock::{Mutex, rank};
use crate::upstream::lifecycle::declared::particular;
use crate::upstream::lifecycle::handshake::ServerHello;

#[derive(Debug)]
pub(in crate::upstream) struct Remembered {
    listings: KnownListings,
    entry: EntryId,
    server_id: Arc<str>,
    /// When the config last changed, in seconds since 1970.
    changed: u64,
    // Held for a copy or a change: the file is read and written without it.
    last: Mutex<Option<LastRecord>, rank::RememberedListing>,
}

/// What stays in memory of a record. Its lists do not: the server has them.
#[derive(Clone, Debug)]
pub(super) struct LastRecord {
    hash: String,
    first_seen: u64,
    last_seen: u64,
    pub(super) hello: Arc<ServerHello>,
}

/// What a record says that was read.
#[derive(Debug)]
pub(super) struct Recalled {
    pub(super) record: LastRecord,
    /// What the server was told that clients can do.
    pub(super) told: Vec<u8>,
    /// What it listed to them, if that is remembered.
    pub(super) listing: Option<Listing>,
}

impl Remembered {
    pub(super) fn new(listings: &KnownListings, spec: &ServerSpec) -> Self {
        let entry = listings.entry(spec);
        let changed = listings.config_changed().map_or(0, seconds);
        let (listings, server_id) = (listings.clone(), spec.id.as_str().into());
        Self { listings, entry, server_id, changed, last: Mutex::default() }
    }

    /// Reads what the server said to clients that can do this, before it is started: clients may ask as soon as
    /// servers are being started. `None`: what they can do is not known yet. Without a record for them, what it said
    /// to others is better than nothing.
    pub(super) fn recall(&self, told: Option<&[u8]>) -> Vec<Recalled> {
        let wanted = told.map(|told| self.entry.for_clients(particular(told)));
        let is_wanted = |known: &KnownListing| told == Some(&known.content.told);
        let known = wanted.as_ref().and_then(|record| self.listings.read(&self.entry, record));
        let mut all = Vec::from_iter(known);
        if !all.iter().any(is_wanted) {
            all.extend(self.listings.read_others(&self.entry, wanted.as_ref()));
        }
        all.into_iter().map(Recalled::of).collect()
    }

    /// From now on this is what the server said when it last ran.
    pub(super) fn settle(&self, record: LastRecord) {
        *self.last.lock() = Some(record);
    }

    /// What the server said in its handshake when it last ran.
    pub(in crate::upstream) fn hello(&self) -> Option<Arc<ServerHello>> {
        self.last.lock().as_ref().map(|last| Arc::clone(&last.hello))
    }

    /// What callers are told that the server said.
    pub(in crate::upstream) fn set_hello(&self, hello: Arc<ServerHello>) {
        if let Some(last) = self.last.lock().as_mut() {
            last.hello = hello;
        }
    }

    /// Was it heard lately, and since the config was last changed?
    pub(in crate::upstream) fn is_fresh(&self) -> bool {
        let now = seconds(SystemTime::now());
        self.last.lock().as_ref().is_some_and(|last| self.is_recent(last, now))
    }

    fn is_recent(&self, last: &LastRecord, now: u64) -> bool {
        last.last_seen >= self.changed && now.saturating_sub(last.last_seen) < SEEN_AGAIN.as_secs()
    }

    /// Keeps what the server has said just now, without anybody waiting for that; `shown`: what callers are told
    /// of it.
    pub(in crate::upstream) fn keep(
        &self,
        key: &str,
        (hello, listing): (&ServerHello, &Listing),
        shown: &Arc<ServerHello>,
        told: &[u8],
        secrets: &Secrets,
    ) {
        let content = Content { told: told.to_vec(), ..content_of(hello, listing, secrets) };
        let (hash, now) = (content.hash(), seconds(SystemTime::now()));
        let mut last = self.last.lock();
        let same = last.as_ref().filter(|last| last.hash == hash);
        if same.is_some_and(|same| self.is_recent(same, now)) {
            drop(last);
            self.set_hello(Arc::clone(shown));
            return;
        }
        let heard = KnownListing::heard(key, content, same.map(|same| same.first_seen), now);
        let (first_seen, last_seen) = (heard.first_seen, heard.last_seen);
        *last = Some(LastRecord { hash, first_seen, last_seen, hello: Arc::clone(shown) });
        drop(last);
        let record = self.entry.for_clients(particular(told));
        self.listings.write_soon((&self.entry, record), &self.server_id, heard);
    }
}

impl Recalled {
    fn of(known: KnownListing) -> Self {
        let KnownListing { content, first_seen, last_seen, .. } = known;
        let (hash, told) = (content.hash(), content.told.clone());
        let listing = content.pages.as_ref().and_then(listing_of);
        let hello = Arc::new(hello_of(content));
        Self { record: LastRecord { hash, first_seen, last_seen, hello }, told, listing }
    }
}

/// Before 1970 is as good as then.
fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// What may be kept. A text with a secret in it is left out; where a list has one, no list is kept: one
/// that lacks an entry would hide it from clients for as long as the server is not asked.
fn content_of(hello: &ServerHello, listing: &Listing, secrets: &Secrets) -> Content {
    let is_clean = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        secrets.redact(&text) == text
    };
    let clean = |text: &Option<String>| text.clone().filter(|text| is_clean(text.as_bytes()));
    let pages: Pages = ListKind::ALL.map(|kind| listing.page(kind));
    let capabilities = Some(hello.raw_capabilities.to_vec()).filter(|it| is_clean(it));
    let is_whole = capabilities.is_some() && pages.iter().flatten().all(|page| is_clean(page));
    let content = Content {
        title: clean(&hello.title),
        instructions: clean(&hello.instructions),
        identity: clean(&hello.identity),
        protocol: clean(&Some(hello.protocol.clone())).unwrap_or_default(),
        is_modern: hello.era == Era::Modern,
        capabilities,
        told: b"{}".to_vec(),
        pages: is_whole.then_some(pages),
    };
    content.bounded()
}

fn hello_of(content: Content) -> ServerHello {
    let capabilities = content.capabilities.unwrap_or_else(|| b"{}".to_vec());
    let result = [b"{\"capabilities\":", &capabilities[..], b"}"].concat();
    let era = if content.is_modern { Era::Modern } else { Era::Legacy };
    let mut hello = ServerHello::read(content.protocol, era, b"{}", &result, Vec::new());
    hello.title = content.title.filter(|title| is_name(title));
    hello.identity = content.identity;
    hello.instructions = content.instructions;
    hello
}

fn listing_of(pages: &Pages) -> Option<Listing> {
    let mut listing = Listing::default();
    for (kind, page) in ListKind::ALL.into_iter().zip(pages) {
        if let Some(page) = page {
            listing.add_page(kind, page, ENTRIES_PER_LISTING).ok()?;
        }
    }
    Some(listing)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello(instructions: &str) -> ServerHello {
        let result = format!(
            r#"{{"instructions":"{instructions}","capabilities":{{"resources":{{"subscribe":true}}}}}}"#
        );
        let info = br#"{"name":"rail","version":"1"}"#;
        ServerHello::read("2025-06-18".to_owned(), Era::Legacy, info, result.as_bytes(), vec![])
    }

    fn listing(description: &str) -> Listing {
        let page = format!(
            r#"{{"tools":[{{"name" : "a","description":"{description}","inputSchema":{{"type":"object"}}}}]}}"#
        );
        let mut listing = Listing::default();
        listing.add_page(ListKind::Tools, page.as_bytes(), 9).unwrap();
        listing
    }

    fn secrets() -> Secrets {
        let mut secrets = Secrets::new();
        secrets.add("KEY", "the-secret-value");
        secrets
    }

    #[test]
    fn a_server_is_known_again_by_what_was_kept() {
        let content = content_of(&hello("Words."), &listing("x"), &secrets());
        let again = listing_of(content.pages.as_ref().unwrap()).unwrap();
        assert_eq!(again.page(ListKind::Tools), listing("x").page(ListKind::Tools));
        assert_eq!(again.page(ListKind::Prompts), None);
        let hello = hello_of(content);
        assert_eq!(hello.identity.as_deref(), Some("rail 1"));
        assert_eq!(hello.instructions.as_deref(), Some("Words."));
        assert!(hello.subscribes && hello.era == Era::Legacy);
    }

    #[test]
    fn what_has_a_secret_in_it_is_not_kept() {
        for description in ["uses the-secret-value", "x"] {
            let content =
                content_of(&hello("key: the-secret-value"), &listing(description), &secrets());
            assert_eq!(content.instructions, None);
            assert_eq!(content.pages.is_some(), description == "x", "{description}");
            assert!(!format!("{content:?}").contains("the-secret-value"));
        }
    }
}
