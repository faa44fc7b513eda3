//! Grants in files of one user: for servers of a config file, where there is no store. Each is a file
//! that nobody else can read, and is replaced as a whole.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::oauth::{Grant, Hold, KeptGrant, Vault, VaultError, VaultFuture};

/// Keyed by the address of the server; of one server there is one grant.
#[derive(Debug, Clone)]
pub struct GrantFiles {
    directory: PathBuf,
}

/// A grant is a few kilobytes.
const LARGEST: u64 = 256 * 1024;
/// Another process may be writing.
const PATIENCE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(5);

impl GrantFiles {
    /// The directory is made when the first grant is kept.
    pub fn new(directory: PathBuf) -> Self {
        Self { directory }
    }

    fn path(&self, server: &str) -> PathBuf {
        let digest = Sha256::digest(server.as_bytes());
        // Half of the digest: 128 bits do not collide by chance.
        let name = hex::encode(digest.get(..16).unwrap_or_default());
        self.directory.join(format!("{name}.json"))
    }

    fn read(&self, server: &str) -> io::Result<Option<KeptGrant>> {
        let mut bytes = zeroize::Zeroizing::new(Vec::new());
        match File::open(self.path(server)) {
            // Bounded: what lies there may have been put there by others.
            Ok(file) => file.take(LARGEST).read_to_end(&mut bytes)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let document: Value = serde_json::from_slice(&bytes).map_err(io::Error::other)?;
        let revision = document.get("revision").and_then(Value::as_i64).unwrap_or_default();
        let grant = document.get("grant").unwrap_or(&Value::Null).to_string();
        let grant = Grant::from_json(grant.as_bytes()).map_err(io::Error::other)?;
        Ok(Some(KeptGrant { grant, revision }))
    }

    /// What happens between reading and writing happens once at a time, in all processes.
    fn locked<T>(&self, act: impl FnOnce() -> Result<T, VaultError>) -> Result<T, VaultError> {
        // The lock file needs the directory, also for the very first grant.
        self.make_directory()?;
        let lock = private().open(self.directory.join("lock")).map_err(failed)?;
        let until = Instant::now() + PATIENCE;
        loop {
            match lock.try_lock() {
                Ok(()) => return act(),
                // An error is not a held lock: on a file system without locks waiting would be in
                // vain.
                Err(TryLockError::Error(error)) => return Err(failed(error)),
                Err(TryLockError::WouldBlock) if Instant::now() < until => pause(),
                Err(TryLockError::WouldBlock) => {
                    return Err(VaultError::Unavailable("another process is writing".to_owned()));
                }
            }
        }
    }

    /// The kernel gives it back when a process dies. The file stays: whoever removed it would let in
    /// two, one with the old and one with the new.
    fn renewing(&self, server: &str) -> Result<Option<Box<dyn Hold>>, VaultError> {
        self.make_directory()?;
        let file = private().open(self.path(server).with_extension("renewal")).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Box::new(Renewing(file)))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }

    fn make_directory(&self) -> Result<(), VaultError> {
        // 0700 at creation: a chmod afterwards would leave a moment in which others can read.
        DirBuilder::new().recursive(true).mode(0o700).create(&self.directory).map_err(failed)
    }

    fn put(&self, server: &str, grant: &Grant, after: Option<i64>) -> Result<i64, VaultError> {
        self.locked(|| {
            let before = self.read(server).map_err(failed)?;
            // One file for all issuers: a grant of another one is in the way of a new one only if
            // somebody expects this one to be there.
            let same = before.filter(|kept| kept.grant.issuer() == grant.issuer());
            if same.map(|kept| kept.revision) != after {
                return Err(VaultError::Conflict);
            }
            let revision = after.unwrap_or(0) + 1;
            let json = zeroize::Zeroizing::new(grant.to_json());
            let grant: Value = serde_json::from_slice(&json).map_err(failed)?;
            let document =
                serde_json::json!({"server": server, "revision": revision, "grant": grant});
            let text = zeroize::Zeroizing::new(document.to_string());
            replace(&self.path(server), text.as_bytes()).map_err(failed)?;
            Ok(revision)
        })
    }

    fn remove(&self, server: &str, issuer: &str) -> Result<(), VaultError> {
        if self.read(server).map_err(failed)?.is_none() {
            return Ok(());
        }
        self.locked(|| match self.read(server).map_err(failed)? {
            Some(kept) if kept.grant.issuer() == issuer => {
                fs::remove_file(self.path(server)).map_err(failed)
            }
            _ => Ok(()),
        })
    }
}

