//! One process of a server: its streams, its readiness, its end, and what is left of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use trunkline_catalog::Listing;
use trunkline_catalog::config::Era;
use trunkline_keeper::{Custody, LOCAL_SOCKET, ProcessExit, Tree};
use trunkline_wire::{Edits, Lines, StreamLine as Text};

use crate::call::Payload;
use crate::limits::{LARGE_MESSAGE, LAST_OUTPUT, LAST_STATUS, ONE_SERVER};
use crate::pump::{FlushSet, Outbox, Reader, Refused, Sink, SourceHandle};
use crate::stream::{Input, Slow};
use crate::upstream::connection::broken::BrokenLines;
use crate::upstream::connection::{Connection, ConnectionParts};
use crate::upstream::lifecycle::drain::{drained, lets_calls_end};
use crate::upstream::lifecycle::handshake::{HandshakeError, LOOP_ADVICE};
use crate::upstream::lifecycle::listen;
use crate::upstream::lifecycle::probe::Opening;
use crate::upstream::lifecycle::ready::{become_ready, follow_changes};
use crate::upstream::lifecycle::run_policy::{fall_asleep, idled};
use crate::upstream::lifecycle::server::Server;
use crate::upstream::lifecycle::signals::{LifeVerdict, RESTARTED};
use crate::upstream::lifecycle::state::{Failure, Phase};
use crate::upstream::lifecycle::supervisor::{End, Supervisor, announce, renew};
use crate::upstream::shown::shown;
use crate::upstream::stdio::host_proxy::{AllowedHosts, HostProxy, ProxyEvent};
use crate::upstream::stdio::sandbox::SandboxReport;
use crate::upstream::stdio::stderr::LastWords;
use crate::upstream::transport::{Heading, Transport, UpstreamId};

/// One process of a server, from its start to its end.
pub(in crate::upstream) struct Life<'a> {
    server: &'a Arc<Server>,
    supervisor: &'a Supervisor,
    connection: Arc<Connection>,
    /// Its stdin.
    outbox: Outbox,
    words: Arc<LastWords>,
    /// Its stdout has ended; its stderr has.
    output_ended: CancellationToken,
    words_ended: CancellationToken,
    /// Trunkline itself has failed on what it wrote.
    output_failed: CancellationToken,
    output: Option<SourceHandle>,
    tasks: JoinSet<()>,
    started: Instant,
    /// The walls around it.
    walls: Option<Arc<SandboxReport>>,
    /// It was refused a socket of this machine, which may be why it fails.
    wanted_socket: AtomicBool,
}

/// What a process is started with besides its streams.
pub(in crate::upstream) struct Surroundings {
    pub(in crate::upstream) walls: Option<Arc<SandboxReport>>,
    /// Through which it reaches hosts.
    pub(in crate::upstream) proxy: Option<HostProxy>,
}

impl<'a> Life<'a> {
    pub(in crate::upstream) async fn begin(
        server: &'a Arc<Server>,
        supervisor: &'a Supervisor,
        custody: Custody,
        Surroundings { walls, proxy }: Surroundings,
    ) -> End {
        let started = Instant::now();
        let outbox = Outbox::default();
        let connection = Connection::new(ConnectionParts {
            key: server.key.clone(),
            limits: supervisor.limits,
            transport: Arc::new(outbox.clone()),
            broken: BrokenLines::new(Arc::clone(&server.definition.secrets)),
            audience: Arc::clone(&server.audience),
            simple: supervisor.simple,
            deadlines: Arc::clone(&supervisor.deadlines),
            parking: Arc::clone(&supervisor.parking),
            options: server.connection_options(),
        });
        let mut life = Self {
            server,
            supervisor,
            connection: Arc::new(connection),
            outbox,
            words: Arc::new(LastWords::new(Arc::clone(&server.definition.secrets), walls.clone())),
            output_ended: CancellationToken::new(),
            words_ended: CancellationToken::new(),
            output_failed: CancellationToken::new(),
            output: None,
            tasks: JoinSet::new(),
            started,
            walls,
            wanted_socket: AtomicBool::new(false),
        };
        life.open(proxy);
        server.listens_to(&life.words);
        server.update(|status| status.pid = Some(custody.pid));
        let Custody { stdin, stdout, stderr, mut tree, .. } = custody;
        let end = match Slow::new(stderr) {
            Ok(stderr) => {
                life.attend(Sink::pipe(stdin), Input::pipe(stdout), stderr);
                life.run(&mut tree).await
            }
            Err(error) => life.failed(Phase::Startup, &format!("could not be watched: {error}")),
        };
        life.finish(&end, tree).await;
        end
    }

