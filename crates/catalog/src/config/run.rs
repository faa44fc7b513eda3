//! What a file says about when a server runs: from the start or when it is needed, and until when.

use std::time::Duration;

use super::checker::{ConfigChecker, find, wrong_type};
use super::path::Path;
use super::problem::Problem;
use super::shape::{ConfigKey, Takes};
use super::spec::{IdleStop, Rules, RunRules, Start};
use crate::jsonc::{JsonMember, Value};

const START: &str = "start";
const IDLE_STOP: &str = "idleStop";

/// What `start` may say.
const STARTS: [&str; 2] = [EAGER, LAZY];
const EAGER: &str = "eager";
const LAZY: &str = "lazy";
const OFF: &str = "off";

/// Beside the servers: what holds for those that do not say it themselves.
pub(crate) const RUN_DEFAULTS: [ConfigKey; 2] = [
    ConfigKey::new(
        START,
        Takes::Word(&STARTS),
        "When servers that do not say it themselves are started: at once (eager), or when they are \
         first needed (lazy).",
    ),
    ConfigKey::new(
        IDLE_STOP,
        Takes::IdleTime,
        "After how long without use servers that do not say it themselves are stopped.",
    ),
];

/// Of one server.
pub(crate) const RUN: [ConfigKey; 2] = [
    ConfigKey::new(
        START,
        Takes::Word(&STARTS),
        "Started at once (eager), or when it is first needed, once what it offers is remembered (lazy).",
    ),
    ConfigKey::new(
        IDLE_STOP,
        Takes::IdleTime,
        "After how long without use it is stopped, until it is needed again: seconds, or a text like \
         \"15m\", or \"off\".",
    ),
];

const START_HELP: &str = "write \"eager\" or \"lazy\"";
const IDLE_HELP: &str = "write seconds (900), a text like \"90s\", \"15m\" or \"2h\", from one second to a week, or \"off\"";

/// Shorter, a server would be stopped between two calls; longer, nobody notices.
const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(7 * 24 * 60 * 60);

impl ConfigChecker<'_> {
    pub(crate) fn run_rules(&mut self, members: &[JsonMember], at: &Path) -> RunRules {
        if self.rules == Rules::Simple {
            return RunRules::default();
        }
        RunRules { start: self.start(members, at), idle_stop: self.idle_stop(members, at) }
    }

    fn start(&mut self, members: &[JsonMember], at: &Path) -> Option<Start> {
        let member = find(members, START)?;
        let at = at.key(START);
        let Value::String(text) = &member.value.value else {
            let problem = wrong_type(&member.value, &at, "`start`", "a string");
            self.report(problem.help(START_HELP));
            return None;
        };
        match text.value.as_str() {
            EAGER => Some(Start::Eager),
            LAZY => Some(Start::Lazy),
            _ => {
                let problem = Problem::schema(&at, text.span, "this way to `start` is not known");
                self.report(problem.help(START_HELP));
                None
            }
        }
    }

    fn idle_stop(&mut self, members: &[JsonMember], at: &Path) -> Option<IdleStop> {
        let member = find(members, IDLE_STOP)?;
        let at = at.key(IDLE_STOP);
        let read = match &member.value.value {
            Value::Number(seconds) => seconds_of(seconds).map(IdleStop::After),
            Value::String(text) if text.value == OFF => Some(IdleStop::Off),
            Value::Bool(false) => Some(IdleStop::Off),
            Value::String(text) => duration(&text.value).map(IdleStop::After),
            _ => {
                let problem = wrong_type(&member.value, &at, "`idleStop`", "a number or a string");
                self.report(problem.help(IDLE_HELP));
                return None;
            }
        };
        if read.is_none() {
            let message = "this is no time after which a server could be stopped";
            self.report(Problem::schema(&at, member.value.span, message).help(IDLE_HELP));
        }
        read
    }
}

impl RunRules {
    /// What a server says, and where it says nothing, what the file says for all.
    pub(crate) fn or(self, default: Self) -> Self {
        Self {
            start: self.start.or(default.start),
            idle_stop: self.idle_stop.or(default.idle_stop),
        }
    }
}

fn seconds_of(number: &str) -> Option<Duration> {
    let time = Duration::try_from_secs_f64(number.parse().ok()?).ok()?;
    (SHORTEST..=LONGEST).contains(&time).then_some(time)
}

/// `90s`, `15m`, `2h`; a bare number is seconds.
fn duration(text: &str) -> Option<Duration> {
    let (number, unit) = match text.find(|letter: char| letter.is_ascii_alphabetic()) {
        Some(at) => text.split_at(at),
        None => (text, "s"),
    };
    let seconds = match unit {
        "s" => 1,
        "m" | "min" => 60,
        "h" => 60 * 60,
        "d" => 24 * 60 * 60,
        _ => return None,
    };
    let number: u32 = number.trim().parse().ok()?;
    let time = Duration::from_secs(u64::from(number) * seconds);
    (SHORTEST..=LONGEST).contains(&time).then_some(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_and_bounded() {
        for (text, expected) in [
            ("90s", Some(90)),
            ("15m", Some(900)),
            ("15 min", Some(900)),
            ("2h", Some(7200)),
            ("7d", Some(604_800)),
            ("30", Some(30)),
            ("8d", None),
            ("0s", None),
            ("-1s", None),
            ("1.5h", None),
            ("soon", None),
            ("", None),
        ] {
            assert_eq!(duration(text), expected.map(Duration::from_secs), "{text}");
        }
        assert_eq!(seconds_of("1.5"), Some(Duration::from_millis(1500)));
        for wrong in ["0", "-1", "1e9", "604801"] {
            assert_eq!(seconds_of(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_a_server_says_goes_before_what_holds_for_all() {
        let all = RunRules { start: Some(Start::Lazy), idle_stop: Some(IdleStop::Off) };
        let own = RunRules { start: Some(Start::Eager), idle_stop: None };
        let both = RunRules { start: Some(Start::Eager), idle_stop: Some(IdleStop::Off) };
        assert_eq!(own.or(all), both);
        assert_eq!(RunRules::default().or(all), all);
    }
}
