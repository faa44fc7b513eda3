//! Traces: one span for each request and one for its way to the server, sent to a collector over OTLP.
//! Whoever calls does not wait for it.

mod choose;
mod exporter;
mod ids;
mod json;
mod parent;
mod protobuf;
mod sampler;
mod span;
#[cfg(test)]
mod tests;
mod tracer;

pub use choose::{Chosen, TraceSettings, choose};
pub use protobuf::encode as encode_protobuf;
pub use sampler::Sampler;
pub use span::{OtlpKind, Span};
pub use tracer::Tracer;
