//! `LimitRules`: how much a caller, a server, a tool or an address may have, and the one table of these settings.

use super::call_rules::{CallRules, CallSetting, SettingUnit};

/// What nobody may have more of. `None`: nothing is said, and a default may hold; 0: no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimitRules {
    /// Calls in 1,000 seconds: a fraction of a call a second can be said.
    pub calls_per_second: Option<u32>,
    /// Calls that may come at once after a pause.
    pub burst: Option<u32>,
    pub open_calls: Option<u32>,
    pub result_bytes_per_minute: Option<u32>,
    /// Of a caller only, as are those below.
    pub sessions: Option<u32>,
    pub connections: Option<u32>,
    pub subscriptions: Option<u32>,
}

/// What a file says about callers and addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SharedLimits {
    pub per_caller: LimitRules,
    pub per_address: LimitRules,
}

/// What one tool, or each of several, may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolLimits {
    /// Names of tools as their server calls them; `*` is anything.
    pub pattern: String,
    pub rules: LimitRules,
}

/// All settings; the first `ANYWHERE` mean something everywhere, the others for callers only.
pub const LIMIT_SETTINGS: &[CallSetting; 7] = &[
    CALLS_PER_SECOND,
    BURST,
    OPEN_CALLS,
    RESULT_BYTES,
    CallSetting {
        key: "sessions",
        name: "sessions",
        stored: "sessions",
        unit: SettingUnit::Number,
        least: 0,
        most: 10_000,
        default: "1,000",
        doc: "How many sessions a caller may have open; 0 is as many as there may be at all.",
        number: "how many sessions a caller may have open, or 0 for no limit",
        label: "Sessions",
        get: |rules| rules.limits.sessions,
        set: |rules, value| rules.limits.sessions = value,
    },
    CallSetting {
        key: "connections",
        name: "connections",
        stored: "connections",
        unit: SettingUnit::Number,
        least: 0,
        most: 10_000,
        default: "no limit",
        doc: "How many connections a caller may have open; 0 is no limit.",
        number: "how many connections a caller may have open, or 0 for no limit",
        label: "Connections",
        get: |rules| rules.limits.connections,
        set: |rules, value| rules.limits.connections = value,
    },
    CallSetting {
        key: "subscriptions",
        name: "subscriptions",
        stored: "subscriptions",
        unit: SettingUnit::Number,
        least: 0,
        most: 1_000_000,
        default: "10,000",
        doc: "How many resources a caller may be subscribed to in all its sessions; 0 is no limit.",
        number: "how many resources a caller may be subscribed to, or 0 for no limit",
        label: "Subscriptions",
        get: |rules| rules.limits.subscriptions,
        set: |rules, value| rules.limits.subscriptions = value,
    },
];

/// How many settings of the table mean something for servers, tools and addresses, too.
pub const ANYWHERE: usize = 4;

pub(super) const CALLS_PER_SECOND: CallSetting = CallSetting {
    key: "callsPerSecond",
    name: "calls_per_second",
    stored: "calls_per_second_milli",
    unit: SettingUnit::PerSecond,
    least: 0,
    // More than the gateway can do.
    most: 1_000_000_000,
    default: "no limit",
    doc: "How many calls a second are taken, on average; others are refused and told when to come again. 0 is no limit.",
    number: "how many calls a second are taken, or 0 for no limit",
    label: "Calls per second",
    get: |rules| rules.limits.calls_per_second,
    set: |rules, value| rules.limits.calls_per_second = value,
};

pub(super) const BURST: CallSetting = CallSetting {
    key: "burst",
    name: "burst",
    stored: "burst",
    unit: SettingUnit::Calls,
    least: 0,
    most: 1_000_000,
    default: "ten seconds' worth",
    doc: "How many calls may come at once after a pause, where calls a second are limited; 0 is ten seconds' worth.",
    number: "how many calls may come at once",
    label: "Burst",
    get: |rules| rules.limits.burst,
    set: |rules, value| rules.limits.burst = value,
};

pub(super) const OPEN_CALLS: CallSetting = CallSetting {
    key: "openCalls",
    name: "open_calls",
    stored: "open_calls",
    unit: SettingUnit::Calls,
    least: 0,
    most: 100_000,
    default: "no limit",
    doc: "How many calls may be open at a time; others are refused. 0 is no limit.",
    number: "how many calls may be open at a time, or 0 for no limit",
    label: "Open calls",
    get: |rules| rules.limits.open_calls,
    set: |rules, value| rules.limits.open_calls = value,
};

