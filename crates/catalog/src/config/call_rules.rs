//! `CallRules`: what holds for the calls of one server, and the one table of its settings. The config file,
//! the REST API, the store, the audit log and the dashboard read the table; none of them names a setting.

use std::time::Duration;

use super::limit_rules::{BURST, CALLS_PER_SECOND, LimitRules, OPEN_CALLS, RESULT_BYTES};

/// What holds for the calls of one server only; the default is what holds for all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallRules {
    /// When a call is answered with an error instead of a result.
    pub timeout: Option<Duration>,
    /// How many calls it is given at a time; others wait.
    pub max_concurrency: Option<usize>,
    /// What all its callers together may have. It changes while the server runs.
    pub limits: LimitRules,
}

/// One row per setting. To add one: a field above, a row here, and the code that obeys it.
pub const CALL_SETTINGS: &[CallSetting; 6] =
    &[CALL_TIMEOUT, MAX_CONCURRENCY, CALLS_PER_SECOND, BURST, OPEN_CALLS, RESULT_BYTES];

pub const CALL_TIMEOUT: CallSetting = CallSetting {
    key: "callTimeout",
    name: "call_timeout",
    stored: "call_timeout_ms",
    unit: SettingUnit::Seconds,
    least: 1,
    // A day: what takes longer is not waited for.
    most: 86_400_000,
    default: "the default",
    doc: "Seconds after which a call to this server is answered with an error.",
    number: "the seconds that a call may take",
    label: "Call timeout",
    get: |rules| rules.timeout.and_then(|time| u32::try_from(time.as_millis()).ok()),
    set: |rules, value| rules.timeout = value.map(u64::from).map(Duration::from_millis),
};

pub(super) const MAX_CONCURRENCY: CallSetting = CallSetting {
    key: "maxConcurrency",
    name: "max_concurrency",
    stored: "max_concurrency",
    unit: SettingUnit::Calls,
    least: 1,
    // More than any server takes: the gateway's own bounds come first.
    most: 100_000,
    default: "no limit",
    doc: "How many calls this server is given at a time; others wait for their turn.",
    number: "how many calls the server is given at a time",
    label: "Max concurrency",
    get: |rules| rules.max_concurrency.and_then(|most| u32::try_from(most).ok()),
    set: |rules, value| rules.max_concurrency = value.and_then(|most| usize::try_from(most).ok()),
};

