//! The user's own config: where it is, changes of it that keep every other byte and can be undone, and
//! servers pasted from elsewhere.

mod change;
mod draft;
mod error;
mod history;
mod list_edit;
mod location;
mod lock;
mod pasted;
mod servers;
mod switches;

pub(crate) use change::{
    ChangedConfig, ConfigChange, change_config, read_config_text, undo_change,
};
pub(crate) use draft::EditDraft;
pub(crate) use error::OwnConfigError;
pub(crate) use history::{History, RecordedChange};
pub(crate) use location::{ensure, own_path};
pub(crate) use pasted::{NeededValue, PastedServer, add_words, read_pasted};
pub(crate) use servers::{ConfigServers, is_pattern};
pub(crate) use switches::{set_disabled, set_hidden, set_hidden_for};
