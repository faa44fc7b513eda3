//! Spans as OTLP over HTTP has them in JSON: an `ExportTraceServiceRequest`.

use serde_json::{Value, json};

use super::span::Span;

/// Ids are hexadecimal digits and times are strings, as the JSON of OTLP (not that of protobuf)
/// wants it.
pub(super) fn encode(spans: &[Span], resource: &[(String, String)]) -> Vec<u8> {
    let attributes = resource.iter().map(|(key, value)| text(key, value)).collect::<Vec<_>>();
    let document = json!({
        "resourceSpans": [{
            "resource": {"attributes": attributes},
            "scopeSpans": [{
                "scope": {"name": "trunkline", "version": env!("CARGO_PKG_VERSION")},
                "spans": spans.iter().map(span).collect::<Vec<_>>(),
            }],
        }],
    });
    document.to_string().into_bytes()
}

const ERROR: u8 = 2;

fn span(span: &Span) -> Value {
    let attributes = span.attributes.iter().map(|(key, value)| text(key, value));
    let mut encoded = json!({
        "traceId": hex::encode(span.trace),
        "spanId": hex::encode(span.id),
        "flags": span.flags(),
        "name": span.name,
        "kind": span.kind.number(),
        "startTimeUnixNano": span.start.to_string(),
        "endTimeUnixNano": span.end.to_string(),
        "attributes": attributes.collect::<Vec<_>>(),
        "status": {},
    });
    if let Some(object) = encoded.as_object_mut() {
        if let Some(parent) = &span.parent {
            object.insert("parentSpanId".to_owned(), hex::encode(parent).into());
        }
        if let Some(error) = &span.error {
            object.insert("status".to_owned(), json!({"code": ERROR, "message": error}));
        }
    }
    encoded
}

fn text(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}
