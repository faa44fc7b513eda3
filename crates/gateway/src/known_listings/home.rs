//! `KnownListings`: where it is kept what servers listed last: files of a user, or the store of a platform.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::SystemTime;

use trunkline_catalog::config::ServerSpec;

use crate::known_listings::record::UnreadRecord;
use crate::known_listings::{EntryId, KnownListing, ListingFiles, RecordId};

/// What the data plane asks of a platform's store. Nothing of it is asked on the way of a call.
pub trait ListingHome: Debug + Send + Sync {
    /// What is kept of this entry, if it was read before, because its server is about to be started. Without
    /// waiting.
    fn take(&self, entry: &str) -> Option<Vec<u8>>;

    /// Replaces what is kept, without anybody waiting for it.
    fn keep_soon(&self, entry: String, server_id: String, document: Vec<u8>);
}

#[derive(Debug, Clone)]
pub enum KnownListings {
    Files(Arc<ListingFiles>),
    Store(Arc<dyn ListingHome>),
}

impl From<ListingFiles> for KnownListings {
    fn from(files: ListingFiles) -> Self {
        Self::Files(Arc::new(files))
    }
}

impl KnownListings {
    /// Whose record it is.
    pub(crate) fn entry(&self, spec: &ServerSpec) -> EntryId {
        let name = match self {
            Self::Files(_) => &spec.key,
            // A registered server that is renamed is the same one. So are its pins.
            Self::Store(_) => &spec.id,
        };
        EntryId::of(name, &spec.transport, &spec.secrets)
    }

    /// When the config last changed, if that says that values of variables may have.
    pub(crate) fn config_changed(&self) -> Option<SystemTime> {
        match self {
            Self::Files(files) => files.config_changed(),
            Self::Store(_) => None,
        }
    }

    /// What is kept there. What cannot be used is as good as nothing.
    pub(crate) fn read(&self, entry: &EntryId, record: &RecordId) -> Option<KnownListing> {
        let home = match self {
            Self::Files(files) => return files.read(record),
            Self::Store(home) => home,
        };
        match KnownListing::read(&home.take(entry.file_stem())?) {
            Ok(known) => Some(known),
            Err(UnreadRecord::Outdated) => None, // it is written anew when its server has run
            Err(UnreadRecord::Damaged) => {
                tracing::warn!(
                    "what the store has of the lists of a server is ignored: it is damaged, or another version of \
                     Trunkline has written it"
                );
                None
            }
        }
    }

    /// What is kept of this entry for other clients than those of the record `except`; the newest first.
    pub(crate) fn read_others(
        &self,
        entry: &EntryId,
        except: Option<&RecordId>,
    ) -> Vec<KnownListing> {
        match self {
            Self::Files(files) => files.read_others(entry, except),
            // All clients of a platform are one kind.
            Self::Store(_) => Vec::new(),
        }
    }

    /// Replaces a record, without anybody waiting for it.
    pub(crate) fn write_soon(
        &self,
        (entry, record): (&EntryId, RecordId),
        server_id: &str,
        listing: KnownListing,
    ) {
        match self {
            Self::Files(files) => files.write_soon(record, listing),
            Self::Store(home) => {
                let document = listing.bounded();
                home.keep_soon(entry.file_stem().to_owned(), server_id.to_owned(), document);
            }
        }
    }

    /// Waits for what is being written to files.
    pub(crate) async fn written(&self) {
        match self {
            Self::Files(files) => files.written().await,
            Self::Store(_) => {} // the platform writes it before it closes its store
        }
    }
}
