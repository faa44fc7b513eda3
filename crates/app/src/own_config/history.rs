//! The latest changes of a config, each with the text before and after it, for `undo`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::{Value, json};

use super::location::{private_folder, user_folder, write_private};
use crate::environment::Environment;
use crate::timestamp::rfc3339;

/// More steps back than a person remembers; older ones are forgotten.
const MOST: usize = 50;

/// The changes of one file, in the user's state folder: they hold what the file holds, secrets too, and the
/// file itself may be in a folder that is shared or published.
#[derive(Debug, Clone)]
pub(crate) struct History {
    folder: PathBuf,
    config: PathBuf,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecordedChange {
    number: u64,
    /// `add git`
    pub(crate) what: String,
    pub(crate) at: String,
    pub(crate) before: String,
    pub(crate) after: String,
}

impl History {
    /// Of the config at this path, links followed. `None`: there is no folder for it.
    pub(crate) fn of(config: &Path, environment: &Environment) -> Option<Self> {
        let state = user_folder(environment, "XDG_STATE_HOME", ".local/state")?;
        let config = fs::canonicalize(config).unwrap_or_else(|_| config.to_owned());
        let folder = state.join("undo").join(format!("{:016x}", fingerprint(&config)));
        Some(Self { folder, config })
    }

    /// Remembers a change that is about to be made. The config's lock is held.
    pub(super) fn record(&self, what: &str, before: &str, after: &str) -> io::Result<()> {
        private_folder(&self.folder)?;
        let known = self.numbers();
        let number = known.last().map_or(1, |last| last + 1);
        let config = self.config.display().to_string();
        let at = rfc3339(SystemTime::now());
        let change =
            json!({ "config": config, "what": what, "at": at, "before": before, "after": after });
        write_private(&self.file(number), &format!("{change}\n"))?;
        for old in known.iter().rev().skip(MOST - 1) {
            let _ = fs::remove_file(self.file(*old));
        }
        Ok(())
    }

    /// The latest change, if it can be read.
    pub(crate) fn last(&self) -> Option<RecordedChange> {
        self.numbers().into_iter().rev().find_map(|number| self.read(number))
    }

    /// The latest first.
    pub(crate) fn all(&self) -> Vec<RecordedChange> {
        self.numbers().into_iter().rev().filter_map(|number| self.read(number)).collect()
    }

    pub(super) fn forget(&self, change: &RecordedChange) -> io::Result<()> {
        fs::remove_file(self.file(change.number))
    }

    fn read(&self, number: u64) -> Option<RecordedChange> {
        let value: Value =
            serde_json::from_str(&fs::read_to_string(self.file(number)).ok()?).ok()?;
        let text = |key: &str| value.get(key)?.as_str().map(str::to_owned);
        // Two paths may have one fingerprint.
        if text("config")? != self.config.display().to_string() {
            return None;
        }
        let (what, at) = (text("what")?, text("at")?);
        Some(RecordedChange { number, what, at, before: text("before")?, after: text("after")? })
    }

    fn numbers(&self) -> Vec<u64> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let number =
            |name: std::ffi::OsString| name.to_str()?.strip_suffix(".json")?.parse::<u64>().ok();
        let mut numbers: Vec<u64> = entries.filter_map(|entry| number(entry.file_name())).collect();
        numbers.sort_unstable();
        numbers
    }

    fn file(&self, number: u64) -> PathBuf {
        self.folder.join(format!("{number}.json"))
    }
}

/// FNV-1a: equal in every version of the program, which the standard library's hashers do not promise.
fn fingerprint(path: &Path) -> u64 {
    let bytes = path.as_os_str().as_encoded_bytes().iter();
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_remembered_up_to_a_bound() {
        let home = std::env::temp_dir().join(format!("trunkline-history-{}", std::process::id()));
        let environment = Environment::of(&[("HOME", home.to_str().unwrap())]);
        let history = History::of(Path::new("/c/config.json"), &environment).unwrap();
        assert_eq!(history.last(), None);
        for number in 0..MOST + 5 {
            history.record(&format!("change {number}"), "a", "b").unwrap();
        }
        assert_eq!(history.all().len(), MOST);
        let last = history.last().unwrap();
        assert_eq!(last.what, format!("change {}", MOST + 4));
        history.forget(&last).unwrap();
        assert_eq!(history.last().unwrap().what, format!("change {}", MOST + 3));
        let other = History::of(Path::new("/d/config.json"), &environment).unwrap();
        assert_eq!(other.last(), None);
        fs::remove_dir_all(&home).unwrap();
    }
}
