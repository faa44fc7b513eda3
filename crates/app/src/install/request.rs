//! What is asked to be done to a client's file, and the surroundings that may be looked at.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use trunkline_catalog::name::Client;

/// Everything `install` knows: it reads neither the environment nor the clock itself.
#[derive(Debug, Clone)]
pub(crate) struct InstallRequest {
    pub(crate) wanted: Wanted,
    /// The `mcpServers` file Trunkline is to be started with.
    pub(crate) config: PathBuf,
    /// The running program, which the client will start.
    pub(crate) executable: PathBuf,
    /// Names of the environment variables the config refers to, for the clients that hand a server
    /// only the variables they are told to.
    pub(crate) variables: Vec<String>,
    pub(crate) environment: Environment,
    /// Dates the backup.
    pub(crate) now: SystemTime,
}

/// Which file of which client, which entry in it, and how far to go.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    pub(crate) client: Client,
    /// The entry's name in the client's file; `trunkline` if not given.
    pub(crate) name: Option<String>,
    /// The project's file in this folder instead of the user's.
    pub(crate) project: Option<PathBuf>,
    /// Exactly this file.
    pub(crate) file: Option<PathBuf>,
    /// Say what would change, write nothing.
    pub(crate) dry_run: bool,
    /// Also if the entry of this name is not ours.
    pub(crate) force: bool,
}

/// Where the user's files are.
#[derive(Debug, Clone)]
pub(crate) struct Environment {
    pub(crate) os: Os,
    pub(crate) home: Option<PathBuf>,
    /// `XDG_CONFIG_HOME`
    pub(crate) xdg_config: Option<PathBuf>,
    /// `APPDATA`
    pub(crate) appdata: Option<PathBuf>,
    /// `LOCALAPPDATA`
    pub(crate) local_appdata: Option<PathBuf>,
    /// `CLAUDE_CONFIG_DIR`
    pub(crate) claude_config_dir: Option<PathBuf>,
    /// `CODEX_HOME`
    pub(crate) codex_home: Option<PathBuf>,
    pub(crate) current_dir: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Os {
    Linux,
    Mac,
    Windows,
}

impl Os {
    /// The system this program was built for; every other Unix keeps its files as Linux does.
    pub(crate) const fn current() -> Self {
        if cfg!(windows) {
            Self::Windows
        } else if cfg!(target_os = "macos") {
            Self::Mac
        } else {
            Self::Linux
        }
    }
}

impl Environment {
    /// The path from the root, without `.` parts. Links and `..` stay: what the user wrote still
    /// works when a link is moved on to a newer version.
    pub(crate) fn absolute(&self, path: &Path) -> PathBuf {
        self.current_dir.join(path).components().collect()
    }
}
