//! A server's stderr: always read, its first lines and its last kept (without secrets) for diagnostics.

use std::collections::VecDeque;
use std::sync::Arc;

use trunkline_catalog::config::Secrets;
use trunkline_wire::{Lines, StreamLine};

use crate::identity::Identity;
use crate::limits::{STDERR_BYTES, STDERR_FIRST, STDERR_LINE, STDERR_QUOTED};
use crate::lock::{Mutex, rank};
use crate::stream::Slow;
use crate::upstream::shown::shown;
use crate::upstream::stdio::sandbox::SandboxReport;

#[derive(Debug)]
pub(crate) struct LastWords {
    secrets: Arc<Secrets>,
    /// The walls around the server, which may be what it complains about.
    walls: Option<Arc<SandboxReport>>,
    // Held to add or copy lines: what is logged of them is logged without it.
    kept: Mutex<StderrLines, rank::StderrLines>,
}

#[derive(Debug, Default)]
struct StderrLines {
    /// The first lines it wrote.
    first: Vec<String>,
    /// The last ones, the first among them while there is room.
    lines: VecDeque<String>,
    bytes: usize,
    /// How many there were in all.
    count: usize,
    /// What its walls refused, by its own words: each once, and only so many.
    refused: Vec<String>,
}

impl LastWords {
    pub(crate) fn new(secrets: Arc<Secrets>, walls: Option<Arc<SandboxReport>>) -> Self {
        Self { secrets, walls, kept: Mutex::default() }
    }

    /// Reads until the stream ends.
    pub(crate) async fn listen(&self, server: &Identity, mut stderr: Slow) {
        let mut lines = Lines::new(STDERR_LINE);
        // Most servers say nothing here: a buffer is made for those that do.
        let _ = stderr.readable().await; // an error is met again below
        while let Ok(1..) = stderr.read(lines.room()).await {
            while let Some(line) = lines.next_line() {
                match line {
                    StreamLine::Whole(line) | StreamLine::TooLong(line) => self.keep(server, line),
                    StreamLine::TooLongEnd(_) => {}
                }
            }
        }
        if !lines.remainder().is_empty() {
            self.keep(server, lines.remainder());
        }
    }

    fn keep(&self, server: &Identity, line: &[u8]) {
        // Redacted before it is kept: nothing later has to know the secrets.
        let line = line.get(..STDERR_LINE).unwrap_or(line);
        let text = shown(String::from_utf8_lossy(line).trim_end(), &self.secrets);
        if text.is_empty() {
            return;
        }
        tracing::debug!(%server, "stderr: {text}");
        let refused = self.walls.as_ref().and_then(|walls| walls.explain(&text));
        if let Some(refused) = refused {
            self.note_refused(server, &refused);
        }
        self.kept.lock().add(text);
    }

    /// Keeps and logs what its walls refused, unless that is known.
    pub(crate) fn note_refused(&self, server: &Identity, refused: &str) {
        if self.kept.lock().note_refused(refused) {
            tracing::warn!(%server, "{refused}");
        }
    }

    /// What its walls refused, as far as it has said so.
    pub(crate) fn refused(&self) -> Vec<String> {
        self.kept.lock().refused.iter().take(MOST_TOLD).cloned().collect()
    }

    /// The last lines, for an error of a server that was running.
    pub(crate) fn quoted(&self) -> Vec<String> {
        self.kept.lock().excerpt(0, STDERR_QUOTED)
    }

    /// The first lines and the last, for one that did not start.
    pub(crate) fn quoted_from_start(&self) -> Vec<String> {
        self.kept.lock().excerpt(STDERR_FIRST, STDERR_QUOTED)
    }

    /// The first lines and so many of the last.
    pub(crate) fn last(&self, most: usize) -> Vec<String> {
        self.kept.lock().excerpt(STDERR_FIRST, most)
    }
}

/// A server that complains about every file of a tree is told of with the first ones. In the log a few complaints must
/// not hide what it tries next.
const MOST_TOLD: usize = 8;
const MOST_REFUSED: usize = 100;

impl StderrLines {
    /// True if it was not known.
    fn note_refused(&mut self, refused: &str) -> bool {
        let is_news =
            self.refused.len() < MOST_REFUSED && !self.refused.iter().any(|it| it == refused);
        self.refused.extend(is_news.then(|| refused.to_owned()));
        is_news
    }

    fn add(&mut self, line: String) {
        self.count += 1;
        // The cause of a failed start stands at the beginning, before what repeats.
        if self.first.len() < STDERR_FIRST {
            self.first.push(line.clone());
        }
        self.bytes += line.len();
        self.lines.push_back(line);
        // A server may log for months: only so much is kept.
        while self.bytes > STDERR_BYTES {
            match self.lines.pop_front() {
                Some(gone) => self.bytes -= gone.len(),
                None => break,
            }
        }
    }

    /// So many of the first lines and of the last, each once, and how many are left out between.
    fn excerpt(&self, first: usize, last: usize) -> Vec<String> {
        let last = self.lines.len().min(last);
        let before = self.count - last;
        let mut lines: Vec<String> = self.first.iter().take(first.min(before)).cloned().collect();
        if !lines.is_empty() && before > lines.len() {
            let left_out = before - lines.len();
            let noun = if left_out == 1 { "line" } else { "lines" };
            lines.push(format!("[… {left_out} more {noun} …]"));
        }
        lines.extend(self.lines.iter().skip(self.lines.len() - last).cloned());
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_lines_and_the_last_are_quoted() {
        for (count, first, last, expected) in [
            (0, 2, 3, ""),
            (3, 2, 3, "1 2 3"),
            (4, 2, 3, "1 2 3 4"),
            (5, 2, 3, "1 2 3 4 5"),
            (6, 2, 3, "1 2 [… 1 more line …] 4 5 6"),
            (9, 2, 3, "1 2 [… 4 more lines …] 7 8 9"),
            (9, 0, 3, "7 8 9"),
        ] {
            let mut kept = StderrLines::default();
            (1..=count).for_each(|n: u32| kept.add(n.to_string()));
            assert_eq!(kept.excerpt(first, last).join(" "), expected, "{count} {first} {last}");
        }
    }

    #[test]
    fn the_first_lines_are_kept_when_there_is_no_room_for_all() {
        let mut kept = StderrLines::default();
        for n in 0..200 {
            kept.add(format!("{n} {}", "x".repeat(STDERR_LINE)));
        }
        let lines = kept.excerpt(2, usize::MAX);
        assert!(lines[0].starts_with("0 ") && lines[1].starts_with("1 "));
        assert!(lines[2].contains("more lines"), "{}", lines[2]);
        assert!(lines.last().unwrap().starts_with("199 "));
        assert!(kept.bytes <= STDERR_BYTES);
    }
}
