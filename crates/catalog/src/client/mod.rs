//! The clients Trunkline knows: one row each for names, config files, the words in them, and advice.

mod agents;
mod apps;
mod defaults;
mod paths;
mod spec;

use std::fmt;
use std::str::FromStr;

pub use paths::{CandidatePath, System, UserPaths, path_variables};
pub use spec::{
    Alphabet, Budget, ClientSpec, ConfigFile, EntryWords, EnvPolicy, Fate, FileFormat, FilePath,
    HeaderVariables, Literal, NameRules, NamedVariables, PathBase, Paths, RemoteWords, StartedFrom,
    Switch, TimeoutWords, ToolWords, TransportWords, ValueShape, Variables,
};
pub use table::Client;

/// Makes the enum, the list of all, and the way from a client to its row.
macro_rules! clients {
    ($($client:ident => $row:ident),+ $(,)?) => {
        /// A client that `--for` and `install` know.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Client { $($client),+ }

        impl Client {
            pub const ALL: [Self; [$(stringify!($client)),+].len()] = [$(Self::$client),+];

            pub fn spec(self) -> &'static ClientSpec {
                match self { $(Self::$client => &$row),+ }
            }
        }
    };
}

// The macro has to stand above the module that uses it.
mod table;

/// The name our entry has in the client's config unless the user chose another one.
pub const ENTRY: &str = "trunkline";

impl Client {
    /// The word after `--for`.
    pub fn id(self) -> &'static str {
        self.spec().id
    }

    /// The client's name as people write it.
    pub fn title(self) -> &'static str {
        self.spec().title
    }

    /// How the client keeps its servers; `None`: it is a set of name rules without a file.
    pub fn config(self) -> Option<&'static ConfigFile> {
        self.spec().config.as_ref()
    }

    /// The clients that have a config file, in the order in which `import` gives names away.
    pub fn with_config() -> impl Iterator<Item = (Self, &'static ConfigFile)> + Clone {
        Self::ALL.into_iter().filter_map(|client| Some((client, client.config()?)))
    }

    /// The client that a `clientInfo.name` belongs to, also behind `mcp-remote`
    /// ("claude-ai (via mcp-remote 0.1)") and with the server's name appended, as Gemini CLI once did.
    pub fn by_client_info(name: &str) -> Option<Self> {
        let name = name.split(" (via ").next().unwrap_or(name);
        Self::ALL.into_iter().find(|client| {
            client.spec().client_info.iter().any(|known| {
                let head = name.get(..known.len());
                let rest = name.get(known.len()..).unwrap_or_default();
                head.is_some_and(|head| head.eq_ignore_ascii_case(known))
                    && (rest.is_empty() || rest.starts_with('-'))
            })
        })
    }
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

/// A word after `--for` or `install` that is in no row.
#[derive(Debug, thiserror::Error)]
#[error("unknown client {given:?}; known: {}", Client::ALL.map(Client::id).join(", "))]
pub struct UnknownClient {
    given: String,
}

impl FromStr for Client {
    type Err = UnknownClient;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|client| client.id() == word)
            .ok_or_else(|| UnknownClient { given: word.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_found_by_its_word() {
        for client in Client::ALL {
            assert_eq!(client.id().parse::<Client>().unwrap(), client);
        }
        let message = "emacs".parse::<Client>().unwrap_err().to_string();
        assert!(message.contains("\"emacs\"") && message.contains("claude-desktop, claude-code"));
    }

    #[test]
    fn clients_are_recognised_by_what_they_call_themselves() {
        let table = [
            ("claude-ai", Some(Client::ClaudeDesktop)),
            ("claude-ai (via mcp-remote 0.1.37)", Some(Client::ClaudeDesktop)),
            ("Claude-Code", Some(Client::ClaudeCode)),
            ("cursor-vscode", Some(Client::Cursor)),
            ("gemini-cli-mcp-client-trunkline", Some(Client::Gemini)),
            ("Visual Studio Code", Some(Client::VsCode)),
            ("Visual Studio Code - Insiders", Some(Client::VsCode)),
            ("windsurf-client", Some(Client::Windsurf)),
            ("Cline", Some(Client::Cline)),
            ("goose-cli", Some(Client::Goose)),
            ("claude-airport", None),
            ("Visual Studio Codex", None),
            ("mcp-inspector", None),
            ("ÄÄÄÄÄÄÄÄÄÄ", None),
            ("", None),
        ];
        for (name, expected) in table {
            assert_eq!(Client::by_client_info(name), expected, "{name}");
        }
    }

    #[test]
    fn every_row_leaves_room_for_the_clients_own_prefix() {
        for client in Client::ALL {
            let names = &client.spec().names;
            let longest = names.prefix_len(ENTRY) + names.max;
            assert!(longest <= names.total, "{client}: {longest} > {}", names.total);
            assert!(names.has_room_for(ENTRY), "{client}");
            assert!(names.max >= 33 + 8, "{client}: no room for the long hash");
        }
    }

    #[test]
    fn vs_code_keeps_room_for_its_longest_prefix() {
        let names = &Client::VsCode.spec().names;
        assert!(18 + names.max <= names.total);
    }

    #[test]
    fn every_client_with_a_file_has_a_path_on_every_system() {
        for (client, file) in Client::with_config() {
            for paths in [file.paths.linux, file.paths.mac, file.paths.windows] {
                assert!(!paths.is_empty(), "{client}");
            }
            assert!(!file.next.is_empty(), "{client}");
        }
    }
}
