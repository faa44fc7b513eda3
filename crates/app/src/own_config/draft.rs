//! A config's text in a private file, for an editor.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process;

use super::location::{private_folder, user_folder, write_private};
use crate::environment::Environment;

/// Removed when it is dropped, unless it is kept.
#[derive(Debug)]
pub(crate) struct EditDraft {
    folder: PathBuf,
    file: PathBuf,
    is_kept: bool,
}

impl EditDraft {
    pub(crate) fn create(config: &Path, text: &str, environment: &Environment) -> io::Result<Self> {
        let state = user_folder(environment, "XDG_STATE_HOME", ".local/state");
        let state = state.unwrap_or_else(std::env::temp_dir);
        let folder = state.join(format!("edit-{}", process::id()));
        private_folder(&folder)?;
        // Its own name: editors choose colours and rules by it.
        let file = folder.join(config.file_name().unwrap_or("config.json".as_ref()));
        let draft = Self { folder, file, is_kept: false };
        // An earlier process of the same number may have kept one.
        let _ = fs::remove_file(&draft.file);
        write_private(&draft.file, text)?;
        Ok(draft)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.file
    }

    /// Leaves the file where it is, which is returned.
    pub(crate) fn keep(mut self) -> PathBuf {
        self.is_kept = true;
        self.file.clone()
    }
}

impl Drop for EditDraft {
    fn drop(&mut self) {
        if !self.is_kept {
            // Editors leave other files beside it; what cannot be removed is private.
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}
