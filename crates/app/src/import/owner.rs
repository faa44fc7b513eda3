//! In whose words a file of servers is written: a client's, or Trunkline's own.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use trunkline_catalog::client::{Client, ConfigFile, FileFormat};

use crate::install::COMMENTED;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum FileOwner {
    Trunkline,
    Client(Client),
}

impl FileOwner {
    /// The clients that are looked for, in the order in which names are given away.
    pub(crate) fn clients() -> Vec<Self> {
        Client::with_config().map(|(client, _)| Self::Client(client)).collect()
    }

    pub(crate) fn id(self) -> &'static str {
        match self {
            Self::Trunkline => "trunkline",
            Self::Client(client) => client.id(),
        }
    }

    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Trunkline => "Trunkline",
            Self::Client(client) => client.title(),
        }
    }

    /// The client's row; `None`: the file is Trunkline's own, or the client has none.
    pub(crate) fn spec(self) -> Option<&'static ConfigFile> {
        match self {
            Self::Trunkline => None,
            Self::Client(client) => client.config(),
        }
    }

    /// The object that holds one member for each server.
    pub(crate) fn key(self) -> &'static str {
        self.spec().map_or("mcpServers", |spec| spec.key)
    }

    /// How the text is read. JSON may always have comments: reading is more lenient than the client.
    pub(crate) fn format(self) -> FileFormat {
        match self.spec().map(|spec| spec.format) {
            None | Some(FileFormat::Json(_)) => COMMENTED,
            Some(other) => other,
        }
    }

    /// How the text of this file of the owner is read: some clients have files of two formats.
    pub(crate) fn format_of(self, file: &Path) -> FileFormat {
        match file.extension().and_then(|extension| extension.to_str()) {
            Some("yaml" | "yml") => FileFormat::Yaml,
            Some("toml") => FileFormat::Toml,
            Some("json" | "jsonc") => COMMENTED,
            _ => self.format(),
        }
    }
}

impl fmt::Display for FileOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

impl FromStr for FileOwner {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let all = [vec![Self::Trunkline], Self::clients()].concat();
        let known: Vec<&str> = all.iter().map(|owner| owner.id()).collect();
        all.iter().find(|owner| owner.id() == word).copied().ok_or_else(|| {
            let near = crate::client::did_you_mean(word, known.iter().copied());
            format!("unknown client{near}; known: {}", known.join(", "))
        })
    }
}
