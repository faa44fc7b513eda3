//! Every bound and wait with its reason (HTTP/2: `inbound/http2/bounds.rs`). What a flag changes stands in `Limits`.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use trunkline_catalog::config::{LimitRules, SharedLimits};

/// What the command line and the config may change.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How many threads move bytes.
    pub threads: NonZeroUsize,
    /// How long the first `tools/list` waits for servers that are still starting.
    pub start: Duration,
    /// When a server that does not finish starting is given up.
    pub give_up: Duration,
    /// When a call is answered with an error instead of a result; `None` waits for ever.
    pub call: Option<Duration>,
    /// The longest line accepted from a client or a server.
    pub message: usize,
    /// The longest body of an HTTP request. Shorter than a message, unless that was asked for: whoever
    /// reaches the port can make us hold that much, and MCP servers usually take no more.
    pub body: usize,
    /// What callers and addresses may have.
    pub shared: SharedLimits,
    /// What callers of a platform may have, where nothing is said about them.
    pub platform: LimitRules,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            threads: NonZeroUsize::MIN,
            start: Duration::from_secs(5),
            give_up: Duration::from_secs(120), // an `npx` that downloads first
            call: Some(Duration::from_secs(600)),
            message: 64 * 1024 * 1024,
            body: 4 * 1024 * 1024,
            shared: SharedLimits::default(),
            platform: LimitRules::default(),
        }
    }
}

/// Servers that start at a time although nobody waits for them, at least: on one processor, too, most of a
/// start is waiting.
pub(crate) const LEAST_STARTS: usize = 4;
/// How often it is looked at, at least, whether a server is used that is stopped when it is not.
pub(crate) const LONGEST_IDLE_LOOK: Duration = Duration::from_secs(30);

/// After so long a start says what the first list of tools waits for: sooner it is not worth a line.
pub const FIRST_WORD: Duration = Duration::from_secs(1);

/// A message at least this long moves through a queue without being copied.
pub(crate) const LARGE_MESSAGE: usize = 256 * 1024;

/// Messages that wait to be written are joined in buffers of this size: what is written of one is
/// held until all of it is, so this is what a slow reader costs beyond what it has not read. Large
/// enough that a burst leaves in one write. One such buffer is kept for the next messages of a pipe.
pub(crate) const SEGMENT_BYTES: usize = 256 * 1024;
/// The largest emptied buffer that a socket keeps: there may be ten thousand sockets.
pub(crate) const SOCKET_SPARE: usize = 16 * 1024;

/// Calls one server may have open: far beyond what a client does, and little enough memory (some
/// MiB) that a server that never answers is only its own harm.
pub(crate) const OPEN_CALLS: usize = 1 << 17;

/// Processes of servers that are not shared (`share: per-session`), all clients together.
// At some 70 MB each they take four or five gigabytes.
pub(crate) const PRIVATE_PROCESSES: usize = 64;
/// Where all of them run and another is needed, a session gives its process back whose client has no stream
/// and has said nothing for so many seconds: it may have gone, and somebody else is there.
pub(crate) const ABANDONED_SECONDS: u32 = 30;

/// Questions of servers that one client may have unanswered.
// People answer one after the other: more only fill the memory.
pub(crate) const OPEN_QUESTIONS: usize = 1024;

/// A server that has accepted nothing for `STALL` with this many messages waiting is busy. One
/// that reads, however slowly, may have far more waiting: up to the bounds below.
pub(crate) const STALLED_MESSAGES: usize = 1024;
pub(crate) const STALL: Duration = Duration::from_secs(1);
pub(crate) const QUEUED_MESSAGES: usize = 100_000;
/// Unsent bytes to one server, besides the message that passes the bound.
pub(crate) const QUEUED_BYTES: usize = 64 * 1024 * 1024;

/// Unsent bytes to a client above which Trunkline stops reading (its own input and the servers'
/// output) until the client reads: nothing is lost and memory stays bounded.
pub(crate) const CLIENT_HIGH_WATER: usize = 24 * 1024 * 1024;

/// Most entries read from one listing of a server (tools, resources, prompts): a listing that never
/// ends must end.
pub(crate) const ENTRIES_PER_LISTING: usize = 10_000;
/// Most pages read from one listing.
// Pages may be empty: a bound of entries alone would not end such a listing.
pub(crate) const PAGES_PER_LISTING: usize = 256;

