//! How everything does together, and piece by piece.

use serde_json::{Value, json};

use super::health::{FAILED_DOC, TOOL_ERRORS_DOC};
use super::{MOMENT, Status, moment};
use crate::api::shape::{Field, Object, Shape, any_text, count, required};
use crate::health::WindowSummary;

#[derive(Debug)]
pub struct OverviewView<'a> {
    pub statuses: &'a [Status],
    pub tools: usize,
    pub seconds: u32,
    pub calls_per_minute: u64,
    pub lately: &'a WindowSummary,
    pub open_calls: usize,
    pub waiting_calls: usize,
    pub restarts: u64,
    /// `None`: not for this asker.
    pub clients: Option<usize>,
    pub context: &'a [ContextView],
    pub series: &'a [PieceView],
    pub hour: &'a [PieceView],
}

/// How long the list of tools is for one kind of client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextView {
    /// `None`: any client, as at `/mcp`.
    pub client: Option<&'static str>,
    pub title: &'static str,
    pub tools: usize,
    pub bytes: usize,
}

/// Some seconds, or a minute.
#[derive(Debug, Clone, PartialEq)]
pub struct PieceView {
    pub at: i64,
    pub calls: u64,
    pub failed_calls: u64,
    pub tool_errors: u64,
    pub p50: Option<f64>,
    pub p95: Option<f64>,
}

/// Models count tokens in their own ways; of JSON in English a token is about so many bytes.
const BYTES_PER_TOKEN: usize = 4;

impl OverviewView<'_> {
    pub fn json(&self) -> Value {
        let with = |status| self.statuses.iter().filter(|it| **it == status).count();
        let lately = self.lately;
        json!({
            "servers": {
                "total": self.statuses.len(),
                "connected": with(Status::Connected),
                "degraded": with(Status::Degraded),
                "connecting": with(Status::Connecting),
                "error": with(Status::Error),
                "disconnected": with(Status::Disconnected),
            },
            "tools": self.tools,
            "seconds": self.seconds,
            "calls_per_minute": self.calls_per_minute,
            "calls": lately.calls,
            "failed_calls": lately.failed_calls,
            "tool_errors": lately.tool_errors,
            "error_rate": lately.error_rate(),
            "response_time_ms": {"p50": lately.p50, "p95": lately.p95},
            "open_calls": self.open_calls,
            "waiting_calls": self.waiting_calls,
            "restarts": self.restarts,
            "clients": self.clients,
            "context": self.context.iter().map(ContextView::json).collect::<Vec<_>>(),
            "series": pieces(self.series),
            "hour": pieces(self.hour),
        })
    }
}

impl ContextView {
    fn json(&self) -> Value {
        json!({
            "client": self.client,
            "title": self.title,
            "tools": self.tools,
            "bytes": self.bytes,
            "tokens": self.bytes.div_ceil(BYTES_PER_TOKEN),
        })
    }
}

pub(super) fn pieces(series: &[PieceView]) -> Value {
    let piece = |piece: &PieceView| {
        json!({
            "at": moment(piece.at),
            "calls": piece.calls,
            "failed_calls": piece.failed_calls,
            "tool_errors": piece.tool_errors,
            "p50": piece.p50,
            "p95": piece.p95,
        })
    };
    series.iter().map(piece).collect()
}

static SERVERS: Object = Object::answer(
    "ServerCounts",
    "How many servers there are, by status.",
    &[
        required("total", count(), ""),
        required("connected", count(), ""),
        required("degraded", count(), ""),
        required("connecting", count(), ""),
        required("error", count(), ""),
        required("disconnected", count(), ""),
    ],
);

static TIMES: Object = Object::answer(
    "OverviewTimes",
    "Of calls, in milliseconds; null where there were none.",
    &[
        required("p50", Shape::OrNull(&Shape::Number), "The median."),
        required("p95", Shape::OrNull(&Shape::Number), "95 of 100 stay below."),
    ],
);

static CONTEXT: Object = Object::answer(
    "ContextCost",
    "What the list of tools that one kind of client is served costs.",
    &[
        required("client", Shape::OrNull(&any_text()), "As in `/mcp/for/CLIENT`; null: any."),
        required("title", any_text(), ""),
        required("tools", count(), "As many as `tools/list` has: few where tools are searched."),
        required("bytes", count(), "Of the result of `tools/list`."),
        required("tokens", count(), "An estimate: four bytes each."),
    ],
);

pub(super) static PIECE: Object = Object::answer(
    "Piece",
    "Ten seconds, or a minute.",
    &[
        required("at", MOMENT, "When they began."),
        required("calls", count(), ""),
        required("failed_calls", count(), FAILED_DOC),
        required("tool_errors", count(), TOOL_ERRORS_DOC),
        required("p50", Shape::OrNull(&Shape::Number), "Milliseconds."),
        required("p95", Shape::OrNull(&Shape::Number), "Milliseconds."),
    ],
);

pub(super) const PIECES: Shape = Shape::List { of: &Shape::Object(&PIECE), most: usize::MAX };
pub(super) const HOUR: Field = required("hour", PIECES, "The last hour, minute by minute.");

pub static OVERVIEW: Object = Object::answer(
    "Overview",
    "How the servers that the token sees do together.",
    &[
        required("servers", Shape::Object(&SERVERS), ""),
        required("tools", count(), "That the token may call, custom tools among them."),
        required("seconds", count(), "How far back the figures of calls reach."),
        required("calls_per_minute", count(), "In the last whole minute."),
        required("calls", count(), ""),
        required("failed_calls", count(), FAILED_DOC),
        required("tool_errors", count(), TOOL_ERRORS_DOC),
        required(
            "error_rate",
            Shape::OrNull(&Shape::Number),
            "The share of calls that failed or ended in a tool error, from 0 to 1.",
        ),
        required("response_time_ms", Shape::Object(&TIMES), ""),
        required("open_calls", count(), "Now."),
        required(
            "waiting_calls",
            count(),
            "For a server that is expected back, or for their turn.",
        ),
        required("restarts", count(), ""),
        required("clients", Shape::OrNull(&count()), "Null to who may not know."),
        required("context", Shape::List { of: &Shape::Object(&CONTEXT), most: usize::MAX }, ""),
        required(
            "series",
            PIECES,
            "The last five minutes in pieces of ten seconds, the oldest first; the last is not over yet.",
        ),
        HOUR,
    ],
);

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
            restarts: 3,
            clients: None,
            context: &context,
            series: &series,
            hour: &series,
        };
        let json = view.json();
        assert_fits(&json.to_string(), &Shape::Object(&OVERVIEW));
        assert_eq!(json["servers"]["connected"], 2);
        assert_eq!(json["error_rate"], 0.25);
        assert_eq!(json["context"][0]["tokens"], 101);
    }
}
