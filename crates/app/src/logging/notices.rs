//! `Notices`: the log of a shared runtime on its way to the standard error of its clients.

use std::io::{self, Write};
use std::sync::Arc;

use tokio::sync::broadcast;
use tracing_subscriber::fmt::MakeWriter;

/// Never waits: a client that is slow loses lines, and is told so.
#[derive(Debug)]
pub(super) struct Notices(pub(super) broadcast::Sender<Arc<str>>);

impl<'w> MakeWriter<'w> for Notices {
    type Writer = NoticeWriter<'w>;

    fn make_writer(&'w self) -> NoticeWriter<'w> {
        NoticeWriter(self)
    }
}

/// One event: `fmt` writes it in one piece.
pub(super) struct NoticeWriter<'w>(&'w Notices);

impl Write for NoticeWriter<'_> {
    fn write(&mut self, lines: &[u8]) -> io::Result<usize> {
        for line in String::from_utf8_lossy(lines).lines() {
            // An error: no client is there.
            drop(self.0.0.send(line.into()));
        }
        Ok(lines.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
