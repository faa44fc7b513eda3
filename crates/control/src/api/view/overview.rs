//! How everything does together, and piece by piece.

use super::Status;
use super::health::{FAILED_DOC, TOOL_ERRORS_DOC};
use crate::api::schema::{Moment, answer};
use crate::health::WindowSummary;

pub(super) const HOUR_DOC: &str = "The last hour, minute by minute.";

answer! {
    /// How the servers that the token sees do together.
    pub struct OverviewView<'a> as "Overview" {
        #[hidden] pub statuses: &'a [Status],
        servers: ServerCounts = |it| ServerCounts::of(it.statuses),
        /// That the token may call, custom tools among them.
        #[example = 31] pub tools: usize,
        /// How far back the figures of calls reach.
        #[example = 300] pub seconds: u32,
        /// In the last whole minute.
        #[example = 12] pub calls_per_minute: u64,
        #[hidden] pub lately: &'a WindowSummary,
        #[example = 57] calls: u64 = |it| it.lately.calls,
        #[doc = FAILED_DOC]
        failed_calls: u64 = |it| it.lately.failed_calls,
        #[doc = TOOL_ERRORS_DOC]
        tool_errors: u64 = |it| it.lately.tool_errors,
        /// The share of calls that failed or ended in a tool error, from 0 to 1.
        #[example = 0.0] error_rate: Option<f64> = |it| it.lately.error_rate(),
        response_time_ms: OverviewTimes = |it| {
            OverviewTimes { p50: it.lately.p50, p95: it.lately.p95 }
        },
        /// Now.
        #[example = 1] pub open_calls: usize,
        /// For a server that is expected back, or for their turn.
        pub waiting_calls: usize,
        /// Refused because of a limit of a caller, a server, a tool or an address, since the start of this process.
        pub limited_calls: u64,
        pub restarts: u64,
        /// Null to who may not know.
        #[example = 1] pub clients: Option<usize>,
        pub context: &'a [ContextView],
        /// The last five minutes in pieces of ten seconds, the oldest first; the last is not over yet.
        pub series: &'a [PieceView],
        #[doc = HOUR_DOC]
        pub hour: &'a [PieceView],
    }
}

answer! {
    /// How many servers there are, by status.
    pub struct ServerCounts as "ServerCounts" {
        #[example = 2] pub total: usize,
        #[example = 2] pub connected: usize,
        pub degraded: usize,
        pub connecting: usize,
        pub error: usize,
        pub disconnected: usize,
        /// They sleep until they are needed.
        pub idle: usize,
    }
}

impl ServerCounts {
    fn of(statuses: &[Status]) -> Self {
        let with = |status| statuses.iter().filter(|it| **it == status).count();
        Self {
            total: statuses.len(),
            connected: with(Status::Connected),
            degraded: with(Status::Degraded),
            connecting: with(Status::Connecting),
            error: with(Status::Error),
            disconnected: with(Status::Disconnected),
            idle: with(Status::Idle),
        }
    }
}

answer! {
    /// Of calls, in milliseconds; null where there were none.
    pub struct OverviewTimes as "OverviewTimes" {
        /// The median.
        #[example = 38.2] pub p50: Option<f64>,
        /// The 95th percentile.
        #[example = 121.7] pub p95: Option<f64>,
    }
}

/// Models count tokens in their own ways; of JSON in English a token is about so many bytes.
const BYTES_PER_TOKEN: usize = 4;

answer! {
    /// What the list of tools that one kind of client is served costs.
    pub struct ContextView as "ContextCost" {
        /// As in `/mcp/for/CLIENT`; null: any.
        #[example = "cursor"] pub client: Option<&'static str>,
        #[example = "Cursor"] pub title: &'static str,
        /// As many as `tools/list` has: few where tools are searched.
        #[example = 31] pub tools: usize,
        /// Of the result of `tools/list`.
        #[example = 20480] pub bytes: usize,
        /// An estimate: four bytes each.
        #[example = 5120] tokens: usize = |it| it.bytes.div_ceil(BYTES_PER_TOKEN),
    }
}

answer! {
    /// Ten seconds, or a minute.
    pub struct PieceView as "Piece" {
        /// When they began.
        pub at: i64 as Moment,
        #[example = 2] pub calls: u64,
        #[doc = FAILED_DOC]
        pub failed_calls: u64,
        #[doc = TOOL_ERRORS_DOC]
        pub tool_errors: u64,
        /// Milliseconds.
        #[example = 35.1] pub p50: Option<f64>,
        /// Milliseconds.
        #[example = 40.0] pub p95: Option<f64>,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::view::tests::assert_fits;

    #[test]
    fn an_overview_has_its_shape() {
        let summary =
            WindowSummary { calls: 4, tool_errors: 1, p50: Some(1.0), ..WindowSummary::default() };
        let context = [ContextView { client: None, title: "Any client", tools: 2, bytes: 401 }];
        let series = [PieceView {
            at: 0,
            calls: 1,
            failed_calls: 0,
            tool_errors: 1,
            p50: None,
            p95: Some(2.0),
        }];
        let view = OverviewView {
            statuses: &[Status::Connected, Status::Error, Status::Connected],
            tools: 2,
            seconds: 300,
            calls_per_minute: 4,
            lately: &summary,
            open_calls: 1,
            waiting_calls: 0,
            limited_calls: 0,
            restarts: 3,
            clients: None,
            context: &context,
            series: &series,
            hour: &series,
        };
        let json = view.json();
        assert_fits(&json.to_string(), &OverviewView::SCHEMA);
        assert_eq!(json["servers"]["connected"], 2);
        assert_eq!(json["error_rate"], 0.25);
        assert_eq!(json["context"][0]["tokens"], 101);
    }
}
