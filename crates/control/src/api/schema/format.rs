//! What a string has to look like: the rule, and the same rule for other people's validators.

use trunkline_catalog::config::{ContainerMount, HostRule, is_image, is_own_header};
use trunkline_catalog::name::{NameFault, admissible};
use trunkline_catalog::pins::{Choice, DefinitionKind};
use trunkline_http::{BadUrl, Url, is_field_name, is_field_value};

use crate::access::Pattern;
use crate::api::time;
use crate::policies::is_policy_id;
use crate::secrets::{is_secret_name, is_variable};
use crate::skills::is_skill_id;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextFormat {
    Any,
    /// Text of several lines.
    Prose,
    /// Text without anything a reader cannot see.
    Line,
    /// The name of a server, which becomes the prefix of its tools.
    ServerName,
    Url,
    HeaderName,
    HeaderValue,
    VariableName,
    /// The value of a variable, an argument, a path: what a process can be given.
    Value,
    /// The value of a secret: anything that can be one of a variable. It is not looked into.
    Secret,
    /// What `${secret:NAME}` can name.
    SecretName,
    SkillId,
    /// The id of a stored policy.
    PolicyId,
    /// Which tools a key may see and call.
    ToolPattern,
    /// RFC 3339.
    Time,
    Cursor,
    /// A definition that somebody has seen: `tool:NAME@HASH`, `instructions@HASH`.
    SeenDefinition,
    /// A path that means the same wherever a server is started.
    AbsolutePath,
    /// A host that a walled-in server may reach.
    SandboxHost,
    /// An image or a network of a container engine.
    EngineName,
    /// A path of this machine in a container.
    Mount,
}

impl TextFormat {
    /// What is wrong with it, said behind the field's name; and what to write instead.
    pub fn fault(self, text: &str) -> Option<(String, Option<&'static str>)> {
        let plain = |message: &str| Some((message.to_owned(), None));
        let with = |message: &str, hint| Some((message.to_owned(), Some(hint)));
        match self {
            Self::Any | Self::Cursor => None,
            Self::Prose if text.contains(is_control_but_space) => plain("has a control character"),
            Self::Prose => None,
            Self::Line => hidden(text).map(|message| (message, None)),
            Self::ServerName if !is_server_name(text) => with(
                "is not a name a server can have",
                "letters, digits, `-`, `_` and `.`, no `.` at either end",
            ),
            Self::ServerName => None,
            Self::Url => match Url::parse(text) {
                Ok(_) => reference_fault(text).map(|message| (message.to_owned(), REFERENCE)),
                Err(BadUrl::Host) if text.contains("${") => with(
                    "has a reference in its host",
                    "write the host itself; `${…}` may stand in the path and the query",
                ),
                Err(why) => Some((format!("is not a URL that can be used: {why}"), None)),
            },
            Self::HeaderName if !is_field_name(text) => plain("is not the name of a header"),
            Self::HeaderName if is_own_header(text) => {
                with("is a header that Trunkline sets itself", "leave it out")
            }
            Self::HeaderName => None,
            Self::HeaderValue if text.contains(|c: char| c.is_control() && c != '\t') => {
                plain("has a line end or another control character")
            }
            Self::HeaderValue if !is_field_value(text.as_bytes()) => {
                plain("is not the value of a header")
            }
            Self::VariableName if text.contains(['=', '\0']) => {
                plain("is not the name of a variable: it has a `=` or NUL")
            }
            Self::VariableName => None,
            Self::Value | Self::Secret if text.contains('\0') => plain("has a NUL character"),
            Self::Secret => None,
            Self::SecretName | Self::SkillId | Self::PolicyId => self.name_fault(text),
            Self::HeaderValue | Self::Value => {
                reference_fault(text).map(|message| (message.to_owned(), REFERENCE))
            }
            Self::ToolPattern => {
                let fault = text.parse::<Pattern>().err()?;
                Some((format!("cannot be read: {fault}"), None))
            }
            Self::Time if time::parse(text).is_none() => {
                with("is not a time", "write it as 2027-01-31T12:00:00Z (RFC 3339)")
            }
            Self::Time => None,
            Self::SeenDefinition => {
                (!is_seen(text)).then(|| ("does not say what was seen".to_owned(), Some(SEEN_HINT)))
            }
            Self::AbsolutePath if !text.starts_with('/') || text.contains('\0') => {
                plain("is not an absolute path")
            }
            Self::SandboxHost if HostRule::of_text(text).is_none() => {
                with("is not a host", "write api.example.com:443, *.example.com or 10.0.0.7:8080")
            }
            Self::EngineName if !is_image(text) => plain("is not a name that an engine knows"),
            Self::Mount if ContainerMount::of_text(text).is_none() => {
                with("cannot be mounted", "write /path, /path:/target or /path:/target:rw")
            }
            Self::AbsolutePath | Self::SandboxHost | Self::EngineName | Self::Mount => None,
        }
    }

