//! One conversation with a server in the network: from the first connection to the last.

use std::sync::Arc;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use trunkline_catalog::ListKind;

use crate::limits::{ENDPOINT_EVENT, GOODBYE};
use crate::pump::{FlushSet, Pumps};
use crate::upstream::connection::broken::BrokenLines;
use crate::upstream::connection::{Connection, ConnectionParts};
use crate::upstream::http::address::Address;
use crate::upstream::http::authorize;
use crate::upstream::http::connect::{Opened, connect};
use crate::upstream::http::pool::Gate;
use crate::upstream::http::route::ServerRoute;
use crate::upstream::http::slot::{Exchange, Purpose};
use crate::upstream::http::transport::HttpTransport;
use crate::upstream::http::trouble::Trouble;
use crate::upstream::http::verdict::Dialect;
use crate::upstream::lifecycle::drain::{drained, lets_calls_end};
use crate::upstream::lifecycle::handshake::{self, HandshakeError, ServerHello};
use crate::upstream::lifecycle::listen;
use crate::upstream::lifecycle::probe::Opening;
use crate::upstream::lifecycle::ready::{become_ready, follow_changes, remind};
use crate::upstream::lifecycle::run_policy::{fall_asleep, idled};
use crate::upstream::lifecycle::server::Server;
use crate::upstream::lifecycle::signals::{LifeVerdict, RESTARTED};
use crate::upstream::lifecycle::state::Phase;
use crate::upstream::lifecycle::supervisor::{End, Supervisor, announce, renew};
use crate::upstream::shown::shown;

/// How it ended.
pub(super) enum Parting {
    End(End),
    /// Before anything was said of it: the server does not seem to speak like this.
    NotThisWay(Trouble),
}

pub(super) struct Life<'a> {
    server: &'a Arc<Server>,
    supervisor: &'a Supervisor,
    connection: Arc<Connection>,
    transport: Arc<HttpTransport>,
    tasks: JoinSet<()>,
    started: Instant,
}

impl<'a> Life<'a> {
    pub(super) async fn begin(
        server: &'a Arc<Server>,
        supervisor: &'a Supervisor,
        (address, route): (Address, ServerRoute),
        dialect: Dialect,
    ) -> Parting {
        let limits = supervisor.limits;
        let line =
            HttpTransport::new(&server.key, address, dialect, limits, &server.definition.secrets);
        let line = Arc::new(if server.bearer.is_some() { line.with_login() } else { line });
        let connection = Arc::new(Connection::new(ConnectionParts {
            key: server.key.clone(),
            limits,
            transport: Arc::clone(&line) as _,
            broken: BrokenLines::new(Arc::clone(&server.definition.secrets)),
            audience: Arc::clone(&server.audience),
            simple: supervisor.simple,
            deadlines: Arc::clone(&supervisor.deadlines),
            parking: Arc::clone(&supervisor.parking),
            options: server.connection_options(),
        }));
        // Before the first byte is sent: an answer must find its connection.
        line.belong_to(&connection);
        let started = Instant::now();
        let mut life = Self {
            server,
            supervisor,
            connection,
            transport: line,
            tasks: JoinSet::new(),
            started,
        };
        if let Some(bearer) = server.bearer.clone() {
            life.tasks.spawn(authorize::keep(Arc::clone(&life.transport), bearer));
        }
        let mut attendant = Attendant {
            transport: Arc::clone(&life.transport),
            pumps: supervisor.pumps.clone(),
            route,
            sockets: JoinSet::new(),
            relays: JoinSet::new(),
        };
        let end = match life.run(&mut attendant).await {
            Ok(end) => end,
            Err(trouble) if trouble.not_this_way => {
                life.connection.close("is spoken to in another way", &[]);
                life.transport.connections.close_all();
                return Parting::NotThisWay(trouble);
            }
            Err(trouble) => life.failed(&trouble, Phase::Initialization),
        };
        life.finish(&end, attendant).await;
        Parting::End(end)
    }

