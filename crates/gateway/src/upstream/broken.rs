//! Lines of a server that are not messages: whose answer was it, and when is it too much.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;
use trunkline_catalog::config::Secrets;
use trunkline_wire::{Fault, FaultKind, salvage_id};

use crate::error::CallError;
use crate::identity::Identity;
use crate::limits::{BROKEN_LINES, BROKEN_WINDOW};
use crate::upstream::connection::Connection;
use crate::upstream::shown::shown;

/// How many lines are shown, and how much of each.
const SAMPLES: usize = 3;
const SAMPLE_BYTES: usize = 200;

/// What a connection remembers of lines that were no messages.
#[derive(Debug)]
pub(crate) struct BrokenLines {
    secrets: Arc<Secrets>,
    seen: Mutex<Seen>,
    /// Too many broken messages: the server is to be given up.
    pub(crate) too_many: Notify,
}

#[derive(Debug, Default)]
struct Seen {
    lines: usize,
    unowned: Vec<Instant>,
    /// An oversize line is being skipped and it is not yet known whose it is.
    owner_unknown: bool,
}

impl BrokenLines {
    pub(crate) fn new(secrets: Arc<Secrets>) -> Self {
        Self { secrets, seen: Mutex::default(), too_many: Notify::new() }
    }

    /// Text of the server's, fit to be shown.
    pub(crate) fn shown(&self, text: &str) -> String {
        shown(text, &self.secrets)
    }

    fn warn(&self, server: &Identity, line: &[u8], what: &str) {
        let mut seen = self.seen.lock();
        seen.lines += 1;
        if seen.lines > SAMPLES {
            return;
        }
        let sample = String::from_utf8_lossy(line.get(..SAMPLE_BYTES).unwrap_or(line));
        let sample = self.shown(&sample);
        let last = if seen.lines == SAMPLES { " (further lines are not shown)" } else { "" };
        tracing::warn!(%server, "sent a line that {what}: {sample}{last}");
    }

    /// A broken message that is nobody's. True once too many of them came within the window.
    fn count_unowned(&self, window: Duration) -> bool {
        let mut seen = self.seen.lock();
        let now = Instant::now();
        seen.unowned.retain(|at| now.duration_since(*at) < window);
        seen.unowned.push(now);
        seen.unowned.len() > BROKEN_LINES
    }
}

impl Connection {
    /// A line that did not scan. If it is an answer, its owner learns at once that it is broken.
    pub(crate) fn broken_line(&self, line: &[u8], fault: Fault) {
        if !looks_like_message(line) {
            return self.noise(line);
        }
        self.broken.warn(&self.key, line, &format!("is a broken message ({fault})"));
        let error = self.broken_answer(fault.kind);
        let named = fault.id.and_then(|span| trunkline_wire::upstream_id(span.of(line)));
        let id = named.or_else(|| salvage_id(line));
        if id.is_some_and(|id| self.fail(id, &error)) {
            return;
        }
        self.fail_only_or_count(&error);
    }

    /// A line that is no message at all: a banner, a log line.
    pub(crate) fn noise(&self, line: &[u8]) {
        self.broken.warn(&self.key, line, "is not a JSON-RPC message");
    }

    /// A line passed the limit; `head` is how it starts. The rest is being skipped.
    pub(crate) fn oversize_line(&self, head: &[u8]) {
        self.broken.warn(&self.key, head, "is longer than allowed");
        let error = self.too_large();
        let named = salvage_id(head).is_some_and(|id| self.fail(id, &error));
        if !named && !self.fail_only(&error) {
            self.broken.seen.lock().owner_unknown = true;
        }
    }

    /// The oversize line has ended; `tail` is how. Some servers write the id last.
    pub(crate) fn oversize_end(&self, tail: &[u8]) {
        if !std::mem::take(&mut self.broken.seen.lock().owner_unknown) {
            return;
        }
        let error = self.too_large();
        if !salvage_id(tail).is_some_and(|id| self.fail(id, &error)) {
            self.fail_only_or_count(&error);
        }
    }

    /// With one call open, a broken line can only be its answer.
    fn fail_only(&self, error: &CallError) -> bool {
        let only = self.pending.lock().only();
        only.is_some_and(|id| self.fail(id, error))
    }

    fn fail_only_or_count(&self, error: &CallError) {
        if !self.fail_only(error) && self.broken.count_unowned(BROKEN_WINDOW) {
            self.broken.too_many.notify_one();
        }
    }

    fn broken_answer(&self, fault: FaultKind) -> CallError {
        CallError::BrokenAnswer { server: self.key.to_string(), fault }
    }

    fn too_large(&self) -> CallError {
        CallError::TooLarge { server: self.key.to_string(), limit: self.limits.message }
    }
}

/// A log line may look like an object; an answer of ours names at least one of these.
fn looks_like_message(line: &[u8]) -> bool {
    let starts = line.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
    let names = |word: &[u8]| memchr::memmem::find(line, word).is_some();
    starts && (names(b"\"jsonrpc\"") || (names(b"\"id\"") && names(b"\"result\"")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_lines_are_not_taken_for_answers() {
        for (line, expected) in [
            ("hello", false),
            ("[]", false),
            ("{ foo: 'bar' }", false),
            (r#"{"level":"info"}"#, false),
            (r#"{"jsonrpc":"2.0","id":1,"result":"#, true),
            (r#"{"id":1,"result":{}}"#, true),
        ] {
            assert_eq!(looks_like_message(line.as_bytes()), expected, "{line}");
        }
    }
}
