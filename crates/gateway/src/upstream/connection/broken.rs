//! `BrokenLines`: what a connection remembers of lines that were no messages, and when it is too much.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;
use trunkline_catalog::config::Secrets;
use trunkline_wire::FaultKind;

use crate::identity::Identity;
use crate::limits::BROKEN_LINES;
use crate::lock::{Mutex, rank};
use crate::upstream::shown::shown;

/// How many lines are shown, and how much of each.
// A server that writes its log to stdout would fill ours, which is on a disk.
const SAMPLES: usize = 3;
const SAMPLE_BYTES: usize = 200;

/// What a connection remembers of lines that were no messages.
#[derive(Debug)]
pub(crate) struct BrokenLines {
    secrets: Arc<Secrets>,
    // The few lines that are shown are logged under it, so that they are numbered as they came.
    pub(in crate::upstream) seen: Mutex<BrokenLineState, rank::BrokenLines>,
    /// Too many broken messages: the server is to be given up.
    pub(crate) too_many: Notify,
    /// An answer without an id has come that belongs to no call.
    pub(crate) unowned: Notify,
}

#[derive(Debug, Default)]
pub(in crate::upstream) struct BrokenLineState {
    lines: usize,
    unowned: Vec<Instant>,
    /// An oversize line is being skipped and it is not yet known whose it is.
    pub(in crate::upstream) owner_unknown: bool,
    /// The last error without an id that came during the handshake, fit to be shown.
    refusal: Option<String>,
}

impl BrokenLines {
    pub(crate) fn new(secrets: Arc<Secrets>) -> Self {
        Self { secrets, seen: Mutex::default(), too_many: Notify::new(), unowned: Notify::new() }
    }

    /// Text of the server's, fit to be shown.
    pub(crate) fn shown(&self, text: &str) -> String {
        shown(text, &self.secrets)
    }

    pub(in crate::upstream) fn warn(&self, server: &Identity, line: &[u8], what: &str) {
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

    /// A response that strict clients cannot read.
    pub(in crate::upstream) fn warn_unreadable(
        &self,
        server: &Identity,
        line: &[u8],
        fault: FaultKind,
    ) {
        self.warn(server, line, &format!("clients cannot read ({fault})"));
    }

    /// An error without an id came before the server was ready.
    pub(in crate::upstream) fn note_refusal(&self, error: &str) {
        self.seen.lock().refusal = Some(self.shown(error));
    }

    /// The last of those errors, to explain why the server did not become ready.
    pub(in crate::upstream) fn refusal(&self) -> Option<String> {
        self.seen.lock().refusal.clone()
    }

    /// Counts a broken message that belongs to no call. True once too many came within the window.
    pub(in crate::upstream) fn count_unowned(&self, window: Duration) -> bool {
        let mut seen = self.seen.lock();
        let now = Instant::now();
        // Bounded: beyond `BROKEN_LINES` the server is given up, and older ones are dropped here.
        seen.unowned.retain(|at| now.duration_since(*at) < window);
        seen.unowned.push(now);
        seen.unowned.len() > BROKEN_LINES
    }
}