    /// The error is one of the time before it was ready.
    async fn run(&mut self, attendant: &mut Attendant) -> Result<End, Trouble> {
        let give_up = self.supervisor.limits.give_up;
        let opening = match self.transport.dialect {
            Dialect::Modern => Opening::Discover,
            Dialect::Streamable | Dialect::Older => Opening::Initialize,
        };
        let (server, connection) = (self.server, &self.connection);
        let ready = become_ready(server, connection, self.supervisor, opening, self.started);
        let hello = tokio::select! {
            biased;
            // First: connections are opened by polling it, and the handshake needs one.
            trouble = attendant.attend() => return Err(trouble),
            ready = ready => match ready {
                Ok(hello) => hello,
                Err(HandshakeError::Loop) => return Err(Trouble::circle()),
                Err(error @ HandshakeError::OtherEra) => {
                    let trouble = Trouble::new(error.to_string(), "");
                    return Err(Trouble { not_this_way: true, ..trouble });
                }
                Err(error) => return Err(Trouble::new(error.to_string(), "")),
            },
            () = no_endpoint(&self.transport) => {
                let seconds = ENDPOINT_EVENT.as_secs();
                let what = format!("did not say where to post to within {seconds} s");
                let trouble = Trouble::new(what, "check `type` and `url` in its config");
                return Err(Trouble { not_this_way: true, ..trouble });
            }
            () = sleep(give_up) => {
                let what = format!("did not become ready within {} s", give_up.as_secs_f64());
                return Err(Trouble::new(what, ""));
            }
            _ = self.supervisor.ending(self.server) => return Ok(End::Stopped),
        };
        // Known to work: the next start begins with this dialect instead of trying them in turn.
        *self.server.dialect.spoken.0.lock() = Some(self.transport.dialect);
        let (server, connection) = (Arc::clone(self.server), Arc::clone(&self.connection));
        let supervisor = self.supervisor.clone();
        if let Some(room) = server.wait_queue.clone() {
            self.tasks.spawn(room.let_in());
        }
        self.tasks.spawn(follow_changes(server, connection, Arc::clone(&hello), supervisor));
        self.tasks.spawn(listen::keep(Arc::clone(&self.connection), Arc::clone(&hello)));
        let (connection, line) = (Arc::clone(&self.connection), Arc::clone(&self.transport));
        let sessions =
            follow_sessions(connection, line, Arc::clone(&hello), self.supervisor.clone());
        self.tasks.spawn(sessions);
        Ok(tokio::select! {
            trouble = attendant.attend() => self.failed(&trouble, Phase::Runtime),
            () = self.connection.broken.too_many.notified() => {
                self.failed(&Trouble::new("sent too many broken messages", ""), Phase::Runtime)
            }
            verdict = self.server.signals.condemned(self.connection.health.life()) => match verdict {
                LifeVerdict::Useless(why) => self.failed(&Trouble::new(why, ""), Phase::Runtime),
                LifeVerdict::Restarted | LifeVerdict::Replaced => End::Restarted,
            },
            () = idled(self.server, &self.connection, &hello) => End::Idle,
            _ = self.supervisor.ending(self.server) => End::Stopped,
        })
    }

    fn failed(&self, trouble: &Trouble, phase: Phase) -> End {
        let phase = trouble.phase(phase == Phase::Runtime);
        if phase == Phase::Initialization || trouble.not_this_way {
            *self.server.dialect.spoken.0.lock() = None; // it is there, and is not what it was
        }
        End::Failed(trouble.failure(phase, |text| shown(text, &self.server.definition.secrets)))
    }

    /// Takes the server out of sight and ends its calls.
    async fn finish(mut self, end: &End, mut attendant: Attendant) {
        match end {
            End::Failed(failure) => announce(self.server, self.supervisor, failure),
            End::OtherWay => {}
            End::Stopped => drop(self.server.give_up(self.server.signals.farewell())),
            End::Restarted => renew(self.server),
            End::Idle => fall_asleep(self.server, &self.connection, self.supervisor).await,
        }
        // First out of the list: whoever has the error of a call must not see its tool any more,
        // unless the server is expected back.
        self.server.set_gone();
        self.server.update(|status| status.tools = 0);
        self.supervisor.offers.bump();
        if lets_calls_end(self.server, end) {
            tokio::select! {
                () = drained(&self.connection, self.supervisor) => {}
                _ = attendant.attend() => {} // it cannot be reached any more
            }
        }
        match end {
            End::Failed(failure) => {
                self.connection.close(&failure.what, &failure.stderr);
            }
            // Only processes are started in another way.
            End::OtherWay => self.connection.close("is spoken to in another way", &[]),
            End::Stopped | End::Idle | End::Restarted => {
                // Elapsed: it is too slow to be told. Whoever cancels a call and leaves counts on it.
                drop(timeout(GOODBYE, attendant.finish_telling()).await);
                let what = match end {
                    End::Restarted => RESTARTED,
                    _ => self.server.signals.farewell(),
                };
                self.connection.close(what, &[]);
                // Elapsed: the server will find out by itself.
                drop(timeout(GOODBYE, attendant.say_goodbye()).await);
            }
        }
        self.transport.connections.close_all();
        // Connections that are still being opened end here, and with them the last that belongs to
        // this life.
        attendant.sockets.shutdown().await;
        attendant.relays.shutdown().await;
        self.tasks.shutdown().await;
    }
}

