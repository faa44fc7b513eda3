//! `Remembered`: what one server said when it last ran, read before it starts and kept when it runs again.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use tokio::task::spawn_blocking;
use trunkline_catalog::config::{Secrets, ServerSpec};

use crate::known_listings::{Content, EntryId, KnownListing, KnownListings};
use crate::limits::SEEN_AGAIN;
use crate::lock::{Mutex, rank};
use crate::upstream::lifecycle::handshake::ServerHello;

#[derive(Debug)]
pub(in crate::upstream) struct Remembered {
    listings: Arc<KnownListings>,
    entry: EntryId,
    last: Mutex<Option<Arc<KnownListing>>, rank::RememberedListing>,
}

impl Remembered {
    /// Reads one small file: clients may ask as soon as servers are being started.
    pub(in crate::upstream) fn read(listings: &Arc<KnownListings>, spec: &ServerSpec) -> Self {
        let entry = EntryId::of(&spec.key, &spec.transport, &spec.secrets);
        let last = listings.read(&entry).map(Arc::new);
        Self { listings: Arc::clone(listings), entry, last: Mutex::new(last) }
    }

    pub(in crate::upstream) fn last(&self) -> Option<Arc<KnownListing>> {
        self.last.lock().clone()
    }

    /// Keeps what the server has said just now, without anybody waiting for that.
    pub(in crate::upstream) fn keep(&self, hello: &ServerHello, secrets: &Secrets) {
        let clean = |text: &String| secrets.redact(text).into_owned();
        let extensions = hello.passed_extensions().map(String::from_utf8_lossy);
        // What had to be cleaned of a secret may be no object any more; it is left out.
        let extensions = extensions.filter(|text| secrets.redact(text) == *text);
        let content = Content {
            title: hello.title.as_ref().map(clean),
            instructions: hello.instructions.as_ref().map(clean),
            extensions: extensions.map(|text| text.into_owned().into_bytes()),
        };
        // Before 1970 is as good as then.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let mut last = self.last.lock();
        let heard = KnownListing::heard(content.bounded(), last.as_deref(), now);
        let is_fresh = |known: &KnownListing| {
            known.content == heard.content
                && now.saturating_sub(known.last_seen) < SEEN_AGAIN.as_secs()
        };
        if last.as_deref().is_some_and(is_fresh) {
            return;
        }
        let heard = Arc::new(heard);
        *last = Some(Arc::clone(&heard));
        drop(last);
        let (listings, entry) = (Arc::clone(&self.listings), self.entry.clone());
        drop(spawn_blocking(move || listings.write(&entry, &heard)));
    }
}
