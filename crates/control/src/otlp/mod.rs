//! What traces and the audit log share on their way to a collector: where it is, how a request is written, what its
//! answer means.

mod partial;
mod protobuf;
mod sender;
mod target;

pub use partial::PartialSuccess;
pub(crate) use protobuf::ProtobufMessage;
pub(crate) use sender::{FIRST_PAUSE, LONGEST_PAUSE, OtlpSender, SendResult};
pub use target::{HEADERS, OtlpTarget, Protocol, Signal};
