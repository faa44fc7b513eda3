//! The client that started us: one session over standard input and output.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use trunkline_wire::{Line, Lines, salvage_token};

use crate::limits::{END_OF_INPUT, Farewell, LAST_FLUSH, SIGNALLED};
use crate::pump::{Pump, Reader, SourceHandle, Touched};
use crate::session::Session;
use crate::stream::{Input, Sink};

/// Serves until the client goes or a signal comes, then ends what is open. `finish` is told how the
/// servers are to end and resolves when they are gone.
pub(crate) async fn serve(
    session: Arc<Session>,
    message_limit: usize,
    pump: &Pump,
    finish: impl AsyncFnOnce(Farewell),
) -> io::Result<()> {
    let (stdin, stdout) = (Input::stdin()?, Sink::stdout()?);
    let mut signals = Signals::new()?;
    let mut tasks = JoinSet::new();
    let announcer = Arc::clone(&session);
    let announcer = tasks.spawn(async move { announcer.announce_changes().await });
    session.client.outbox.connect(stdout, pump);
    let ended = CancellationToken::new();
    let reader = Stdin {
        session: Arc::clone(&session),
        limit: message_limit,
        ended: ended.clone(),
        oversize: AtomicBool::new(false),
    };
    let source = pump.read(stdin, message_limit, Arc::new(reader));

    let mut farewell = tokio::select! {
        () = ended.cancelled() => END_OF_INPUT,
        () = signals.any() => SIGNALLED,
        () = session.client.outbox.closed() => END_OF_INPUT,
        () = pump.ended() => SIGNALLED,
    };
    tokio::select! {
        _ = timeout(farewell.drain, session.client.idle()) => {}
        () = session.client.outbox.closed() => {}
        () = signals.any() => farewell = SIGNALLED,
    }
    source.forget();
    announcer.abort(); // that the servers go now is no news
    session.abandon();
    finish(farewell).await;
    session.client.outbox.flushed(LAST_FLUSH).await;
    tasks.shutdown().await;
    match session.client.outbox.failure() {
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
    session: Arc<Session>,
    limit: usize,
    ended: CancellationToken,
    /// An oversize message is being skipped and its id is not yet known.
    oversize: AtomicBool,
}

impl Stdin {
    /// A message passed the limit: whose it is may be known from its beginning.
    fn oversize(&self, id: Option<&[u8]>) {
        match id {
            Some(id) => self.session.refuse_oversize(id, self.limit),
            None => self.oversize.store(true, Ordering::Relaxed),
        }
    }

    /// It has ended; else it is known now, or never.
    fn oversize_end(&self, tail: &[u8]) {
        if self.oversize.swap(false, Ordering::Relaxed) {
            let id = salvage_token(tail).unwrap_or(b"null");
            self.session.refuse_oversize(id, self.limit);
        }
    }
}

impl Reader for Stdin {
    fn take(&self, lines: &mut Lines, source: &SourceHandle, touched: &mut Touched) {
        let snapshot = self.session.context.registry.snapshot();
        while let Some(line) = lines.next_line() {
            match line {
                Line::Whole(line) if line.iter().all(u8::is_ascii_whitespace) => {}
                Line::Whole(line) => self.session.receive(line, &snapshot, touched),
                Line::TooLong(head) => self.oversize(salvage_token(head)),
                Line::TooLongEnd(tail) => self.oversize_end(tail),
            }
        }
        self.session.client.outbox.hold_if_crowded(source);
    }

    /// A last message without a newline is a message all the same.
    fn ended(&self, rest: &[u8], touched: &mut Touched) {
        if self.oversize.load(Ordering::Relaxed) {
            self.oversize_end(rest);
        } else if !rest.iter().all(u8::is_ascii_whitespace) {
            self.session.receive(rest, &self.session.context.registry.snapshot(), touched);
        }
        self.ended.cancel();
    }
}

#[derive(Debug)]
struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
    hangup: tokio::signal::unix::Signal,
}

impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    async fn any(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }
}