/// Never, unless the older transport should have said where to post to.
async fn no_endpoint(line: &HttpTransport) {
    sleep(ENDPOINT_EVENT).await;
    if line.connections.pool.lock().gate != Gate::Shut {
        std::future::pending::<()>().await;
    }
}

/// Does what takes time for a line.
struct Attendant {
    transport: Arc<HttpTransport>,
    pumps: Pumps,
    route: ServerRoute,
    sockets: JoinSet<Result<Opened, Trouble>>,
    /// Carry the bytes of connections that a proxy encrypts once more; each ends with its own.
    relays: JoinSet<()>,
}

impl Attendant {
    /// Until the server has to be given up. Cancel-safe: connections that are being opened are
    /// waited for next time.
    async fn attend(&mut self) -> Trouble {
        loop {
            let more = {
                let mut pool = self.transport.connections.pool.lock();
                if let Some(trouble) = pool.trouble.take() {
                    return trouble;
                }
                pool.open_more()
            };
            for _ in 0..more {
                self.sockets.spawn(connect(self.transport.connections.url(), self.route.clone()));
            }
            let tick = self.transport.connections.next_tick();
            tokio::select! {
                () = self.transport.connections.attention.notified() => {}
                Some(opened) = self.sockets.join_next() => {
                    if let Err(trouble) = self.opened(opened.unwrap_or_else(|_| Err(interrupted()))) {
                        return trouble;
                    }
                }
                () = until(tick) => self.transport.connections.tick(),
            }
        }
    }

    /// The error: the server is lost.
    fn opened(&mut self, opened: Result<Opened, Trouble>) -> Result<(), Trouble> {
        while self.relays.try_join_next().is_some() {} // over, and as many as ever were open
        let adopted = opened.and_then(|Opened { socket, relay }| {
            if let Some(relay) = relay {
                self.relays.spawn(relay.run());
            }
            self.transport.adopt(socket, self.pumps.for_server()).map_err(|error| {
                Trouble::new(format!("has a connection that cannot be used: {error}"), "")
            })
        });
        let Err(trouble) = adopted else { return Ok(()) };
        let streams = self.transport.connections.pool.lock().not_opened();
        let Some(streams) = streams else { return Err(trouble) };
        let what = shown(&trouble.what, &self.transport.secrets);
        tracing::debug!(server = %self.transport.key, "{what}");
        let mut touched = FlushSet::default();
        for stream in streams {
            self.transport.retry_stream(stream, &mut touched);
        }
        touched.flush();
        Ok(())
    }

    /// Waits until the server has heard every notification.
    async fn finish_telling(&mut self) {
        let line = Arc::clone(&self.transport);
        while line.connections.pool.lock().is_telling() {
            tokio::select! {
                () = line.told.notified() => {}
                _ = self.attend() => return, // it cannot be reached any more
            }
        }
    }

    /// Tells the server that its session ends.
    async fn say_goodbye(&mut self) {
        if self.transport.connections.pool.lock().session.id.is_none() {
            return;
        }
        let mut touched = FlushSet::default();
        self.transport
            .connections
            .start(Exchange::bare(Purpose::Goodbye, Vec::new()), &mut touched);
        touched.flush();
        let line = Arc::clone(&self.transport);
        tokio::select! {
            () = line.parted.notified() => {}
            _ = self.attend() => {} // it cannot be reached any more
        }
    }
}

fn interrupted() -> Trouble {
    Trouble::new("could not be reached: opening the connection was interrupted", "")
}

async fn until(tick: Option<std::time::Instant>) {
    match tick {
        Some(tick) => sleep_until(tick.into()).await,
        None => std::future::pending().await,
    }
}

/// Opens a new session whenever the server has forgotten the old one, and tells it what that knew.
async fn follow_sessions(
    connection: Arc<Connection>,
    transport: Arc<HttpTransport>,
    hello: Arc<ServerHello>,
    supervisor: Supervisor,
) {
    loop {
        transport.session_lost.notified().await;
        let capabilities = supervisor.declared.get().await;
        let instance = &supervisor.instance;
        let opened = handshake::initialize(&connection, &capabilities, instance);
        match timeout(supervisor.limits.give_up, opened).await {
            // 2025-11-25, Transports, Session Management: a new session knows nothing of the old
            // one.
            Ok(Ok(_)) => catch_up(&connection, &hello),
            Ok(Err(error)) => transport.connections.give_up(Trouble::new(error.to_string(), "")),
            Err(_) => {
                transport
                    .connections
                    .give_up(Trouble::new("did not open a new session in time", ""));
            }
        }
    }
}

/// The log level, what clients have subscribed to; and its lists may have changed.
fn catch_up(connection: &Connection, hello: &ServerHello) {
    remind(connection, hello);
    let listed = ListKind::ALL.into_iter().filter(|kind| hello.lists(*kind));
    connection.changes.mark(listed);
}
