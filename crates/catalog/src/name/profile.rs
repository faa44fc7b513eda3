//! What each client does to tool names, as one table. Every number carries its source.
//!
//! Sources are the lines of `notes/clients.md` §2 and `notes/protocol.md` §1.7; \[M\] measured there
//! on 2026-11-15, \[S\] read in the client's source, \[T\] a third party's report.

use std::fmt;

use super::client::Client;

/// One row of the table.
#[derive(Debug)]
pub struct Profile {
    pub client: Client,
    /// The word after `--for`.
    pub id: &'static str,
    pub title: &'static str,
    /// `clientInfo.name` values, compared without case; used for one warning, never for behaviour.
    pub client_info: &'static [&'static str],
    pub alphabet: Alphabet,
    /// Longest name the client or its model API takes, the client's own prefix included.
    pub total: usize,
    /// What the client puts around our entry's name, before our wire name; `None`: nothing at all.
    pub prefix: Option<(&'static str, &'static str)>,
    /// Longest wire name of ours; `prefix` around [`ENTRY`] plus this stays within `total`.
    pub max: usize,
    pub folding: Folding,
    pub bad_character: Fate,
    pub too_long: Fate,
    pub budget: Option<Budget>,
    /// Whether the client lists again after `notifications/tools/list_changed`.
    pub lists_again: bool,
    /// Longest `instructions` in characters that reach the model whole.
    pub instructions: Option<usize>,
}

/// The characters our part of a name may have: ASCII letters, digits and `_`, and these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alphabet {
    pub upper: bool,
    pub dash: bool,
    /// Google's function names start with a letter or `_`; matters where the client adds no prefix.
    pub digit_first: bool,
}

/// Which spellings the client takes for the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Folding {
    pub case: bool,
    /// `-` becomes `_`.
    pub dash: bool,
}

/// What happens to a name the client does not like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// The tool, or the whole request, is lost.
    Refused,
    /// The client spells it in its own way and calls with ours.
    Rewritten,
    Kept,
}

/// How many tools the client carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    pub tools: usize,
    /// What happens above it, as the end of a sentence that starts with the client's title.
    pub beyond: &'static str,
}

/// The name our entry has in the client's config unless the user chose another one.
pub const ENTRY: &str = "trunkline";

/// Folding both is the safe side everywhere: two names that differ only so confuse a model too.
const FOLD_BOTH: Folding = Folding { case: true, dash: true };

const WORD_AND_DASH: Alphabet = Alphabet { upper: true, dash: true, digit_first: true };

pub(super) static CLAUDE_DESKTOP: Profile = Profile {
    client: Client::ClaudeDesktop,
    id: "claude-desktop",
    title: "Claude Desktop",
    // mcp-client-capabilities probes, 2026-03-11; the desktop app and claude.ai share it
    client_info: &["claude-ai"],
    // ^[a-zA-Z0-9_-]{1,64}$ of FrontendRemoteMcpToolDefinition.name (drupal mcp_server 3585896)
    alphabet: WORD_AND_DASH,
    total: 64,
    // the raw name is sent (protocol.md §1.7); room is left in case that changes
    prefix: None,
    // "Name rule for us", clients.md §2
    max: 50,
    folding: FOLD_BOTH,
    // one bad name fails the whole chat (docker/mcp-gateway#228)
    bad_character: Fate::Refused,
    too_long: Fate::Refused,
    // no limit known; accuracy drops past 30–50, but that is advice, not a limit
    budget: None,
    // sent, not listed again within 5 s (mcp-client-capabilities probe, 2026-03-11)
    lists_again: false,
    instructions: None,
};

pub(super) static CLAUDE_CODE: Profile = Profile {
    client: Client::ClaudeCode,
    id: "claude-code",
    title: "Claude Code",
    client_info: &["claude-code"], // [M] 2.1.325, in server/discover and in initialize
    alphabet: WORD_AND_DASH,
    total: 128, // [M] 125 kept, 138 dropped
    prefix: Some(("mcp__", "__")),
    // 64 in all through an OpenAI-compatible backend (novamira#12)
    max: 48,
    folding: FOLD_BOTH,
    // every other character becomes `_`, the call goes out with our name [M]
    bad_character: Fate::Rewritten,
    // over 128 in all: silently dropped [M]
    too_long: Fate::Refused,
    budget: None,
    lists_again: true,        // [M]
    instructions: Some(4096), // [M] cut there, "… [truncated]"
};

