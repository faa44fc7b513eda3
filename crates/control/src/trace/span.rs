//! A request as spans: what its client sees of it, and its way to the server. Names are those of the
//! semantic conventions for MCP.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use trunkline_gateway::{Followed, Outcome, SpanKind, Target};

use crate::access::read_label;

/// Neither arguments nor results are in it, nor anything else that only its client or its server wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    pub trace: [u8; 16],
    pub id: [u8; 8],
    pub parent: Option<[u8; 8]>,
    pub kind: OtlpKind,
    pub name: String,
    /// Nanoseconds since 1970.
    pub start: u64,
    pub end: u64,
    pub attributes: Vec<(&'static str, String)>,
    /// A word for what went wrong.
    pub error: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OtlpKind {
    Server,
    Client,
}

impl OtlpKind {
    /// As OTLP counts them.
    pub fn number(self) -> u8 {
        match self {
            Self::Server => 2,
            Self::Client => 3,
        }
    }
}

impl Span {
    /// W3C's flags (it is sampled), and whether the parent is known to be in another program.
    pub fn flags(&self) -> u32 {
        match (self.kind, self.parent) {
            (OtlpKind::Server, Some(_)) => 0x301,
            _ => 0x101,
        }
    }
}

/// The spans of one request: the second only if it was ever with its server.
pub(super) fn spans(request: &Followed) -> Vec<Span> {
    let Followed { trail, handed, took, .. } = request;
    let (start, end) = (nanos(request.started, Duration::ZERO), nanos(request.started, *took));
    let error = error(request.outcome);
    let asked = request.target.as_ref().map(|target| target.asked.as_str());
    let own = request.target.as_ref().map(|target| target.own.as_str());
    let mut spans = vec![Span {
        trace: trail.trace,
        id: trail.span,
        parent: trail.parent,
        kind: OtlpKind::Server,
        name: name(&request.method, asked),
        start,
        end,
        attributes: [common(request, asked), front(request)].concat(),
        error: error.clone(),
    }];
    spans.extend(handed.map(|handed| Span {
        trace: trail.trace,
        id: trail.onward,
        parent: Some(trail.span),
        kind: OtlpKind::Client,
        name: name(&request.method, own),
        start: nanos(request.started, handed).min(end),
        end,
        attributes: [common(request, own), hop(request.hop)].concat(),
        error,
    }));
    spans
}

fn name(method: &str, target: Option<&str>) -> String {
    match target {
        Some(target) => format!("{method} {target}"),
        None => method.to_owned(),
    }
}

type Attributes = Vec<(&'static str, String)>;

fn common(request: &Followed, target: Option<&str>) -> Attributes {
    let mut all = vec![("mcp.method.name", request.method.clone())];
    if let (Some(Target { is_prompt, .. }), Some(name)) = (&request.target, target) {
        if *is_prompt {
            all.push(("gen_ai.prompt.name", name.to_owned()));
        } else {
            all.push(("gen_ai.operation.name", "execute_tool".to_owned()));
            all.push(("gen_ai.tool.name", name.to_owned()));
        }
    }
    all.push(("trunkline.server", request.server.to_string()));
    all.push(("trunkline.outcome", word(request.outcome).to_owned()));
    all.extend(error(request.outcome).map(|error| ("error.type", error)));
    if let Outcome::RpcError(code) = request.outcome {
        all.push(("rpc.response.status_code", code.to_string()));
    }
    all
}

/// Whoever is followed has come over HTTP.
fn front(request: &Followed) -> Attributes {
    let mut all = hop(SpanKind::Network);
    let Some(who) = request.who.as_deref() else { return all };
    let (credential, address) = read_label(who);
    all.push(("user.id", credential.to_owned()));
    let address = address.filter(|address| !address.is_empty());
    all.extend(address.map(|address| ("client.address", address.to_owned())));
    all
}

fn hop(hop: SpanKind) -> Attributes {
    match hop {
        SpanKind::Pipe => vec![("network.transport", "pipe".to_owned())],
        SpanKind::Network => vec![
            ("network.transport", "tcp".to_owned()),
            ("network.protocol.name", "http".to_owned()),
        ],
    }
}

fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Ok => "ok",
        Outcome::ToolError => "tool-error",
        Outcome::RpcError(_) => "rpc-error",
        Outcome::Timeout => "timeout",
        Outcome::Gone { .. } => "gone",
        Outcome::Refused => "refused",
        Outcome::Cancelled => "cancelled",
        Outcome::Asked => "input-required",
    }
}

