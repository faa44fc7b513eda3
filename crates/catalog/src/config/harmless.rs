//! What a quoted line may show: words that are known to be harmless. Everything else is hidden.

use std::ops::Range;

use super::escape::shown;
use super::suspect::is_secret_name;

/// Flags that take nothing, or only what is no secret. The word behind any other flag is hidden.
const QUIET: [&str; 22] = [
    "--",
    "-i",
    "-it",
    "-jar",
    "-m",
    "-q",
    "-y",
    "--debug",
    "--directory",
    "--from",
    "--init",
    "--no-cache",
    "--package",
    "--port",
    "--python",
    "--quiet",
    "--read-only",
    "--rm",
    "--stdio",
    "--verbose",
    "--with",
    "--yes",
];

/// How the tokens of well-known services start.
const TOKENS: [&str; 17] = [
    "sk-",
    "sk_",
    "pk_",
    "rk_",
    "ghp_",
    "gho_",
    "ghs_",
    "ghu_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "AKIA",
    "eyJ",
    "hf_",
    "npm_",
    "dop_v",
];

/// With such an ending a word is a file.
const ENDINGS: [&str; 16] = [
    ".js", ".mjs", ".cjs", ".ts", ".py", ".jar", ".sh", ".rb", ".php", ".json", ".exe", ".cmd",
    ".bat", ".dll", ".db", ".toml",
];

/// The words of a command line, judged one after another.
#[derive(Default)]
pub(crate) struct CommandLine {
    before: Before,
    /// A flag that names a secret was there: plain words may be its value.
    doubtful: bool,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Before {
    #[default]
    Word,
    Flag,
    SecretFlag,
}

impl CommandLine {
    /// Which parts of the next word are hidden. References in it are `$`.
    pub(crate) fn next(&mut self, word: &str) -> Vec<Range<usize>> {
        let before = std::mem::take(&mut self.before);
        let behind_secret = before == Before::SecretFlag && !word.starts_with("--");
        if word.starts_with('-') && !behind_secret {
            return self.flag(word);
        }
        if before != Before::Word {
            return all(word);
        }
        match word.contains("://") {
            true => hidden_in_address(word),
            false if is_plain(word, self.doubtful) => Vec::new(),
            false => all(word),
        }
    }

    fn flag(&mut self, word: &str) -> Vec<Range<usize>> {
        let (flag, value) = word.split_once('=').map_or((word, None), |(f, v)| (f, Some(v)));
        let secret = is_secret_name(flag);
        self.doubtful |= secret;
        self.before = match value {
            Some(_) => Before::Word,
            None if secret => Before::SecretFlag,
            None if QUIET.contains(&flag) => Before::Word,
            None => Before::Flag,
        };
        match value {
            _ if !is_flag(flag) => all(word),
            Some(value) => std::iter::once(word.len() - value.len()..word.len()).collect(),
            None => Vec::new(),
        }
    }
}

/// Which parts of an address are hidden: all but scheme, host, port and the plain words of the path.
pub(crate) fn hidden_in_address(url: &str) -> Vec<Range<usize>> {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let known = ["", "http", "https", "ws", "wss"];
    if !known.iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
        return all(url);
    }
    let mut hidden = Vec::new();
    let mut at = url.len() - rest.len();
    // A password may hold any character: everything up to the last `@` may belong to it.
    let rest = match rest.rsplit_once('@') {
        Some((user, rest)) => {
            hidden.push(at..at + user.len());
            at += user.len() + 1;
            rest
        }
        None => rest,
    };
    let shown = rest.split(['?', '#']).next().unwrap_or_default();
    for (index, step) in shown.split('/').enumerate() {
        let plain = if index == 0 { is_host(step) } else { step.is_empty() || is_step(step) };
        if !plain {
            hidden.push(at..at + step.len());
        }
        at += step.len() + 1;
    }
    if shown.len() < rest.len() {
        hidden.push(at.min(url.len())..url.len());
    }
    hidden
}

/// The name of a tool, a server, a kind: plain unless it looks like a token or a header.
pub(crate) fn is_name(text: &str) -> bool {
    text.len() <= 64 && !text.contains(char::is_whitespace) && hidden_in_key(text).is_none()
}