pub(super) static CURSOR: Profile = Profile {
    client: Client::Cursor,
    id: "cursor",
    title: "Cursor",
    client_info: &["cursor-vscode"], // mcp-client-capabilities
    // "alphanumeric and underscores" (webstudio#5960, 2026-07-30)
    alphabet: Alphabet { upper: true, dash: false, digit_first: true },
    // server + tool ≤ 60 combined or filtered out (composio#2788, PostHog#51483)
    total: 60,
    prefix: Some(("", ":")),
    max: 50,
    folding: FOLD_BOTH,
    bad_character: Fate::Refused,
    too_long: Fate::Refused,
    // 40, later 80 (Snowflake#77; a report of February 2026 still says 80)
    budget: Some(Budget { tools: 80, beyond: "warns and may leave tools out" }),
    lists_again: true, // [T]
    instructions: None,
};

pub(super) static CODEX: Profile = Profile {
    client: Client::Codex,
    id: "codex",
    title: "Codex",
    client_info: &["codex-mcp-client", "Codex"], // mcp-client-capabilities
    // only [A-Za-z0-9_]: `-` becomes `_` [S][M]
    alphabet: Alphabet { upper: true, dash: false, digit_first: true },
    // namespace `mcp__<server>` + name ≤ 128, else cut with a hash of its own [S][M]
    total: 128,
    prefix: Some(("mcp__", "__")),
    max: 112,
    folding: FOLD_BOTH,
    bad_character: Fate::Rewritten,
    too_long: Fate::Rewritten,
    budget: None,
    lists_again: false, // [M] not in the rest of the turn
    instructions: None, // [M] 5010 characters passed whole
};

pub(super) static VS_CODE: Profile = Profile {
    client: Client::VsCode,
    id: "vscode",
    title: "VS Code",
    // mcp-client-capabilities; Insiders has a name of its own (productService.nameLong)
    client_info: &["Visual Studio Code", "Visual Studio Code - Insiders", "Visual-Studio-Code"],
    // warns outside [a-z0-9_-] (vscode#243602)
    alphabet: Alphabet { upper: false, dash: true, digit_first: true },
    // `mcp_<server≤13>_`, McpToolName.MaxPrefixLen = 18, total 64 [S]
    total: 64,
    prefix: Some(("mcp_", "_")),
    max: 46,
    folding: FOLD_BOTH,
    bad_character: Fate::Rewritten,
    too_long: Fate::Rewritten,
    // 128 per request
    budget: Some(Budget { tools: 128, beyond: "groups tools and loads them on demand" }),
    lists_again: true, // mcp-client-capabilities
    instructions: None,
};

pub(super) static GEMINI: Profile = Profile {
    client: Client::Gemini,
    id: "gemini",
    title: "Gemini CLI",
    client_info: &["gemini-cli-mcp-client", "gemini-cli"], // mcp-client-capabilities
    // [a-zA-Z_][a-zA-Z0-9_.:-]: more than we use; `.` and `:` are kept [S][M]
    alphabet: WORD_AND_DASH,
    // over 63: first 30 + `...` + last 30, so names that differ in the middle collide [S][M]
    total: 63,
    prefix: Some(("mcp_", "_")),
    max: 49,
    folding: FOLD_BOTH,
    bad_character: Fate::Kept,
    too_long: Fate::Rewritten,
    budget: None,
    lists_again: true,  // [M]
    instructions: None, // [M] passed whole into the session context
};

pub(super) static ZED: Profile = Profile {
    client: Client::Zed,
    id: "zed",
    title: "Zed",
    client_info: &["Zed"], // mcp-client-capabilities
    // 64, [A-Za-z0-9_-]; only duplicates are prefixed with the server id [S]
    alphabet: Alphabet { upper: true, dash: true, digit_first: false },
    total: 64,
    prefix: Some(("", "_")),
    max: 50,
    folding: FOLD_BOTH,
    bad_character: Fate::Rewritten,
    too_long: Fate::Rewritten,
    budget: None,
    lists_again: true, // vendor documentation
    instructions: None,
};

