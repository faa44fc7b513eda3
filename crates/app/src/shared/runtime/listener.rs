//! `Reception`: accepts connections on the runtime's socket: clients go to the gateway, commands are
//! answered here.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use std::{fmt, io};

use rustix::process::geteuid;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use trunkline_gateway::{Fleet, LATEST_GREETING, Restarted, SocketClient, SocketOrder};

use super::attendance::Attendance;
use super::notice_board::NoticeBoard;
use super::report;
use super::socket::{NewPlace, OwnSocket};
use crate::client::did_you_mean;
use crate::shared::hello::{Ask, ClientHello, ELSEWHERE, RuntimeHello, WELCOME, refusal};

/// A peer that says no hello for so long is not waited for.
const HELLO_PATIENCE: Duration = Duration::from_secs(5);
/// A hello is shorter.
const LONGEST_HELLO: usize = 1024 * 1024;
/// The front that started us connects at once.
const FIRST_CLIENT: Duration = Duration::from_secs(10);
/// Between two attempts to accept while descriptors are short.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(crate) struct Reception {
    pub(crate) fleet: Fleet,
    pub(crate) attendance: Arc<Attendance>,
    pub(crate) orders: mpsc::Sender<SocketOrder>,
    pub(crate) notices: NoticeBoard,
    pub(crate) config: PathBuf,
    pub(crate) started: SystemTime,
    /// Keyed hashes of what tells this runtime from others.
    pub(crate) inputs: BTreeMap<String, String>,
    /// The program that it was started from.
    pub(crate) program: ProgramFile,
    pub(crate) next: NextConfig,
}

/// Reads the config that the next runtime would have: why that could not start.
pub(crate) struct NextConfig(pub(crate) Box<dyn Fn() -> Result<(), String> + Send + Sync>);

impl fmt::Debug for NextConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NextConfig")
    }
}

/// How a runtime is to end.
#[derive(Clone, Copy, Debug)]
struct EndOrder {
    again: bool,
}

/// Who may come: clients and commands, or only commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Visitors {
    All,
    Commands,
}

impl Reception {
    /// Accepts until nobody needs the runtime, a command ends it, or the gateway ends by itself. Then the socket
    /// is free for the next runtime, the gateway is told to end, and commands are answered until it has.
    pub(crate) async fn receive(self, mut socket: OwnSocket) -> io::Result<Infallible> {
        let reception = Arc::new(self);
        let (end, mut ended) = mpsc::channel::<EndOrder>(1);
        let mut visits = JoinSet::new();
        let last = loop {
            let listener = socket.listener()?;
            let welcome = if socket.is_displaced() { Visitors::Commands } else { Visitors::All };
            let is_outdated = || reception.program.is_replaced();
            let mut lingered =
                std::pin::pin!(reception.attendance.lingered(FIRST_CLIENT, is_outdated));
            let place = tokio::select! {
                never = reception.accept(&listener, &mut visits, &end, welcome) => match never {},
                Some(order) = ended.recv() => break order,
                () = &mut lingered => {
                    tracing::info!("no client is left: the runtime ends");
                    break EndOrder { again: false };
                }
                () = reception.orders.closed() => break EndOrder { again: false },
                () = socket.lost() => socket.take_place(),
            };
            reception.attendance.set_hidden(why_hidden(place));
        };
        reception.attendance.set_ending();
        let listener = socket.listener()?;
        let _retired = socket.retire();
        let ending = async {
            // Those that were accepted meanwhile are still attached, and told that it ends.
            while visits.join_next().await.is_some() {}
            // An error: the gateway has ended by itself.
            drop(reception.orders.send(SocketOrder::End { again: last.again }).await);
            std::future::pending().await
        };
        let mut late = JoinSet::new();
        tokio::select! {
            never = reception.accept(&listener, &mut late, &end, Visitors::Commands) => match never {},
            never = ending => never,
        }
    }