/// Who cancels has not met with a failure.
fn error(outcome: Outcome) -> Option<String> {
    match outcome {
        Outcome::Ok | Outcome::Asked | Outcome::Cancelled => None,
        Outcome::ToolError => Some("tool_error".to_owned()),
        Outcome::RpcError(code) => Some(code.to_string()),
        Outcome::Timeout | Outcome::Gone { .. } | Outcome::Refused => {
            Some(word(outcome).to_owned())
        }
    }
}

fn nanos(start: SystemTime, after: Duration) -> u64 {
    let since = start.duration_since(UNIX_EPOCH).unwrap_or_default() + after;
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::super::tests::followed;
    use super::*;

    fn of<'a>(span: &'a Span, key: &str) -> Option<&'a str> {
        let found = span.attributes.iter().find(|(name, _)| *name == key);
        found.map(|(_, value)| value.as_str())
    }

    #[test]
    fn a_request_has_a_span_and_its_way_to_the_server_another_below() {
        let spans = spans(&followed(Outcome::Ok));
        let [server, client] = &spans[..] else { panic!("{spans:?}") };
        assert_eq!((server.kind, client.kind), (OtlpKind::Server, OtlpKind::Client));
        assert_eq!((server.parent, client.parent), (Some([7; 8]), Some(server.id)));
        assert_eq!((server.trace, server.id, client.id), (client.trace, [1; 8], [2; 8]));
        assert_eq!((server.flags(), client.flags()), (0x301, 0x101));
        assert_eq!(server.name, "tools/call github.create");
        assert_eq!(client.name, "tools/call create");
        assert_eq!((server.end - server.start, client.end - client.start), (5_000_000, 4_000_000));
        assert_eq!(server.end, client.end);
        for (key, one, other) in [
            ("mcp.method.name", Some("tools/call"), Some("tools/call")),
            ("gen_ai.tool.name", Some("github.create"), Some("create")),
            ("gen_ai.operation.name", Some("execute_tool"), Some("execute_tool")),
            ("network.transport", Some("tcp"), Some("pipe")),
            ("network.protocol.name", Some("http"), None),
            ("trunkline.server", Some("github"), Some("github")),
            ("trunkline.outcome", Some("ok"), Some("ok")),
            ("user.id", Some("key:k1"), None),
            ("client.address", Some("127.0.0.1"), None),
            ("error.type", None, None),
        ] {
            assert_eq!((of(server, key), of(client, key)), (one, other), "{key}");
        }
    }

    #[test]
    fn what_never_reached_its_server_has_no_way_to_it() {
        let request = Followed { handed: None, ..followed(Outcome::Refused) };
        assert_eq!(spans(&request).len(), 1);
    }

    #[test]
    fn a_prompt_is_no_tool_and_other_requests_are_about_neither() {
        let prompt = followed(Outcome::Ok).target.map(|it| Target { is_prompt: true, ..it });
        let method = "prompts/get".to_owned();
        let request = Followed { target: prompt, method, ..followed(Outcome::Ok) };
        let span = &spans(&request)[0];
        assert_eq!(of(span, "gen_ai.prompt.name"), Some("github.create"));
        assert_eq!((of(span, "gen_ai.tool.name"), of(span, "gen_ai.operation.name")), (None, None));
        let method = "resources/read".to_owned();
        let request = Followed { target: None, method, ..followed(Outcome::Ok) };
        assert_eq!(spans(&request)[0].name, "resources/read");
    }

    #[test]
    fn failures_have_a_type() {
        for (outcome, outcome_word, error, code) in [
            (Outcome::Ok, "ok", None, None),
            (Outcome::Asked, "input-required", None, None),
            (Outcome::Cancelled, "cancelled", None, None),
            (Outcome::ToolError, "tool-error", Some("tool_error"), None),
            (Outcome::RpcError(-32602), "rpc-error", Some("-32602"), Some("-32602")),
            (Outcome::Timeout, "timeout", Some("timeout"), None),
            (Outcome::Gone { may_have_run: true }, "gone", Some("gone"), None),
            (Outcome::Refused, "refused", Some("refused"), None),
        ] {
            for span in spans(&followed(outcome)) {
                assert_eq!(of(&span, "trunkline.outcome"), Some(outcome_word));
                assert_eq!((of(&span, "error.type"), span.error.as_deref()), (error, error));
                assert_eq!(of(&span, "rpc.response.status_code"), code);
            }
        }
    }
}