pub(super) static WINDSURF: Profile = Profile {
    client: Client::Windsurf,
    id: "windsurf",
    title: "Windsurf",
    client_info: &["windsurf-client", "Windsurf"], // mcp-client-capabilities
    // nothing is published: what the model APIs behind it take
    alphabet: Alphabet { upper: true, dash: true, digit_first: false },
    total: 64,
    // room for a prefix of its own
    prefix: Some(("mcp__", "__")),
    max: 48,
    folding: FOLD_BOTH,
    bad_character: Fate::Refused,
    too_long: Fate::Refused,
    budget: Some(Budget { tools: 100, beyond: "takes no more" }), // vendor documentation
    lists_again: false,                                           // nothing known
    instructions: None,
};

pub(super) static CLINE: Profile = Profile {
    client: Client::Cline,
    id: "cline",
    title: "Cline",
    client_info: &["Cline"], // mcp-client-capabilities
    // every other character becomes `_` [S]
    alphabet: WORD_AND_DASH,
    // `server__tool` ≤ 64, else cut with eight digits of its own [S]
    total: 64,
    prefix: Some(("", "__")),
    max: 50,
    folding: FOLD_BOTH,
    bad_character: Fate::Rewritten,
    too_long: Fate::Rewritten,
    budget: None,
    lists_again: false, // nothing known
    instructions: None,
};

pub(super) static GOOSE: Profile = Profile {
    client: Client::Goose,
    id: "goose",
    title: "Goose",
    client_info: &["goose"], // `goose-cli`, `goose-desktop` [T]
    // sent to the model API as they are; hosts in front may be Google's
    alphabet: Alphabet { upper: true, dash: true, digit_first: false },
    total: 64,
    prefix: Some(("", "__")),
    max: 50,
    folding: FOLD_BOTH,
    bad_character: Fate::Refused,
    too_long: Fate::Refused,
    // above 50 it only tells the model that there are many
    budget: None,
    lists_again: false, // no handler seen [S]
    instructions: None,
};

pub(super) static OPENAI: Profile = Profile {
    client: Client::OpenAi,
    id: "openai",
    title: "OpenAI API",
    client_info: &["openai-mcp", "ChatGPT"], // [T]
    // ^[a-zA-Z0-9_-]+$, ≤ 64 (codex#8174, cline#11885); hosts in front may be Google's
    alphabet: Alphabet { upper: true, dash: true, digit_first: false },
    total: 64,
    // room for a host that prefixes as Claude Code does
    prefix: Some(("mcp__", "__")),
    max: 48,
    folding: FOLD_BOTH,
    bad_character: Fate::Refused, // 400
    too_long: Fate::Refused,      // 400
    budget: Some(Budget { tools: 128, beyond: "refuses the request" }), // zed#32946
    lists_again: false,           // nothing known
    instructions: None,
};

impl Profile {
    /// How many characters the client puts before our wire name when our entry is called `entry`.
    pub fn prefix_len(&self, entry: &str) -> usize {
        self.prefix.map_or(0, |(before, after)| before.len() + entry.len() + after.len())
    }

    /// Whether an entry of this name leaves the longest wire name whole.
    pub fn has_room_for(&self, entry: &str) -> bool {
        self.prefix_len(entry) + self.max <= self.total
    }
}

impl Alphabet {
    pub fn allows(self, c: char) -> bool {
        match c {
            'a'..='z' | '0'..='9' | '_' => true,
            'A'..='Z' => self.upper,
            '-' => self.dash,
            _ => false,
        }
    }

    pub fn allows_first(self, c: char) -> bool {
        self.allows(c) && (self.digit_first || c.is_ascii_alphabetic() || c == '_')
    }
}

/// The class as a regular expression writes it, for messages.
impl fmt::Display for Alphabet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let upper = if self.upper { "A-Z" } else { "" };
        let dash = if self.dash { "-" } else { "" };
        write!(f, "[a-z{upper}0-9_{dash}]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_leaves_room_for_the_clients_own_prefix() {
        for client in Client::ALL {
            let profile = client.profile();
            let longest = profile.prefix_len(ENTRY) + profile.max;
            assert!(longest <= profile.total, "{client}: {longest} > {}", profile.total);
            assert!(profile.has_room_for(ENTRY), "{client}");
            assert!(profile.max >= 33 + 8, "{client}: no room for the long hash");
        }
    }

    #[test]
    fn vs_code_keeps_room_for_its_longest_prefix() {
        assert!(18 + VS_CODE.max <= VS_CODE.total);
    }
}