/// Tool names remembered per server, so that none changes its owner: beyond them, a server that
/// invents names without end is on its own.
pub(crate) const KNOWN_NAMES: usize = 4 * ENTRIES_PER_LISTING;

/// What is remembered of servers between two runs: bytes of each text (clients are told 4,000 characters of
/// all servers together), bytes of a record (two hundred large tools fill a tenth of it), how many records, how
/// many of one entry (one for each kind of client: few people have more), and the bytes of all. A record is rewritten once a day while the server says the same, so that the oldest can be
/// told; an older one is not relied on without asking its server. What a process that was killed has left half
/// written is removed after a while.
pub(crate) const REMEMBERED_TEXT: usize = 16 * 1024;
pub(crate) const LARGEST_RECORD: u64 = 4 * 1024 * 1024;
pub(crate) const REMEMBERED_LISTINGS: usize = 256;
pub(crate) const RECORDS_PER_ENTRY: usize = 8;
pub(crate) const REMEMBERED_BYTES: u64 = 64 * 1024 * 1024;
pub(crate) const SEEN_AGAIN: Duration = Duration::from_secs(24 * 60 * 60);
pub(crate) const STALE_TEMPORARY: Duration = Duration::from_secs(60 * 60);

/// What is pinned: the bytes of one server's record (longer definitions are known by their hashes only), the
/// records there may be (an entry that is edited leaves one behind), the changes of one listing that have a log
/// line each, how long a server waits for its pins (a store may not answer), and how long it takes until pins
/// that could not be read are tried again.
pub(crate) const LARGEST_PIN_RECORD: u64 = 16 * 1024 * 1024;
pub(crate) const PIN_RECORDS: usize = 1024;
pub(crate) const NOTICED_CHANGES: usize = 20;
pub(crate) const PINS_WAIT: Duration = Duration::from_secs(5);
pub(crate) const PINS_RETRY: Duration = Duration::from_secs(10);

/// Names that a wrong one is compared with where it came in: some microseconds each. Where there are
/// more, that is done beside the thread that moves bytes.
pub(crate) const NAMES_AT_ONCE: usize = 256;

/// Concurrent searches; name suggestions have the same bound of their own. Each takes a whole processor
/// for some milliseconds.
pub(crate) const SEEKERS: usize = 2;
/// How long one search of a client may take, with all that it waits for. The first search reads every
/// tool.
pub(crate) const SEEK_TIME: Duration = Duration::from_secs(30);

/// Messages in one batch of a client.
// Its answers leave together: all of them wait in memory for the last.
pub const BATCH_MEMBERS: usize = 100;

/// Results that wait for the scanner, and how much of each is read: together they take 16 MiB at most. What comes
/// while the queue is full is not scanned.
pub(crate) const RESULTS_QUEUED: usize = 64;
pub(crate) const SCANNED_RESULT: usize = 256 * 1024;

/// Between two re-listings of one server, and between two `list_changed` to one client.
// A server that changes its lists all the time must not keep every client listing.
pub(crate) const CHANGE_PAUSE: Duration = Duration::from_secs(1);

/// Restart (`--restart`): first pause, longest pause, and how often within a minute before the
/// server is left down.
pub(crate) const BACKOFF_FIRST: Duration = Duration::from_millis(500);
pub(crate) const BACKOFF_LONGEST: Duration = Duration::from_secs(60);
pub(crate) const EXITS_PER_WINDOW: usize = 5;
pub(crate) const EXIT_WINDOW: Duration = Duration::from_secs(60);

/// After so many failures in a row the circuit is open: nobody waits for the server, and it is tried
/// now and then. A life of this length was no failure, whether or not anybody asked anything.
pub(crate) const FAILURES_IN_A_ROW: u32 = 5;
pub(crate) const LASTING_LIFE: Duration = Duration::from_secs(30);

