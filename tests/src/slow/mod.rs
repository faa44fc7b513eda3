//! Slow readers: a client that keeps calls open and reads their answers slowly, or a server that
//! reads large arguments slowly, and how much the gateway's memory grows by it.

mod network;
mod stdio;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::config::Upstream;
use crate::pace::Pace;
use crate::room::Room;
use crate::{process, say, scan};

/// Calls that are open at a time, and the bytes of what is large in each.
pub const WINDOW: u32 = 32;
pub const BYTES: usize = 100_000;
/// Calls that are open at a time where one socket carries all answers: the system itself takes in
/// what 32 of them need, and nothing would wait in the gateway.
pub const STREAM_WINDOW: u32 = 64;
/// How much the memory may grow.
pub const BOUND_KIB: u64 = 32 << 10;

/// Where the client comes in, and how it is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Front {
    Stdio,
    /// `/mcp`, every answer a JSON body on a connection of its own.
    Json,
    /// `/mcp`, every answer the last event of a stream.
    Events,
    /// `/sse`: one stream for all answers.
    Sse,
}

/// What stands behind the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Server {
    Stdio,
    /// Streamable HTTP that answers with JSON.
    Json,
    /// Streamable HTTP that answers with events.
    Events,
    /// HTTP+SSE of 2024-11-05.
    Sse,
}

/// Who reads slowly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slow {
    /// The client, while answers are large.
    Client,
    /// The server, while arguments are large.
    Server,
}

impl Front {
    pub const ALL: [Self; 4] = [Self::Stdio, Self::Json, Self::Events, Self::Sse];
}

impl Server {
    pub const ALL: [Self; 4] = [Self::Stdio, Self::Json, Self::Events, Self::Sse];
}

/// Slightly slower than a gateway writes, a tenth of that, and a poor line.
pub const PACES: [Pace; 3] = [
    Pace { bytes: 64 << 10, pause: Duration::from_micros(500) },
    Pace { bytes: 64 << 10, pause: Duration::from_millis(2) },
    Pace { bytes: 16 << 10, pause: Duration::from_millis(2) },
];

/// One row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    pub front: Front,
    pub server: Server,
    pub slow: Slow,
    pub pace: Pace,
}

/// How long a cell lasts.
#[derive(Debug, Clone, Copy)]
pub enum Work {
    Calls(u64),
    Time(Duration),
}

/// What came of a cell.
#[derive(Debug, Clone, Copy)]
pub struct Outcome {
    pub calls: u64,
    pub time: Duration,
    /// By how much the memory grew at most.
    pub grown_kib: u64,
}

impl Cell {
    /// Runs it to its end; every call has to be answered with a result.
    #[track_caller]
    pub fn run(self, work: Work) -> Outcome {
        let room = Room::new();
        room.config([("bulk", self.server(&room))]);
        let start = Instant::now();
        let (calls, grown_kib) = match self.front {
            Front::Stdio => stdio::run(self, &room, work),
            Front::Json | Front::Events | Front::Sse => network::run(self, &room, work),
        };
        Outcome { calls, time: start.elapsed(), grown_kib }
    }

    fn server(self, room: &Room) -> Value {
        let answer = match self.slow {
            Slow::Client => say::huge(BYTES, say::Place::First),
            Slow::Server => say::text("taken"),
        };
        // Only a client that wants events asks for progress.
        let steps = say::steps([say::progress(1), answer]);
        let mut fake = room.fake("bulk").without_ledger().tool("call", steps);
        if self.slow == Slow::Server {
            let shared = if self.server == Server::Stdio { 1 } else { self.window() };
            fake = fake.reading(self.pace.shared_by(shared));
        }
        match self.server {
            Server::Stdio => fake.over(Upstream::Stdio),
            Server::Json => fake.over(Upstream::Http),
            Server::Events => fake.http(json!({ "reply": "sse" })).over(Upstream::Http),
            Server::Sse => fake.over(Upstream::Sse),
        }
    }

    fn window(self) -> u32 {
        if self.front == Front::Sse { STREAM_WINDOW } else { WINDOW }
    }

    /// The pace of the client's reading, if that is what is slow.
    fn client_pace(self) -> Option<Pace> {
        (self.slow == Slow::Client).then_some(self.pace)
    }

    /// The raw request with this id.
    fn request(self, tool: &str, id: u64) -> String {
        let text = if self.slow == Slow::Server { "x".repeat(BYTES) } else { String::new() };
        let token = if self.front == Front::Events {
            format!(r#""_meta":{{"progressToken":{id}}},"#)
        } else {
            String::new()
        };
        let tool = scan::quote(tool);
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{{token}"name":{tool},"arguments":{{"text":"{text}"}}}}}}"#
        )
    }
}

/// Hands out the calls of a cell until its work is done.
#[derive(Debug)]
struct Calls {
    work: Work,
    begun: Instant,
    given: AtomicU64,
}

/// Ids of calls are above those of the handshake.
const FIRST: u64 = 1000;

impl Calls {
    fn new(work: Work) -> Self {
        Self { work, begun: Instant::now(), given: AtomicU64::new(0) }
    }

    /// The id of the next call.
    fn next(&self) -> Option<u64> {
        (!self.is_over()).then(|| FIRST + self.given.fetch_add(1, Ordering::Relaxed))
    }

    /// No more calls are begun.
    fn is_over(&self) -> bool {
        match self.work {
            Work::Calls(count) => self.given() >= count,
            Work::Time(time) => self.begun.elapsed() >= time,
        }
    }

    fn given(&self) -> u64 {
        self.given.load(Ordering::Relaxed)
    }
}

/// The memory of the gateway, against what it was when all was quiet.
#[derive(Debug, Clone, Copy)]
struct Growth {
    pid: i32,
    before: u64,
}

impl Growth {
    fn begin(pid: i32) -> Self {
        Self { pid, before: process::memory_kib(pid) }
    }

    fn most_kib(self) -> u64 {
        process::peak_memory_kib(self.pid).saturating_sub(self.before)
    }
}

/// Is this an answer with a result? What is wrong with it is said.
#[track_caller]
fn assert_result(start: &[u8]) {
    let shown = String::from_utf8_lossy(&start[..start.len().min(300)]);
    assert!(shown.contains(r#""result""#), "not a result: {shown}");
}
