//! Responses: `ResponseShape`, where the parts lie that matter on the way to the client, and `Answer`,
//! where those to requests of our own come.

use tokio::sync::oneshot;
use trunkline_wire::{Kind, Message, Span};

/// Where an answer to a request of our own comes: the whole response, or why it is no good.
pub(crate) type Answer = oneshot::Receiver<Result<Vec<u8>, String>>;

/// The parts of a response that matter on its way.
#[derive(Clone, Copy, Debug)]
pub(in crate::upstream) struct ResponseShape {
    pub(in crate::upstream) id: Span,
    pub(in crate::upstream) kind: Kind,
    pub(in crate::upstream) result: Option<Span>,
    pub(in crate::upstream) result_type: Option<Span>,
    pub(in crate::upstream) error: Option<Span>,
}

impl ResponseShape {
    pub(in crate::upstream) fn of(message: &Message<'_>) -> Option<Self> {
        let Message { kind, result, result_type, error, .. } = *message;
        Some(Self { id: message.id?, kind, result, result_type, error })
    }
}