    /// What is wrong with a name that stands in a path.
    fn name_fault(self, text: &str) -> Option<(String, Option<&'static str>)> {
        const PLAIN: &str = "letters, digits, `-`, `_` and `.`, no `.` at its beginning";
        let (is_good, what, hint) = match self {
            Self::SecretName => (is_secret_name(text), "is not a name a secret can have", PLAIN),
            Self::PolicyId => (is_policy_id(text), "is not an id a stored policy can have", PLAIN),
            _ => (
                is_skill_id(text),
                "is not an id a skill can have",
                "lower case letters, digits and `_`, a letter first",
            ),
        };
        (!is_good).then(|| (what.to_owned(), Some(hint)))
    }

    /// The rule as a regular expression of JSON Schema, where one can say it.
    pub fn pattern(self) -> Option<&'static str> {
        match self {
            Self::Any | Self::Time => None,
            Self::Prose => Some(r"^[^\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]*$"),
            // The characters of `admissible`, as far as they lie in the first plane.
            Self::Line => Some(
                r"^[^\u0000-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb]*$",
            ),
            Self::ServerName => Some(r"^[A-Za-z0-9_-]([A-Za-z0-9_.-]*[A-Za-z0-9_-])?$"),
            Self::Url => Some(
                r"^[Hh][Tt][Tt][Pp][Ss]?://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?([/?#][!-~]*)?$",
            ),
            Self::HeaderName => Some(r"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$"),
            Self::HeaderValue => Some(r"^[^\u0000-\u0008\u000a-\u001f\u007f-\u009f]*$"),
            Self::VariableName => Some(r"^[^=\u0000]+$"),
            Self::Value | Self::Secret => Some(r"^[^\u0000]*$"),
            Self::SecretName | Self::PolicyId => Some(r"^[A-Za-z0-9_-][A-Za-z0-9_.-]*$"),
            Self::SkillId => Some(r"^[a-z][a-z0-9_]*$"),
            Self::ToolPattern => Some(
                r"^(\*|([^.\\\u0000-\u001f\u007f-\u009f]|\\[.*\\])+\.([^\\\u0000-\u001f\u007f-\u009f]|\\[.*\\])+)$",
            ),
            Self::Cursor => Some(r"^[0-9a-f]+$"),
            Self::SeenDefinition => Some(
                r"^(instructions|(tool|prompt|template):[^\u0000-\u001f\u007f-\u009f]+)@[0-9A-Fa-f]{32,64}$",
            ),
            Self::AbsolutePath => Some(r"^/[^\u0000]*$"),
            // Names, IPv4 addresses, and IPv6 addresses written in full.
            Self::SandboxHost => Some(
                r"^((\*\.[A-Za-z0-9_-]{1,63}\.)?([A-Za-z0-9_-]{1,63}\.)*[A-Za-z][A-Za-z0-9_-]{0,62}|((25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])\.){3}(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])|\[([0-9A-Fa-f]{1,4}:){7}[0-9A-Fa-f]{1,4}\])(:([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?$",
            ),
            Self::EngineName => Some(r"^[A-Za-z0-9][A-Za-z0-9._/:@-]*$"),
            Self::Mount => Some(r"^/[^\u0000:,]*(:/[^\u0000:,]*)?(:(ro|rw))?$"),
        }
    }

    pub fn format(self) -> Option<&'static str> {
        match self {
            Self::Url => Some("uri"),
            Self::Time => Some("date-time"),
            _ => None,
        }
    }
}

