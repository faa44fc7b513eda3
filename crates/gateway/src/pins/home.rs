//! `PinHome`: what the data plane asks of whoever keeps the pins. Nothing of it is asked on the way of a call.

use std::fmt::Debug;

use trunkline_catalog::config::{OnChange, ServerSpec};
use trunkline_catalog::pins::{Noticed, PinRecord};

use crate::known_listings::EntryId;
use crate::login::Later;

/// What pins belong to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PinnedEntry {
    /// A digest of what the entry starts or connects to: an entry that was edited is another one.
    pub id: String,
    /// The server's own id.
    pub server_id: String,
}

impl PinnedEntry {
    pub fn of(spec: &ServerSpec) -> Self {
        // By the id, not the key: a registered server that is renamed is the same one.
        let entry = EntryId::of(&spec.id, &spec.transport, &spec.secrets);
        Self { id: entry.file_stem().to_owned(), server_id: spec.id.clone() }
    }
}

/// Says whether a record is still what it was when it was read. Equal for equal records of one home.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinRevision(pub String);

/// What is kept of an entry.
#[derive(Clone, Debug)]
pub enum LoadedPins {
    /// Nothing was ever kept.
    Nothing,
    Record(PinRecord, PinRevision),
    /// Something was, and it cannot be read any more; and why, in words for people.
    Damaged(PinRevision, String),
}

impl LoadedPins {
    pub fn revision(&self) -> Option<&PinRevision> {
        match self {
            Self::Nothing => None,
            Self::Record(_, revision) | Self::Damaged(revision, _) => Some(revision),
        }
    }
}

/// A record that is to be kept.
#[derive(Clone, Debug)]
pub struct PinChange {
    pub record: PinRecord,
    /// What it takes the place of; `None`: there was nothing.
    pub expected: Option<PinRevision>,
    /// What was noticed, for whoever records that.
    pub noticed: Vec<Noticed>,
    pub policy: OnChange,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PinHomeError {
    /// Somebody else has written it meanwhile: to be read again.
    #[error("it was changed meanwhile")]
    Stale,
    #[error("{0}")]
    Failed(String),
}

pub trait PinHome: Debug + Send + Sync {
    fn load(&self, entry: PinnedEntry) -> Later<'_, Result<LoadedPins, PinHomeError>>;

    /// Replaces what is kept, if it still is what was expected.
    fn save(&self, entry: PinnedEntry, change: PinChange) -> Later<'_, Result<(), PinHomeError>>;

    /// Without waiting, for a start that lists what is remembered; `None`: this home cannot.
    fn load_now(&self, entry: &PinnedEntry) -> Option<Result<LoadedPins, PinHomeError>>;

    /// Replaces what is kept without anybody waiting for it; a home that cannot be asked without waiting does
    /// nothing.
    fn save_soon(&self, entry: &PinnedEntry, change: PinChange);

    /// Where a person decides, as the end of a sentence.
    fn remedy(&self, server: &str) -> String;
}