/// Calls that wait for one server, to be back or to have a turn for them: how many, how many bytes,
/// and how long. Clients give up after a minute at the latest; half of that leaves time for the call.
pub(crate) const WAITING_CALLS: usize = 4096;
pub(crate) const WAITING_BYTES: usize = 32 * 1024 * 1024;
pub(crate) const WAITING_TIME: Duration = Duration::from_secs(30);
/// Whoever waits for a turn waits as long as a call may take; where that is for ever, a day.
pub(crate) const LONGEST_TURN: Duration = Duration::from_secs(24 * 60 * 60);
// Release of the calls that waited for a server that is back: all at once they would starve other
// servers' calls. 64 calls take some 25 ms.
/// Pause between two steps of the release.
pub(crate) const STEP: Duration = Duration::from_millis(1);
/// Calls released in each step, at least.
pub(crate) const LEAST_LET_IN: usize = 2;
/// After so many steps each step releases one call more.
pub(crate) const STEPS_TO_ONE_MORE: u32 = 16;
/// Each step releases at least this fraction of the queue.
pub(crate) const PARTS: usize = 64;
/// The step that releases all the rest.
pub(crate) const LAST_STEP: u32 = 1000;
/// How often it is looked at who has waited too long.
pub(crate) const WAITING_SWEEP: Duration = Duration::from_millis(100);
/// A longer request is not kept for another attempt: the copy would cost more than it helps.
pub(crate) const KEPT_REQUEST: usize = 1024 * 1024;
/// How often it is looked at whether a server that leaves has ended its calls.
pub(crate) const LEAVING_LOOK: Duration = Duration::from_millis(20);

/// A server's stderr: how much of it is kept, how many of its last lines an error quotes, and how many are
/// shown to who asks for them. Where it did not start, its first lines count as well: the reason often
/// stands before a usage text.
pub(crate) const STDERR_BYTES: usize = 256 * 1024;
pub(crate) const STDERR_LINE: usize = 4 * 1024;
pub(crate) const STDERR_FIRST: usize = 4;
pub(crate) const STDERR_QUOTED: usize = 8;
pub(crate) const STDERR_SHOWN: usize = 200;

/// After a server's process has ended: how long its output is still read (a grandchild may hold
/// the pipe open for ever), and how long an exit status is waited for after its output has ended.
pub(crate) const LAST_OUTPUT: Duration = Duration::from_millis(200);
pub(crate) const LAST_STATUS: Duration = Duration::from_millis(500);

/// How long the real answer of the only open call is waited for once an answer without an id has come:
/// it may be to something else, and a call whose answer it is must not wait for its timeout.
pub(crate) const REAL_ANSWER: Duration = Duration::from_secs(1);

/// Broken lines that can be nobody's answer within a minute, after which the server is given up:
/// with several calls open their answers may be among them, and a call must not wait for ever.
pub(crate) const BROKEN_LINES: usize = 50;
pub(crate) const BROKEN_WINDOW: Duration = Duration::from_secs(60);

/// How a gateway ends. The sums keep the promise: no process left 6 s after the client has closed
/// our input, 3 s after a signal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShutdownGrace {
    /// For calls that are still open.
    pub(crate) drain: Duration,
    /// For a server to end after its input was closed, then after SIGTERM; then it is killed.
    pub(crate) wait: Duration,
    pub(crate) term: Duration,
}

pub(crate) const END_OF_INPUT: ShutdownGrace = ShutdownGrace {
    drain: Duration::from_millis(3800),
    wait: Duration::from_millis(600),
    term: Duration::from_millis(700),
};
pub(crate) const SIGNALLED: ShutdownGrace = ShutdownGrace {
    drain: Duration::from_millis(300),
    wait: Duration::from_millis(700),
    term: Duration::from_millis(800),
};
/// For one server that is stopped while the others go on.
pub(crate) const ONE_SERVER: ShutdownGrace = ShutdownGrace {
    drain: Duration::ZERO,
    wait: Duration::from_secs(2),
    term: Duration::from_secs(3),
};
/// For a client to take the last answers.
pub(crate) const LAST_FLUSH: Duration = Duration::from_millis(500);

/// A shared runtime greets whoever connects within a millisecond; one that sleeps or is stopped and has said
/// nothing for `GREETING` hangs. One that works, on a machine that is busy, has until `LATEST_GREETING`.
pub const GREETING: Duration = Duration::from_secs(2);
pub const LATEST_GREETING: Duration = Duration::from_secs(10);
/// A runtime that was told to end has ended after so long: `END_OF_INPUT`, the last flush, and what a busy
/// machine adds. Then it gets SIGTERM; after that, `SIGNALLED` and the same addition, SIGKILL.
pub const RUNTIME_END: Duration = Duration::from_secs(8);
pub const RUNTIME_SIGNALLED: Duration = Duration::from_secs(4);