    /// Lets it reach hosts, if its walls leave that to a proxy.
    fn open(&mut self, proxy: Option<HostProxy>) {
        let (Some(proxy), Some(walls)) = (proxy, self.walls.clone()) else { return };
        let hosts = walls.hosts.clone().unwrap_or(AllowedHosts::Only(Vec::new()));
        let (words, key) = (Arc::clone(&self.words), self.server.key.clone());
        self.tasks.spawn(proxy.serve(hosts, move |event| match event {
            ProxyEvent::Allowed(place) => walls.note_host(&place),
            ProxyEvent::Refused(place, why) => {
                words.note_refused(&key, &walls.explain_host(&place, why.as_deref()));
            }
        }));
    }

    /// Connects its streams.
    fn attend(&mut self, stdin: Sink, stdout: Input, stderr: Slow) {
        let pump = self.supervisor.pumps.for_server();
        let (connection, ended) = (Arc::clone(&self.connection), self.output_ended.clone());
        let limit = self.supervisor.limits.message;
        let failed = self.output_failed.clone();
        let output = Output { lines: Lines::new(limit), connection, ended, failed };
        self.output = Some(pump.attend(stdout, Box::new(output), &self.outbox, stdin));
        let (words, key) = (Arc::clone(&self.words), self.server.key.clone());
        let ended = self.words_ended.clone().drop_guard();
        self.tasks.spawn(async move {
            words.listen(&key, stderr).await;
            drop(ended);
        });
    }

    async fn run(&mut self, tree: &mut Tree) -> End {
        let give_up = self.supervisor.limits.give_up;
        let opening = match self.server.definition.era {
            _ if self.supervisor.simple => Opening::Initialize,
            Era::Legacy => Opening::Initialize,
            Era::Modern => Opening::Insist,
            Era::Auto => Opening::Find(&self.server.dialect.known),
        };
        let (server, connection) = (self.server, &self.connection);
        let ready = become_ready(server, connection, self.supervisor, opening, self.started);
        let hello = tokio::select! {
            // Biased: an answer that came just before the end counts.
            biased;
            ready = ready => match ready {
                Ok(hello) => hello,
                Err(error) => return self.not_ready(error, tree).await,
            },
            what = self.ended(tree) => return self.ended_early(&what),
            () = sleep(give_up) => {
                let mut what = format!("did not become ready within {} s", give_up.as_secs_f64());
                if let Some(error) = self.connection.broken.refusal() {
                    what.push_str(&format!("; it sent an error that names no request: {error}"));
                }
                return self.failed(Phase::Initialization, &what);
            }
            _ = self.supervisor.ending(self.server) => return End::Stopped,
        };
        let (server, connection) = (Arc::clone(self.server), Arc::clone(&self.connection));
        if let Some(room) = server.wait_queue.clone() {
            self.tasks.spawn(room.let_in());
        }
        self.tasks.spawn(listen::keep(Arc::clone(&connection), Arc::clone(&hello)));
        let changes =
            follow_changes(server, connection, Arc::clone(&hello), self.supervisor.clone());
        self.tasks.spawn(changes);
        tokio::select! {
            what = self.ended(tree) => self.failed(Phase::Runtime, &what),
            () = self.connection.broken.too_many.notified() => {
                self.failed(Phase::Runtime, "sent too many broken messages")
            }
            verdict = self.server.signals.condemned(self.connection.health.life()) => match verdict {
                LifeVerdict::Useless(why) => self.failed(Phase::Runtime, &why),
                LifeVerdict::Restarted | LifeVerdict::Replaced => End::Restarted,
            },
            () = idled(self.server, &self.connection, &hello) => End::Idle,
            _ = self.supervisor.ending(self.server) => End::Stopped,
        }
    }

    /// The handshake failed; if that is because the process has ended, its status says more.
    async fn not_ready(&self, error: HandshakeError, tree: &mut Tree) -> End {
        if error == HandshakeError::Loop {
            return End::Failed(Failure {
                phase: Phase::Initialization,
                what: error.to_string(),
                advice: LOOP_ADVICE.to_owned(),
                permanent: true,
                needs_login: false,
                is_private: false,
                stderr: Vec::new(),
            });
        }
        let what = match timeout(LAST_STATUS, self.ended(tree)).await {
            Ok(what) if matches!(error, HandshakeError::Silent(_)) => {
                return self.ended_early(&what);
            }
            _ => error.to_string(),
        };
        self.failed(Phase::Initialization, &what)
    }

