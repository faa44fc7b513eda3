//! `Output`: what a server over stdio writes: one message a line.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use trunkline_wire::{Lines, StreamLine as Text};

use crate::call::Payload;
use crate::limits::LARGE_MESSAGE;
use crate::pump::{Aside, FlushSet, Reader, SourceHandle};
use crate::upstream::connection::Connection;

/// What a server writes.
#[derive(Debug)]
pub(super) struct Output {
    lines: Lines,
    limit: usize,
    connection: Arc<Connection>,
    ended: CancellationToken,
    failed: CancellationToken,
    aside: Aside,
}

impl Output {
    /// `ended`, `failed`: cancelled when it has ended, and before that if we failed on it.
    pub(super) fn new(
        connection: Arc<Connection>,
        limit: usize,
        [ended, failed]: [CancellationToken; 2],
    ) -> Self {
        let (lines, aside) = (Lines::new(limit), Aside::new());
        Self { lines, limit, connection, ended, failed, aside }
    }
}

/// Takes the next line, if it is complete. One that is to be handled aside is returned.
fn take_line(
    lines: &mut Lines,
    connection: &Arc<Connection>,
    aside: Option<&Aside>,
    touched: &mut FlushSet,
) -> Option<NextLine> {
    let payload = match lines.next_line()? {
        Text::Whole([]) => return Some(NextLine::Taken),
        Text::Whole(line) if line.len() < LARGE_MESSAGE => Payload::Borrowed(line),
        Text::Whole(line) if aside.is_some_and(|aside| aside.takes(line.len())) => {
            return Some(NextLine::Long(lines.take_line()));
        }
        Text::Whole(_) => Payload::Owned(lines.take_line()),
        Text::TooLong(head) => {
            connection.broken.oversize_line(&connection.link, head);
            return Some(NextLine::Taken);
        }
        Text::TooLongEnd(tail) => {
            connection.broken.oversize_end(&connection.link, tail);
            return Some(NextLine::Taken);
        }
    };
    connection.receive(payload, None, touched);
    Some(NextLine::Taken)
}

enum NextLine {
    Taken,
    Long(Vec<u8>),
}

impl Reader for Output {
    fn room(&mut self) -> &mut Vec<u8> {
        self.lines.room()
    }

    fn take(&mut self, source: &SourceHandle, touched: &mut FlushSet) {
        if self.aside.hold_while_busy(source) {
            return;
        }
        while let Some(line) =
            take_line(&mut self.lines, &self.connection, Some(&self.aside), touched)
        {
            let NextLine::Long(line) = line else { continue };
            let (connection, failed) = (Arc::clone(&self.connection), self.failed.clone());
            let ended = self.ended.clone();
            return self.aside.run(
                source,
                move |touched| connection.receive(Payload::Owned(line), None, touched),
                move |_| {
                    failed.cancel();
                    ended.cancel();
                },
            );
        }
        // Nothing is lost on a client that does not read: its servers are not read either.
        touched.hold_if_crowded(source);
    }

    fn ended(&mut self, touched: &mut FlushSet) {
        let mut lines = std::mem::replace(&mut self.lines, Lines::new(self.limit));
        let (connection, ended) = (Arc::clone(&self.connection), self.ended.clone());
        let last = self.aside.finish(Box::new(move |touched| {
            // What came behind a message that was handled aside.
            while take_line(&mut lines, &connection, None, touched).is_some() {}
            if !lines.remainder().is_empty() {
                tracing::debug!(server = %connection.link.key, "its output ended in mid-line");
            }
            ended.cancel();
        }));
        if let Some(last) = last {
            last(touched);
        }
    }

    fn panicked(&mut self, touched: &mut FlushSet) {
        self.failed.cancel();
        self.ended(touched);
    }
}
