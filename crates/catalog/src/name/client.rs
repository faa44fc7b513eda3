//! The clients we know, by the word of the command line and by the name they give themselves.

use std::fmt;
use std::str::FromStr;

use super::profile::{self, Profile};

/// A client that `--for` and `install` know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Client {
    ClaudeDesktop,
    ClaudeCode,
    Cursor,
    Codex,
    VsCode,
    Gemini,
    Zed,
    Windsurf,
    Cline,
    Goose,
    OpenAi,
}

impl Client {
    pub const ALL: [Self; 11] = [
        Self::ClaudeDesktop,
        Self::ClaudeCode,
        Self::Cursor,
        Self::Codex,
        Self::VsCode,
        Self::Gemini,
        Self::Zed,
        Self::Windsurf,
        Self::Cline,
        Self::Goose,
        Self::OpenAi,
    ];

    pub fn profile(self) -> &'static Profile {
        match self {
            Self::ClaudeDesktop => &profile::CLAUDE_DESKTOP,
            Self::ClaudeCode => &profile::CLAUDE_CODE,
            Self::Cursor => &profile::CURSOR,
            Self::Codex => &profile::CODEX,
            Self::VsCode => &profile::VS_CODE,
            Self::Gemini => &profile::GEMINI,
            Self::Zed => &profile::ZED,
            Self::Windsurf => &profile::WINDSURF,
            Self::Cline => &profile::CLINE,
            Self::Goose => &profile::GOOSE,
            Self::OpenAi => &profile::OPENAI,
        }
    }

    /// The word after `--for`.
    pub fn id(self) -> &'static str {
        self.profile().id
    }

    /// Who a `clientInfo.name` belongs to, also behind `mcp-remote` ("claude-ai (via mcp-remote 0.1)")
    /// and with the server's name appended, as Gemini CLI once did.
    pub fn by_client_info(name: &str) -> Option<Self> {
        let name = name.split(" (via ").next().unwrap_or(name);
        Self::ALL.into_iter().find(|client| {
            client.profile().client_info.iter().any(|known| {
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
#[error("unknown client {given:?}; known: {}", known())]
pub struct UnknownClient {
    given: String,
}

fn known() -> String {
    Client::ALL.map(Client::id).join(", ")
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
    fn every_row_is_found_by_its_word_and_stands_under_its_own_client() {
        for client in Client::ALL {
            assert_eq!(client.profile().client, client);
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
}
