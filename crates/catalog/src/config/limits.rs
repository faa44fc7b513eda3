//! `limits` of the file: what a server and its tools may have, and what each caller and address may have.

use super::calls::key;
use super::checker::{ConfigChecker, find, wrong_type};
use super::keys::{Keys, NONE};
use super::limit_rules::{ANYWHERE, LIMIT_SETTINGS, LimitRules, SharedLimits, ToolLimits};
use super::path::Path;
use super::problem::Problem;
use super::shape::{ConfigKey, Takes};
use super::spec::Rules;
use crate::jsonc::{JsonMember, Value};

const NAME: &str = "limits";
const TOOLS: &str = "tools";
const PER_CALLER: &str = "perCaller";
const PER_ADDRESS: &str = "perAddress";

/// Of a server.
pub(crate) const LIMITS: [ConfigKey; 1] = [ConfigKey::new(
    NAME,
    Takes::ServerLimits,
    "How much all callers together may have of this server; calls beyond it are refused, not run.",
)];

/// Beside the servers.
pub(crate) const SHARED_LIMITS: [ConfigKey; 1] = [ConfigKey::new(
    NAME,
    Takes::SharedLimits,
    "How much each caller and each address may have of all servers together.",
)];

const ANY_KEYS: [ConfigKey; ANYWHERE] = keys();
const CALLER_KEYS: [ConfigKey; LIMIT_SETTINGS.len()] = keys();

#[expect(
    clippy::indexing_slicing,
    reason = "the compiler evaluates it: out of bounds does not build"
)]
const fn keys<const N: usize>() -> [ConfigKey; N] {
    let mut keys = [ConfigKey::new("", Takes::Anything, ""); N];
    let mut at = 0;
    while at < N {
        keys[at] = key(&LIMIT_SETTINGS[at]);
        at += 1;
    }
    keys
}

/// What people write, and the key they mean.
const SPELLINGS: [(&str, &str); 15] = [
    ("callsPerSecond", "callsPerSecond"),
    ("requestsPerSecond", "callsPerSecond"),
    ("perSecond", "callsPerSecond"),
    ("rate", "callsPerSecond"),
    ("burst", "burst"),
    ("burstSize", "burst"),
    ("openCalls", "openCalls"),
    ("concurrentCalls", "openCalls"),
    ("maxConcurrency", "openCalls"),
    ("resultBytesPerMinute", "resultBytesPerMinute"),
    ("bytesPerMinute", "resultBytesPerMinute"),
    ("sessions", "sessions"),
    ("connections", "connections"),
    ("subscriptions", "subscriptions"),
    ("tools", "tools"),
];

pub(crate) const OF_SERVER_LIMITS: Keys<'_> = Keys {
    known: &ANY_KEYS,
    more: &[&[ConfigKey::new(
        TOOLS,
        Takes::ToolLimits,
        "How much each of these tools may have, by the server's own names; * is anything.",
    )]],
    spellings: &SPELLINGS,
    ..NONE
};

pub(crate) const LIMITS_OF_ANY: Keys<'_> = Keys { known: &ANY_KEYS, spellings: &SPELLINGS, ..NONE };

pub(crate) const CALLER_LIMITS: Keys<'_> =
    Keys { known: &CALLER_KEYS, spellings: &SPELLINGS, ..NONE };

pub(crate) const SHARED: Keys<'_> = Keys {
    known: &[
        ConfigKey::new(
            PER_CALLER,
            Takes::CallerLimits,
            "Each API key and each subject of an issuer; without a platform, each session.",
        ),
        ConfigKey::new(PER_ADDRESS, Takes::Limits, "Each address that clients connect from."),
    ],
    spellings: &[
        (PER_CALLER, PER_CALLER),
        ("perKey", PER_CALLER),
        ("perClient", PER_CALLER),
        ("perSession", PER_CALLER),
        ("caller", PER_CALLER),
        (PER_ADDRESS, PER_ADDRESS),
        ("perIp", PER_ADDRESS),
        ("address", PER_ADDRESS),
    ],
    ..NONE
};

