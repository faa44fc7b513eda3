//! Whose file it is: the clients whose servers can be read, and Trunkline itself.

use std::fmt;
use std::str::FromStr;

use trunkline_catalog::name::Client;

use crate::install::{COMMENTED, Format};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Owner {
    Trunkline,
    ClaudeDesktop,
    ClaudeCode,
    Cursor,
    VsCode,
    Windsurf,
    Zed,
    Codex,
    Gemini,
    Goose,
    Cline,
}

impl Owner {
    /// The clients that are looked for, in the order in which names are given away.
    pub(crate) const CLIENTS: [Self; 10] = [
        Self::ClaudeDesktop,
        Self::ClaudeCode,
        Self::Cursor,
        Self::VsCode,
        Self::Windsurf,
        Self::Zed,
        Self::Codex,
        Self::Gemini,
        Self::Goose,
        Self::Cline,
    ];

    pub(crate) const fn id(self) -> &'static str {
        match self {
            Self::Trunkline => "trunkline",
            Self::ClaudeDesktop => "claude-desktop",
            Self::ClaudeCode => "claude-code",
            Self::Cursor => "cursor",
            Self::VsCode => "vscode",
            Self::Windsurf => "windsurf",
            Self::Zed => "zed",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Goose => "goose",
            Self::Cline => "cline",
        }
    }

    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Trunkline => "Trunkline",
            Self::ClaudeDesktop => "Claude Desktop",
            Self::ClaudeCode => "Claude Code",
            Self::Cursor => "Cursor",
            Self::VsCode => "VS Code",
            Self::Windsurf => "Windsurf",
            Self::Zed => "Zed",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
            Self::Goose => "Goose",
            Self::Cline => "Cline",
        }
    }

    /// The object that holds one member for each server.
    pub(crate) const fn key(self) -> &'static str {
        match self {
            Self::VsCode => "servers",
            Self::Zed => "context_servers",
            Self::Codex => "mcp_servers",
            Self::Goose => "extensions",
            _ => "mcpServers",
        }
    }

    /// In what the text is written.
    pub(crate) const fn format(self) -> Format {
        match self {
            Self::Codex => Format::Toml,
            Self::Goose => Format::Yaml,
            _ => COMMENTED,
        }
    }

    /// The client that `install` knows, if it does.
    pub(crate) fn of(client: Client) -> Option<Self> {
        Self::CLIENTS.into_iter().find(|owner| owner.id() == client.id())
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

impl FromStr for Owner {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let all = std::iter::once(Self::Trunkline).chain(Self::CLIENTS);
        all.clone().find(|owner| owner.id() == word).ok_or_else(|| {
            let near = crate::client::did_you_mean(word, all.clone().map(Self::id));
            let known: Vec<&str> = all.map(Self::id).collect();
            format!("unknown client{near}; known: {}", known.join(", "))
        })
    }
}
