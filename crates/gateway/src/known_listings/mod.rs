//! What servers said and listed when they last ran, remembered in files of the user: clients are answered
//! before servers have started.
//!
//! For each entry of a config, and each kind of client that its server was told of, one record: what the server
//! said in its handshake, and its lists as it wrote them.

mod cached;
mod entry;
mod files;
mod record;

pub use cached::{CachedListing, CachedRecord};
pub(crate) use entry::{EntryId, RecordId};
pub use files::KnownListings;
pub(crate) use record::{Content, KnownListing, Pages};
