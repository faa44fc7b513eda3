//! `SandboxRules`: the walls around a server as a file describes them, and the keys that say so.

use super::shape::{ConfigKey, Takes};

pub(crate) const SANDBOX: &str = "sandbox";

/// How a server is walled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxRules {
    pub profile: SandboxProfile,
    /// More than the profile lets it read: absolute paths.
    pub read: Vec<String>,
    /// … and write.
    pub write: Vec<String>,
    /// Whether it may use the network; `None`: as the profile says.
    pub net: Option<bool>,
    /// Only these variables are passed on to it; `None`: as the profile says.
    pub env: Option<Vec<String>>,
    /// It may make sockets of the machine: those of D-Bus, of Docker, of agents.
    pub unix_sockets: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SandboxProfile {
    /// No walls.
    Off,
    /// The system, its own files and what its entry names; the network.
    Standard,
    /// Its own program and what is listed.
    Strict,
}

impl SandboxProfile {
    pub const ALL: [SandboxProfile; 3] = [Self::Off, Self::Standard, Self::Strict];

    pub const fn word(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Standard => "standard",
            Self::Strict => "strict",
        }
    }

    pub fn of_word(word: &str) -> Option<SandboxProfile> {
        Self::ALL.into_iter().find(|profile| profile.word() == word)
    }

    /// The profile as it is.
    pub fn rules(self) -> SandboxRules {
        SandboxRules {
            profile: self,
            read: Vec::new(),
            write: Vec::new(),
            net: None,
            env: None,
            unix_sockets: false,
        }
    }
}

/// Of one server.
pub(crate) const SANDBOX_KEY: ConfigKey = ConfigKey::new(
    SANDBOX,
    Takes::Sandbox,
    "The walls around the program: \"off\", \"standard\", \"strict\", or what it may read and write.",
);

/// Beside the servers: what holds for those that do not say it themselves.
pub(crate) const SANDBOX_DEFAULT: [ConfigKey; 1] = [ConfigKey::new(
    SANDBOX,
    Takes::Sandbox,
    "The walls around servers that are commands and do not say it themselves.",
)];
