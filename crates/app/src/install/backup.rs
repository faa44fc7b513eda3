//! Lists the backups beside a client's file, newest first.

use std::fs;
use std::path::{Path, PathBuf};

use super::apply::BACKUP;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Backup {
    pub(crate) path: PathBuf,
    /// The moment of its name, as it is written there.
    pub(crate) stamp: String,
    /// Among those of one second.
    number: usize,
}

/// Newest first. What is no backup, or cannot be read as one, is not in the list.
pub(crate) fn backups(file: &Path) -> Vec<Backup> {
    let folder = file.parent().unwrap_or(Path::new("/"));
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<Backup> = entries
        .filter_map(|entry| {
            let own = entry.file_name().into_string().ok()?;
            let rest = own.strip_prefix(&name)?.strip_prefix('.')?.strip_prefix(BACKUP)?;
            let (stamp, number) = moment(rest.strip_prefix('-')?)?;
            Some(Backup { path: entry.path(), stamp, number })
        })
        .collect();
    found.sort_by(|one, other| (&other.stamp, other.number).cmp(&(&one.stamp, one.number)));
    found
}

impl Backup {
    /// What the file held; `None` where that cannot be read.
    pub(crate) fn text(&self) -> Option<String> {
        fs::read_to_string(&self.path).ok()
    }
}

/// `20261115-100000` and `20261115-100000-2`.
fn moment(text: &str) -> Option<(String, usize)> {
    let mut parts = text.split('-');
    let (day, time) = (parts.next()?, parts.next()?);
    let number = match parts.next() {
        Some(number) => number.parse().ok()?,
        None => 1,
    };
    let digits =
        |part: &str, length| part.len() == length && part.bytes().all(|b| b.is_ascii_digit());
    let whole = digits(day, 8) && digits(time, 6) && parts.next().is_none();
    whole.then(|| (format!("{day}-{time}"), number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_read_from_a_name() {
        let moment = |text: &str| moment(text).map(|(stamp, number)| format!("{stamp}/{number}"));
        assert_eq!(moment("20261115-100000").as_deref(), Some("20261115-100000/1"));
        assert_eq!(moment("20261115-100000-12").as_deref(), Some("20261115-100000/12"));
        for text in ["", "20261115", "20261115-10", "2026111x-100000", "20261115-100000-2-3"] {
            assert_eq!(moment(text), None, "{text}");
        }
    }
}
