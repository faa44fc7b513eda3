//! Which keys an object may have, and what is said about the others.

use super::calls::CALLS;
use super::checker::{ConfigChecker, find};
use super::filter::{ERAS, EXPOSE, HIDE, PIN, SHARES};
use super::harmless::shown_key;
use super::limits::{LIMITS, SHARED_LIMITS};
use super::near::{Spellings, nearest};
use super::network_rules::{PROXY_KEY, TLS_KEY};
use super::on_change::{ON_CHANGE, ON_CHANGE_DEFAULT};
use super::path::Path;
use super::problem::Problem;
use super::run::{RUN, RUN_DEFAULTS};
use super::sandbox_rules::{CONTAINER_KEY, SANDBOX_DEFAULT, SANDBOX_KEY};
use super::scanning::{SCAN_DEFAULTS, SCANNING};
use super::shape::{ConfigKey, Takes};
use super::spec::Rules;
use crate::jsonc::{JsonMember, Value};

pub(crate) struct Keys<'k> {
    pub(crate) known: &'static [ConfigKey],
    /// Known as well, here and elsewhere.
    pub(crate) more: &'static [&'static [ConfigKey]],
    pub(crate) spellings: Spellings<'k, 'k>,
    pub(crate) not_yet: &'k [&'k str],
    /// Known in a server of the other kind: no effect here.
    pub(crate) elsewhere: &'k [&'k str],
}

impl Keys<'_> {
    fn knows(&self, key: &str) -> bool {
        let mut all = self.known.iter().chain(self.more.iter().copied().flatten());
        all.any(|known| known.name == key)
    }
}

pub(crate) const NONE: Keys<'_> =
    Keys { known: &[], more: &[], spellings: &[], not_yet: &[], elsewhere: &[] };

/// The file's own object.
pub(crate) const TOP: Keys<'_> = Keys {
    known: &[
        ConfigKey::new(
            "$schema",
            Takes::Anything,
            "Where this schema is, for editors. Trunkline does not look at it.",
        ),
        MCP_SERVERS,
        ConfigKey::new("servers", Takes::Servers, "The same, as VS Code calls it."),
        ConfigKey::new(
            "tools",
            Takes::CustomTools,
            "Custom tools: each stands for several tools of several servers.",
        ),
        ConfigKey::new(
            "presets",
            Takes::Presets,
            "Named choices of servers and tools, for `--preset` and `clients`.",
        ),
        ConfigKey::new("clients", Takes::Clients, "What single clients are shown and not shown."),
        ConfigKey::new(
            "policies",
            Takes::Filled,
            "Who may see and use what: a file with Cedar policies, or a directory with *.cedar, relative to this \
             file.",
        ),
    ],
    spellings: &[
        ("mcpServers", "mcpServers"),
        ("tools", "tools"),
        ("customTools", "tools"),
        ("presets", "presets"),
        ("clients", "clients"),
        ("limits", "limits"),
        ("policies", "policies"),
        ("policy", "policies"),
    ],
    more: &[&RUN_DEFAULTS, &ON_CHANGE_DEFAULT, &SHARED_LIMITS, &SANDBOX_DEFAULT, &SCAN_DEFAULTS],
    ..NONE
};

pub(crate) const TOP_SIMPLE: Keys<'_> =
    Keys { known: &[MCP_SERVERS], spellings: &[("mcpServers", "mcpServers")], ..NONE };

const MCP_SERVERS: ConfigKey = ConfigKey::new(
    "mcpServers",
    Takes::Servers,
    "The servers. The key of each becomes the prefix of its tools, exactly as written.",
);

/// A server under the simple rules.
pub(crate) const SIMPLE: Keys<'_> =
    Keys { known: &[COMMAND, ARGS, ENV], spellings: &SPELLINGS, ..NONE };

pub(crate) const STDIO: Keys<'_> = Keys {
    known: &[
        COMMAND,
        ARGS,
        ENV,
        ConfigKey::new("cwd", Takes::Filled, "The working directory of the program."),
        SANDBOX_KEY,
        CONTAINER_KEY,
    ],
    more: &ANY_SERVER,
    spellings: &SPELLINGS,
    not_yet: &NOT_YET,
    elsewhere: &["headers", "proxy", "tls"],
};

const COMMAND: ConfigKey = ConfigKey::new(
    "command",
    Takes::Filled,
    "The program to start. No shell: its arguments go into `args`.",
);
const ARGS: ConfigKey = ConfigKey::new("args", Takes::Texts, "The arguments of the program.");
const ENV: ConfigKey = ConfigKey::new(
    "env",
    Takes::Variables,
    "Added to the environment of the program. ${NAME} is a variable of Trunkline's own.",
);

