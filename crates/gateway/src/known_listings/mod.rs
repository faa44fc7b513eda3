//! What servers said and listed when they last ran, remembered in files of the user or the store of a platform: clients
//! are answered before servers have started.
//!
//! For each entry of a config, and each kind of client that its server was told of, one record: what the server
//! said in its handshake, and its lists as it wrote them.

mod cached;
mod entry;
mod files;
mod home;
mod record;

pub use cached::{CachedListing, CachedRecord};
pub(crate) use entry::{EntryId, RecordId};
pub use files::ListingFiles;
pub use home::{KnownListings, ListingHome};
pub(crate) use record::{Content, KnownListing, Pages};
