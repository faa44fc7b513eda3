//! Standard error, written only as far as that does not block.

use std::io::{self, Write};

use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tracing_subscriber::fmt::MakeWriter;

use super::flags::LogFormat;
use crate::terminal::above_status;

#[derive(Debug)]
pub(super) struct Stderr {
    format: LogFormat,
    /// Lines that stderr did not take. Held for a write; the status line's lock is taken behind it.
    lost: Mutex<usize>,
}

/// What a pipe that polls as writable takes without blocking.
const ATOMIC: usize = 4096;

impl Stderr {
    pub(super) fn new(format: LogFormat) -> Self {
        Self { format, lost: Mutex::new(0) }
    }

    fn write_lines(&self, lines: &[u8]) {
        // Held for the whole line: lines of two threads must not mix.
        let mut lost = self.lost.lock();
        let text = match (*lost, self.format) {
            (0, _) => Vec::new(),
            (lost, LogFormat::Text) => {
                format!("trunkline: warning: {lost} log lines were lost here\n").into_bytes()
            }
            (lost, LogFormat::Json) => {
                format!("{{\"level\":\"WARN\",\"message\":\"{lost} log lines were lost here\"}}\n")
                    .into_bytes()
            }
        };
        // In pieces of PIPE_BUF, which a pipe takes whole or not at all (POSIX write(2)).
        let text = [&text, lines].concat();
        let mut is_whole = true;
        above_status(|| is_whole = text.chunks(ATOMIC).all(write_now));
        *lost = if is_whole { 0 } else { *lost + 1 };
    }
}

impl<'w> MakeWriter<'w> for Stderr {
    type Writer = StderrWriter<'w>;

    fn make_writer(&'w self) -> StderrWriter<'w> {
        StderrWriter(self)
    }
}

/// One event: `fmt` writes it in one piece.
pub(super) struct StderrWriter<'w>(&'w Stderr);

impl Write for StderrWriter<'_> {
    fn write(&mut self, lines: &[u8]) -> io::Result<usize> {
        self.0.write_lines(lines);
        Ok(lines.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Passes lines on to standard error. A client that does not read it loses them.
pub(crate) fn pass_to_stderr(lines: &[u8]) {
    lines.chunks(ATOMIC).all(write_now);
}

/// Writes a piece, if that does not block.
fn write_now(piece: &[u8]) -> bool {
    if !takes_more() {
        return false;
    }
    // When stderr is closed, no reader is left to tell.
    drop(io::stderr().write_all(piece));
    true
}

fn takes_more() -> bool {
    let stderr = io::stderr();
    let mut fds = [PollFd::new(&stderr, PollFlags::OUT)];
    matches!(poll(&mut fds, Some(&Timespec::default())), Ok(1..))
}