pub(crate) const REMOTE: Keys<'_> = Keys {
    known: &[
        ConfigKey::new("url", Takes::Address, "The address of a server that runs elsewhere."),
        ConfigKey::new("serverUrl", Takes::Address, "The same, as Windsurf calls it."),
        ConfigKey::new(
            "httpUrl",
            Takes::Address,
            "The same, as Gemini CLI calls it: Streamable HTTP.",
        ),
        ConfigKey::new("headers", Takes::Headers, "Sent to the server with every request."),
        PROXY_KEY,
        TLS_KEY,
    ],
    more: &ANY_SERVER,
    spellings: &SPELLINGS,
    not_yet: &NOT_YET,
    elsewhere: &["args", "env", "cwd", "sandbox", "container"],
};

const ANY_SERVER: [&[ConfigKey]; 9] =
    [&ANY, &CALLS, &LIMITS, &EXPOSE, &HIDE, &PIN, &RUN, &ON_CHANGE, &SCANNING];

/// What every server may have, besides what is said about its calls and its tools.
const ANY: [ConfigKey; 5] = [
    ConfigKey::new(
        "type",
        Takes::Type,
        "How the server is reached. Not needed: a command is stdio, and of an address it is found out.",
    ),
    ConfigKey::new("disabled", Takes::Flag, "The server is checked, but not started."),
    ConfigKey::new("enabled", Takes::Flag, "The same the other way round."),
    ConfigKey::new(
        "share",
        Takes::Word(&SHARES),
        "One process for all clients (shared), or one for each client session (per-session).",
    ),
    ConfigKey::new(
        "era",
        Takes::Word(&ERAS),
        "Which revisions of MCP the server is spoken to in: as it answers (auto), up to 2025-11-25 \
         (legacy), 2026-07-28 (modern).",
    ),
];

/// What people write, and the key they mean.
pub(crate) const SPELLINGS: [(&str, &str); 45 + CALLS.len()] = with_calls([
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
    ("proxy", "proxy"),
    ("type", "type"),
    ("disabled", "disabled"),
    ("enabled", "enabled"),
    ("share", "share"),
    ("era", "era"),
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
    ("start", "start"),
    ("idleStop", "idleStop"),
    ("idleTimeout", "idleStop"),
    ("onChange", "onChange"),
    ("onChanged", "onChange"),
    ("limits", "limits"),
    ("rateLimit", "limits"),
    ("rateLimits", "limits"),
    ("sandbox", "sandbox"),
    ("container", "container"),
    ("scan", "scan"),
    ("scanAllow", "scanAllow"),
]);

/// … and the keys of the settings of calls, as they are.
#[expect(
    clippy::indexing_slicing,
    reason = "the compiler evaluates it: out of bounds does not build"
)]
const fn with_calls<const N: usize, const M: usize>(
    listed: [(&'static str, &'static str); N],
) -> [(&'static str, &'static str); M] {
    let mut all = [("", ""); M];
    let mut at = 0;
    while at < M {
        all[at] = if at < N { listed[at] } else { (CALLS[at - N].name, CALLS[at - N].name) };
        at += 1;
    }
    all
}

/// Keys with a meaning that is not built yet: ignoring them silently would mislead.
const NOT_YET: [&str; 1] = ["envFile"];

impl ConfigChecker<'_> {
    /// Keys that are not `known`: an error under the simple rules, else a warning where they look
    /// like a mistake and a note where they do not. `explained` has been reported already.
    pub(crate) fn other_keys(
        &mut self,
        members: &[JsonMember],
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

    fn other_key(&mut self, member: &JsonMember, at: &Path, keys: &Keys<'_>, meant: Option<&str>) {
        let (key, span) = (shown_key(&member.key.value), member.key.span);
        let did_you_mean = meant.map(|meant| format!("did you mean `{meant}`?"));
        if self.rules == Rules::Simple {
            let problem =
                Problem::schema(at, span, format!("`{key}` is not in the standard config"));
            let allowed: Vec<&str> = keys.known.iter().map(|key| key.name).collect();
            let allowed = allowed.join("`, `");
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
                "headers" | "proxy" | "tls" => ("runs a `command`", "a `url`"),
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
fn says_something(member: &JsonMember) -> bool {
    match &member.value.value {
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
        Value::String(text) => !text.value.is_empty(),
        Value::Null => false,
        Value::Bool(_) | Value::Number(_) => true,
    }
}
