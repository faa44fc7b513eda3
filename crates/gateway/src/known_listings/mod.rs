//! What servers said of themselves when they last ran, remembered in files of the user: clients are answered
//! before servers have started.
//!
//! One record for each entry of a config. It holds the server's title, instructions and extensions; tools,
//! resources and prompts belong into the same record.

mod entry;
mod files;
mod record;

pub(crate) use entry::EntryId;
pub use files::KnownListings;
pub(crate) use record::{Content, KnownListing};
