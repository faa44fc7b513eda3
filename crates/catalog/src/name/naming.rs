//! The naming rule itself.

use crate::client::Client;

/// The separator of the stdio front door (documents 000–002); `serve` uses `.` (003).
pub const DEFAULT_SEPARATOR: &str = ":";

/// How tools are named for one client connection.
#[derive(Debug, Clone)]
pub struct Naming {
    separator: String,
    client: Option<Client>,
    /// There is one server: nothing says whose something is.
    bare: bool,
}

impl Naming {
    /// Every tool under its canonical name.
    pub fn canonical(separator: impl Into<String>) -> Self {
        Self { separator: separator.into(), client: None, bare: false }
    }

    /// Names that `client` takes. The separator still spells the canonical names, which stay callable.
    pub fn for_client(separator: impl Into<String>, client: Client) -> Self {
        Self { separator: separator.into(), client: Some(client), bare: false }
    }

    /// Everything under its server's own name: for one server alone.
    pub fn bare() -> Self {
        Self { bare: true, ..Self::default() }
    }

    /// What is put before the name of something of this server's, if anything is.
    pub(crate) fn label<'k>(&self, server_key: &'k str) -> Option<&'k str> {
        (!self.bare).then_some(server_key)
    }

    pub fn separator(&self) -> &str {
        &self.separator
    }

    /// The client whose rules the names follow.
    pub fn client(&self) -> Option<Client> {
        self.client
    }

    /// The canonical name: key, separator, tool, each exactly as written.
    pub fn exposed(&self, server_key: &str, tool: &str) -> String {
        self.canonical_name(Identity::of(server_key, tool))
    }

    pub(super) fn canonical_name(&self, identity: Identity<'_>) -> String {
        match identity.server {
            Some(_) if self.bare => identity.tool.to_owned(),
            Some(key) => format!("{key}{}{}", self.separator, identity.tool),
            None => identity.tool.to_owned(),
        }
    }
}

impl Default for Naming {
    fn default() -> Self {
        Self::canonical(DEFAULT_SEPARATOR)
    }
}

/// What a tool is, whatever it is called: the pair (server, tool).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Identity<'a> {
    /// `None`: a tool of Trunkline itself or a custom tool, both of which carry no prefix.
    pub server: Option<&'a str>,
    pub tool: &'a str,
}

impl<'a> Identity<'a> {
    pub fn of(server_key: &'a str, tool: &'a str) -> Self {
        Self { server: Some(server_key), tool }
    }

    pub fn unprefixed(tool: &'a str) -> Self {
        Self { server: None, tool }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_server_alone_needs_no_prefix() {
        assert_eq!(Naming::bare().exposed("key", "tool"), "tool");
        assert_eq!(Naming::bare().label("key"), None);
        assert_eq!(Naming::default().label("key"), Some("key"));
    }

    #[test]
    fn fr_004_the_prefix_is_the_config_key_exactly_as_written() {
        let table = [
            (":", "filesystem", "read_file", "filesystem:read_file"),
            (":", "My Server", "a b/c", "My Server:a b/c"),
            (":", "a:b", "c:d", "a:b:c:d"),
            (".", "fs", "read", "fs.read"),
            ("__", "fs", "read__it", "fs__read__it"),
        ];
        for (separator, key, tool, expected) in table {
            assert_eq!(Naming::canonical(separator).exposed(key, tool), expected);
        }
    }

    #[test]
    fn a_profile_leaves_the_canonical_name_alone() {
        let naming = Naming::for_client(":", Client::ClaudeDesktop);
        assert_eq!(naming.exposed("fs", "read.file"), "fs:read.file");
    }
}
