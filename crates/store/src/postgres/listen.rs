//! Hears from Postgres that somebody has changed something, so that nobody has to keep asking.

use std::future::poll_fn;
use std::pin::pin;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tokio_postgres::{AsyncMessage, Client, Config, Connection, NoTls};
use tokio_util::sync::CancellationToken;

use super::tls::Connector;
use crate::limits::{CONNECT, FIRST_PAUSE, LAST_PAUSE};
use crate::session::LISTEN;

/// Counts up whenever something may have changed, until `end`. A connection of its own: those of
/// the pool come and go, and one that listens must stay.
pub(super) async fn listen(
    config: Config,
    connector: Connector,
    told: watch::Sender<u64>,
    end: CancellationToken,
) {
    let work = async {
        let mut pause = FIRST_PAUSE;
        loop {
            // The pause starts anew once a connection worked: an outage after hours is not the
            // previous one going on.
            pause = match once(&config, &connector, &told).await {
                Heard::Something => FIRST_PAUSE,
                Heard::Nothing => (pause * 2).min(LAST_PAUSE),
            };
            sleep(pause).await;
        }
    };
    tokio::select! {
        // Dropping `work` closes the connection: nothing has to be told to Postgres.
        () = work => {}
        () = end.cancelled() => {}
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Heard {
    Something,
    /// It could not even begin.
    Nothing,
}

/// Until the connection breaks.
async fn once(config: &Config, connector: &Connector, told: &watch::Sender<u64>) -> Heard {
    match connector {
        Connector::Plain => match timeout(CONNECT, config.connect(NoTls)).await {
            Ok(Ok((client, connection))) => attend(&client, connection, told).await,
            _ => Heard::Nothing,
        },
        Connector::Tls(tls) => match timeout(CONNECT, config.connect(tls.clone())).await {
            Ok(Ok((client, connection))) => attend(&client, connection, told).await,
            _ => Heard::Nothing,
        },
    }
}

async fn attend<S, T>(
    client: &Client,
    mut connection: Connection<S, T>,
    told: &watch::Sender<u64>,
) -> Heard
where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    let mut heard = Heard::Nothing;
    // Pinned outside the loop: a notification that comes first must not cancel the request to
    // listen.
    let mut asked = pin!(client.batch_execute(LISTEN));
    // A server that accepts and then says nothing would otherwise hold this task for ever.
    let mut late = pin!(sleep(CONNECT));
    loop {
        let is_waiting = heard == Heard::Nothing;
        tokio::select! {
            answer = &mut asked, if is_waiting => match answer {
                // Something may have changed before.
                Ok(()) => {
                    heard = Heard::Something;
                    told.send_modify(|count| *count += 1);
                }
                Err(_) => return heard,
            },
            // Only while waiting for `LISTEN`: afterwards silence is the normal state.
            () = &mut late, if is_waiting => return heard,
            message = poll_fn(|context| connection.poll_message(context)) => match message {
                Some(Ok(AsyncMessage::Notification(_))) => told.send_modify(|count| *count += 1),
                // Notices and parameter changes: nothing of ours depends on them.
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return heard,
            },
        }
    }
}