/// HTTP clients: open connections. Fewer where the system allows few descriptors: a connection
/// takes two, and some stay reserved for servers and files.
pub(crate) const CONNECTIONS: usize = 10_000;
/// Of one address (IPv6: of one network), unless the operator says otherwise: a proxy for hundreds of people
/// has enough, and nine tenths are left for others. This machine's own address is not counted: every local user and
/// everybody behind a local proxy has it.
pub(crate) const CONNECTIONS_PER_ADDRESS: u32 = 1_000;
/// Between two lines about refused connections: a flood must not fill the log.
pub(crate) const REFUSALS_TOLD: Duration = Duration::from_secs(60);
/// Connections that wait to be accepted; the system may allow fewer.
// The default of `net.core.somaxconn` since Linux 5.4.
pub(crate) const BACKLOG: i32 = 4096;
pub(crate) const RESERVED_DESCRIPTORS: u64 = 32;
/// Between two attempts to accept while descriptors are short: no spinning, and soon enough.
pub(crate) const ACCEPT_PAUSE: Duration = Duration::from_millis(200);
/// After so long without a shortage it is over; shorter ones are one, so that the log tells each once.
pub(crate) const ACCEPT_CALM: Duration = Duration::from_secs(1);

/// For the head of a request, once it has begun.
// A head is a packet or two: who takes longer holds a connection for nothing.
pub(crate) const HEAD_SECONDS: u32 = 10;
/// Between two requests. Longer than the 60 s of usual proxies: the side that sends requests should be
/// the one that closes.
pub(crate) const IDLE_SECONDS: u32 = 75;
/// Without a byte of a body.
pub(crate) const BODY_SECONDS: u32 = 30;
/// Beyond those seconds a body has to come at least at the rate of a poor telephone line.
pub(crate) const BODY_BYTES_PER_SECOND: usize = 8 * 1024;
/// For a refused client to read the refusal before its connection is closed.
pub(crate) const LEAVING_SECONDS: u32 = 2;
/// An HTTP client that takes nothing of what waits for it for so long is gone.
pub(crate) const CLIENT_STALL: Duration = Duration::from_secs(30);

/// A client whose machine has gone says no word. After so many silent seconds TCP asks whether it is there, and again
/// after so many; what it was asked or sent and has not acknowledged for so long ends its connection. Left to itself,
/// Linux sends the comments of a stream again for a quarter of an hour. Shorter would end those whose network pauses; and
/// longer than `CLIENT_STALL`, which alone decides about clients that are there and do not read.
pub(crate) const KEEPALIVE_SECONDS: u32 = 15;
pub(crate) const KEEPALIVE_AGAIN_SECONDS: u32 = 5;
pub(crate) const VANISHED_SECONDS: u32 = 60;

/// Bytes of further requests kept while a connection's request is answered.
pub(crate) const PIPELINED_BYTES: usize = 64 * 1024;
/// What has come of request bodies that are not whole yet may take this much together: of callers who are known,
/// and of everybody else, who must not take the room of those.
pub(crate) const CALLERS_BODIES: usize = 1024 * 1024 * 1024;
pub(crate) const STRANGERS_BODIES: usize = 64 * 1024 * 1024;
/// The longest body where nobody is known: a form with a token in it is shorter than this by far.
pub(crate) const STRANGER_BODY: usize = 64 * 1024;
/// Wrong tokens that one address may show within a window: one a second is a client with an old key, more is
/// guessing. A token has at least 64 bits, so that it is the noise that is bounded here. Then, sources that are
/// told apart.
pub(crate) const WRONG_TOKENS: u32 = 60;
pub(crate) const WRONG_TOKEN_WINDOW: Duration = Duration::from_secs(60);
pub(crate) const WRONG_TOKEN_SOURCES: usize = 1_024;
/// Unsent bytes of one stream beyond which it is closed: its client can come back for the rest.
pub(crate) const STREAM_BYTES: usize = 8 * 1024 * 1024;
/// Bytes that wait for one client of a shared runtime. Its own requests are not read long before that;
/// servers are, for other clients wait for them, so that a client that never reads has to go.
pub(crate) const SOCKET_CLIENT_BYTES: usize = 64 * 1024 * 1024;