const SEEN_HINT: &str = "write `KIND:NAME@HASH` as GET /api/v1/reviews shows it in `item`";

fn is_seen(text: &str) -> bool {
    let choice = Choice::read(text);
    let is_whole = match choice.kind {
        None => false,
        Some(DefinitionKind::Instructions) => choice.name.is_empty(),
        Some(_) => !choice.name.is_empty(),
    };
    let is_hash = choice.hash.is_some_and(|hash| hash.len() <= LONGEST_HASH);
    is_whole && is_hash && !text.contains(char::is_control)
}

/// Digits of a whole hash.
const LONGEST_HASH: usize = 64;

const REFERENCE: Option<&str> = Some("write `${NAME}`, `${NAME:-default}` or `${secret:NAME}`");

fn is_control_but_space(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\r' | '\t')
}

fn is_server_name(text: &str) -> bool {
    let belongs = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    text.bytes().all(belongs) && !text.starts_with('.') && !text.ends_with('.')
}

/// An empty text is a matter of its length.
fn hidden(text: &str) -> Option<String> {
    match admissible(text) {
        Err(NameFault::Character { kind, character, position, .. }) => {
            let code = u32::from(character);
            Some(format!("has {kind} (U+{code:04X}) at character {position}"))
        }
        Err(NameFault::Empty) | Ok(()) => None,
    }
}

/// References are resolved when the server is connected; what can never be one is said now.
fn reference_fault(text: &str) -> Option<&'static str> {
    let mut parts = text.split("${");
    parts.next();
    parts.find_map(|part| match part.split_once('}') {
        None => Some("has a `${` that is never closed"),
        Some((inner, _)) if is_reference(inner) => None,
        Some(_) => Some("has a `${…}` that is not a reference"),
    })
}

