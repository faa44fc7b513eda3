//! Why nothing was installed. In every case the client's file is as it was.

use std::io;
use std::path::{Path, PathBuf};

use trunkline_catalog::client::Client;

#[derive(Debug, thiserror::Error)]
pub(crate) enum InstallError {
    #[error(
        "{client} is a set of name rules, not a program with a config file; \
         let your host start `trunkline --config FILE --for {client}`"
    )]
    NoConfigFile { client: Client },
    #[error("{client} has no project file; leave out --project")]
    NoProjectFile { client: Client },
    #[error("the home directory is not known; name the client's file with --file")]
    NoHome,
    #[error("the entry name {name:?} {problem}")]
    EntryName { name: String, problem: String },
    #[error("the path {} is not valid UTF-8, so it cannot stand in a config file", path.display())]
    PathNotText { path: PathBuf },
    #[error("the config cannot be read: `trunkline check` says what is wrong with it")]
    ConfigUnreadable,
    #[error(
        "there is no {}, so there is nothing to move; `trunkline install {client}` writes one",
        file.display()
    )]
    ClientFileMissing { client: Client, file: PathBuf },
    #[error(
        "{}'s file takes commands only, not addresses; write a config \
         `{{\"mcpServers\": {{\"serve\": {{\"type\": \"http\", \"url\": \"{url}\"}}}}}}` \
         (with \"headers\" for a token) and run `trunkline install {client} --config` with it",
        client.title()
    )]
    CommandsOnly { client: Client, url: String },
    #[error(
        "{}'s file cannot refer to a variable; give the token itself with --token, which writes it \
         into the file",
        client.title()
    )]
    NoVariables { client: Client },
    #[error("config file not found: {}", path.display())]
    ConfigMissing { path: PathBuf },
    #[error(
        "{} is the client's own file: Trunkline would start itself again and again; \
         give --config a file of its own",
        path.display()
    )]
    ConfigIsClientFile { path: PathBuf },
    #[error("{}:{line}:{column}: {problem}; the file was not touched", file.display())]
    Syntax { file: PathBuf, line: usize, column: usize, problem: String },
    #[error("{}: {key} is not an object; the file was not touched", file.display())]
    NotAnObject { file: PathBuf, key: String },
    #[error(
        "{} is written in a way that is not edited here; put the entry in by hand (--dry-run on an \
         empty --file shows it); the file was not touched",
        file.display()
    )]
    Unusual { file: PathBuf },
    #[error("{} is not a regular file; it was not touched", file.display())]
    NotAFile { file: PathBuf },
    #[error("{} is not UTF-8 text; it was not touched", file.display())]
    FileNotText { file: PathBuf },
    #[error(
        "{} already has a server {name:?} that does not start Trunkline; \
         choose another --name or replace it with --force",
        file.display()
    )]
    NameTaken { file: PathBuf, name: String },
    #[error(
        "{} has a server {name:?}, but it does not start Trunkline; \
         take it out with --force if it is meant",
        file.display()
    )]
    NotOurs { file: PathBuf, name: String },
    #[error(
        "{} connects to a `serve`, which would not get the other servers in it; \
         `trunkline uninstall {client}` ends that",
        file.display()
    )]
    ConnectsToServe { client: Client, file: PathBuf },
    #[error(
        "{} has no entry of that name, but {} that start{} Trunkline; name one with --name",
        file.display(), others.join(", "), if others.len() == 1 { "s" } else { "" }
    )]
    OtherName { file: PathBuf, others: Vec<String> },
    #[error(
        "there is no backup beside {}: Trunkline has not changed it; \
         `trunkline uninstall` takes its entry out",
        file.display()
    )]
    NoBackup { file: PathBuf },
    #[error("there is no backup {}; --list shows those there are", path.display())]
    BackupMissing { path: PathBuf },
    #[error("{} kept changing while it was edited; close the client and try again", file.display())]
    KeepsChanging { file: PathBuf },
    #[error("another `trunkline setup` is writing files; try again when it has ended")]
    SetupRuns,
    #[error("the edited {} would not say what it should; the file was not touched", file.display())]
    Unsound { file: PathBuf },
    #[error("cannot {doing} {}: {error}", path.display())]
    Io { doing: &'static str, path: PathBuf, error: io::Error },
}

impl InstallError {
    /// Whether the command line asked for something that cannot be (exit 2) or it failed (exit 1).
    pub(crate) fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::NoConfigFile { .. }
                | Self::NoProjectFile { .. }
                | Self::NoHome
                | Self::EntryName { .. }
                | Self::PathNotText { .. }
                | Self::ConfigMissing { .. }
                | Self::CommandsOnly { .. }
                | Self::NoVariables { .. }
                | Self::ConfigIsClientFile { .. }
                | Self::BackupMissing { .. }
        )
    }

    /// For `map_err`: what was being done, and to which file.
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::Io { doing, path, error }
    }
}
