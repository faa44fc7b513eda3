//! Where a demo lives: a config of the demo servers and a data directory, gone when it ends. What a demo
//! that was killed has left is removed by the next one.

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, Mode, OFlags, flock, fstat, open};
use rustix::process::geteuid;
use rustix::rand::{GetRandomFlags, getrandom};
use serde_json::{Map, Value, json};
use trunkline_control::audit::Spool;

use super::DemoName;

/// Dropping it removes everything.
#[derive(Debug)]
pub(crate) struct DemoFolder {
    dir: PathBuf,
    /// What looks like a demo's and was left alone, a line each.
    left_alone: String,
    /// `demo.lock`, locked for as long as this process lives: another demo knows by that whether the
    /// directory may be removed.
    _lock: OwnedFd,
}

/// Directories of demos, each with a locked file in it. `DIGITS` of a random number follow.
const PREFIX: &str = "trunkline-demo-";
/// A directory is called so until the file in it is locked.
const NEW_PREFIX: &str = ".trunkline-demo-";
const DIGITS: usize = 16;

const LOCK: &str = "demo.lock";
const CONFIG: &str = "demo.json";
const DATA: &str = "data";
const STORE: &str = "trunkline.db";

/// The files that a demo makes in its data directory; some of them are there only at times.
const KEPT: [&str; 7] = [
    STORE,
    "trunkline.db-wal",
    "trunkline.db-shm",
    "trunkline.db-journal",
    "trunkline.db.lock",
    "key",
    "admin-token",
];

impl DemoFolder {
    /// A directory that only this user can read, with the config in it.
    pub(crate) fn open(program: &Path) -> io::Result<Self> {
        let mut random = [0_u8; 8];
        getrandom(&mut random, GetRandomFlags::empty())?;
        let number = u64::from_ne_bytes(random);
        let temporary = std::env::temp_dir();
        let left_alone = remove_abandoned(&temporary);
        let new = temporary.join(format!("{NEW_PREFIX}{number:016x}"));
        std::fs::DirBuilder::new().mode(0o700).create(&new)?;
        let dir = temporary.join(format!("{PREFIX}{number:016x}"));
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let locked = open(new.join(LOCK), flags, Mode::RUSR | Mode::WUSR).and_then(|fd| {
            flock(&fd, FlockOperation::NonBlockingLockExclusive)?;
            rustix::fs::rename(&new, &dir)?;
            Ok(fd)
        });
        let house = match locked {
            Ok(lock) => Self { dir, left_alone, _lock: lock },
            Err(error) => {
                drop(std::fs::remove_dir_all(&new));
                return Err(error.into());
            }
        };
        let config = format!("{:#}\n", config(&program.to_string_lossy()));
        std::fs::write(house.config(), config)?;
        Ok(house)
    }

    /// Directories that are named like a demo's and were not removed, a line each.
    pub(crate) fn left_alone(&self) -> &str {
        &self.left_alone
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.dir.join(CONFIG)
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.dir.join(DATA)
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.data().join(STORE)
    }

    /// What a newcomer is told.
    pub(crate) fn welcome(&self, url: &str) -> String {
        let config = self.config();
        let config = config.display();
        format!(
            "\n\
             This is a demo: five small servers inside the program, behind one endpoint.\n\
             Nothing of it is kept when it ends.\n\
             \n\
             \x20 for MCP clients   {url}/mcp (no token needed on this machine, until you make a key)\n\
             \x20 the dashboard     {url}/ (sign in with the admin token)\n\
             \x20 the REST API      {url}/api/v1/docs (with the admin token)\n\
             \x20 the config        {config} (edit it: changes come into force at once)\n\
             \n\
             In another terminal:\n\
             \n\
             \x20 trunkline tools --url {url}/mcp\n\
             \x20 trunkline call weather.forecast --url {url}/mcp city=Rome days=2\n\
             \x20 trunkline call tables.reserve --url {url}/mcp      # asks you\n\
             \x20 trunkline call flaky.crash --url {url}/mcp         # and it comes back\n\
             \n\
             Ctrl-C ends it.\n\n"
        )
    }
}

impl Drop for DemoFolder {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.dir) {
            let dir = self.dir.display();
            tracing::warn!("{dir} cannot be removed: {error}");
        }
    }
}

/// Removes the directories of this user's demos that do not run any more. What only looks like one is left
/// alone; returns what to say about it. Whatever goes wrong with one is the next one's chance.
fn remove_abandoned(temporary: &Path) -> String {
    let mut left_alone = String::new();
    let entries = std::fs::read_dir(temporary).into_iter().flatten().flatten();
    for dir in entries.filter(|entry| is_demo_name(&entry.file_name())).map(|entry| entry.path()) {
        match judge(&dir) {
            FolderState::Abandoned(_lock) => drop(std::fs::remove_dir_all(&dir)),
            FolderState::InUse => {}
            FolderState::Foreign(why) => {
                let dir = dir.display();
                left_alone.push_str(&format!(
                    "warning: {dir} is named like a demo's and is not removed: {why}\n"
                ));
            }
        }
    }
    left_alone
}

