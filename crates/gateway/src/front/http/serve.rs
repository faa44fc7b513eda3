//! The life of the front: accept clients, serve them, and end in order.

use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep, timeout, timeout_at};
use trunkline_http::reach::Cidr;

use crate::front::http::access::{FrontScheme, Guard};
use crate::front::http::attached::Attachment;
use crate::front::http::connected_clients::ConnectedClients;
use crate::front::http::front::{Front, FrontOptions};
use crate::front::http::inbound::{Entrance, accept, notice_vanished, redirect};
use crate::front::http::sweep::sweep;
use crate::front::http::tls::FrontTls;
use crate::front::signals::{OnHangup, Signals};
use crate::gate::Gate;
use crate::limits::{BACKLOG, HTTP_DRAIN, LAST_FLUSH, LAST_TASKS, SIGNALLED, ShutdownGrace};
use crate::pump::Pumps;
use crate::replicas::ReplicaAccess;
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
    /// Who comes in, and what has to be said before the first request.
    pub network: FrontNetwork,
    /// False: it ends when the last client of `/sse` has gone.
    pub stay: bool,
    /// How long it serves on after a signal, while `/readyz` says that nobody should be sent here.
    pub drain_delay: Duration,
    /// Decides which callers may speak MCP and what they see; `None`: `token` decides.
    pub gate: Option<Arc<dyn Gate>>,
    /// Other routes on the same address.
    pub attachment: Option<Arc<dyn Attachment>>,
    /// What it has in common with other replicas.
    pub replicas: Option<ReplicaAccess>,
    /// Learns of the front, to show its clients.
    pub connected_clients: ConnectedClients,
    /// Signals that were listened for before, so that none is missed; `None`: listen from here on.
    pub signals: Option<Signals>,
}

/// A listener that sends everybody to https.
#[derive(Debug)]
pub struct RedirectOptions {
    pub listener: TcpListener,
    /// Host and port that it sends to; `None`: the host that was asked for, and the port of the front.
    pub authority: Option<String>,
}

/// How connections come in.
#[derive(Debug, Default)]
pub struct FrontNetwork {
    /// Connections that one address may have open; `None`: as many as is usual.
    pub connections_per_address: Option<u32>,
    /// `None`: clients speak plain HTTP.
    pub tls: Option<FrontTls>,
    /// Browsers are told to use nothing but https for the names of this front.
    pub hsts: bool,
    /// Where plain HTTP is spoken as well, to send everybody to https.
    pub redirect: Option<RedirectOptions>,
    /// Load balancers: their connections begin with a header of the PROXY protocol.
    pub proxies: Vec<Cidr>,
}

impl FrontNetwork {
    fn scheme(&self) -> FrontScheme {
        match self.tls {
            None => FrontScheme::Http,
            Some(_) => FrontScheme::Https { hsts: self.hsts },
        }
    }
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
    pumps: &Pumps,
    finish: impl AsyncFnOnce(ShutdownGrace),
) -> io::Result<()> {
    let HttpOptions {
        listener,
        token,
        hosts,
        origins,
        network,
        stay,
        drain_delay,
        gate,
        attachment,
        replicas,
        connected_clients: guests,
        signals,
    } = options;
    let mut signals = signals.map_or_else(|| Signals::new(OnHangup::End), Ok)?;
    listener.set_nonblocking(true)?;
    if let Err(error) = notice_vanished(&listener) {
        tracing::warn!(%error, "connections of clients whose machines have gone stay open for long");
    }
    // With a short backlog, clients that arrive at once would wait for TCP to retransmit.
    rustix::net::listen(&listener, BACKLOG)?;
    let guard = Guard::new(listener.local_addr()?, &hosts, &origins, token);
    let guard = guard.speaking(network.scheme());
    let port = listener.local_addr()?.port();
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let options = FrontOptions { guard, message_limit, stay, gate, attachment, replicas };
    let front = Front::new(context, pumps, options);
    guests.watch(&front);
    let mut tasks = JoinSet::new();
    let accepting = open_entrance((listener, port), network, &front, &mut tasks)?;
    tasks.spawn(sweep(Arc::clone(&front)));

    serve_until_the_end(&front, drain_delay, &mut signals, pumps).await;
    // From here on new calls are refused, and open ones get their answers.
    front.drain();
    // The kernel hands new clients to the next process that listens on this address.
    accepting.abort();
    tokio::select! {
        _ = timeout(HTTP_DRAIN, idle(&front)) => {}
        () = signals.any() => {}
        () = pumps.ended() => {} // nothing more will be answered
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

/// Resolves when nothing new is to be served. After a signal it is said that nobody should be sent here, and everything is
/// served until load balancers have seen that; a second signal ends it.
async fn serve_until_the_end(front: &Front, delay: Duration, signals: &mut Signals, pumps: &Pumps) {
    tokio::select! {
        () = signals.any() => {}
        () = front.shutdown.deserted.cancelled() => return,
        () = pumps.ended() => return,
    }
    if delay.is_zero() {
        return;
    }
    front.announce_end();
    tracing::info!("is not ready any more, and ends in {} s", delay.as_secs());
    tokio::select! {
        () = sleep(delay) => {}
        () = signals.any() => {}
        () = pumps.ended() => {}
    }
}

/// Lets connections in, and sends whoever speaks plain HTTP beside TLS there; what accepts them.
fn open_entrance(
    (listener, port): (tokio::net::TcpListener, u16),
    network: FrontNetwork,
    front: &Arc<Front>,
    tasks: &mut JoinSet<()>,
) -> io::Result<AbortHandle> {
    let FrontNetwork { connections_per_address, tls, redirect: to_https, proxies, .. } = network;
    if let Some(RedirectOptions { listener, authority }) = to_https {
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        tasks.spawn(redirect(listener, port, authority, Arc::clone(front)));
    }
    let entrance = Entrance::new(Arc::clone(front), connections_per_address, tls, proxies);
    Ok(tasks.spawn(accept(listener, entrance)))
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
    let (streams, connections): (Vec<_>, Vec<_>) =
        front.conns().into_iter().partition(|conn| conn.is_stream());
    let deadline = Instant::now() + LAST_FLUSH;
    for stream in streams {
        // Elapsed, here and below: this client goes without the rest.
        drop(timeout_at(deadline, stream.outbox.room(1)).await);
    }
    // When their round is over, what was taken of the streams is in front of their connections' sockets.
    drop(timeout_at(deadline, front.pumps.answer()).await);
    for conn in connections {
        drop(timeout_at(deadline, conn.outbox.room(1)).await);
        conn.outbox.close();
    }
}