fn is_reference(inner: &str) -> bool {
    match inner.strip_prefix("secret:") {
        Some(name) => is_secret_name(name),
        None => {
            let inner = inner.strip_prefix("env:").unwrap_or(inner);
            is_variable(inner.split_once(":-").map_or(inner, |(name, _)| name))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(form: TextFormat, text: &str, expected: Option<&str>) {
        let message = form.fault(text).map(|(message, _)| message);
        match (&message, expected) {
            (None, None) => {}
            (Some(message), Some(part)) if message.contains(part) => {}
            _ => panic!("{form:?} {text:?}: {message:?}, not {expected:?}"),
        }
    }

    #[test]
    fn names_of_servers() {
        for name in ["a", "github-mcp", "a.b", "A_1", "-", "a..b", "0"] {
            check(TextFormat::ServerName, name, None);
        }
        for name in [".a", "a.", ".", "a b", "a/b", "a:b", "é", "a\n", "a\0", "{id}", "a%20"] {
            check(TextFormat::ServerName, name, Some("not a name a server can have"));
        }
    }

    #[test]
    fn urls() {
        for url in [
            "https://github-mcp.example.com/sse",
            "HTTP://h",
            "http://[::1]:8080/mcp?x=${TOKEN}",
            "https://h/${secret:PATH}/mcp",
        ] {
            check(TextFormat::Url, url, None);
        }
        for (url, part) in [
            ("h", "http:// or https://"),
            ("file:///etc/passwd", "http:// or https://"),
            ("https://u:p@h/", "user name and password"),
            ("https:///x", "names no host"),
            ("https://${HOST}/x", "reference in its host"),
            ("https://h/${x", "never closed"),
            ("https://h/${a-b}", "not a reference"),
            ("https://h/a b", "no space"),
            ("https://h:99999/", "port"),
        ] {
            check(TextFormat::Url, url, Some(part));
        }
    }

    #[test]
    fn headers_and_variables() {
        for (form, text, expected) in [
            (TextFormat::HeaderName, "Authorization", None),
            (TextFormat::HeaderName, "X-Key_1", None),
            (TextFormat::HeaderName, "", Some("not the name")),
            (TextFormat::HeaderName, "A B", Some("not the name")),
            (TextFormat::HeaderName, "A:", Some("not the name")),
            (TextFormat::HeaderName, "A\r\n", Some("not the name")),
            (TextFormat::HeaderName, "content-LENGTH", Some("sets itself")),
            (TextFormat::HeaderName, "Mcp-Param-X", Some("sets itself")),
            (TextFormat::HeaderValue, "Bearer ${GITHUB_TOKEN}", None),
            (TextFormat::HeaderValue, "tab\tis fine", None),
            (TextFormat::HeaderValue, "", None),
            (TextFormat::HeaderValue, "a\r\nX: y", Some("line end")),
            (TextFormat::HeaderValue, "a\nb", Some("line end")),
            (TextFormat::HeaderValue, "a\0", Some("line end")),
            (TextFormat::HeaderValue, "a\u{85}b", Some("line end")),
            (TextFormat::HeaderValue, "${", Some("never closed")),
            (TextFormat::HeaderValue, "${}", Some("not a reference")),
            (TextFormat::HeaderValue, "${secret:a/b}", Some("not a reference")),
            (TextFormat::HeaderValue, "${secret:github.token}${A:-x}", None),
            (TextFormat::VariableName, "PATH", None),
            (TextFormat::VariableName, "A=B", Some("not the name of a variable")),
            (TextFormat::VariableName, "A\0", Some("not the name of a variable")),
            (TextFormat::Value, "line\nline $HOME $$", None),
            (TextFormat::Value, "a\0b", Some("NUL")),
        ] {
            check(form, text, expected);
        }
    }

    #[test]
    fn other_texts() {
        for (form, text, expected) in [
            (TextFormat::Line, "Für das Team", None),
            (TextFormat::Line, "a\nb", Some("a control character (U+000A) at character 2")),
            (TextFormat::Line, "a\u{202e}b", Some("bidirectional")),
            (TextFormat::Prose, "one\ntwo\tthree", None),
            (TextFormat::Prose, "a\u{1b}[2J", Some("control character")),
            (TextFormat::ToolPattern, "github-mcp.*", None),
            (TextFormat::ToolPattern, "*", None),
            (TextFormat::ToolPattern, "github-mcp", Some("there is no `.` in this one")),
            (TextFormat::ToolPattern, "a.\\", Some("at character 3")),
            (TextFormat::Time, "2027-01-31T12:00:00Z", None),
            (TextFormat::Time, "tomorrow", Some("not a time")),
            (TextFormat::Any, "\0", None),
            (TextFormat::SeenDefinition, "tool:a@b@8b1c2d3e4f5a6b7c8b1c2d3e4f5a6b7c", None),
            (TextFormat::SeenDefinition, "instructions@8B1C2D3E4F5A6B7C8B1C2D3E4F5A6B7C", None),
            (TextFormat::AbsolutePath, "/srv/x", None),
            (TextFormat::AbsolutePath, "srv", Some("not an absolute path")),
            (TextFormat::SandboxHost, "*.example.com:443", None),
            (TextFormat::SandboxHost, "*", Some("not a host")),
            (TextFormat::EngineName, "ghcr.io/a/b:1", None),
            (TextFormat::EngineName, "--privileged", Some("not a name")),
            (TextFormat::Mount, "/a:/b:rw", None),
            (TextFormat::Mount, "a:b", Some("cannot be mounted")),
            (TextFormat::SeenDefinition, "tool:add", Some("what was seen")),
            (TextFormat::SeenDefinition, "tool:add@8b1c2d3e4f5a6b7c", Some("what was seen")),
            (
                TextFormat::SeenDefinition,
                "tool:@8b1c2d3e4f5a6b7c8b1c2d3e4f5a6b7c",
                Some("what was seen"),
            ),
            (
                TextFormat::SeenDefinition,
                "add@8b1c2d3e4f5a6b7c8b1c2d3e4f5a6b7c",
                Some("what was seen"),
            ),
            (
                TextFormat::SeenDefinition,
                "instructions:x@8b1c2d3e4f5a6b7c8b1c2d3e4f5a6b7c",
                Some("what was seen"),
            ),
            (
                TextFormat::SeenDefinition,
                "tool:a\nb@8b1c2d3e4f5a6b7c8b1c2d3e4f5a6b7c",
                Some("what was seen"),
            ),
        ] {
            check(form, text, expected);
        }
    }
}