/// A word without whitespace that is a file, a path, a package, a number or an English word. Where
/// that is `doubtful`, only what cannot be mistaken: files, paths and packages.
pub(crate) fn is_plain(word: &str, doubtful: bool) -> bool {
    let drive = word.strip_prefix(|c: char| c.is_ascii_alphabetic());
    let drive = drive.and_then(|rest| rest.strip_prefix(':'));
    let word = drive.filter(|rest| rest.starts_with(['/', '\\'])).unwrap_or(word);
    let obvious = word.contains(['/', '\\'])
        || word.starts_with(['@', '.', '~', '$'])
        || ENDINGS.iter().any(|ending| word.ends_with(ending));
    let belongs = |c: char| c.is_alphanumeric() || is_joint(c);
    (obvious || !doubtful)
        && word.len() <= 200
        && word.chars().all(belongs)
        && word.split(is_joint).all(|part| is_plain_part(part, obvious))
}

/// A key as a message and a path show it.
pub(crate) fn shown_key(key: &str) -> String {
    match hidden_in_key(key) {
        None => shown(key),
        Some(hidden) => format!("{}***", shown(key.get(..hidden.start).unwrap_or_default())),
    }
}

/// The part of a key that is no name: the value of a pasted header or variable, or a token. It
/// reaches to the end.
pub(crate) fn hidden_in_key(key: &str) -> Option<Range<usize>> {
    for (at, separator) in key.match_indices([':', '=']) {
        let (name, value) = (key.get(..at)?, key.get(at + 1..)?);
        let assigns = separator == "=" || value.starts_with(' ') || is_secret_name(name);
        if assigns && !value.trim().is_empty() {
            let from = if is_word(name) { key.len() - value.trim_start().len() } else { 0 };
            return Some(from..key.len());
        }
    }
    let lower = key.to_ascii_lowercase();
    let scheme = ["bearer ", "basic "].iter().any(|scheme| lower.starts_with(scheme));
    (scheme || is_token(key)).then_some(0..key.len())
}

/// Letters and digits in a mix that nobody would write by hand.
fn is_token(text: &str) -> bool {
    let known = TOKENS.iter().filter_map(|start| text.strip_prefix(start));
    let is_known = known.into_iter().any(|rest| rest.len() >= 8 && !rest.contains('-'));
    let letters: Vec<char> = text.chars().filter(char::is_ascii_alphanumeric).collect();
    let turns = letters.windows(2).filter(|pair| match pair {
        [one, two] => one.is_ascii_digit() != two.is_ascii_digit(),
        _ => false,
    });
    let is_mixed = letters.len() >= 12 && turns.count() >= 4;
    let runs = text.split(|c: char| !c.is_ascii_alphanumeric());
    is_known || is_mixed || runs.into_iter().any(|run| run.len() >= 32)
}

fn all(text: &str) -> Vec<Range<usize>> {
    std::iter::once(0..text.len()).collect()
}

fn is_flag(text: &str) -> bool {
    let letters = |text: &str| text.bytes().all(|b| b.is_ascii_alphabetic());
    match (text.strip_prefix("--"), text.strip_prefix('-')) {
        (Some(long), _) => long.len() <= 40 && long.split(['-', '_', '.']).all(is_plain_word),
        (None, Some(short)) => short.len() <= 3 && letters(short),
        (None, None) => false,
    }
}

fn is_joint(c: char) -> bool {
    matches!(c, '/' | '\\' | '.' | '-' | '_' | '@' | '~' | '+' | '$')
}

/// A part between joints.
fn is_plain_part(part: &str, obvious: bool) -> bool {
    let letters = part.trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = part.len() - letters.len();
    match (letters.is_empty(), digits) {
        (true, digits) => digits <= 5,
        (false, 0) => is_plain_word(part),
        // `v2`, `python3`; a word that stands alone would be a password (`hunter2`).
        (false, digits) => obvious && digits <= 3 && letters.len() <= 12 && is_plain_word(letters),
    }
}

/// Letters as words have them: not too many, and long ones not in mixed case.
fn is_plain_word(text: &str) -> bool {
    let upper = text.chars().skip(1).filter(|c| c.is_uppercase()).count();
    let mixed = upper > 0 && text.chars().any(char::is_lowercase);
    text.len() <= 24 && text.chars().all(char::is_alphabetic) && !(mixed && text.len() > 12)
}

fn is_step(text: &str) -> bool {
    is_plain(&format!("/{text}"), false)
}