    /// It has ended before it was ready.
    fn ended_early(&self, what: &str) -> End {
        if self.server.dialect.known.ended() {
            tracing::debug!(server = %self.server.key, "{what} when it was asked for its era");
            return End::OtherWay;
        }
        self.failed(Phase::Initialization, what)
    }

    /// Waits for the process or its output to end; says how, completing "server X …".
    async fn ended(&self, tree: &mut Tree) -> String {
        let exit = tokio::select! {
            exit = self.exited(tree) => Some(exit),
            () = self.output_ended.cancelled() => timeout(LAST_STATUS, tree.exited()).await.ok(),
            () = self.outbox.closed() => timeout(LAST_STATUS, tree.exited()).await.ok(),
        };
        // Its last words and answers may still be in the pipes; a grandchild may hold them open.
        let rest = async {
            self.output_ended.cancelled().await;
            self.words_ended.cancelled().await;
        };
        drop(timeout(LAST_OUTPUT, rest).await);
        if self.output_failed.is_cancelled() {
            return "wrote something that Trunkline failed on (an internal error: see its log)"
                .to_owned();
        }
        exit.map_or_else(|| "closed its input or output".to_owned(), |exit| exit.to_string())
    }

    /// Waits for the end of its main process; meanwhile it is logged what its walls refuse.
    async fn exited(&self, tree: &mut Tree) -> ProcessExit {
        loop {
            if let Some(exit) = tree.exited_or_refused().await {
                return exit;
            }
            let profile = self.walls.as_ref().map_or("", |walls| walls.profile.word());
            for refused in tree.take_refused() {
                // Every look-up of a name tries this for a service that few machines have.
                if refused == LOCAL_SOCKET {
                    // Relaxed: only read where nothing is decided by what else was written.
                    self.wanted_socket.store(true, Ordering::Relaxed);
                    tracing::info!(
                        server = %self.server.key,
                        "sandbox {profile} refused {refused} (looking up a name tries that, too)"
                    );
                    continue;
                }
                tracing::warn!(server = %self.server.key, "sandbox {profile} refused {refused}");
            }
        }
    }

    /// What to do about a failure: what its walls have to do with it, if it has any.
    fn advice(&self, phase: Phase, stderr: &[String]) -> String {
        let refused = self.words.refused();
        match (&self.walls, refused.as_slice()) {
            (Some(walls), []) if phase != Phase::Runtime => {
                // Relaxed: as where it is stored.
                match self.wanted_socket.load(Ordering::Relaxed) {
                    true => format!(
                        "{}; sockets of this machine were refused, allow them with \"unixSockets\": true",
                        walls.advice()
                    ),
                    false => walls.advice(),
                }
            }
            (Some(_), refused) => refused.join("; "),
            (None, _) if stderr.is_empty() && phase != Phase::Runtime => {
                "run its command by hand to see what it says".to_owned()
            }
            (None, _) => String::new(),
        }
    }

    fn failed(&self, phase: Phase, what: &str) -> End {
        let what = shown(what, &self.server.definition.secrets);
        let stderr = match phase {
            Phase::Runtime => self.words.quoted(),
            Phase::Startup | Phase::Initialization => self.words.quoted_from_start(),
        };
        let advice = self.advice(phase, &stderr);
        let (permanent, needs_login) = (false, false);
        let is_private = self.walls.is_some() && !advice.is_empty();
        End::Failed(Failure { phase, what, advice, permanent, needs_login, is_private, stderr })
    }

    /// Takes the server out of sight, ends its calls, and lets nothing of it live on.
    async fn finish(mut self, end: &End, mut tree: Tree) {
        match end {
            End::Failed(failure) => announce(self.server, self.supervisor, failure),
            End::OtherWay => {}
            End::Stopped => drop(self.server.give_up(self.server.signals.farewell())),
            End::Restarted => renew(self.server),
            End::Idle => {
                tracing::info!(server = %self.server.key, "is stopped: nothing uses it");
                fall_asleep(self.server, &self.connection, self.supervisor).await;
            }
        }
        // First out of the list: whoever has the error of a call must not see its tool any more,
        // unless the server is expected back.
        self.server.set_gone();
        self.server.update(|status| {
            status.pid = None;
            status.tools = 0;
        });
        self.supervisor.offers.bump();
        if lets_calls_end(self.server, end) {
            tokio::select! {
                () = drained(&self.connection, self.supervisor) => {}
                _ = self.ended(&mut tree) => {}
            }
        }
        let farewell = match end {
            End::Failed(failure) => {
                self.connection.close(&failure.what, &failure.stderr);
                ONE_SERVER
            }
            End::OtherWay => {
                self.connection.close("is started again", &[]);
                ONE_SERVER
            }
            End::Idle => {
                self.connection.close("was stopped because nothing used it", &[]);
                ONE_SERVER
            }
            End::Restarted => {
                self.connection.close(RESTARTED, &[]);
                ONE_SERVER
            }
            End::Stopped => {
                self.connection.close(self.server.signals.farewell(), &[]);
                self.supervisor.ending(self.server).await
            }
        };
        // Behind `close`: closing stdin is what asks a server to end (2025-11-25, Lifecycle,
        // Shutdown); the signals are for those that do not.
        tree.stop(farewell.wait, farewell.term);
        tree.gone().await;
        if let Some(output) = self.output.take() {
            output.forget();
        }
        self.tasks.shutdown().await;
    }
}

