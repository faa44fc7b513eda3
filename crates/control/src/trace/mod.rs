//! Traces: one span per call, sent to a collector over OTLP. Whoever calls does not wait for it.

mod encode;
mod exporter;
mod parent;
mod span;
#[cfg(test)]
mod tests;

pub use encode::encode;
pub use exporter::{Settings, Tracer};
pub use parent::{Parent, SpanId, TraceId};
pub use span::{Outcome, Span};