/// As `House::open` names one, to the digit.
fn is_demo_name(name: &OsStr) -> bool {
    let digits = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    digits.is_some_and(|digits| digits.len() == DIGITS && digits.bytes().all(is_digit))
}

/// What a directory is that has the name of a demo's.
enum FolderState {
    /// Left by a demo; with its lock, so that no other demo removes it.
    Abandoned(OwnedFd),
    /// Of a demo that runs, or of another user.
    InUse,
    Foreign(String),
}

fn judge(dir: &Path) -> FolderState {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = open(dir, flags, Mode::empty()).and_then(|fd| fstat(&fd));
    let Ok(stat) = opened else { return FolderState::InUse };
    if stat.st_uid != geteuid().as_raw() {
        return FolderState::InUse;
    }
    if stat.st_mode & 0o7777 != 0o700 {
        return FolderState::Foreign("others may look into it".to_owned());
    }
    // What is no file must not make us wait.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let Ok(lock) = open(dir.join(LOCK), flags, Mode::empty()) else {
        return FolderState::Foreign(format!("there is no {LOCK} in it"));
    };
    if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
        return FolderState::InUse;
    }
    let data = dir.join(DATA);
    let looks = [
        stranger(dir, |name| [LOCK, CONFIG].contains(&name), &[DATA]),
        stranger(&data, |name| KEPT.contains(&name), &[Spool::DIR]),
        stranger(&data.join(Spool::DIR), Spool::is_name, &[]),
    ];
    match looks.into_iter().find(|look| !matches!(look, Ok(None))).unwrap_or(Ok(None)) {
        Ok(None) => FolderState::Abandoned(lock),
        Ok(Some(path)) => FolderState::Foreign(format!("no demo makes {}", path.display())),
        Err(error) => FolderState::Foreign(error.to_string()),
    }
}

/// Something in a directory that is neither a file of such a name nor one of these directories.
fn stranger(
    dir: &Path,
    is_file: impl Fn(&str) -> bool,
    dirs: &[&str],
) -> io::Result<Option<PathBuf>> {
    let entries = match std::fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let kind = entry.file_type()?;
        let name = entry.file_name();
        let name = name.to_str().unwrap_or_default();
        let is_known = match (kind.is_file(), kind.is_dir()) {
            (true, _) => is_file(name),
            (_, true) => dirs.contains(&name),
            _ => false,
        };
        if !is_known {
            return Ok(Some(entry.path()));
        }
    }
    Ok(None)
}

/// Some speak one era, some the other; what is odd about a server is said here.
fn config(program: &str) -> Value {
    let mut servers = Map::new();
    for name in DemoName::ALL {
        let mut entry = json!({ "command": program, "args": ["demo-server", name.as_str()] });
        let more = match name {
            DemoName::Clock | DemoName::Weather => None,
            DemoName::Notes | DemoName::Tables => Some(("era", json!("legacy"))),
            DemoName::Flaky => Some(("callTimeout", json!(20))),
        };
        if let (Some(entry), Some((key, value))) = (entry.as_object_mut(), more) {
            entry.insert(key.to_owned(), value);
        }
        servers.insert(name.as_str().to_owned(), entry);
    }
    let subtools = json!({
        "clock": { "tools": [{ "name": "now", "description": "What time it is" }] },
        "notes": { "tools": ["add", "search"] },
    });
    let desk = json!({ "description": "A desk with a clock and notes.", "subtools": subtools });
    json!({ "mcpServers": servers, "tools": { "desk": desk } })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use trunkline_catalog::config::{self as file, ConfigSource, Rules};

    use super::*;

    #[test]
    fn a_house_is_private_and_leaves_nothing_behind() {
        let house = DemoFolder::open(Path::new("/opt/$x/trunk line")).unwrap();
        let mode = std::fs::metadata(&house.dir).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        let text = std::fs::read(house.config()).unwrap();
        let config =
            file::load(&ConfigSource { name: "demo.json", text: &text }, Rules::Full, &|_| None)
                .unwrap();
        assert!(config.warnings.is_empty() && config.notes.is_empty(), "{}", config.warnings);
        assert_eq!((config.servers.len(), config.custom.len()), (5, 1));
        let dir = house.dir.clone();
        drop(house);
        assert!(!dir.exists());
    }

    #[test]
    fn names_are_what_the_command_line_takes() {
        use clap::ValueEnum as _;
        for name in DemoName::ALL {
            assert_eq!(DemoName::from_str(name.as_str(), false), Ok(name));
        }
        assert_eq!(DemoName::value_variants(), DemoName::ALL);
    }
}
