//! What a command is to do to a client's file, and the folders it may look into.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::{Map, Value};
use trunkline_catalog::client::{Client, System};

/// Everything `install` knows: it reads neither the environment nor the clock itself.
#[derive(Debug, Clone)]
pub(crate) struct InstallRequest {
    pub(crate) target: EntryTarget,
    pub(crate) launch: Launch,
    /// The running program, which the client will start.
    pub(crate) executable: PathBuf,
    pub(crate) folders: UserFolders,
    /// Dates the backup.
    pub(crate) now: SystemTime,
}

/// How the client is to come to Trunkline.
#[derive(Debug, Clone)]
pub(crate) enum Launch {
    /// It starts this program.
    Command {
        /// The `mcpServers` file Trunkline is to be started with.
        config: PathBuf,
        /// Names of the environment variables the config refers to, for the clients that hand a server
        /// only the variables they are told to.
        variables: Vec<String>,
        /// More flags for Trunkline.
        flags: Vec<String>,
    },
    /// It connects to a `serve`.
    Address {
        /// The entry's members in the client's words; a token may be among them.
        members: Map<String, Value>,
        /// Without what may be a secret.
        url: String,
        /// The variable in which the client finds the token.
        token_variable: Vec<String>,
    },
}

impl Launch {
    /// The variables that the config, or the entry itself, refers to.
    pub(crate) fn variables(&self) -> &[String] {
        match self {
            Self::Command { variables, .. } => variables,
            Self::Address { token_variable, .. } => token_variable,
        }
    }
}

/// Which file of which client, which entry in it, and how far to go.
#[derive(Debug, Clone)]
pub(crate) struct EntryTarget {
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
pub(crate) struct UserFolders {
    pub(crate) system: System,
    pub(crate) home: Option<PathBuf>,
    /// The variables that name folders and are set, such as `XDG_CONFIG_HOME` and `CODEX_HOME`.
    pub(crate) variables: Vec<(&'static str, PathBuf)>,
    pub(crate) current_dir: PathBuf,
    /// Names of the variables that servers inherit here, and by which clients share them.
    pub(crate) inherited: Vec<String>,
}

/// The system this program was built for; every other Unix keeps its files as Linux does.
pub(crate) const fn this_system() -> System {
    if cfg!(windows) {
        System::Windows
    } else if cfg!(target_os = "macos") {
        System::Mac
    } else {
        System::Linux
    }
}

impl UserFolders {
    /// The path from the root, without `.` parts. Links and `..` stay: what the user wrote still
    /// works when a link is moved on to a newer version.
    pub(crate) fn absolute(&self, path: &Path) -> PathBuf {
        self.current_dir.join(path).components().collect()
    }

    /// A user of any system whose home is this folder, as tests have it.
    #[cfg(test)]
    pub(crate) fn in_home(system: System, home: &Path) -> Self {
        let variables = match system {
            System::Linux | System::Mac => Vec::new(),
            System::Windows => vec![
                ("APPDATA", home.join("AppData/Roaming")),
                ("LOCALAPPDATA", home.join("AppData/Local")),
            ],
        };
        let (home, current_dir) = (Some(home.to_owned()), home.to_owned());
        Self { system, home, variables, current_dir, inherited: Vec::new() }
    }
}
