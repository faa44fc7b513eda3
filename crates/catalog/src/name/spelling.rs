//! How one tool is spelt: verbatim or cleaned for a client, and where needed cut and marked with a hash.

use sha2::{Digest, Sha256};

use super::naming::{Identity, Naming};
use crate::client::{Alphabet, NameRules};

/// `server\0tool`, hashed: the same on every start and on every machine.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fingerprint([u8; 32]);

/// How much of the fingerprint a marked name carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// 8 hex digits: enough beside a readable name.
    Short,
    /// 32 hex digits: for two short marks that came out alike, by chance (2⁻³²) or by design.
    Long,
}

/// The rule by which names are written.
#[derive(Debug, Clone, Copy)]
pub(super) enum Spelling<'a> {
    /// Key, separator, tool, verbatim.
    Canonical(&'a Naming),
    /// `sanitize(server)__sanitize(tool)`, at most `max` long.
    Client(&'a NameRules),
}

/// When a name is cut, at most this much of the server's part stays, so that the tool's part is still
/// seen (the 16 of "Name rule for us", clients.md §2).
const SERVER_PART: usize = 16;

impl Spelling<'_> {
    /// The name as it would be if the tool were alone; may be too long for the client.
    pub(super) fn plain(self, tool: Identity<'_>) -> String {
        match self {
            Self::Canonical(naming) => naming.canonical_name(tool),
            Self::Client(rules) => joined(tool, rules.alphabet, usize::MAX),
        }
    }

    /// The plain name, cut to leave room, and `_` with the fingerprint.
    pub(super) fn marked(self, tool: Identity<'_>, mark: Mark, print: Fingerprint) -> String {
        let mut name = self.plain(tool);
        if let Self::Client(rules) = self {
            if name.len() > rules.max {
                name = joined(tool, rules.alphabet, SERVER_PART);
            }
            // sanitized names are ASCII: a byte is a character
            name.truncate(rules.max.saturating_sub(1 + mark.digits()));
        }
        name.push('_');
        name.push_str(&print.hex(mark));
        name
    }

    /// The name as the client compares it.
    pub(super) fn folded(self, name: &str) -> String {
        match self {
            Self::Canonical(_) => name.to_owned(),
            // Case and dash are folded for every client: two names that differ only so confuse a
            // model even where the client keeps them apart.
            Self::Client(_) => name.replace('-', "_").to_ascii_lowercase(),
        }
    }

    /// Whether a plain name has to be marked even if nobody else wants it.
    ///
    /// One that looks marked is: so a plain name never equals a marked one, and marking one tool never
    /// moves another. Canonical names are kept verbatim instead, and marks go around them.
    pub(super) fn must_mark(self, folded: &str) -> bool {
        match self {
            Self::Canonical(_) => false,
            Self::Client(rules) => folded.len() > rules.max || looks_marked(folded),
        }
    }
}

impl Fingerprint {
    pub(super) fn of(identity: Identity<'_>) -> Self {
        let mut hash = Sha256::new();
        if let Some(server) = identity.server {
            hash.update(server.as_bytes());
            hash.update(b"\0");
        }
        hash.update(identity.tool.as_bytes());
        Self(hash.finalize().into())
    }

    /// Another one, just as stable, for when this one's spelling is taken.
    pub(super) fn next(self) -> Self {
        Self(Sha256::digest(self.0).into())
    }

    pub(super) fn hex(self, mark: Mark) -> String {
        let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or('0');
        self.0.iter().flat_map(|b| [digit(b >> 4), digit(b & 15)]).take(mark.digits()).collect()
    }
}

impl Mark {
    fn digits(self) -> usize {
        match self {
            Self::Short => 8,
            Self::Long => 32,
        }
    }
}

fn joined(tool: Identity<'_>, alphabet: Alphabet, server_part: usize) -> String {
    let mut name = String::new();
    if let Some(server) = tool.server {
        name.extend(sanitized(server, alphabet).take(server_part));
        name.push_str("__");
    }
    name.extend(sanitized(tool.tool, alphabet));
    if !name.starts_with(|c| alphabet.allows_first(c)) {
        name.insert(0, '_');
    }
    name
}

fn sanitized(text: &str, alphabet: Alphabet) -> impl Iterator<Item = char> {
    text.chars().map(move |c| match c {
        c if alphabet.allows(c) => c,
        c if alphabet.allows(c.to_ascii_lowercase()) => c.to_ascii_lowercase(),
        _ => '_',
    })
}

fn looks_marked(folded: &str) -> bool {
    [Mark::Short, Mark::Long].into_iter().any(|mark| {
        let tail = folded.len().checked_sub(1 + mark.digits());
        tail.and_then(|at| folded.get(at..)).is_some_and(|tail| {
            tail.strip_prefix(['_', '-'])
                .is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Client;

    #[test]
    fn names_are_cleaned_for_the_clients_alphabet() {
        let table = [
            (Client::ClaudeDesktop, "fs", "read.file", "fs__read_file"),
            (Client::ClaudeDesktop, "My Server", "a:b/c", "My_Server__a_b_c"),
            (Client::ClaudeDesktop, "git-hub", "Get-It", "git-hub__Get-It"),
            (Client::Codex, "git-hub", "Get-It", "git_hub__Get_It"),
            (Client::Cursor, "git-hub", "Get-It", "git_hub__Get_It"),
            (Client::VsCode, "git-hub", "Get-It", "git-hub__get-it"),
            (Client::ClaudeCode, "1password", "x", "1password__x"),
            (Client::OpenAi, "1password", "x", "_1password__x"),
            (Client::Zed, "-", "x", "_-__x"),
            (Client::Gemini, "日本", "読む", "______"),
            (Client::OpenAi, "", "", "__"),
        ];
        for (client, server, tool, expected) in table {
            let name = Spelling::Client(&client.spec().names).plain(Identity::of(server, tool));
            assert_eq!(name, expected, "{client}");
        }
        let own = Identity::unprefixed("search.tools");
        assert_eq!(Spelling::Client(&Client::OpenAi.spec().names).plain(own), "search_tools");
    }

    #[test]
    fn the_mark_is_the_sha_256_of_server_nul_tool() {
        // printf 'fs\0read' | sha256sum
        let fingerprint = Fingerprint::of(Identity::of("fs", "read"));
        assert_eq!(fingerprint.hex(Mark::Short), "b3b6218d");
        assert_eq!(fingerprint.hex(Mark::Long), "b3b6218d36dda642af386663326ab4f7");
    }

    #[test]
    fn a_cut_name_shows_the_start_of_the_server_and_of_the_tool() {
        let spelling = Spelling::Client(&Client::OpenAi.spec().names);
        let server = "a_server_with_a_very_long_name_indeed_it_is";
        let identity = Identity::of(server, "create_pull_request_review");
        let name = spelling.marked(identity, Mark::Short, Fingerprint::of(identity));
        assert!(name.starts_with("a_server_with_a___create_pull_request_r_"), "{name}");
        assert_eq!(name.len(), 48);
    }

    #[test]
    fn the_shape_of_a_mark_is_recognised() {
        let table = [
            ("a__b_0123abcd", true),
            ("a__b-0123abcd", true),
            ("a__b_0123ABCD", true),
            ("a__b_0123456789abcdef0123456789abcdef", true),
            ("a__b_0123abc", false),
            ("a__b_0123abcg", false),
            ("a__b0123abcd", false),
            ("_0123abcd", true),
            ("é0123abc", false),
        ];
        for (name, expected) in table {
            assert_eq!(looks_marked(name), expected, "{name}");
        }
    }
}