/// A request between replicas is good for so many seconds.
pub(crate) const FORWARD_SECONDS: u64 = 30;

/// A request without an answer for so many seconds is given a stream, and a silent stream a
/// comment: what stands between us and the client must not take it for dead.
pub(crate) const SLOW_ANSWER_SECONDS: u32 = 10;
pub(crate) const COMMENT_SECONDS: u32 = 15;

/// What is kept of a stream for a client that lost its connection, besides the answer, and for how
/// many seconds after its end; fewer if all of it was put on a connection, for then it is kept only
/// in case that connection breaks at the last moment.
pub(crate) const KEPT_EVENTS: usize = 256;
pub(crate) const KEPT_BYTES: usize = 1024 * 1024;
pub(crate) const KEPT_SECONDS: u32 = 300;
pub(crate) const WRITTEN_SECONDS: u32 = 30;
/// Ended streams kept for one client.
pub(crate) const KEPT_STREAMS: usize = 64;
pub(crate) const KEPT_STREAMS_BYTES: usize = 4 * 1024 * 1024;
/// A client without its stream for so many seconds is not spoken to: whoever wants to ask it
/// something is told so instead of waiting.
pub(crate) const AWAY_SECONDS: u32 = 60;

/// So long, in memory, so many requests wait for room in the audit log (`--audit-full block`); many clients wait a minute.
pub(crate) const BLOCKED: Duration = Duration::from_secs(30);
pub(crate) const BLOCKED_LOOK: Duration = Duration::from_millis(50);
pub(crate) const BLOCKED_CALLS: usize = 1_024;

/// HTTP sessions; those of one caller, so that nobody ends the idle sessions of others; and the seconds after
/// which one that does nothing is over.
pub(crate) const SESSIONS: usize = 10_000;
pub(crate) const SESSIONS_PER_CALLER: usize = 1_000;
pub(crate) const SESSION_SECONDS: u32 = 30 * 60;
/// Resources that one caller is subscribed to, in all its sessions, unless it is said; and bytes of their URIs: ten
/// full sessions' worth, which is more than any person opens.
pub(crate) const SUBSCRIBED_URIS_PER_CALLER: u32 = 10_000;
pub(crate) const SUBSCRIBED_BYTES_PER_CALLER: usize = 10 * 1024 * 1024;
/// Accounts of callers, or of addresses, from which on those are forgotten that are as good as new: some MiB.
pub(crate) const ACCOUNTS_SWEPT: usize = 10_000;

/// A caller without requests for so many seconds is forgotten, with what was started for it alone.
pub(crate) const CALLER_SECONDS: u32 = 300;
/// For whoever decides about callers to find out what it needs.
pub(crate) const ADMISSION: Duration = Duration::from_secs(10);
/// The longest body of a request that is for other routes, unless they say otherwise.
pub(crate) const ATTACHED_BODY: usize = 1024 * 1024;

/// For open calls of HTTP clients when a signal comes: load balancers give ten seconds.
pub(crate) const HTTP_DRAIN: Duration = Duration::from_secs(10);
/// Then for servers that were started for one client alone; they end together with the others.
pub(crate) const LAST_TASKS: Duration = Duration::from_millis(500);

