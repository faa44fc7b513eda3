//! Spans as OTLP over HTTP has them in JSON: an `ExportTraceServiceRequest`.

use serde_json::{Value, json};

use super::span::{Outcome, Span};

/// `SPAN_KIND_CLIENT`: the other end is the server that was called.
const CLIENT: u8 = 3;
const STATUS_UNSET: u8 = 0;
const STATUS_ERROR: u8 = 2;

/// Ids are hexadecimal digits and times are strings, as the JSON of OTLP (not that of protobuf)
/// wants it.
pub fn encode(spans: &[Span], instance: &str) -> Vec<u8> {
    let version = env!("CARGO_PKG_VERSION");
    let document = json!({
        "resourceSpans": [{
            "resource": {"attributes": [
                text("service.name", "trunkline"),
                text("service.version", version),
                text("service.instance.id", instance),
            ]},
            "scopeSpans": [{
                "scope": {"name": "trunkline", "version": version},
                "spans": spans.iter().map(span).collect::<Vec<_>>(),
            }],
        }],
    });
    document.to_string().into_bytes()
}

fn span(span: &Span) -> Value {
    let name = match &span.tool {
        Some(tool) => format!("{} {tool}", span.method),
        None => span.method.clone(),
    };
    let (status, word) = match &span.outcome {
        Outcome::Ok => (json!({"code": STATUS_UNSET}), "ok"),
        Outcome::Failed(word) => (json!({"code": STATUS_ERROR, "message": word}), word.as_str()),
    };
    let mut attributes = vec![
        text("mcp.method.name", &span.method),
        text("trunkline.server", &span.server),
        text("trunkline.outcome", word),
    ];
    attributes.extend(span.tool.as_deref().map(|tool| text("mcp.tool.name", tool)));
    if let Outcome::Failed(word) = &span.outcome {
        attributes.push(text("error.type", word));
    }
    let mut encoded = json!({
        "traceId": span.trace.to_string(),
        "spanId": span.id.to_string(),
        "name": name,
        "kind": CLIENT,
        "startTimeUnixNano": span.start.to_string(),
        "endTimeUnixNano": span.end.to_string(),
        "attributes": attributes,
        "status": status,
    });
    if let (Some(parent), Some(encoded)) = (span.parent, encoded.as_object_mut()) {
        encoded.insert("parentSpanId".to_owned(), parent.to_string().into());
    }
    encoded
}

fn text(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}
