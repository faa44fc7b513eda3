//! One process of a server: its streams, its readiness, its end, and what is left of it.

use std::sync::Arc;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use trunkline_catalog::Listing;
use trunkline_keeper::{Custody, Tree};
use trunkline_wire::{Line, Lines};

use crate::call::Payload;
use crate::limits::{CHANGE_PAUSE, LARGE_MESSAGE, LAST_OUTPUT, LAST_STATUS, ONE_SERVER};
use crate::pump::{Reader, SourceHandle, Touched};
use crate::registry::Registry;
use crate::stream::{Input, Sink, Slow};
use crate::upstream::broken::BrokenLines;
use crate::upstream::connection::Connection;
use crate::upstream::handshake::{self, HandshakeError, Hello};
use crate::upstream::last_words::LastWords;
use crate::upstream::server::{Live, Server};
use crate::upstream::shown::shown;
use crate::upstream::state::{Failure, Phase, State};
use crate::upstream::supervisor::{End, Supervisor, announce};

/// One process of a server, from its start to its end.
pub(super) struct Life<'a> {
    server: &'a Arc<Server>,
    supervisor: &'a Supervisor,
    connection: Arc<Connection>,
    words: Arc<LastWords>,
    /// Its stdout has ended; its stderr has.
    output_ended: CancellationToken,
    words_ended: CancellationToken,
    output: Option<SourceHandle>,
    tasks: JoinSet<()>,
    started: Instant,
}