/// `host`, `host:80`, `[::1]:80`.
fn is_host(text: &str) -> bool {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => rest.split_once(']').unwrap_or((text, "")),
        None => text.split_at_checked(text.find(':').unwrap_or(text.len())).unwrap_or((text, "")),
    };
    let port = port.strip_prefix(':').unwrap_or(port);
    let is_port = port.bytes().all(|b| b.is_ascii_digit() || b == b'$') && port.len() <= 8;
    let belongs = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | '$');
    let is_address =
        text.starts_with('[') && host.bytes().all(|b| b.is_ascii_hexdigit() || b == b':');
    is_port && (is_address || host.chars().all(belongs) && !is_token(host))
}

fn is_word(text: &str) -> bool {
    let belongs = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    text.len() <= 40 && text.chars().all(belongs) && !is_token(text)
}

#[cfg(test)]
mod tests {
    use super::{CommandLine, hidden_in_address, shown_key};
    use std::ops::Range;

    fn masked(text: &str, hidden: &[Range<usize>]) -> String {
        let is_hidden = |at: usize| hidden.iter().any(|range| range.contains(&at));
        text.char_indices().map(|(at, c)| if is_hidden(at) { '*' } else { c }).collect()
    }

    #[test]
    fn words_of_command_lines() {
        let table: [(&[&str], &[&str]); 16] = [
            (
                &["-y", "@modelcontextprotocol/server-filesystem"],
                &["-y", "@modelcontextprotocol/server-filesystem"],
            ),
            (&["-m", "my_server", "--port", "8080"], &["-m", "my_server", "--port", "8080"]),
            (&["mcp-remote@0.1.2", "/home/me/x1/a.py"], &["mcp-remote@0.1.2", "/home/me/x1/a.py"]),
            (&["C:\\tools\\node.exe", "server.js"], &["C:\\tools\\node.exe", "server.js"]),
            (&["--token", "s3kr1tvalue"], &["--token", "***********"]),
            (&["--token", "-abc"], &["--token", "****"]),
            (&["--password=hunter"], &["--password=******"]),
            (&["--header", "Authorization: x"], &["--header", "****************"]),
            (&["X-Api-Key: 0f8f"], &["***************"]),
            (&["A=b"], &["***"]),
            (&["hunter2"], &["*******"]),
            (&["-pabc"], &["*****"]),
            (&["-u", "me"], &["-u", "**"]),
            (&["--api-key", "--yes", "plain", "a/b"], &["--api-key", "--yes", "*****", "a/b"]),
            (&["pg://a:b@c/d"], &["************"]),
            (
                &["ghp_16C7e42F", "QWxhZGRpbjpvcGVuIHNlc2FtZQ"],
                &["************", "**************************"],
            ),
        ];
        for (words, expected) in table {
            let mut line = CommandLine::default();
            let shown: Vec<String> =
                words.iter().map(|word| masked(word, &line.next(word))).collect();
            assert_eq!(shown, expected);
        }
    }

    #[test]
    fn addresses() {
        let table = [
            ("https://mcp.example.com:8443/v1/mcp", "https://mcp.example.com:8443/v1/mcp"),
            ("https://x/sse?token=a#b", "https://x/sse?*********"),
            ("https://x?token=a", "https://x?*******"),
            ("https://me:pw@x/sse", "https://*****@x/sse"),
            ("https://me:p/w@x/sse", "https://******@x/sse"),
            ("https://x/s/0f8fad5bd9cb469fa165/mcp", "https://x/s/********************/mcp"),
            ("https://$$$$/a", "https://$$$$/a"),
            ("http://[::1]:9/", "http://[::1]:9/"),
            ("h:80/x", "h:80/x"),
            ("u:pw", "****"),
            ("pg://h/x", "********"),
        ];
        for (url, expected) in table {
            assert_eq!(masked(url, &hidden_in_address(url)), expected);
        }
    }

    #[test]
    fn keys() {
        let table = [
            ("github", "github"),
            ("mcp-server-playwright-2", "mcp-server-playwright-2"),
            ("host:80", "host:80"),
            ("my server", "my server"),
            ("Authorization: Bearer abc", "Authorization: ***"),
            ("Authorization:abc", "Authorization:***"),
            ("X-Api-Key:", "X-Api-Key:"),
            ("TOKEN=abc", "TOKEN=***"),
            ("Bearer abc", "***"),
            ("ghp_16C7e42F292c6912E7710c838347Ae178B4a", "***"),
            ("123e4567-e89b-12d3-a456-426614174000", "***"),
        ];
        for (key, expected) in table {
            assert_eq!(shown_key(key), expected);
        }
    }
}