const SERVER_EXAMPLE: &str = "write {\"callsPerSecond\": 20, \"openCalls\": 8}";
const TOOLS_EXAMPLE: &str = "write {\"TOOL\": {\"callsPerSecond\": 1}}; * in TOOL is anything";
const SHARED_EXAMPLE: &str = "write {\"perCaller\": {\"callsPerSecond\": 20}}";

/// Reads limits; what is found goes to the checker of the file.
pub(super) struct LimitsReader<'s, 'c>(pub(super) &'s mut ConfigChecker<'c>);

impl LimitsReader<'_, '_> {
    /// What the server may have as a whole.
    pub(super) fn server(&mut self, members: &[JsonMember], at: &Path) -> LimitRules {
        let member = find(members, NAME).filter(|_| self.0.rules == Rules::Full);
        member.map(|member| self.limits_of(member, at, &OF_SERVER_LIMITS)).unwrap_or_default()
    }

    /// What its tools may have.
    pub(super) fn tools(&mut self, members: &[JsonMember], at: &Path) -> Vec<ToolLimits> {
        let limits = find(members, NAME).filter(|_| self.0.rules == Rules::Full);
        let Some(Value::Object(inner)) = limits.map(|member| &member.value.value) else {
            return Vec::new(); // another shape is reported where the server's own are read
        };
        let Some(tools) = find(inner, TOOLS) else { return Vec::new() };
        let at = at.key(NAME).key(TOOLS);
        let Value::Object(patterns) = &tools.value.value else {
            let problem = wrong_type(&tools.value, &at, "`tools`", "an object of tools");
            self.0.report(problem.help(TOOLS_EXAMPLE));
            return Vec::new();
        };
        self.0.duplicates(patterns, &at);
        let mut read = Vec::new();
        for member in patterns {
            let rules = self.limits_of(member, &at, &LIMITS_OF_ANY);
            if member.key.value.is_empty() {
                let at = at.key(&member.key.value);
                let problem = Problem::schema(&at, member.key.span, "the name of a tool is empty");
                self.0.report(problem.help(TOOLS_EXAMPLE));
            }
            read.push(ToolLimits { pattern: member.key.value.clone(), rules });
        }
        read
    }

    /// What callers and addresses may have.
    pub(super) fn shared(&mut self, members: &[JsonMember], at: &Path) -> SharedLimits {
        let Some(member) = find(members, NAME) else { return SharedLimits::default() };
        let at = at.key(NAME);
        let Value::Object(inner) = &member.value.value else {
            let problem = wrong_type(&member.value, &at, "`limits`", "an object");
            self.0.report(problem.help(SHARED_EXAMPLE));
            return SharedLimits::default();
        };
        self.0.duplicates(inner, &at);
        self.0.other_keys(inner, &at, &SHARED, None);
        let mut of = |name: &str, keys: &Keys<'_>| match find(inner, name) {
            Some(member) => self.limits_of(member, &at, keys),
            None => LimitRules::default(),
        };
        SharedLimits {
            per_caller: of(PER_CALLER, &CALLER_LIMITS),
            per_address: of(PER_ADDRESS, &LIMITS_OF_ANY),
        }
    }

    fn limits_of(&mut self, member: &JsonMember, at: &Path, keys: &Keys<'_>) -> LimitRules {
        let at = at.key(&member.key.value);
        let Value::Object(members) = &member.value.value else {
            let what = format!("`{}`", member.key.value);
            let problem = wrong_type(&member.value, &at, &what, "an object of limits");
            self.0.report(problem.help(SERVER_EXAMPLE));
            return LimitRules::default();
        };
        self.0.duplicates(members, &at);
        self.0.other_keys(members, &at, keys, None);
        let rules = LimitRules::of(|setting| {
            let is_known = keys.known.iter().any(|key| key.name == setting.key);
            is_known.then(|| self.0.setting(members, &at, setting))?
        });
        if let Some(burst) = find(members, "burst")
            && find(members, "callsPerSecond").is_none()
        {
            let message = "`burst` has no effect without `callsPerSecond`";
            self.0.report(Problem::warning(&at.key("burst"), burst.key.span, message));
        }
        rules
    }
}
