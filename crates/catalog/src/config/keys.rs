//! Which keys an object may have, and what is said about the others.

use super::check::{Checker, find};
use super::escape::shown;
use super::load::Rules;
use super::near::{Spellings, nearest};
use super::path::Path;
use super::problem::Problem;
use crate::jsonc::Member;

pub(crate) struct Keys<'k> {
    pub(crate) known: &'k [&'k str],
    pub(crate) spellings: Spellings<'k>,
    pub(crate) not_yet: &'k [&'k str],
}

/// The file's own object.
pub(crate) const TOP: Keys<'_> = Keys {
    known: &["mcpServers"],
    spellings: &[("mcpServers", "mcpServers")],
    not_yet: &["tools"],
};

/// A server under the simple rules.
pub(crate) const SIMPLE: Keys<'_> =
    Keys { known: &["command", "args", "env"], spellings: &SPELLINGS, not_yet: &[] };

pub(crate) const STDIO: Keys<'_> = Keys {
    known: &["command", "args", "env", "cwd", "type", "disabled", "enabled"],
    spellings: &SPELLINGS,
    not_yet: &NOT_YET,
};

pub(crate) const REMOTE: Keys<'_> = Keys {
    known: &["url", "serverUrl", "httpUrl", "headers", "type", "disabled", "enabled"],
    spellings: &SPELLINGS,
    not_yet: &NOT_YET,
};

/// What people write, and the key they mean.
pub(crate) const SPELLINGS: [(&str, &str); 17] = [
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
];

/// Keys with a meaning that is not built yet: ignoring them silently would mislead.
const NOT_YET: [&str; 6] =
    ["exposedTools", "hiddenTools", "includeTools", "excludeTools", "disabledTools", "envFile"];

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
            if keys.known.contains(&key) || explained == Some(key) {
                continue;
            }
            let meant = nearest(key, keys.spellings)
                .filter(|meant| keys.known.contains(meant) && find(members, meant).is_none());
            self.other_key(member, &at.key(key), keys, meant);
        }
    }

    fn other_key(&mut self, member: &Member, at: &Path, keys: &Keys<'_>, meant: Option<&str>) {
        let (key, span) = (shown(&member.key.value), member.key.span);
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
        } else if member.key.value == "servers" {
            let message = "`servers` is ignored because the file has `mcpServers`";
            self.report(Problem::warning(at, span, message));
        } else {
            self.note(at, span);
        }
    }
}
