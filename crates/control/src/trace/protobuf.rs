//! Spans as OTLP over HTTP has them in protobuf: an `ExportTraceServiceRequest`.

use super::span::Span;
use crate::otlp::ProtobufMessage;

pub fn encode(spans: &[Span], resource: &[(String, String)]) -> Vec<u8> {
    let mut request = ProtobufMessage::default();
    request.message(1, |resource_spans| {
        resource_spans.resource(1, resource);
        resource_spans.message(2, |scope_spans| {
            scope_spans.scope(1);
            for span in spans {
                scope_spans.message(2, |message| write(span, message));
            }
        });
    });
    request.into_bytes()
}

const ERROR: u64 = 2;

fn write(span: &Span, message: &mut ProtobufMessage) {
    message.bytes(1, &span.trace);
    message.bytes(2, &span.id);
    if let Some(parent) = &span.parent {
        message.bytes(4, parent);
    }
    message.bytes(5, span.name.as_bytes());
    message.number(6, u64::from(span.kind.number()));
    message.fixed64(7, span.start);
    message.fixed64(8, span.end);
    for (key, value) in &span.attributes {
        message.attribute(9, key, value);
    }
    message.message(15, |status| {
        if let Some(error) = &span.error {
            status.bytes(2, error.as_bytes());
            status.number(3, ERROR);
        }
    });
    message.fixed32(16, span.flags());
}
