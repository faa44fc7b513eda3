//! What was refused because of a limit: how often, and in words.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// For whom a limit holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LimitScope {
    Caller,
    Server,
    Tool,
    Address,
}

/// What is limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    CallsPerSecond,
    OpenCalls,
    AbandonedCalls,
    ResultBytes,
    Sessions,
    Connections,
    Subscriptions,
}

const SCOPES: [LimitScope; 4] =
    [LimitScope::Caller, LimitScope::Server, LimitScope::Tool, LimitScope::Address];

const LIMITS: [Limit; 7] = [
    Limit::CallsPerSecond,
    Limit::OpenCalls,
    Limit::AbandonedCalls,
    Limit::ResultBytes,
    Limit::Sessions,
    Limit::Connections,
    Limit::Subscriptions,
];

impl LimitScope {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Caller => "caller",
            Self::Server => "server",
            Self::Tool => "tool",
            Self::Address => "address",
        }
    }
}

impl Limit {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::CallsPerSecond => "calls_per_second",
            Self::OpenCalls => "open_calls",
            Self::AbandonedCalls => "abandoned_calls",
            Self::ResultBytes => "result_bytes_per_minute",
            Self::Sessions => "sessions",
            Self::Connections => "connections",
            Self::Subscriptions => "subscriptions",
        }
    }
}

/// A call that was refused because of a limit, for the one who made it.
#[derive(Clone, Debug)]
pub(crate) struct Overrun {
    pub(crate) scope: LimitScope,
    pub(crate) limit: Limit,
    /// Who is limited, as a message begins: `key ci`, ``server `fs` ``.
    pub(crate) who: String,
    /// The server it is about.
    pub(crate) server: Option<String>,
    /// The limit in words: `50 calls a second`.
    pub(crate) words: String,
    /// After which it is worth coming again.
    pub(crate) again: Duration,
}

impl Overrun {
    /// In milliseconds, rounded up: who comes then is not refused for having come too early.
    pub(crate) fn again_ms(&self) -> u64 {
        u64::try_from(self.again.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }
}

impl fmt::Display for Overrun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is limited to {}; the call did not run, ", self.who, self.words)?;
        match self.limit {
            Limit::Subscriptions => f.write_str("end some of them first"),
            Limit::OpenCalls => f.write_str("come again when one of those has ended"),
            _ => {
                // To the millisecond: anything finer is of no use to anybody.
                let ms = self.again_ms();
                let seconds = format!("{}.{:03}", ms / 1_000, ms % 1_000);
                let seconds = seconds.trim_end_matches('0').trim_end_matches('.');
                write!(f, "come again in {seconds} s")
            }
        }
    }
}

/// How often each limit has refused something, for everybody together.
#[derive(Debug, Default)]
pub(crate) struct RefusedCounts([[AtomicU64; LIMITS.len()]; SCOPES.len()]);

/// How often one limit has refused something since the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitedCalls {
    pub scope: &'static str,
    pub limit: &'static str,
    pub count: u64,
}

impl RefusedCounts {
    pub(crate) fn count(&self, scope: LimitScope, limit: Limit) {
        let place = self.0.get(scope as usize).and_then(|scope| scope.get(limit as usize));
        if let Some(place) = place {
            place.fetch_add(1, Ordering::Relaxed); // a figure, and nothing is read because of it
        }
    }

    /// Those that can be refused: only a caller has sessions, connections and subscriptions.
    pub(crate) fn all(&self) -> Vec<LimitedCalls> {
        let rows = SCOPES.iter().zip(&self.0);
        let each = rows.flat_map(|(scope, row)| LIMITS.iter().zip(row).map(move |it| (scope, it)));
        let counted = each.map(|(scope, (limit, count))| {
            // Relaxed: figures that are only shown; they need not be of one moment.
            let count = count.load(Ordering::Relaxed);
            (*scope, *limit, LimitedCalls { scope: scope.name(), limit: limit.name(), count })
        });
        let is_possible = |scope: LimitScope, limit: Limit| {
            scope == LimitScope::Caller
                || matches!(
                    limit,
                    Limit::CallsPerSecond
                        | Limit::OpenCalls
                        | Limit::AbandonedCalls
                        | Limit::ResultBytes
                )
        };
        let possible = counted.filter(|(scope, limit, _)| is_possible(*scope, *limit));
        possible.map(|(_, _, counted)| counted).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_scope_limit_and_time() {
        let overrun = |limit, micros| Overrun {
            scope: LimitScope::Caller,
            limit,
            who: "key `ci`".to_owned(),
            server: None,
            words: "…".to_owned(),
            again: Duration::from_micros(micros),
        };
        for (limit, micros, ms, expected) in [
            (Limit::CallsPerSecond, 400_000, 400, "come again in 0.4 s"),
            (Limit::CallsPerSecond, 1, 1, "come again in 0.001 s"),
            (Limit::ResultBytes, 90_000_500, 90_001, "come again in 90.001 s"),
            (Limit::ResultBytes, 90_000_000, 90_000, "come again in 90 s"),
            (Limit::OpenCalls, 1, 1, "come again when one of those has ended"),
        ] {
            let overrun = overrun(limit, micros);
            assert_eq!(overrun.again_ms(), ms);
            let begin = "key `ci` is limited to …; the call did not run, ";
            assert_eq!(overrun.to_string(), format!("{begin}{expected}"));
        }
    }

    #[test]
    fn refusals_are_counted_by_scope_and_limit() {
        let counts = RefusedCounts::default();
        counts.count(LimitScope::Tool, Limit::OpenCalls);
        counts.count(LimitScope::Caller, Limit::Sessions);
        let all = counts.all();
        assert_eq!(all.len(), 7 + 3 * 4);
        let of = |scope, limit| all.iter().find(|it| it.scope == scope && it.limit == limit);
        assert_eq!(of("tool", "open_calls").map(|it| it.count), Some(1));
        assert_eq!(of("caller", "sessions").map(|it| it.count), Some(1));
        assert_eq!(of("server", "open_calls").map(|it| it.count), Some(0));
        assert!(of("server", "sessions").is_none());
    }
}
