//! Every bound and every wait, with its reason. What a flag changes stands in `Limits`.

use std::time::Duration;

/// What the command line may change.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How long the first `tools/list` waits for servers that are still starting.
    pub start: Duration,
    /// When a server that does not finish starting is given up.
    pub give_up: Duration,
    /// When a call is answered with an error instead of a result; `None` waits for ever.
    pub call: Option<Duration>,
    /// The longest line accepted from a client or a server.
    pub message: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            start: Duration::from_secs(5),
            give_up: Duration::from_secs(120), // an `npx` that downloads first
            call: Some(Duration::from_secs(600)),
            message: 64 * 1024 * 1024,
        }
    }
}

/// A message at least this long moves through a queue without being copied.
pub(crate) const LARGE_MESSAGE: usize = 256 * 1024;

/// Calls one server may have open: far beyond what a client does, and little enough memory (some
/// MiB) that a server that never answers is only its own harm.
pub(crate) const OPEN_CALLS: usize = 1 << 17;

/// A server that has accepted nothing for `STALL` with this many messages waiting is busy. One
/// that reads, however slowly, may have far more waiting: up to the bounds below.
pub(crate) const STALLED_MESSAGES: usize = 1024;
pub(crate) const STALL: Duration = Duration::from_secs(1);
pub(crate) const QUEUED_MESSAGES: usize = 100_000;
/// Unsent bytes to one server, besides the message that passes the bound.
pub(crate) const QUEUED_BYTES: usize = 64 * 1024 * 1024;

/// Unsent bytes to a client above which Trunkline stops reading (its own input and the servers'
/// output) until the client reads: nothing is lost and memory stays bounded.
pub(crate) const CLIENT_HIGH_WATER: usize = 64 * 1024 * 1024;

/// Of a server's tools, and of the pages they come in: a listing that never ends must end.
pub(crate) const TOOLS_PER_SERVER: usize = 10_000;
pub(crate) const PAGES_PER_LISTING: usize = 256;

/// Tool names remembered per server, so that none changes its owner: beyond them, a server that
/// invents names without end is on its own.
pub(crate) const KNOWN_NAMES: usize = 4 * TOOLS_PER_SERVER;

/// Messages in one batch of a client.
pub(crate) const BATCH_MEMBERS: usize = 100;

/// Between two re-listings of one server, and between two `list_changed` to one client.
pub(crate) const CHANGE_PAUSE: Duration = Duration::from_secs(1);

/// Restart (`--restart`): first pause, longest pause, and how often within a minute before the
/// server is left down.
pub(crate) const BACKOFF_FIRST: Duration = Duration::from_millis(500);
pub(crate) const BACKOFF_LONGEST: Duration = Duration::from_secs(60);
pub(crate) const EXITS_PER_WINDOW: usize = 5;
pub(crate) const EXIT_WINDOW: Duration = Duration::from_secs(60);

/// A server's last words: how much of its stderr is kept, and how many lines an error quotes.
pub(crate) const STDERR_BYTES: usize = 256 * 1024;
pub(crate) const STDERR_LINE: usize = 4 * 1024;
pub(crate) const STDERR_QUOTED: usize = 8;

/// After a server's process has ended: how long its output is still read (a grandchild may hold
/// the pipe open for ever), and how long an exit status is waited for after its output has ended.
pub(crate) const LAST_OUTPUT: Duration = Duration::from_millis(200);
pub(crate) const LAST_STATUS: Duration = Duration::from_millis(500);

/// Broken lines that can be nobody's answer within a minute, after which the server is given up:
/// with several calls open their answers may be among them, and a call must not wait for ever.
pub(crate) const BROKEN_LINES: usize = 50;
pub(crate) const BROKEN_WINDOW: Duration = Duration::from_secs(60);

/// How a gateway ends. The sums keep the promise: no process left 6 s after the client has closed
/// our input, 3 s after a signal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Farewell {
    /// For calls that are still open.
    pub(crate) drain: Duration,
    /// For a server to end after its input was closed, then after SIGTERM; then it is killed.
    pub(crate) wait: Duration,
    pub(crate) term: Duration,
}

pub(crate) const END_OF_INPUT: Farewell = Farewell {
    drain: Duration::from_millis(3800),
    wait: Duration::from_millis(600),
    term: Duration::from_millis(700),
};
pub(crate) const SIGNALLED: Farewell = Farewell {
    drain: Duration::from_millis(300),
    wait: Duration::from_millis(700),
    term: Duration::from_millis(800),
};
/// For one server that is stopped while the others go on.
pub(crate) const ONE_SERVER: Farewell =
    Farewell { drain: Duration::ZERO, wait: Duration::from_secs(2), term: Duration::from_secs(3) };
/// For a client to take the last answers.
pub(crate) const LAST_FLUSH: Duration = Duration::from_millis(500);
