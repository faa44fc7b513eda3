//! Which keys an object may have, and what is said about the others.

use super::calls::CALLS;
use super::check::{Checker, find};
use super::filter::{EXPOSE, HIDE, PIN};
use super::harmless::shown_key;
use super::load::Rules;
use super::near::{Spellings, nearest};
use super::path::Path;
use super::problem::Problem;
use crate::jsonc::{Member, Value};

pub(crate) struct Keys<'k> {
    pub(crate) known: &'k [&'k str],
    /// Known as well, here and elsewhere.
    pub(crate) more: &'k [&'k [&'k str]],
    pub(crate) spellings: Spellings<'k, 'k>,
    pub(crate) not_yet: &'k [&'k str],
    /// Known in a server of the other kind: no effect here.
    pub(crate) elsewhere: &'k [&'k str],
}

impl Keys<'_> {
    fn knows(&self, key: &str) -> bool {
        self.known.contains(&key) || self.more.iter().any(|keys| keys.contains(&key))
    }
}

pub(crate) const NONE: Keys<'_> =
    Keys { known: &[], more: &[], spellings: &[], not_yet: &[], elsewhere: &[] };

/// The file's own object.
pub(crate) const TOP: Keys<'_> = Keys {
    known: &["mcpServers", "servers", "tools"],
    spellings: &[("mcpServers", "mcpServers"), ("tools", "tools"), ("customTools", "tools")],
    ..NONE
};

pub(crate) const TOP_SIMPLE: Keys<'_> =
    Keys { known: &["mcpServers"], spellings: &[("mcpServers", "mcpServers")], ..NONE };

/// A server under the simple rules.
pub(crate) const SIMPLE: Keys<'_> =
    Keys { known: &["command", "args", "env"], spellings: &SPELLINGS, ..NONE };

pub(crate) const STDIO: Keys<'_> = Keys {
    known: &["command", "args", "env", "cwd"],
    more: &ANY_SERVER,
    spellings: &SPELLINGS,
    not_yet: &NOT_YET,
    elsewhere: &["headers"],
};

pub(crate) const REMOTE: Keys<'_> = Keys {
    known: &["url", "serverUrl", "httpUrl", "headers"],
    more: &ANY_SERVER,
    spellings: &SPELLINGS,
    not_yet: &NOT_YET,
    elsewhere: &["args", "env", "cwd"],
};

const ANY_SERVER: [&[&str]; 5] =
    [&["type", "disabled", "enabled", "share", "era"], &CALLS, &EXPOSE, &HIDE, &PIN];

/// What people write, and the key they mean.
pub(crate) const SPELLINGS: [(&str, &str); 34] = [
    ("command", "command"),
    ("cmd", "command"),
    ("args", "args"),
    ("arguments", "args"),
    ("env", "env"),
    ("envs", "env"),
    ("environment", "env"),
    ("cwd", "cwd"),
    ("workingDirectory", "cwd"),
    ("workdir", "cwd"),
    ("url", "url"),
    ("uri", "url"),
    ("endpoint", "url"),
    ("headers", "headers"),
    ("type", "type"),
    ("disabled", "disabled"),
    ("enabled", "enabled"),
    ("share", "share"),
    ("era", "era"),
    ("callTimeout", "callTimeout"),
    ("maxConcurrency", "maxConcurrency"),
    ("exposedTools", "exposedTools"),
    ("exposeTools", "exposedTools"),
    ("allowedTools", "exposedTools"),
    ("includeTools", "includeTools"),
    ("enabled_tools", "enabled_tools"),
    ("available_tools", "available_tools"),
    ("hiddenTools", "hiddenTools"),
    ("hideTools", "hiddenTools"),
    ("blockedTools", "hiddenTools"),
    ("excludeTools", "excludeTools"),
    ("disabledTools", "disabledTools"),
    ("pinnedTools", "pinnedTools"),
    ("pinTools", "pinnedTools"),
];

/// Keys with a meaning that is not built yet: ignoring them silently would mislead.
const NOT_YET: [&str; 1] = ["envFile"];

impl Checker<'_> {
    /// Keys that are not `known`: an error under the simple rules, else a warning where they look
    /// like a mistake and a note where they do not. `explained` has been reported already.
    pub(crate) fn other_keys(
        &mut self,
        members: &[Member],
        at: &Path,
        keys: &Keys<'_>,
        explained: Option<&str>,
    ) {
        for member in members {
            let key = member.key.value.as_str();
            if keys.knows(key) || explained == Some(key) {
                continue;
            }
            let meant = nearest(key, keys.spellings)
                .filter(|meant| keys.knows(meant) && find(members, meant).is_none());
            self.other_key(member, &at.key(key), keys, meant);
        }
    }

    fn other_key(&mut self, member: &Member, at: &Path, keys: &Keys<'_>, meant: Option<&str>) {
        let (key, span) = (shown_key(&member.key.value), member.key.span);
        let did_you_mean = meant.map(|meant| format!("did you mean `{meant}`?"));
        if self.rules == Rules::Simple {
            let problem =
                Problem::schema(at, span, format!("`{key}` is not in the standard config"));
            let allowed = keys.known.join("`, `");
            let help = did_you_mean.unwrap_or_else(|| {
                format!("the simple mode takes only `{allowed}` here; trunkline without --simple takes more")
            });
            self.report(problem.help(help));
        } else if let Some(help) = did_you_mean {
            let problem =
                Problem::warning(at, span, format!("`{key}` is not a known key and is ignored"));
            self.report(problem.help(help));
        } else if keys.not_yet.contains(&member.key.value.as_str()) {
            let message = format!("`{key}` is not supported yet and has no effect");
            self.report(Problem::warning(at, span, message));
        } else if keys.elsewhere.contains(&member.key.value.as_str()) && says_something(member) {
            let (here, there) = match key.as_str() {
                "headers" => ("runs a `command`", "a `url`"),
                _ => ("has a `url`", "a `command`"),
            };
            let message = format!("`{key}` has no effect: this server {here}");
            let help = format!("remove it; it belongs to a server with {there}");
            self.report(Problem::warning(at, span, message).help(help));
        } else {
            self.note(at, span);
        }
    }
}

/// Clients' dialogs write empty ones everywhere.
fn says_something(member: &Member) -> bool {
    match &member.value.value {
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
        Value::String(text) => !text.value.is_empty(),
        Value::Null => false,
        Value::Bool(_) | Value::Number(_) => true,
    }
}