impl<'a> Life<'a> {
    pub(super) async fn begin(
        server: &'a Arc<Server>,
        supervisor: &'a Supervisor,
        custody: Custody,
    ) -> End {
        let started = Instant::now();
        let broken = BrokenLines::new(Arc::clone(&server.secrets));
        let key = Arc::clone(&server.key);
        let deadlines = Arc::clone(&supervisor.deadlines);
        let connection = Connection::new(server.index, key, supervisor.limits, broken, deadlines);
        let mut life = Self {
            server,
            supervisor,
            connection: Arc::new(connection),
            words: Arc::new(LastWords::new(Arc::clone(&server.secrets))),
            output_ended: CancellationToken::new(),
            words_ended: CancellationToken::new(),
            output: None,
            tasks: JoinSet::new(),
            started,
        };
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

    /// Connects its streams.
    fn attend(&mut self, stdin: Sink, stdout: Input, stderr: Slow) {
        let pump = &self.supervisor.pump;
        let (connection, ended) = (Arc::clone(&self.connection), self.output_ended.clone());
        let limit = self.supervisor.limits.message;
        self.output = Some(pump.read(stdout, limit, Arc::new(Output { connection, ended })));
        self.connection.outbox.connect(stdin, pump);
        let (words, key) = (Arc::clone(&self.words), Arc::clone(&self.server.key));
        let ended = self.words_ended.clone().drop_guard();
        self.tasks.spawn(async move {
            words.listen(&key, stderr).await;
            drop(ended);
        });
    }

    async fn run(&mut self, tree: &mut Tree) -> End {
        let give_up = self.supervisor.limits.give_up;
        let hello = tokio::select! {
            biased;
            ready = self.become_ready() => match ready {
                Ok(hello) => hello,
                Err(error) => return self.not_ready(error, tree).await,
            },
            what = self.ended(tree) => return self.failed(Phase::Initialization, &what),
            () = sleep(give_up) => {
                let what = format!("did not become ready within {} s", give_up.as_secs_f64());
                return self.failed(Phase::Initialization, &what);
            }
            _ = self.supervisor.ending() => return End::Stopped,
        };
        self.follow_changes(hello);
        tokio::select! {
            what = self.ended(tree) => self.failed(Phase::Runtime, &what),
            () = self.connection.broken.too_many.notified() => {
                self.failed(Phase::Runtime, "sent too many broken messages")
            }
            _ = self.supervisor.ending() => End::Stopped,
        }
    }

    async fn become_ready(&self) -> Result<Hello, HandshakeError> {
        let hello = handshake::initialize(&self.connection).await?;
        let listing = handshake::list_tools(&self.connection, &hello).await?;
        let started_in = self.started.elapsed();
        self.server.update(|status| {
            status.protocol = Some(hello.protocol.clone());
            status.identity.clone_from(&hello.identity);
            status.started_in = Some(started_in);
        });
        publish(self.server, &self.connection, listing, &self.supervisor.registry);
        tracing::info!(
            server = %self.server.key,
            protocol = %hello.protocol,
            duration_ms = u64::try_from(started_in.as_millis()).unwrap_or(u64::MAX),
            "is running"
        );
        Ok(hello)
    }

    /// The handshake failed; if that is because the process has ended, its status says more.
    async fn not_ready(&self, error: HandshakeError, tree: &mut Tree) -> End {
        let what = match timeout(LAST_STATUS, self.ended(tree)).await {
            Ok(what) if matches!(error, HandshakeError::Silent(_)) => what,
            _ => error.to_string(),
        };
        self.failed(Phase::Initialization, &what)
    }

    /// Waits for the process or its output to end; says how, completing "server X …".
    async fn ended(&self, tree: &mut Tree) -> String {
        let exit = tokio::select! {
            exit = tree.exited() => Some(exit),
            () = self.output_ended.cancelled() => timeout(LAST_STATUS, tree.exited()).await.ok(),
            () = self.connection.outbox.closed() => timeout(LAST_STATUS, tree.exited()).await.ok(),
        };
        // Its last words and answers may still be in the pipes; a grandchild may hold them open.
        let rest = async {
            self.output_ended.cancelled().await;
            self.words_ended.cancelled().await;
        };
        drop(timeout(LAST_OUTPUT, rest).await);
        exit.map_or_else(|| "closed its input or output".to_owned(), |exit| exit.to_string())
    }

    /// Lists the tools again whenever the server says that they have changed.
    fn follow_changes(&mut self, hello: Hello) {
        let (server, connection) = (Arc::clone(self.server), Arc::clone(&self.connection));
        let registry = Arc::clone(&self.supervisor.registry);
        self.tasks.spawn(async move {
            loop {
                connection.tools_changed.notified().await;
                match handshake::list_tools(&connection, &hello).await {
                    Ok(listing) => publish(&server, &connection, listing, &registry),
                    Err(error) => {
                        let why = shown(&error.to_string(), &server.secrets);
                        tracing::warn!(server = %server.key, "tools not re-read: {why}");
                    }
                }
                sleep(CHANGE_PAUSE).await;
            }
        });
    }

    fn failed(&self, phase: Phase, what: &str) -> End {
        let what = shown(what, &self.server.secrets);
        let stderr = self.words.quoted();
        let advice = if stderr.is_empty() && phase != Phase::Runtime {
            "run its command by hand to see what it says".to_owned()
        } else {
            String::new()
        };
        End::Failed(Failure { phase, what, advice, permanent: false, stderr })
    }

    /// Takes the server out of sight, ends its calls, and lets nothing of it live on.
    async fn finish(mut self, end: &End, mut tree: Tree) {
        // First out of the list: whoever has the error of a call must not see its tool any more.
        self.server.set_live(None);
        self.server.update(|status| {
            status.pid = None;
            status.tools = 0;
        });
        self.supervisor.registry.changed();
        let farewell = match end {
            End::Failed(failure) => {
                announce(self.server, failure);
                self.connection.close(&failure.what, &failure.stderr);
                ONE_SERVER
            }
            End::Stopped => {
                self.connection.close("was stopped", &[]);
                self.supervisor.ending().await
            }
        };
        tree.stop(farewell.wait, farewell.term);
        tree.gone().await;
        if let Some(output) = self.output.take() {
            output.forget();
        }
        self.tasks.shutdown().await;
    }
}

fn publish(server: &Server, connection: &Arc<Connection>, listing: Listing, registry: &Registry) {
    for warning in server.new_warnings(&listing.warnings) {
        tracing::warn!(server = %server.key, "{}", shown(&warning, &server.secrets));
    }
    let tools = listing.tools().len();
    let live = Live { connection: Arc::clone(connection), listing: Arc::new(listing) };
    server.set_live(Some(live));
    registry.changed();
    server.update(|status| {
        status.tools = tools;
        status.state = State::Running;
    });
}

/// What a server writes.
#[derive(Debug)]
struct Output {
    connection: Arc<Connection>,
    ended: CancellationToken,
}

impl Reader for Output {
    fn take(&self, lines: &mut Lines, source: &SourceHandle, touched: &mut Touched) {
        while let Some(line) = lines.next_line() {
            let payload = match line {
                Line::Whole([]) => continue,
                Line::Whole(line) if line.len() < LARGE_MESSAGE => Payload::Borrowed(line),
                Line::Whole(_) => Payload::Owned(lines.take_line()),
                Line::TooLong(head) => {
                    self.connection.oversize_line(head);
                    continue;
                }
                Line::TooLongEnd(tail) => {
                    self.connection.oversize_end(tail);
                    continue;
                }
            };
            self.connection.receive(payload, touched);
        }
        // Nothing is lost on a client that does not read: its servers are not read either.
        touched.hold_if_crowded(source);
    }

    fn ended(&self, rest: &[u8], _: &mut Touched) {
        if !rest.is_empty() {
            tracing::debug!(server = %self.connection.key, "its output ended in mid-line");
        }
        self.ended.cancel();
    }
}
