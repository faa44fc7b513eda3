//! The stdio front: one session with the client that started us, over standard input and output.

use std::io;
use std::sync::Arc;

use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use trunkline_wire::{Lines, StreamLine, salvage_token};

use crate::call::ResponseSink;
use crate::front::signals::{OnHangup, Signals};
use crate::limits::{END_OF_INPUT, LAST_FLUSH, SIGNALLED, ShutdownGrace};
use crate::pump::{FlushSet, Outbox, Pump, Reader, SourceHandle};
use crate::session::{Session, abandon, receive, refuse_oversize};
use crate::stream::{Input, Sink};

/// Serves until the client goes or a signal comes, then ends what is open. `finish` is told how the
/// servers are to end and resolves when they are gone.
pub(crate) async fn serve(
    session: Arc<Session>,
    message_limit: usize,
    pump: &Pump,
    finish: impl AsyncFnOnce(ShutdownGrace),
) -> io::Result<()> {
    let (stdin, stdout) = (Input::stdin()?, Sink::stdout()?);
    // Before anything starts: a signal must not end us without our servers.
    let mut signals = Signals::new(OnHangup::End)?;
    let mut tasks = JoinSet::new();
    let announcer = tasks.spawn(Arc::clone(&session).announce_changes());
    let outbox = Outbox::default();
    outbox.connect(stdout, pump);
    let sink = ResponseSink::Line(outbox.clone());
    session.client.set_stream(Some(sink.clone()));
    let ended = CancellationToken::new();
    let reader = Stdin {
        lines: Lines::new(message_limit),
        session: Arc::clone(&session),
        sink,
        outbox: outbox.clone(),
        limit: message_limit,
        ended: ended.clone(),
        oversize: false,
    };
    let source = pump.read(stdin, Box::new(reader));

    let mut grace = tokio::select! {
        () = ended.cancelled() => END_OF_INPUT,
        () = signals.any() => SIGNALLED,
        () = outbox.closed() => END_OF_INPUT,
        () = pump.ended() => SIGNALLED,
    };
    session.close_listeners(); // subscriptions would never become idle
    tokio::select! {
        _ = timeout(grace.drain, session.client.idle()) => {}
        () = outbox.closed() => {}
        () = signals.any() => grace = SIGNALLED,
        () = pump.ended() => {} // nothing more will be answered
    }
    source.forget();
    announcer.abort(); // all servers go now, which is no news to a client
    abandon(&session.client);
    finish(grace).await;
    // Bounded: a client that does not read must not keep us alive.
    outbox.flushed(LAST_FLUSH).await;
    tasks.shutdown().await;
    match outbox.failure() {
        Some(error) => Err(io::Error::new(
            error.kind(),
            format!("answers could not be written to standard output: {error}"),
        )),
        None => Ok(()),
    }
}

/// What the client writes.
#[derive(Debug)]
struct Stdin {
    lines: Lines,
    session: Arc<Session>,
    sink: ResponseSink,
    outbox: Outbox,
    limit: usize,
    ended: CancellationToken,
    /// An oversize message is being skipped and its id is not yet known.
    oversize: bool,
}

impl Reader for Stdin {
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
        self.outbox.hold_if_crowded(source);
    }

    /// A last message without a newline counts, too.
    fn ended(&mut self, touched: &mut FlushSet) {
        let rest = self.lines.remainder();
        if std::mem::take(&mut self.oversize) {
            let id = salvage_token(rest).unwrap_or(b"null");
            refuse_oversize(id, self.limit, &self.sink, touched);
        } else if !rest.iter().all(u8::is_ascii_whitespace) {
            let snapshot = self.session.context.view.snapshot();
            receive(&self.session, rest, &self.sink, &snapshot, touched);
        }
        self.ended.cancel();
    }
}
