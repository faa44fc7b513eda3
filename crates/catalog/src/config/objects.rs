//! The objects of a file and the tables of their keys, for describing the file.

use super::custom::{CUSTOM, OF_SERVER, SUBTOOL};
use super::filter::RENAMED;
use super::keys::{REMOTE, STDIO, TOP};
use super::limits::{CALLER_LIMITS, LIMITS_OF_ANY, OF_SERVER_LIMITS, SHARED};
use super::network_rules::TLS_MEMBERS;
use super::presets::CLIENT;
use super::sandbox::{CONTAINER_MEMBERS, NET_MEMBERS, SANDBOX_MEMBERS};
use super::shape::ConfigKey;

/// The objects of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Object {
    File,
    /// What every server may have.
    Server,
    /// What only a server with a `command` may have.
    Stdio,
    /// What only a server with an address may have.
    Remote,
    /// A tool under another name.
    Renamed,
    CustomTool,
    /// The tools of one server in a custom tool.
    OfServer,
    Subtool,
    /// What one client is shown.
    Client,
    /// What a server may have.
    ServerLimits,
    /// What a tool or an address may have.
    Limits,
    /// What a caller may have.
    CallerLimits,
    /// For whom there are limits beside servers.
    SharedLimits,
    /// What a walled-in server may do.
    Sandbox,
    /// What it may reach.
    Net,
    /// What it runs in instead.
    Container,
    /// Files for the encryption towards a server.
    Tls,
}

impl Object {
    /// The keys that mean something, in the order of the documentation.
    pub fn keys(self) -> Vec<&'static ConfigKey> {
        match self {
            Self::File => TOP.known.iter().chain(TOP.more.iter().copied().flatten()).collect(),
            Self::Server => STDIO.more.iter().copied().flatten().collect(),
            Self::Stdio => STDIO.known.iter().collect(),
            Self::Remote => REMOTE.known.iter().collect(),
            Self::Renamed => RENAMED.iter().collect(),
            Self::CustomTool => CUSTOM.known.iter().collect(),
            Self::OfServer => OF_SERVER.known.iter().collect(),
            Self::Subtool => SUBTOOL.known.iter().collect(),
            Self::Client => CLIENT.known.iter().collect(),
            Self::ServerLimits => OF_SERVER_LIMITS
                .known
                .iter()
                .chain(OF_SERVER_LIMITS.more.iter().copied().flatten())
                .collect(),
            Self::Limits => LIMITS_OF_ANY.known.iter().collect(),
            Self::CallerLimits => CALLER_LIMITS.known.iter().collect(),
            Self::SharedLimits => SHARED.known.iter().collect(),
            Self::Sandbox => SANDBOX_MEMBERS.iter().collect(),
            Self::Net => NET_MEMBERS.iter().collect(),
            Self::Container => CONTAINER_MEMBERS.iter().collect(),
            Self::Tls => TLS_MEMBERS.iter().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_in_one_table_and_says_what_it_is_for() {
        for object in [
            Object::File,
            Object::Server,
            Object::Stdio,
            Object::Remote,
            Object::Renamed,
            Object::CustomTool,
            Object::OfServer,
            Object::Subtool,
            Object::Client,
            Object::ServerLimits,
            Object::Limits,
            Object::CallerLimits,
            Object::SharedLimits,
            Object::Sandbox,
            Object::Net,
            Object::Container,
            Object::Tls,
        ] {
            let keys = object.keys();
            assert!(!keys.is_empty());
            for (index, key) in keys.iter().enumerate() {
                assert!(key.about.ends_with('.'), "{}: {}", key.name, key.about);
                let again = keys.iter().skip(index + 1).any(|other| other.name == key.name);
                assert!(!again, "{object:?} has {} twice", key.name);
            }
        }
    }
}
