//! The socket front: the clients of a shared runtime, one session for each connection.

use std::any::Any;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use tokio::sync::{Notify, broadcast, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use trunkline_catalog::client::Client as ClientKind;
use trunkline_wire::Edits;

use crate::call::ResponseSink;
use crate::front::client_lines::{ClientLines, LastLine};
use crate::front::signals::{OnHangup, Signals};
use crate::limits::{END_OF_INPUT, LAST_FLUSH, SIGNALLED, SOCKET_CLIENT_BYTES, ShutdownGrace};
use crate::pump::{FlushSet, Frame, Outbox, Pump, Pumps, Sink};
use crate::session::{Session, SessionContext, abandon_unflushed, end_calls};

/// A client that has connected and said who it is.
#[derive(Debug)]
pub struct SocketClient {
    /// The connected socket. From here on it carries MCP messages, one a line.
    pub socket: OwnedFd,
    /// The process that has connected.
    pub pid: u32,
    /// Whose names its tools have.
    pub kind: Option<ClientKind>,
    /// The number of the last question that it was asked before; 0: none.
    pub last_question: u32,
    /// Lines for its standard error.
    pub notices: broadcast::Receiver<Arc<str>>,
    /// Rung when it has to go to another runtime, at once.
    pub dismissed: Arc<Notify>,
    /// Dropped when the client has gone.
    pub presence: Box<dyn Any + Send>,
}

/// What the socket front is told.
#[derive(Debug)]
pub enum SocketOrder {
    Attach(SocketClient),
    /// End. `again`: the clients are to connect to the next runtime at once.
    End {
        again: bool,
    },
}

/// A line that is no message: what follows is for the client's standard error.
const NOTICE: Frame<'static> = Frame { head: b"#", tail: b"\n" };
/// The last line of a runtime that ends in order: nothing is lost, the next message starts another one.
const END: &[u8] = b"!end";
/// Like `END`; another runtime is to be started at once.
const END_AGAIN: &[u8] = b"!again";

/// How the runtime ends.
#[derive(Clone, Copy, Debug)]
struct RuntimeFarewell {
    grace: ShutdownGrace,
    last_line: &'static [u8],
}

/// Serves until it is told to end or a signal comes. `finish` is told how the servers are to end and
/// resolves when they are gone.
pub(crate) async fn serve(
    mut orders: mpsc::Receiver<SocketOrder>,
    context: Arc<SessionContext>,
    message_limit: usize,
    pumps: &Pumps,
    finish: impl AsyncFnOnce(ShutdownGrace),
) -> io::Result<()> {
    let mut signals = Signals::new(OnHangup::Reload)?;
    let farewell = watch::Sender::new(None);
    let mut clients = JoinSet::new();
    let last = loop {
        tokio::select! {
            order = orders.recv() => match order {
                Some(SocketOrder::Attach(client)) => {
                    let scene = (Arc::clone(&context), message_limit, pumps.for_client().clone());
                    let heard = farewell.subscribe();
                    clients.spawn(async move {
                        if let Err(error) = receive(client, scene, heard).await {
                            tracing::warn!(%error, "a client could not be served");
                        }
                    });
                }
                Some(SocketOrder::End { again: true }) => {
                    break RuntimeFarewell { grace: END_OF_INPUT, last_line: END_AGAIN };
                }
                Some(SocketOrder::End { again: false }) | None => {
                    break RuntimeFarewell { grace: END_OF_INPUT, last_line: END };
                }
            },
            Some(_) = clients.join_next() => {}
            () = signals.any() => break RuntimeFarewell { grace: SIGNALLED, last_line: END },
            () = pumps.ended() => break RuntimeFarewell { grace: SIGNALLED, last_line: END },
        }
    };
    // Whoever sends orders learns that nobody can be attached any more.
    orders.close();
    let grace = drain(last, &farewell, &mut clients, &mut signals).await;
    finish(grace).await;
    Ok(())
}

/// Waits until every client has gone: each waits at most for the grace of the farewell and for its last bytes. A
/// signal meanwhile leaves them less. Returns how long servers have.
async fn drain(
    last: RuntimeFarewell,
    farewell: &watch::Sender<Option<RuntimeFarewell>>,
    clients: &mut JoinSet<()>,
    signals: &mut Signals,
) -> ShutdownGrace {
    farewell.send_replace(Some(last));
    loop {
        tokio::select! {
            left = clients.join_next() => if left.is_none() { return last.grace },
            () = signals.any() => break,
        }
    }
    farewell.send_replace(Some(RuntimeFarewell { grace: SIGNALLED, ..last }));
    while clients.join_next().await.is_some() {}
    SIGNALLED
}

/// Serves a client, unless it was dismissed since it was welcomed: then nothing of it is read.
async fn receive(
    client: SocketClient,
    scene: (Arc<SessionContext>, usize, Pump),
    farewell: watch::Receiver<Option<RuntimeFarewell>>,
) -> io::Result<()> {
    tokio::select! {
        biased;
        () = client.dismissed.notified() => {}
        () = std::future::ready(()) => return attend(client, scene, farewell).await,
    }
    let (_, stream) = Sink::socket(client.socket)?;
    let outbox = Outbox::closing_at(SOCKET_CLIENT_BYTES);
    outbox.connect(stream, &scene.2);
    tell(&outbox, END_AGAIN);
    outbox.flushed(LAST_FLUSH).await;
    outbox.close();
    drop(client.presence);
    Ok(())
}

async fn attend(
    client: SocketClient,
    (context, message_limit, pump): (Arc<SessionContext>, usize, Pump),
    mut farewell: watch::Receiver<Option<RuntimeFarewell>>,
) -> io::Result<()> {
    let SocketClient { socket, pid, kind, last_question, mut notices, dismissed, presence } =
        client;
    let context = context.for_latecomer();
    let context = Arc::new(match kind {
        Some(kind) => context.for_client(kind),
        None => context,
    });
    let session = Session::new(context);
    session.client.set_process(pid);
    session.client.number_questions_after(last_question);
    let (input, stream) = Sink::socket(socket)?;
    let outbox = Outbox::closing_at(SOCKET_CLIENT_BYTES);
    outbox.connect(stream, &pump);
    let sink: ResponseSink = Arc::new(outbox.clone());
    session.client.set_stream(Some(sink.clone()));
    let mut tasks = JoinSet::new();
    tasks.spawn(Arc::clone(&session).announce_changes());
    let ended = CancellationToken::new();
    let reader =
        ClientLines::new(&session, sink, &outbox, message_limit, ended.clone(), LastLine::IsCut);
    let source = pump.read(input, reader);

    let mut is_dismissed = false;
    let last = loop {
        tokio::select! {
            () = ended.cancelled() => break None,
            () = outbox.closed() => break None,
            () = pump.ended() => break None,
            () = dismissed.notified() => {
                source.forget(); // nothing more of it may reach these servers
                is_dismissed = true;
                break Some(RuntimeFarewell { grace: SIGNALLED, last_line: END_AGAIN });
            }
            // An error: the one who says farewell is gone, and with it the runtime.
            said = farewell.wait_for(Option::is_some) => break said.ok().and_then(|said| *said),
            notice = notices.recv() => match notice {
                Ok(line) => tell(&outbox, line.as_bytes()),
                Err(broadcast::error::RecvError::Lagged(lost)) => {
                    tell(&outbox, format!("trunkline: warning: {lost} log lines were lost here").as_bytes());
                }
                // Only the end of the program drops the sender.
                Err(broadcast::error::RecvError::Closed) => break None,
            },
        }
    };
    session.close_listeners(); // subscriptions would never become idle
    let grace = last.map_or(END_OF_INPUT, |last| last.grace);
    let served = async {
        session.client.idle().await;
        if !is_dismissed {
            // The client can write no more; what it has written so far is served as well.
            source.end_input();
            ended.cancelled().await;
            session.client.idle().await;
        }
        // An answer that the client has not taken yet is no less lost than one that has not come.
        outbox.flushed(grace.drain).await;
    };
    let has_gone = tokio::select! {
        () = calls_ended(served, grace, &mut farewell) => false,
        () = pump.ended() => false,
        () = outbox.closed() => true, // what it has open is cancelled
    };
    source.forget();
    tasks.shutdown().await;
    // Only at the very end: other clients may still wait for answers through the pipes that it closes.
    let mut touched = FlushSet::default();
    if last.is_some() && !is_dismissed && !has_gone {
        abandon_unflushed(&session.client, &mut touched); // the client is there: it is told that the runtime ends
    } else {
        end_calls(&session.client, &mut touched);
    }
    // In one write with the errors: a client answers them at once, and its front must know by then that nobody reads
    // here any more.
    if let Some(last) = last {
        tell(&outbox, last.last_line);
    }
    touched.flush();
    outbox.flushed(LAST_FLUSH).await;
    session.end();
    outbox.close();
    drop(presence);
    Ok(())
}

/// Waits until the client is `served`, at most for its grace, or for a shorter one that is given meanwhile.
async fn calls_ended(
    served: impl Future<Output = ()>,
    mut grace: ShutdownGrace,
    farewell: &mut watch::Receiver<Option<RuntimeFarewell>>,
) {
    let mut served = std::pin::pin!(served);
    loop {
        tokio::select! {
            _ = timeout(grace.drain, &mut served) => return,
            // An error: the one who says farewell is gone, and with it the runtime.
            said = farewell.changed() => match said.ok().and_then(|()| *farewell.borrow()) {
                Some(said) if said.grace.drain < grace.drain => grace = said.grace,
                Some(_) => {}
                None => return,
            },
        }
    }
}

fn tell(outbox: &Outbox, line: &[u8]) {
    // Refused: the client has gone, which its session notices by itself.
    let _ = outbox.put_framed(NOTICE, line, &Edits::new());
    outbox.flush();
}
