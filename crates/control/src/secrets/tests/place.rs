//! A store in a folder of its own, and servers to keep in it.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{fs, process};

use trunkline_catalog::config::{RemoteKind, Transport};
use trunkline_store::seal::{Key, Keyring};
use trunkline_store::{Options, ServerRecord, Store, StoreUrl, Wanted};

use crate::secrets::{Connection, Kept, Safe};

/// Goes when the test ends.
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("trunkline-secrets-{}-{number}", process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    pub(super) async fn store(&self) -> Store {
        let url = StoreUrl::sqlite(&self.0.join("store.db"));
        Store::open(&url, Options::default()).await.unwrap()
    }

    /// Every byte of every file in it.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let files = fs::read_dir(&self.0).unwrap();
        files.flat_map(|file| fs::read(file.unwrap().path()).unwrap()).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub(super) fn key(byte: u8) -> Key {
    Key::new([byte; 32])
}

pub(super) async fn safe(store: &Store, byte: u8) -> Safe {
    Safe::unlock(store, Keyring::new(key(byte))).await.unwrap()
}

pub(super) fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

pub(super) fn remote(url: &str, headers: &[(&str, &str)]) -> Connection {
    of(Transport::Remote { url: url.to_owned(), kind: RemoteKind::Sse, headers: pairs(headers) })
}

pub(super) fn stdio(args: &[&str], env: &[(&str, &str)]) -> Connection {
    of(Transport::Stdio {
        command: "npx".to_owned(),
        args: args.iter().map(|arg| (*arg).to_owned()).collect(),
        env: pairs(env),
        cwd: Some("/srv".to_owned()),
    })
}

fn of(transport: Transport) -> Connection {
    Connection { transport, health_check_url: None, call_timeout: None, max_concurrency: None }
}

pub(super) fn record(id: &str, kept: &Kept) -> ServerRecord {
    ServerRecord {
        id: id.to_owned(),
        name: format!("name-{id}"),
        description: String::new(),
        transport: kept.transport,
        config: kept.config.clone(),
        auto_connect: true,
        wanted: Wanted::Connected,
        health_check_url: kept.health_check_url.clone(),
        created_at: 1,
        updated_at: 1,
        revision: 1,
    }
}