/// Servers in the network: to find and connect to one (each of its addresses), and to agree on
/// encryption.
pub(crate) const CONNECT: Duration = Duration::from_secs(10);
pub(crate) const TLS_HANDSHAKE: Duration = Duration::from_secs(10);
/// Clients: handshakes (TLS, a load balancer's header) that are open at a time. An honest one takes some round trips;
/// one more ends the oldest of the address that has the most.
pub(crate) const HANDSHAKES: usize = 512;
/// What a client may say until its handshake is over: certificates of three authorities are about 6 KiB.
pub(crate) const HANDSHAKE_BYTES: usize = 32 * 1024;
/// The head of a request that is only sent elsewhere.
pub(crate) const REDIRECT_HEAD: usize = 16 * 1024;
/// Answers of REST and the dashboard from this length on are compressed for whoever asks for it: shorter ones fit into
/// one packet.
pub(crate) const COMPRESSED_FROM: usize = 1400;
/// … and from this length on beside the thread that answers.
pub(crate) const COMPRESSED_APART: usize = 64 * 1024;
/// RFC 8305, 5: the head start of an address before the next one is tried beside it.
pub(crate) const CONNECT_HEAD_START: Duration = Duration::from_millis(250);
/// Addresses of one host that are tried.
pub(crate) const MOST_ADDRESSES: usize = 8;
/// A proxy has opened its connection to the server by then, the look-up of the name included.
pub(crate) const TUNNEL: Duration = Duration::from_secs(20);
/// A file of certificates: the system's own bundle has 200 kB.
pub(crate) const LARGEST_TLS_FILE: u64 = 4 << 20;
/// Connections to one server, and how many of them are being opened at a time.
pub(crate) const REMOTE_CONNECTIONS: usize = 256;
pub(crate) const CONNECTIONS_OPENING: usize = 32;
/// A refusal that asks who we are: this much of its words is looked at.
pub(crate) const MOST_CHALLENGES: usize = 8;
pub(crate) const LONGEST_CHALLENGE: usize = 16 * 1024;
/// How long an unused connection is used again if the server does not say how long it keeps it:
/// widely used servers close after 5 s, and a request must not meet the end of its connection.
pub(crate) const KEEP_ALIVE: Duration = Duration::from_secs(4);
/// A server that closes a connection so soon after an answer, so often, closes it after each one
/// without saying so: its connections are used once.
pub(crate) const CUT_OFF: Duration = Duration::from_secs(1);
pub(crate) const MOST_CUTS: u8 = 2;
/// For a server to end a response that nobody waits for any more; then its connection is closed.
pub(crate) const LINGER: Duration = Duration::from_secs(5);
/// For a server to take a message that has no answer.
pub(crate) const TAKEN: Duration = Duration::from_secs(30);
/// For a server of the older transport to say where to post to.
pub(crate) const ENDPOINT_EVENT: Duration = Duration::from_secs(10);
/// For what servers have listed to be written, at the end.
pub(crate) const LAST_RECORD: Duration = Duration::from_secs(2);
/// For a token that is being renewed at the end: its predecessor is of no use any more.
pub(crate) const LAST_GRANT: Duration = Duration::from_secs(5);
/// For a server to hear that its session ends.
// The end of Trunkline waits for it.
pub(crate) const GOODBYE: Duration = Duration::from_secs(1);
/// A request is sent again when the server says when, if that is soon, and so many times.
pub(crate) const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(60);
pub(crate) const MOST_DELAYS: u8 = 3;
pub(crate) const MOST_REDIRECTS: u8 = 5;
/// A stream that broke off is opened again: after so long, doubling, so many times in a row (for
/// the answer to a call; the stream for everything else is tried for ever).
pub(crate) const REOPEN_FIRST: Duration = Duration::from_secs(1);
/// However soon the server wants it.
pub(crate) const REOPEN_SOONEST: Duration = Duration::from_millis(100);
pub(crate) const REOPEN_LONGEST: Duration = Duration::from_secs(60);
pub(crate) const MOST_TRIES: u8 = 5;
/// A stream that was open for so long was no failure.
pub(crate) const LASTING_STREAM: Duration = Duration::from_secs(5);
/// Of a body that says why a request was refused: how much is read, and how much is quoted.
pub(crate) const REFUSAL_BYTES: usize = 64 * 1024;
pub(crate) const REFUSAL_QUOTED: usize = 200;

