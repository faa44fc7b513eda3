//! `AuditAnchor`: notes the end of the audit log in a file outside the store. A store that was set back to an older
//! state is whole in itself; only what is kept elsewhere shows that more had been there.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use trunkline_store::AuditHead;

use super::export::{append, last_line};

#[derive(Debug, Clone)]
pub struct AuditAnchor {
    path: PathBuf,
}

impl AuditAnchor {
    pub fn at(path: PathBuf) -> Self {
        Self { path }
    }

    /// `at`: when, as it is written.
    pub(super) fn note(&self, head: AuditHead, at: i64) -> io::Result<()> {
        append(&self.path, &[json!({"seq": head.seq, "hash": hex::encode(head.hash), "at": at})])
    }

    pub(super) fn place(&self) -> impl std::fmt::Display + '_ {
        self.path.display()
    }

    /// The last end that was noted, if any was.
    pub(super) fn noted(&self) -> Result<Option<AuditHead>, String> {
        match self.path.exists() {
            true => Self::read(&self.path).map(Some),
            false => Ok(None),
        }
    }

    /// The last end that was noted. The chain binds all before it, so that it stands for all.
    pub fn read(path: &Path) -> Result<AuditHead, String> {
        let line = last_line(path)
            .ok_or_else(|| format!("{}: no end of the log is noted there", path.display()))?;
        let noted: Value = serde_json::from_str(&line).unwrap_or_default();
        let seq = noted.get("seq").and_then(Value::as_i64);
        let hash = noted.get("hash").and_then(Value::as_str).and_then(digest);
        let head = seq.zip(hash).map(|(seq, hash)| AuditHead { seq, hash });
        head.ok_or_else(|| format!("{}: its last line is no end of the log", path.display()))
    }
}

fn digest(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    hex::decode_to_slice(text, &mut bytes).ok().map(|()| bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Folder;

    #[test]
    fn the_last_end_is_read_again() {
        let folder = Folder::new();
        let path = folder.path().join("anchor");
        assert!(AuditAnchor::read(&path).is_err());
        let anchor = AuditAnchor::at(path.clone());
        for seq in 1..=3 {
            let head = AuditHead { seq, hash: [u8::try_from(seq).unwrap(); 32] };
            anchor.note(head, 5).unwrap();
            assert_eq!(AuditAnchor::read(&path), Ok(head));
        }
        std::fs::write(&path, "{\"seq\":1}\n").unwrap();
        assert!(AuditAnchor::read(&path).is_err());
    }
}
