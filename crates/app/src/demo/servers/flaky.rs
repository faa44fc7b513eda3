//! A server that misbehaves: slow, failing now and then, and exiting when it is told to.

use std::time::Duration;

use serde_json::{Value, json};

use crate::demo::tool::{Arguments, Demo, ToolOutcome, failed, object, reads, text, tool};

#[derive(Debug, Default)]
pub(in crate::demo) struct Flaky {
    calls: u64,
}

/// Every so many calls of `sometimes` fail.
const FAILS: u64 = 3;

const STEP: Duration = Duration::from_millis(250);

const LONGEST: f64 = 60.0;

impl Demo for Flaky {
    fn instructions(&self) -> &'static str {
        "Slow, and not to be relied on: for seeing progress, errors, crashes and recovery."
    }

    fn tools(&self) -> Value {
        let seconds = json!({
            "seconds": { "type": "number", "minimum": 0, "maximum": LONGEST, "default": 3 }
        });
        let crashes = json!({ "title": "Crash", "destructiveHint": true, "openWorldHint": false });
        let nothing = || object(json!({}), &[]);
        json!([
            reads(
                "slow",
                "Take your time",
                "Answers after some seconds, with progress.",
                object(seconds, &[])
            ),
            reads("sometimes", "Fail sometimes", "Every third call fails.", nothing()),
            reads(
                "hang",
                "Hang",
                "Never answers: see what a timeout and a cancellation do.",
                nothing()
            ),
            tool(
                "crash",
                "Crash",
                "Ends the server at once. It is started again.",
                nothing(),
                crashes
            ),
        ])
    }

    fn call(
        &mut self,
        tool: &str,
        arguments: &Arguments<'_>,
        _answer: Option<&Value>,
    ) -> Option<ToolOutcome> {
        match tool {
            "slow" => Some(slow(arguments.number("seconds").unwrap_or(3.0))),
            "sometimes" => Some(ToolOutcome::Done(self.sometimes())),
            "hang" => Some(ToolOutcome::Silence),
            "crash" => Some(ToolOutcome::Crash("demo: told to crash, so it does")),
            _ => None,
        }
    }

    fn start(&self) -> Duration {
        Duration::from_millis(1500)
    }
}

impl Flaky {
    fn sometimes(&mut self) -> Value {
        self.calls += 1;
        match self.calls % FAILS {
            0 => failed(format!("call {} went wrong, as every third does", self.calls)),
            _ => text(format!("call {} went well", self.calls)),
        }
    }
}

fn slow(seconds: f64) -> ToolOutcome {
    if !(0.0..=LONGEST).contains(&seconds) {
        return ToolOutcome::Done(failed(format!("`seconds` is a number from 0 to {LONGEST}")));
    }
    let mut left = Duration::from_secs_f64(seconds);
    let mut steps = 0;
    while left > Duration::ZERO {
        left = left.saturating_sub(STEP);
        steps += 1;
    }
    ToolOutcome::Slow { steps, each: STEP, then: text(format!("this took {seconds} s")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_third_call_fails() {
        let mut flaky = Flaky::default();
        let failures: Vec<bool> = (0..6).map(|_| flaky.sometimes()["isError"] == true).collect();
        assert_eq!(failures, [false, false, true, false, false, true]);
    }

    #[test]
    fn slow_is_as_slow_as_was_said() {
        for (seconds, expected) in [(0.0, 0), (0.1, 1), (1.0, 4), (60.0, 240)] {
            assert!(
                matches!(slow(seconds), ToolOutcome::Slow { steps, .. } if steps == expected),
                "{seconds}"
            );
        }
        for wrong in [-1.0, 61.0, f64::NAN] {
            assert!(matches!(slow(wrong), ToolOutcome::Done(_)), "{wrong}");
        }
    }
}