/// For a server to answer the question which era it is of, before it is asked in the older way.
pub(crate) const PROBE: Duration = Duration::from_secs(3);
/// For a server in the network to answer it: the first answer there may take its time.
pub(crate) const PROBE_REMOTE: Duration = Duration::from_secs(10);
/// How long a client that subscribes waits for the server's acknowledgement. Longer than the timeout
/// of `subscriptions/listen`, so that this one ends first.
pub(crate) const SUBSCRIBED: Duration = Duration::from_secs(5);
/// How long a server's further questions are waited for before its client is told: they come at once
/// or after an answer.
pub(crate) const BUNDLE: Duration = Duration::from_millis(20);
/// For a stateless client to come again with what its call's server asked: people are asked.
pub(crate) const PARKED: Duration = Duration::from_secs(600);
pub(crate) const PARKED_CALLS: usize = 10_000;
/// A call that has waited so long for its client gives way when what its server asks could be
/// another's: whoever reads a question and answers it has done so by then, mostly, and nobody else
/// can be asked anything before.
pub(crate) const GIVES_WAY: Duration = Duration::from_secs(120);
/// Calls that gave way whose clients are told so when they come again after all.
pub(crate) const REMEMBERED_WAITS: usize = 1024;
/// Lifetime of a server's own `requestState` that Trunkline has sealed.
pub(crate) const STATE: Duration = Duration::from_secs(3600);
/// Rounds of questions in one call: a wizard has dozens of pages, or a job wants to be called again
/// until it is done; a server that asks for ever has to end.
pub(crate) const ROUNDS: u8 = 100;
/// Tasks whose server is remembered.
// Servers do not say when a task is over: without a bound the table would only grow.
pub(crate) const KNOWN_TASKS: usize = 10_000;
/// For all servers to list their tasks, where several have any: those that take longer are left out.
pub(crate) const TASKS_LISTED: Duration = Duration::from_secs(10);
/// `subscriptions/listen` requests that may be open, all clients together: as many as connections.
pub(crate) const LISTENERS: usize = 10_000;
/// Resources that one session, or one `subscriptions/listen`, may subscribe to, and the bytes of their URIs: a
/// thousand of the longest that browsers take. All `subscriptions/listen` together hold so many bytes.
pub(crate) const SUBSCRIBED_URIS: usize = 1000;
pub(crate) const SUBSCRIBED_BYTES: usize = 1024 * 1024;
pub(crate) const LISTENED_BYTES: usize = 64 * 1024 * 1024;

/// Of a walled-in server that reaches hosts through the proxy: its connections at a time. A browser has six to a host.
pub(crate) const PROXY_CONNECTIONS: usize = 256;

/// The head of a request to the proxy: an address and a few fields.
pub(crate) const PROXY_HEAD_BYTES: usize = 16 << 10;

/// … and the time for it.
pub(crate) const PROXY_HEAD: Duration = Duration::from_secs(10);

/// From the proxy to the host, the look-up of its name included twice.
pub(crate) const PROXY_CONNECT: Duration = Duration::from_secs(10);

/// What the waits that go through [`shortened`] are divided by. Set once, before anything waits.
// Relaxed where it is read: the threads that wait are started after it is set.
static WAIT_DIVISOR: AtomicU32 = AtomicU32::new(1);

/// Shortens those waits for this process, for tests that have to sit them out. A release build
/// does not do it: its waits are its promises.
pub fn shorten_waits(divisor: u32) {
    if cfg!(debug_assertions) {
        // Relaxed: it is stored before the first thread that reads it is started.
        WAIT_DIVISOR.store(divisor.max(1), Ordering::Relaxed);
    }
}

/// This wait, in a test perhaps less of it.
pub fn shortened(wait: Duration) -> Duration {
    wait / WAIT_DIVISOR.load(Ordering::Relaxed)
}

/// Whole seconds of a wait, in a test perhaps fewer.
pub(crate) fn shortened_seconds(seconds: u32) -> u32 {
    let divisor = WAIT_DIVISOR.load(Ordering::Relaxed);
    seconds.checked_div(divisor).unwrap_or(seconds).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runtime_that_ends_in_order_is_not_killed() {
        for (grace, limit) in [(END_OF_INPUT, RUNTIME_END), (SIGNALLED, RUNTIME_SIGNALLED)] {
            let needed = grace.drain + LAST_FLUSH + grace.wait + grace.term;
            assert!(needed + Duration::from_secs(1) < limit, "{needed:?} of {limit:?}");
        }
    }

    #[test]
    fn waits_are_whole_unless_a_test_shortens_them() {
        assert_eq!(shortened(Duration::from_secs(30)), Duration::from_secs(30));
        assert_eq!((shortened_seconds(HEAD_SECONDS), shortened_seconds(BODY_SECONDS)), (10, 30));
    }
}
