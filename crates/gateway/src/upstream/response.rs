//! `ResponseShape`: where the parts of a response lie that matter on its way to the client.

use trunkline_wire::{Kind, Message, Span};

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
