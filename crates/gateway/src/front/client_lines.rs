//! `ClientLines`: takes the messages that a client writes, one a line, into its session.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use trunkline_wire::{Lines, StreamLine, salvage_token};

use crate::call::ResponseSink;
use crate::pump::{FlushSet, Outbox, Reader, SourceHandle};
use crate::session::{Session, receive, refuse_oversize};

/// What the client writes.
#[derive(Debug)]
pub(super) struct ClientLines {
    lines: Lines,
    session: Arc<Session>,
    sink: ResponseSink,
    outbox: Outbox,
    limit: usize,
    ended: CancellationToken,
    rest: LastLine,
    /// An oversize message is being skipped and its id is not yet known.
    oversize: bool,
}

/// What a last line without a newline is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LastLine {
    /// A message.
    Counts,
    /// The beginning of one. Its writer sends it anew to somebody else, or is dead.
    IsCut,
}

impl ClientLines {
    /// Its answers leave through `sink`, which writes into `outbox`. `ended` is cancelled when the client
    /// writes no more.
    pub(super) fn new(
        session: &Arc<Session>,
        sink: ResponseSink,
        outbox: &Outbox,
        limit: usize,
        ended: CancellationToken,
        rest: LastLine,
    ) -> Box<Self> {
        Box::new(Self {
            lines: Lines::new(limit),
            session: Arc::clone(session),
            sink,
            outbox: outbox.clone(),
            limit,
            ended,
            rest,
            oversize: false,
        })
    }
}

impl Reader for ClientLines {
    fn room(&mut self) -> &mut Vec<u8> {
        self.lines.room()
    }

    fn take(&mut self, source: &SourceHandle, touched: &mut FlushSet) {
        let (session, sink, limit) = (&self.session, &self.sink, self.limit);
        let snapshot = session.context.view.snapshot();
        while let Some(line) = self.lines.next_line() {
            match line {
                StreamLine::Whole(line) if line.iter().all(u8::is_ascii_whitespace) => {}
                StreamLine::Whole(line) => receive(session, line, sink, &snapshot, touched),
                // Its id may stand at its beginning,
                StreamLine::TooLong(head) => match salvage_token(head) {
                    Some(id) => refuse_oversize(id, limit, sink, touched),
                    None => self.oversize = true,
                },
                // or else at its end, or nowhere.
                StreamLine::TooLongEnd(tail) if std::mem::take(&mut self.oversize) => {
                    let id = salvage_token(tail).unwrap_or(b"null");
                    refuse_oversize(id, limit, sink, touched);
                }
                StreamLine::TooLongEnd(_) => {}
            }
        }
        // A client that asks faster than it reads is not read until it has caught up.
        self.outbox.hold_own_reader(source);
    }

    fn ended(&mut self, touched: &mut FlushSet) {
        let rest = self.lines.remainder();
        let counts = self.rest == LastLine::Counts;
        if std::mem::take(&mut self.oversize) && counts {
            let id = salvage_token(rest).unwrap_or(b"null");
            refuse_oversize(id, self.limit, &self.sink, touched);
        } else if counts && !rest.iter().all(u8::is_ascii_whitespace) {
            let snapshot = self.session.context.view.snapshot();
            receive(&self.session, rest, &self.sink, &snapshot, touched);
        }
        self.ended.cancel();
    }
}
