//! Which servers there are: those of the config file and those of the store.

mod file;
mod known;
mod snapshot;

pub(super) use known::KnownServers;
pub(super) use snapshot::{CUSTOM_GROUP_ID, CUSTOM_GROUP_NAME, ServerDirectory};
pub(crate) use snapshot::{ServerEntry, ServerOrigin};
