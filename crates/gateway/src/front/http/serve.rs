//! The life of the front: accept clients, serve them, and end in order.

use std::io;
use std::net::TcpListener;
use std::sync::Arc;

use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};

use crate::front::http::access::Guard;
use crate::front::http::attached::Attachment;
use crate::front::http::connected_clients::ConnectedClients;
use crate::front::http::front::{Front, FrontOptions};
use crate::front::http::inbound::accept;
use crate::front::http::sweep::sweep;
use crate::front::signals::{OnHangup, Signals};
use crate::gate::Gate;
use crate::limits::{BACKLOG, HTTP_DRAIN, LAST_FLUSH, LAST_TASKS, SIGNALLED, ShutdownGrace};
use crate::pump::Pump;
use crate::session::{SessionContext, abandon};

/// How clients reach the HTTP front, and which of them may.
pub struct HttpOptions {
    /// Bound already, so that our starter knows the address.
    pub listener: TcpListener,
    /// The token that clients have to send.
    pub token: Option<String>,
    /// Names, besides its own, under which the front is reached: `name` or `name:port`.
    pub hosts: Vec<String>,
    /// Origins of web pages, besides its own, that may use it.
    pub origins: Vec<String>,
    /// Connections that one address may have open; `None`: as many as is usual.
    pub connections_per_address: Option<u32>,
    /// False: it ends when the last client of `/sse` has gone.
    pub stay: bool,
    /// Decides which callers may speak MCP and what they see; `None`: `token` decides.
    pub gate: Option<Arc<dyn Gate>>,
    /// Other routes on the same address.
    pub attachment: Option<Arc<dyn Attachment>>,
    /// Learns of the front, to show its clients.
    pub connected_clients: ConnectedClients,
    /// Signals that were listened for before, so that none is missed; `None`: listen from here on.
    pub signals: Option<Signals>,
}

impl std::fmt::Debug for HttpOptions {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("HttpOptions")
            .field("listener", &self.listener)
            .field("token", &self.token.as_ref().map(|_| "…"))
            .field("hosts", &self.hosts)
            .field("origins", &self.origins)
            .field("stay", &self.stay)
            .field("gate", &self.gate)
            .field("attachment", &self.attachment)
            .finish()
    }
}

/// Serves until a signal comes, then ends what is open. `finish` is told how the servers are to end
/// and resolves when they are gone.
pub(crate) async fn serve(
    options: HttpOptions,
    context: Arc<SessionContext>,
    message_limit: usize,
    pump: &Pump,
    finish: impl AsyncFnOnce(ShutdownGrace),
) -> io::Result<()> {
    let HttpOptions {
        listener,
        token,
        hosts,
        origins,
        connections_per_address,
        stay,
        gate,
        attachment,
        connected_clients: guests,
        signals,
    } = options;
    let mut signals = signals.map_or_else(|| Signals::new(OnHangup::End), Ok)?;
    listener.set_nonblocking(true)?;
    // With a short backlog, clients that arrive at once would wait for TCP to retransmit.
    rustix::net::listen(&listener, BACKLOG)?;
    let guard = Guard::new(listener.local_addr()?, &hosts, &origins, token);
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let options = FrontOptions { guard, message_limit, stay, gate, attachment };
    let front = Front::new(context, pump, options);
    guests.watch(&front);
    let mut tasks = JoinSet::new();
    let accepting = tasks.spawn(accept(listener, connections_per_address, Arc::clone(&front)));
    tasks.spawn(sweep(Arc::clone(&front)));

    tokio::select! {
        () = signals.any() => {}
        () = front.shutdown.deserted.cancelled() => {}
        () = pump.ended() => {}
    }
    // From here on new calls are refused, and open ones get their answers.
    front.drain();
    // The kernel hands new clients to the next process that listens on this address.
    accepting.abort();
    tokio::select! {
        _ = timeout(HTTP_DRAIN, idle(&front)) => {}
        () = signals.any() => {}
        () = pump.ended() => {} // nothing more will be answered
    }
    for session in front.sessions.all() {
        abandon(&session.client);
    }
    for open in front.conns().iter().filter_map(|conn| conn.open_reply()) {
        if let Some(call) = open.stateless_call() {
            abandon(&call.client);
        }
    }
    // The servers end before the sessions: their last answers still find a client.
    finish(SIGNALLED).await;
    front.sessions.end_all();
    front.context.tasks.close();
    // Elapsed: no client waits for what is left.
    drop(timeout(LAST_TASKS, front.context.tasks.wait()).await);
    close(&front).await;
    // The sweeper goes last: it keeps comments and timeouts going until here.
    tasks.shutdown().await;
    Ok(())
}

/// Waits until no client has a call open, and no other request is unanswered.
async fn idle(front: &Front) {
    for session in front.sessions.all() {
        session.client.idle().await;
    }
    for open in front.conns().iter().filter_map(|conn| conn.open_reply()) {
        if let Some(call) = open.stateless_call() {
            call.client.idle().await;
        }
    }
    front.shutdown.attached.wait().await;
}

/// Closes every connection, once it has taken what is left for it.
async fn close(front: &Front) {
    let conns = front.conns();
    let deadline = Instant::now() + LAST_FLUSH;
    for conn in conns {
        // Elapsed: this client goes without the rest.
        drop(timeout_at(deadline, conn.outbox.room(1)).await);
        conn.outbox.close();
    }
}