/// The pipe to a server: one message a line.
impl Transport for Outbox {
    fn send(
        &self,
        request: Option<(UpstreamId, &Heading<'_>)>,
        bytes: &[u8],
        edits: &Edits<'_>,
        touched: &mut FlushSet,
    ) -> Result<u64, Refused> {
        touched.note(self);
        match request {
            // Bounded: a request can be refused with "busy". Answers and notifications cannot.
            Some(_) => self.put_bounded(bytes, edits),
            None => self.put(bytes, edits),
        }
    }

    /// Only if all of it is written: a server cannot act on half a line.
    fn may_have_run(&self, _: UpstreamId, sent_at: u64) -> bool {
        sent_at <= self.written()
    }

    fn withdraw(&self, id: UpstreamId, sent_at: u64) -> bool {
        Outbox::close(self);
        self.may_have_run(id, sent_at)
    }

    /// What is put in front of a pipe is written.
    fn is_on_its_way(&self, _: UpstreamId) -> bool {
        true
    }

    fn forget(&self, _: UpstreamId) {}

    fn ties_questions_to_calls(&self) -> bool {
        false
    }

    fn learn(&self, _: &Listing) {}

    /// A process that has gone is gone.
    fn most_repeats(&self) -> u8 {
        1
    }

    fn is_pipe(&self) -> bool {
        true
    }

    /// Closed at once: what was written after `may_have_run` was asked would be sent again.
    fn end(&self) {
        Outbox::close(self);
    }

    fn close(&self) {
        Outbox::close(self);
    }
}

/// What a server writes.
#[derive(Debug)]
struct Output {
    lines: Lines,
    connection: Arc<Connection>,
    ended: CancellationToken,
    failed: CancellationToken,
}

impl Reader for Output {
    fn room(&mut self) -> &mut Vec<u8> {
        self.lines.room()
    }

    fn take(&mut self, source: &SourceHandle, touched: &mut FlushSet) {
        while let Some(line) = self.lines.next_line() {
            let payload = match line {
                Text::Whole([]) => continue,
                Text::Whole(line) if line.len() < LARGE_MESSAGE => Payload::Borrowed(line),
                Text::Whole(_) => Payload::Owned(self.lines.take_line()),
                Text::TooLong(head) => {
                    self.connection.broken.oversize_line(&self.connection.link, head);
                    continue;
                }
                Text::TooLongEnd(tail) => {
                    self.connection.broken.oversize_end(&self.connection.link, tail);
                    continue;
                }
            };
            self.connection.receive(payload, None, touched);
        }
        // Nothing is lost on a client that does not read: its servers are not read either.
        touched.hold_if_crowded(source);
    }

    fn ended(&mut self, _: &mut FlushSet) {
        if !self.lines.remainder().is_empty() {
            tracing::debug!(server = %self.connection.link.key, "its output ended in mid-line");
        }
        self.ended.cancel();
    }

    fn panicked(&mut self, touched: &mut FlushSet) {
        self.failed.cancel();
        self.ended(touched);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_is_withdrawn_from_a_pipe_is_not_written_later() {
        // Nobody writes yet, as if the server did not read.
        let outbox = Outbox::default();
        let heading = Heading { method: b"tools/call", name: None, arguments: None };
        let mut touched = FlushSet::default();
        let sent_at = outbox.send(Some((1, &heading)), b"{}", &Edits::new(), &mut touched).unwrap();
        assert!(!outbox.withdraw(1, sent_at), "nothing of it was written");
        assert!(outbox.put(b"{}", &Edits::new()).is_err(), "nothing can be written any more");
        assert_eq!(outbox.written(), 0);
        touched.flush();
    }
}