pub(super) const RESULT_BYTES: CallSetting = CallSetting {
    key: "resultBytesPerMinute",
    name: "result_bytes_per_minute",
    stored: "result_bytes_per_minute",
    unit: SettingUnit::Bytes,
    least: 0,
    // What a `u32` can say, in round numbers.
    most: 4_000_000_000,
    default: "no limit",
    doc: "How many bytes of results there may be in a minute; calls are refused while more have come. 0 is no limit.",
    number: "how many bytes of results there may be in a minute, or 0 for no limit",
    label: "Result bytes per minute",
    get: |rules| rules.limits.result_bytes_per_minute,
    set: |rules, value| rules.limits.result_bytes_per_minute = value,
};

impl LimitRules {
    /// Asks for the value of every setting, in the table's order.
    pub fn of(value: impl FnMut(&'static CallSetting) -> Option<u32>) -> Self {
        CallRules::of_settings(LIMIT_SETTINGS, value).limits
    }

    /// Every setting with its value, in the table's order.
    pub fn values(self) -> impl Iterator<Item = (&'static CallSetting, Option<u32>)> {
        let rules = CallRules { limits: self, ..CallRules::default() };
        LIMIT_SETTINGS.iter().map(move |setting| (setting, (setting.get)(&rules)))
    }

    /// What is said here, and where nothing is said, what the other says.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        let both = self.values().zip(other.values());
        let mut both = both.map(|((_, own), (_, other))| own.or(other));
        Self::of(|_| both.next().flatten())
    }

    /// Is nothing said?
    pub fn is_empty(self) -> bool {
        self == Self::default()
    }

    /// Reads `NAME=NUMBER,…` or `off`, as a command line has it: nothing that it leaves out is limited.
    pub fn read(text: &str) -> Result<Self, String> {
        let none = Self::of(|_| Some(0));
        if text == "off" {
            return Ok(none);
        }
        let mut rules = none;
        for part in text.split(',').map(str::trim) {
            let (name, number) = part.split_once('=').ok_or_else(|| {
                format!("`{part}` is not NAME=NUMBER; write `off`, or {}", Self::names())
            })?;
            let found =
                LIMIT_SETTINGS.iter().find(|setting| setting.name == name.replace('-', "_"));
            let setting =
                found.ok_or_else(|| format!("`{name}` is not known; write {}", Self::names()))?;
            let value =
                setting.read(number).ok_or_else(|| format!("`{name}`: {}", setting.help()))?;
            let mut values = rules
                .values()
                .map(|(known, now)| if known.name == setting.name { Some(value) } else { now });
            rules = Self::of(|_| values.next().flatten());
        }
        Ok(rules)
    }

    fn names() -> String {
        let names: Vec<_> = LIMIT_SETTINGS.iter().map(|it| format!("{}=N", it.name)).collect();
        names.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_goes_before_a_default() {
        let own = LimitRules { burst: Some(0), ..LimitRules::default() };
        let all = LimitRules { burst: Some(5), sessions: Some(7), ..LimitRules::default() };
        assert_eq!(own.or(all), LimitRules { burst: Some(0), ..all });
        assert_eq!(LimitRules::default().or(all), all);
        assert!(LimitRules::default().is_empty() && !own.is_empty());
    }

    #[test]
    fn every_limit_is_in_the_docs_under_both_its_names() {
        let config = include_str!("../../../../docs/config.md");
        let platform = include_str!("../../../../docs/platform.md");
        for setting in LIMIT_SETTINGS {
            assert!(config.contains(&format!("`{}`", setting.key)), "{}", setting.key);
            assert!(platform.contains(&format!("`{}`", setting.name)), "{}", setting.name);
        }
    }

    #[test]
    fn limits_of_a_command_line() {
        let off = LimitRules::of(|_| Some(0));
        assert_eq!(LimitRules::read("off"), Ok(off));
        let some = LimitRules { calls_per_second: Some(500), open_calls: Some(8), ..off };
        assert_eq!(LimitRules::read("calls_per_second=0.5, open-calls=8"), Ok(some));
        for (text, expected) in [
            ("", "is not NAME=NUMBER; write `off`, or calls_per_second=N, burst=N"),
            ("rate=5", "`rate` is not known; write calls_per_second=N"),
            ("open_calls=1.5", "`open_calls`: write how many calls may be open at a time"),
            ("calls_per_second=-1", "`calls_per_second`: write how many calls a second"),
        ] {
            let error = LimitRules::read(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
