//! The stdio front: one session with the client that started us, over standard input and output.

use std::io;
use std::sync::Arc;

use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::call::ResponseSink;
use crate::front::client_lines::{ClientLines, LastLine};
use crate::front::signals::{OnHangup, Signals};
use crate::limits::{END_OF_INPUT, LAST_FLUSH, SIGNALLED, ShutdownGrace};
use crate::pump::{Outbox, Pumps, Sink};
use crate::session::{Session, abandon};
use crate::stream::Input;

/// Serves until the client goes or a signal comes, then ends what is open. `finish` is told how the
/// servers are to end and resolves when they are gone.
pub(crate) async fn serve(
    session: Arc<Session>,
    message_limit: usize,
    pumps: &Pumps,
    finish: impl AsyncFnOnce(ShutdownGrace),
) -> io::Result<()> {
    let (stdin, stdout) = (Input::stdin()?, Sink::stdout()?);
    // Before anything starts: a signal must not end us without our servers.
    let mut signals = Signals::new(OnHangup::End)?;
    let mut tasks = JoinSet::new();
    let announcer = tasks.spawn(Arc::clone(&session).announce_changes());
    let outbox = Outbox::default();
    let pump = pumps.for_client();
    outbox.connect(stdout, pump);
    let sink: ResponseSink = Arc::new(outbox.clone());
    session.client.set_stream(Some(sink.clone()));
    let ended = CancellationToken::new();
    let reader =
        ClientLines::new(&session, sink, &outbox, message_limit, ended.clone(), LastLine::Counts);
    let source = pump.read(stdin, reader);

    let mut grace = tokio::select! {
        () = ended.cancelled() => END_OF_INPUT,
        () = signals.any() => SIGNALLED,
        () = outbox.closed() => END_OF_INPUT,
        () = pumps.ended() => SIGNALLED,
    };
    session.close_listeners(); // subscriptions would never become idle
    tokio::select! {
        _ = timeout(grace.drain, session.client.idle()) => {}
        () = outbox.closed() => {}
        () = signals.any() => grace = SIGNALLED,
        () = pumps.ended() => {} // nothing more will be answered
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