impl Vault for GrantFiles {
    fn load<'a>(
        &'a self,
        server: &'a str,
    ) -> VaultFuture<'a, Result<Option<KeptGrant>, VaultError>> {
        let read = self.read(server).map_err(failed);
        Box::pin(async move { read })
    }

    fn save<'a>(
        &'a self,
        server: &'a str,
        grant: &'a Grant,
        after: Option<i64>,
    ) -> VaultFuture<'a, Result<i64, VaultError>> {
        Box::pin(async move { self.put(server, grant, after) })
    }

    fn hold<'a>(
        &'a self,
        server: &'a str,
    ) -> VaultFuture<'a, Result<Option<Box<dyn Hold>>, VaultError>> {
        Box::pin(async move { self.renewing(server) })
    }

    fn delete<'a>(
        &'a self,
        server: &'a str,
        issuer: &'a str,
    ) -> VaultFuture<'a, Result<(), VaultError>> {
        Box::pin(async move { self.remove(server, issuer) })
    }
}

struct Renewing(File);

impl Hold for Renewing {
    fn release(self: Box<Self>) -> VaultFuture<'static, ()> {
        drop(self.0);
        Box::pin(async {})
    }
}

/// Nobody ever sees half of it: it is on the disk before it has the name.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let fresh = path.with_extension("new");
    let mut file = private().truncate(true).open(&fresh)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&fresh, path)?;
    match path.parent() {
        Some(directory) => File::open(directory)?.sync_all(),
        None => Ok(()),
    }
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create(true).mode(0o600);
    options
}

#[expect(clippy::disallowed_methods, reason = "a few milliseconds, and only if two log in at once")]
fn pause() {
    std::thread::sleep(PAUSE);
}

fn failed(error: impl std::fmt::Display) -> VaultError {
    VaultError::Unavailable(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Folder;

    fn grant(issuer: &str, access: &str) -> Grant {
        let document = serde_json::json!({
            "issuer": issuer, "resource": "https://h/mcp", "token_endpoint": "https://a/token",
            "client": {"id": "c", "auth": "none"}, "access_token": access,
            "refresh_token": "r", "issued_at": 1, "expires_at": 2, "granted_at": 1,
        });
        Grant::from_json(document.to_string().as_bytes()).unwrap()
    }

    #[tokio::test]
    async fn a_grant_is_replaced_only_by_who_knows_it() {
        let folder = Folder::new();
        let files = GrantFiles::new(folder.path().join("a/b"));
        let server = "https://h/mcp";
        assert_eq!(files.load(server).await, Ok(None));
        let (one, two) = (grant("https://a", "1"), grant("https://a", "2"));
        assert_eq!(files.save(server, &one, None).await, Ok(1));
        assert_eq!(files.save(server, &two, None).await, Err(VaultError::Conflict));
        assert_eq!(files.save(server, &two, Some(7)).await, Err(VaultError::Conflict));
        assert_eq!(files.save(server, &two, Some(1)).await, Ok(2));
        let kept = files.load(server).await.unwrap().unwrap();
        assert_eq!(kept, KeptGrant { grant: two, revision: 2 });
        assert_eq!(files.load("https://h/other").await, Ok(None));
        // Another issuer takes its place, and nobody takes that one's away by the old name.
        let other = grant("https://b", "3");
        assert_eq!(files.save(server, &other, None).await, Ok(1));
        assert_eq!(files.delete(server, "https://a").await, Ok(()));
        assert_eq!(files.load(server).await.unwrap().unwrap().grant, other);
        assert_eq!(files.delete(server, "https://b").await, Ok(()));
        assert_eq!(files.load(server).await, Ok(None));
    }

    #[tokio::test]
    async fn one_process_renews_at_a_time() {
        let folder = Folder::new();
        let [one, other] = [(); 2].map(|()| GrantFiles::new(folder.path().to_owned()));
        let hold = one.hold("s").await.unwrap().expect("nobody has it");
        assert!(other.hold("s").await.unwrap().is_none());
        assert!(other.hold("t").await.unwrap().is_some(), "another server is another matter");
        hold.release().await;
        let dying = other.hold("s").await.unwrap().expect("it was given back");
        drop(dying);
        assert!(one.hold("s").await.unwrap().is_some(), "nobody can die with it");
    }

    #[tokio::test]
    async fn what_cannot_be_read_is_no_grant_and_is_not_written_over() {
        let folder = Folder::new();
        let files = GrantFiles::new(folder.path().to_owned());
        fs::write(files.path("s"), "{").unwrap();
        assert!(matches!(files.load("s").await, Err(VaultError::Unavailable(_))));
        let saved = files.save("s", &grant("https://a", "1"), None).await;
        assert!(matches!(saved, Err(VaultError::Unavailable(_))), "{saved:?}");
    }
}
