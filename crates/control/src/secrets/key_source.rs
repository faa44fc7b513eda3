//! Where the operator's key comes from: given, in the kernel's keyring, or in a file.

use std::path::{Path, PathBuf};

use trunkline_store::seal::{self, KeyError, KeyFileError, Keyring, SealKey};
use zeroize::Zeroizing;

use super::keyring;
use super::rotate::next_to;

/// Of the file in the data directory.
const FILE: &str = "key";

#[derive(Clone, PartialEq, Eq)]
pub enum KeySource {
    /// The value of `TRUNKLINE_KEY`.
    Given(Zeroizing<String>),
    /// A key of the kernel's keyring, by its description. It is never made there: the keyring
    /// forgets it when the machine restarts.
    Keyring(String),
    /// Made on the first start.
    File(PathBuf),
}

/// The key, and whether it has been made just now.
#[derive(Debug)]
pub struct KeyFound {
    pub key: SealKey,
    pub is_new: bool,
    /// The one that is about to take its place: a rotation was interrupted, and some secrets may be
    /// sealed with this one already.
    pub next: Option<SealKey>,
}

#[derive(Debug, thiserror::Error)]
pub enum KeySourceError {
    #[error("TRUNKLINE_KEY: {0}")]
    Given(KeyError),
    #[error("the key `{description}` of the keyring cannot be used: {why}")]
    Keyring { description: String, why: String },
    #[error(transparent)]
    File(#[from] KeyFileError),
}

impl KeySource {
    /// What is given counts before the keyring, and that before the file.
    pub fn choose(
        given: Option<String>,
        keyring: Option<String>,
        file: Option<PathBuf>,
        data_dir: &Path,
    ) -> Self {
        match (given, keyring) {
            (Some(given), _) => Self::Given(Zeroizing::new(given)),
            (None, Some(description)) => Self::Keyring(description),
            (None, None) => Self::File(file.unwrap_or_else(|| data_dir.join(FILE))),
        }
    }

    /// A key that is there; none is made.
    pub fn existing(&self) -> Result<KeyFound, KeySourceError> {
        match self {
            Self::File(path) => Ok(KeyFound::of_file(seal::load(path)?, path)?),
            _ => self.resolve(),
        }
    }

    pub fn resolve(&self) -> Result<KeyFound, KeySourceError> {
        match self {
            Self::Given(text) => {
                SealKey::parse(text).map(KeyFound::old).map_err(KeySourceError::Given)
            }
            Self::Keyring(description) => {
                let key = keyring::payload(description)
                    .and_then(|text| SealKey::parse(&text).map_err(|error| error.to_string()));
                let description = description.clone();
                key.map(KeyFound::old).map_err(|why| KeySourceError::Keyring { description, why })
            }
            Self::File(path) => Ok(from_file(path)?),
        }
    }
}

impl KeyFound {
    fn old(key: SealKey) -> Self {
        Self { key, is_new: false, next: None }
    }

    fn of_file(key: SealKey, path: &Path) -> Result<Self, KeyFileError> {
        match seal::load(&next_to(path)) {
            Ok(next) => Ok(Self { next: Some(next), ..Self::old(key) }),
            Err(KeyFileError::Missing { .. }) => Ok(Self::old(key)),
            Err(error) => Err(error),
        }
    }

    /// Seals with the key, and opens what either has sealed.
    pub fn keyring(&self) -> Keyring {
        let keys = Keyring::new(self.key.clone());
        match &self.next {
            Some(next) => keys.with_older(next.clone()),
            None => keys,
        }
    }
}

impl std::fmt::Debug for KeySource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Given(_) => f.write_str("Given(***)"),
            Self::Keyring(description) => f.debug_tuple("Keyring").field(description).finish(),
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
        }
    }
}

fn from_file(path: &Path) -> Result<KeyFound, KeyFileError> {
    match seal::load(path) {
        Err(KeyFileError::Missing { .. }) => {}
        loaded => return KeyFound::of_file(loaded?, path),
    }
    match seal::create(path) {
        Ok(key) => Ok(KeyFound { is_new: true, ..KeyFound::old(key) }),
        // Another process was quicker.
        Err(KeyFileError::Exists { .. }) => KeyFound::of_file(seal::load(path)?, path),
        Err(error) => Err(error),
    }
}
