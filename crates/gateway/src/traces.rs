//! `Traces`: somebody who follows calls from program to program. Which are followed is decided
//! elsewhere; here is what the data plane asks, and what it tells.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::events::Outcome;

/// Asked and told on the thread that moves bytes: nothing in it may wait.
pub trait Traces: Debug + Send + Sync {
    /// A request begins that came with these `traceparent`s: its own, and that of the head it came
    /// under. The first that is one counts. `None`: it is not followed.
    fn begin(&self, parents: [Option<&str>; 2]) -> Option<TraceContext>;

    /// What became of it.
    fn ended(&self, request: Followed);
}

/// Where a request stands in its trace (W3C Trace Context).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceContext {
    pub trace: [u8; 16],
    /// What it came from, if its client says so.
    pub parent: Option<[u8; 8]>,
    /// The request as its client sees it,
    pub span: [u8; 8],
    /// and as its server does, which is told this one.
    pub onward: [u8; 8],
}

impl TraceContext {
    /// `traceparent` for the server.
    pub(crate) fn onward(&self) -> String {
        let hex = |bytes: &[u8]| -> String { bytes.iter().map(|b| format!("{b:02x}")).collect() };
        format!("00-{}-{}-01", hex(&self.trace), hex(&self.onward))
    }
}

/// A request that was passed on to a server, or waited for one, and its end.
#[derive(Clone, Debug)]
pub struct Followed {
    pub trail: TraceContext,
    pub method: String,
    pub target: Option<Target>,
    pub server: Arc<str>,
    pub hop: SpanKind,
    /// Who asked, if that is known.
    pub who: Option<Arc<str>>,
    pub outcome: Outcome,
    pub started: SystemTime,
    /// How long it took until it was with its server; `None`: it never was.
    pub handed: Option<Duration>,
    /// How long it took in all.
    pub took: Duration,
}

/// The tool or the prompt a request names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub is_prompt: bool,
    /// As its client calls it,
    pub asked: String,
    /// and as its server does.
    pub own: String,
}

/// What lies between Trunkline and a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanKind {
    Pipe,
    Network,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_told_the_span_that_is_its_own_parent() {
        let trail = TraceContext {
            trace: [0x0a; 16],
            parent: None,
            span: [1; 8],
            onward: [0, 1, 2, 3, 4, 5, 6, 0xff],
        };
        let expected = "00-0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a-00010203040506ff-01";
        assert_eq!(trail.onward(), expected);
    }
}
