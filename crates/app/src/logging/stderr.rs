//! Standard error, written only as far as that does not block.

use std::io::{self, Write};

use parking_lot::Mutex;
use tracing_subscriber::fmt::MakeWriter;

use super::flags::LogFormat;
use crate::console::{self, ATOMIC};
use crate::terminal::above_status;

#[derive(Debug)]
pub(super) struct Stderr {
    format: LogFormat,
    /// Lines that stderr did not take. Held for a write; the status line's lock is taken behind it.
    lost: Mutex<usize>,
}

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
        above_status(|| is_whole = text.chunks(ATOMIC).all(console::write_now));
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