    async fn accept(
        self: &Arc<Self>,
        listener: &UnixListener,
        visits: &mut JoinSet<()>,
        end: &mpsc::Sender<EndOrder>,
        welcome: Visitors,
    ) -> Infallible {
        loop {
            tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => {
                        let (reception, end) = (Arc::clone(self), end.clone());
                        visits.spawn(async move { reception.visited(stream, &end, welcome).await });
                    }
                    Err(error) => {
                        tracing::warn!(%error, "a client could not be accepted");
                        sleep(ACCEPT_PAUSE).await;
                    }
                },
                Some(_) = visits.join_next() => {}
            }
        }
    }

    async fn visited(
        &self,
        mut stream: UnixStream,
        end: &mpsc::Sender<EndOrder>,
        welcome: Visitors,
    ) {
        // The directory keeps others out; this holds also if somebody opens it.
        if stream.peer_cred().map(|peer| peer.uid()).ok() != Some(geteuid().as_raw()) {
            tracing::warn!("another user has tried to connect");
            return;
        }
        let said = match timeout(HELLO_PATIENCE, first_line(&mut stream)).await {
            Ok(Ok(line)) => RuntimeHello::read(&line),
            Ok(Err(_)) => return,
            Err(_) => Err("it was waited for a hello in vain".to_owned()),
        };
        let answer = match said {
            // It notices that nobody listens to it, and looks for the next runtime.
            Ok(RuntimeHello::Client(_)) if welcome == Visitors::Commands => return,
            Ok(RuntimeHello::Client(hello)) => return self.attach(stream, hello).await,
            Ok(RuntimeHello::Ask(Ask::Status)) => {
                // A runtime that cannot move a byte is silent, like one that hangs as a whole. Longer than anybody
                // waits for a word: what is closed sooner looks like one that has gone.
                if timeout(2 * LATEST_GREETING, self.fleet.moves()).await.is_err() {
                    return;
                }
                self.answer(Ask::Status, end)
            }
            Ok(RuntimeHello::Ask(ask)) => self.answer(ask, end),
            Err(why) => refusal(&why),
        };
        // The peer may have gone; it has asked for nothing else.
        drop(stream.write_all(answer.as_bytes()).await);
    }

    async fn attach(&self, mut stream: UnixStream, hello: ClientHello) {
        let Some(presence) = self.attendance.enter(&hello) else {
            // It may have gone; else it looks again.
            return drop(stream.write_all(ELSEWHERE.as_bytes()).await);
        };
        if stream.write_all(WELCOME.as_bytes()).await.is_err() {
            return;
        }
        // Before what the notices say is looked at: what fails in between is told twice rather than never.
        let notices = self.notices.subscribe();
        // What has failed since the start was logged, and the first client is told all of that.
        let is_told = !notices.is_empty();
        for line in report::troubles(self, is_told) {
            if stream.write_all(format!("#trunkline: {line}\n").as_bytes()).await.is_err() {
                return;
            }
        }
        let Ok(socket) = stream.into_std() else { return };
        let client = SocketClient {
            socket: socket.into(),
            pid: hello.pid,
            kind: hello.kind,
            last_question: hello.last_question,
            notices,
            dismissed: Arc::clone(&presence.dismissed),
            presence: Box::new(presence),
        };
        // An error: the gateway ends; the front notices that its connection is closed.
        drop(self.orders.send(SocketOrder::Attach(client)).await);
    }

    fn answer(&self, ask: Ask, end: &mpsc::Sender<EndOrder>) -> String {
        let done = json!({ "trunkline": 1, "done": true });
        let said = match ask {
            Ask::Status => report::status(self),
            Ask::Stop | Ask::Restart(None) => {
                // A runtime that works is not given up for one that cannot start.
                if let (Ask::Restart(_), Err(why)) = (&ask, (self.next.0)()) {
                    return refusal(&format!("nothing was restarted: {why}"));
                }
                let again = ask != Ask::Stop;
                // Full: it ends already.
                let _ = end.try_send(EndOrder { again });
                done
            }
            Ask::Restart(Some(name)) => match self.find(&name) {
                Ok(id) => match self.fleet.restart(&id) {
                    Some(Restarted::Begun { private }) => {
                        json!({ "trunkline": 1, "done": true, "private": private })
                    }
                    // Gone since it was found: nothing of it runs.
                    Some(Restarted::Asleep) | None => json!({ "trunkline": 1, "asleep": true }),
                },
                Err(why) => return refusal(&why),
            },
            Ask::Logs(name) => match self.find(&name) {
                Ok(id) => report::words(self, &id),
                Err(why) => return refusal(&why),
            },
        };
        format!("{said}\n")
    }

    /// The id of the server with this name.
    fn find(&self, name: &str) -> Result<String, String> {
        let servers = self.fleet.servers();
        let id = trunkline_catalog::config::ServerSpec::file_id(name);
        match self.fleet.server(&id) {
            Some(_) => Ok(id),
            None => {
                let near = did_you_mean(name, servers.iter().map(|server| server.key.as_str()));
                Err(format!("there is no server `{}`{near}", crate::client::line(name)))
            }
        }
    }
}

/// Why clients do not find a runtime whose files were removed.
fn why_hidden(place: NewPlace) -> Option<&'static str> {
    let why = match place {
        NewPlace::Same => {
            tracing::info!("the runtime's files were removed: it has made them again");
            return None;
        }
        NewPlace::Taken => "its files were removed, and another runtime has its place",
        NewPlace::Nowhere => "its directory was removed and cannot be made again",
    };
    tracing::info!("no client comes any more: {why}");
    Some(why)
}

/// The program that this process runs: device, inode and time of its file.
#[derive(Debug)]
pub(crate) struct ProgramFile(Option<(u64, u64, i64)>);

impl ProgramFile {
    /// Also one whose file was replaced before this process came so far.
    pub(crate) fn running() -> Self {
        Self::at(Path::new("/proc/self/exe"))
    }

    fn at(path: &Path) -> Self {
        let about = std::fs::metadata(path).ok();
        Self(about.map(|about| (about.dev(), about.ino(), about.mtime())))
    }

    /// Is there another one at its place, or none?
    pub(super) fn is_replaced(&self) -> bool {
        // An error: nobody can tell.
        std::env::current_exe().is_ok_and(|path| Self::at(&path).0 != self.0)
    }
}

/// One line, and no byte behind it: what follows is the gateway's to read.
async fn first_line(stream: &mut UnixStream) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    let mut piece = [0; 1024];
    while line.len() < LONGEST_HELLO {
        match stream.read(&mut piece).await? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => line.extend_from_slice(piece.get(..count).unwrap_or_default()),
        }
        // A front waits for the answer before it says more.
        if line.ends_with(b"\n") {
            return Ok(line);
        }
    }
    Err(io::ErrorKind::InvalidData.into())
}
