//! A server's stderr: always read, the last of it kept (without secrets) for diagnostics.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use trunkline_catalog::config::Secrets;
use trunkline_wire::{Line, Lines};

use crate::identity::Identity;
use crate::limits::{STDERR_BYTES, STDERR_LINE, STDERR_QUOTED};
use crate::stream::Slow;
use crate::upstream::shown::shown;

#[derive(Debug)]
pub(crate) struct LastWords {
    secrets: Arc<Secrets>,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    lines: VecDeque<String>,
    bytes: usize,
}

impl LastWords {
    pub(crate) fn new(secrets: Arc<Secrets>) -> Self {
        Self { secrets, kept: Mutex::default() }
    }

    /// Reads until the stream ends.
    pub(crate) async fn listen(&self, server: &Identity, mut stderr: Slow) {
        let mut lines = Lines::new(STDERR_LINE);
        // Most servers say nothing here: a buffer is made for those that do.
        let _ = stderr.readable().await; // an error is met again below
        while let Ok(1..) = stderr.read(lines.room()).await {
            while let Some(line) = lines.next_line() {
                match line {
                    Line::Whole(line) | Line::TooLong(line) => self.keep(server, line),
                    Line::TooLongEnd(_) => {}
                }
            }
        }
        if !lines.remainder().is_empty() {
            self.keep(server, lines.remainder());
        }
    }

    fn keep(&self, server: &Identity, line: &[u8]) {
        let line = line.get(..STDERR_LINE).unwrap_or(line);
        let text = shown(String::from_utf8_lossy(line).trim_end(), &self.secrets);
        if text.is_empty() {
            return;
        }
        tracing::debug!(%server, "stderr: {text}");
        let mut kept = self.kept.lock();
        kept.bytes += text.len();
        kept.lines.push_back(text);
        while kept.bytes > STDERR_BYTES {
            match kept.lines.pop_front() {
                Some(gone) => kept.bytes -= gone.len(),
                None => break,
            }
        }
    }

    /// The last lines, for an error.
    pub(crate) fn quoted(&self) -> Vec<String> {
        self.last(STDERR_QUOTED)
    }

    /// So many of the last lines.
    pub(crate) fn last(&self, most: usize) -> Vec<String> {
        let kept = self.kept.lock();
        let skip = kept.lines.len().saturating_sub(most);
        kept.lines.iter().skip(skip).cloned().collect()
    }
}