/// One setting, everywhere it can be written or read. Its value is a `u32`: milliseconds, calls, bytes.
#[derive(Clone, Copy, Debug)]
pub struct CallSetting {
    /// Its key in the config file.
    pub key: &'static str,
    /// Its name over REST, in the audit log and in forms.
    pub name: &'static str,
    /// Its name in the store: servers that were registered long ago have it, so it never changes.
    pub stored: &'static str,
    pub unit: SettingUnit,
    pub least: u32,
    pub most: u32,
    /// What holds where it is not set.
    pub default: &'static str,
    /// What it does: a sentence for JSON Schema and `OpenAPI`.
    pub doc: &'static str,
    /// What to write, in the help of an error: `write …, from 1 to 9`.
    pub number: &'static str,
    /// Its name for people.
    pub label: &'static str,
    pub(super) get: fn(&CallRules) -> Option<u32>,
    pub(super) set: fn(&mut CallRules, Option<u32>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingUnit {
    /// Written in seconds, kept in milliseconds.
    Seconds,
    Calls,
    /// Calls a second, kept as calls in 1,000 seconds.
    PerSecond,
    /// Bytes a minute.
    Bytes,
    /// Of whatever the setting names.
    Number,
}

impl CallRules {
    /// Asks for the value of every setting, in the table's order.
    pub fn of(value: impl FnMut(&'static CallSetting) -> Option<u32>) -> Self {
        Self::of_settings(CALL_SETTINGS, value)
    }

    pub(super) fn of_settings(
        settings: &'static [CallSetting],
        mut value: impl FnMut(&'static CallSetting) -> Option<u32>,
    ) -> Self {
        let mut rules = Self::default();
        for setting in settings {
            (setting.set)(&mut rules, value(setting));
        }
        rules
    }

    /// Every setting with its value, in the table's order.
    pub fn values(self) -> impl Iterator<Item = (&'static CallSetting, Option<u32>)> {
        CALL_SETTINGS.iter().map(move |setting| (setting, (setting.get)(&self)))
    }

    /// What a connection to the server is made with: limits are none of its business.
    #[must_use]
    pub fn without_limits(self) -> Self {
        Self { limits: LimitRules::default(), ..self }
    }
}

impl CallSetting {
    /// The value that a JSON number means; `None` if it is out of bounds, or no whole one where it must be.
    pub fn read(&self, number: &str) -> Option<u32> {
        let given: f64 = number.parse().ok()?;
        let (least, most) = self.bounds();
        let is_exact = self.unit.has_parts() || given.fract() == 0.0;
        let is_allowed = is_exact && (least..=most).contains(&given);
        // Printed without decimals it is rounded to the millisecond, and no cast can lose anything.
        let value = is_allowed.then(|| format!("{:.0}", given * self.unit.parts()).parse().ok())?;
        // What is rounded to nothing was not meant as nothing.
        value.filter(|value| *value > 0 || given == 0.0)
    }

    /// The JSON number that means this value.
    pub fn written(&self, value: u32) -> String {
        (f64::from(value) / self.unit.parts()).to_string()
    }

    /// The value with its unit, for people.
    pub fn in_words(&self, value: u32) -> String {
        let number = self.written(value);
        match self.unit {
            SettingUnit::Seconds => format!("{number} s"),
            SettingUnit::Calls if value == 1 => format!("{number} call"),
            SettingUnit::Calls => format!("{number} calls"),
            SettingUnit::PerSecond => format!("{number} calls a second"),
            SettingUnit::Bytes => format!("{number} bytes a minute"),
            SettingUnit::Number => number,
        }
    }

    /// What to write where a number was refused.
    pub fn help(&self) -> String {
        let (least, most) = self.bounds();
        format!("write {}, from {least} to {most}", self.number)
    }

    /// The least and the most that may be written.
    pub const fn bounds(&self) -> (f64, f64) {
        (self.least as f64 / self.unit.parts(), self.most as f64 / self.unit.parts())
    }
}

impl SettingUnit {
    /// How many parts that are counted make one that is written.
    const fn parts(self) -> f64 {
        if self.has_parts() { 1_000.0 } else { 1.0 }
    }

    /// May a fraction be written?
    pub const fn has_parts(self) -> bool {
        matches!(self, Self::Seconds | Self::PerSecond)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_make_no_sense_are_none() {
        for (text, expected) in [
            ("30", Some(30_000)),
            ("0.5", Some(500)),
            ("1e2", Some(100_000)),
            ("0.001", Some(1)),
            ("0.3", Some(300)),
            ("2.0006", Some(2_001)),
            ("86400", Some(86_400_000)),
            ("0", None),
            ("0.0009", None),
            ("-1", None),
            ("86400.0001", None),
            ("86401", None),
            ("1e999", None),
            ("NaN", None),
        ] {
            assert_eq!(CALL_TIMEOUT.read(text), expected, "{text}");
        }
        for (text, expected) in [
            ("1", Some(1)),
            ("64", Some(64)),
            ("1e2", Some(100)),
            ("100000", Some(100_000)),
            ("100001", None),
            ("0", None),
            ("-1", None),
            ("1.5", None),
        ] {
            assert_eq!(MAX_CONCURRENCY.read(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        for setting in CALL_SETTINGS {
            for value in [setting.least, setting.least + 1, 1_500, setting.most - 1, setting.most] {
                let text = setting.written(value);
                assert_eq!(setting.read(&text), Some(value), "{} {text}", setting.key);
                let rules = CallRules::of(|it| (it.name == setting.name).then_some(value));
                let set: Vec<_> =
                    rules.values().filter_map(|(it, value)| Some((it.key, value?))).collect();
                assert_eq!(set, [(setting.key, value)]);
            }
        }
        assert_eq!(CALL_TIMEOUT.written(9_000), "9");
        assert_eq!(CALL_TIMEOUT.in_words(500), "0.5 s");
        assert_eq!(MAX_CONCURRENCY.in_words(1), "1 call");
        assert_eq!(MAX_CONCURRENCY.in_words(8), "8 calls");
    }
}
