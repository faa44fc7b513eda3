//! `MessageFault`: why a line is not a message, or not one that can be read.

use crate::splice::Span;

/// Why a line is not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}")]
pub struct MessageFault {
    pub kind: FaultKind,
    /// Byte at which it was noticed.
    pub at: usize,
    /// The id, where it had been seen by then.
    pub id: Option<Span>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FaultKind {
    #[error("it is not valid UTF-8")]
    NotUtf8,
    #[error("it is not valid JSON")]
    NotJson,
    #[error("it ends in the middle")]
    Truncated,
    #[error("it is a JSON-RPC batch")]
    Batch,
    #[error("it is not a JSON object")]
    NotObject,
    #[error("member `{0}` appears twice")]
    Duplicate(&'static str),
    #[error("member `{0}` has the wrong type")]
    WrongType(&'static str),
    #[error("`jsonrpc` is not \"2.0\"")]
    NotJsonRpc,
    #[error("it has both `result` and `error`")]
    ResultAndError,
    #[error("it is neither a request, a notification nor a response")]
    NoKind,
    /// A response whose envelope is right and whose content strict clients refuse.
    #[error("{0}")]
    Unreadable(&'static str),
}

impl FaultKind {
    /// The text itself is broken, as opposed to a well-formed text that is not JSON-RPC.
    pub fn is_parse_error(self) -> bool {
        matches!(self, Self::NotUtf8 | Self::NotJson | Self::Truncated)
    }
}
