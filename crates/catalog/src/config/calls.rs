//! What a file says about the calls of one server: how long they may take, how many run at a time.

use std::time::Duration;

use super::checker::{ConfigChecker, find};
use super::path::Path;
use super::problem::Problem;
use super::shape::{CALL_TIME, CALLS_AT_ONCE, ConfigKey, LONGEST, MOST, SHORTEST};
use super::spec::{CallRules, Rules};
use crate::jsonc::{JsonMember, Value};

const TIMEOUT: &str = "callTimeout";
const AT_ONCE: &str = "maxConcurrency";

pub(crate) const CALLS: [ConfigKey; 2] = [
    ConfigKey::new(
        TIMEOUT,
        CALL_TIME,
        "Seconds after which a call to this server is answered with an error.",
    ),
    ConfigKey::new(
        AT_ONCE,
        CALLS_AT_ONCE,
        "How many calls this server is given at a time; others wait for their turn.",
    ),
];

impl ConfigChecker<'_> {
    pub(crate) fn calls(&mut self, members: &[JsonMember], at: &Path) -> CallRules {
        if self.rules == Rules::Simple {
            return CallRules::default();
        }
        CallRules {
            timeout: self.number(members, at, TIMEOUT, SECONDS, seconds),
            max_concurrency: self.number(members, at, AT_ONCE, COUNT, count),
        }
    }

    fn number<T>(
        &mut self,
        members: &[JsonMember],
        at: &Path,
        key: &str,
        help: &str,
        read: fn(&str) -> Option<T>,
    ) -> Option<T> {
        let member = find(members, key)?;
        let at = at.key(key);
        let Value::Number(text) = &member.value.value else {
            self.wrong_type(&member.value, &at, &format!("`{key}`"), "a number");
            return None;
        };
        let read = read(text);
        if read.is_none() {
            let message = format!("`{key}` cannot be this number");
            self.report(Problem::schema(&at, member.value.span, message).help(help));
        }
        read
    }
}

const SECONDS: &str = "write the seconds that a call may take, from 0.001 to 86400";
const COUNT: &str = "write how many calls the server is given at a time, from 1 to 100000";

fn seconds(text: &str) -> Option<Duration> {
    let seconds = text.parse().ok().filter(|seconds| (SHORTEST..=LONGEST).contains(seconds))?;
    Duration::try_from_secs_f64(seconds).ok()
}

fn count(text: &str) -> Option<usize> {
    text.parse().ok().filter(|count| (1..=MOST).contains(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_make_no_sense_are_none() {
        for (text, expected) in [
            ("30", Some(Duration::from_secs(30))),
            ("0.5", Some(Duration::from_millis(500))),
            ("1e2", Some(Duration::from_secs(100))),
            ("0", None),
            ("-1", None),
            ("86401", None),
            ("1e999", None),
        ] {
            assert_eq!(seconds(text), expected, "{text}");
        }
        for (text, expected) in
            [("1", Some(1)), ("64", Some(64)), ("0", None), ("-1", None), ("1.5", None)]
        {
            assert_eq!(count(text), expected, "{text}");
        }
    }
}
