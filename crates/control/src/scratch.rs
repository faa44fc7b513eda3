//! Tests: a folder that goes when the test ends, and a store in it.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{fs, process};

use trunkline_store::{Store, StoreOptions, StoreUrl};

pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("trunkline-control-{}-{number}", process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Opens the folder's only store, anew each time.
    pub(crate) async fn store(&self) -> Store {
        let url = StoreUrl::sqlite(&self.0.join("store.db"));
        Store::open(&url, StoreOptions::default()).await.unwrap()
    }

    /// Every byte of every file in it.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let files = fs::read_dir(&self.0).unwrap();
        files.flat_map(|file| fs::read(file.unwrap().path()).unwrap()).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
