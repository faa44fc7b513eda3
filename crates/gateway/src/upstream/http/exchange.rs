//! `Exchange`: one request of HTTP on its way, with all that is needed to send it again.

use std::time::Instant;

use bytes::Bytes;
use trunkline_wire::Edits;

use crate::limits::LARGE_MESSAGE;
use crate::login::Refusal;
use crate::upstream::transport::UpstreamId;

/// What an exchange is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// `initialize`, or what stands for it.
    Initialize(UpstreamId),
    /// The notification that ends the handshake: nothing overtakes it.
    Initialized,
    Call(UpstreamId),
    /// A message that has no answer.
    Tell,
    /// The stream for what the server says of its own accord.
    Listen,
    /// The rest of the stream that answers this call.
    Resume(UpstreamId),
    /// The session ends.
    Goodbye,
}

impl Purpose {
    /// The request of JSON-RPC whose answer comes back here.
    pub(super) fn id(self) -> Option<UpstreamId> {
        match self {
            Self::Initialize(id) | Self::Call(id) | Self::Resume(id) => Some(id),
            Self::Initialized | Self::Tell | Self::Listen | Self::Goodbye => None,
        }
    }

    pub(super) fn method(self) -> &'static str {
        match self {
            Self::Listen | Self::Resume(_) => "GET",
            Self::Goodbye => "DELETE",
            Self::Initialize(_) | Self::Initialized | Self::Call(_) | Self::Tell => "POST",
        }
    }

    /// A stream that can be opened again: that it cannot be had now is no failure of the server.
    pub(super) fn is_stream(self) -> bool {
        matches!(self, Self::Listen | Self::Resume(_))
    }
}

#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) purpose: Purpose,
    pub(super) body: KeptBody,
    /// Header fields of its own, complete lines.
    pub(super) fields: Vec<u8>,
    /// The last event seen of the stream that is opened again.
    pub(super) after: Vec<u8>,
    /// The session it was sent in, counted, and when.
    pub(super) session: u32,
    /// What it said about who we are, counted.
    pub(super) introduction: u32,
    pub(super) sent: Option<Instant>,
    /// Redirects followed; times it was told to come later, lost its session, was tried again, was
    /// refused for who sent it.
    pub(super) hops: u8,
    pub(super) delays: u8,
    pub(super) renewals: u8,
    pub(super) tries: u8,
    pub(super) introductions: u8,
}

impl Exchange {
    pub(super) fn post(purpose: Purpose, body: KeptBody) -> Self {
        Self {
            purpose,
            body,
            fields: Vec::new(),
            after: Vec::new(),
            session: 0,
            introduction: 0,
            sent: None,
            hops: 0,
            delays: 0,
            renewals: 0,
            tries: 0,
            introductions: 0,
        }
    }

    /// Without a body. `after`: the last event seen of a stream.
    pub(super) fn bare(purpose: Purpose, after: Vec<u8>) -> Self {
        Self { after, ..Self::post(purpose, KeptBody::Small(Vec::new())) }
    }
}

/// A body that can be sent again.
#[derive(Debug)]
pub(super) enum KeptBody {
    Small(Vec<u8>),
    Large(Bytes),
}

impl KeptBody {
    /// `bytes` with `edits` made; `room` is an empty buffer to use.
    pub(super) fn new(mut room: Vec<u8>, bytes: &[u8], edits: &Edits<'_>) -> Self {
        edits.write(bytes, &mut room);
        // A large body is shared with the outbox: it may have to be sent again, and is not copied
        // for that.
        if room.len() < LARGE_MESSAGE { Self::Small(room) } else { Self::Large(room.into()) }
    }

    pub(super) fn len(&self) -> usize {
        self.bytes().len()
    }

    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Self::Small(bytes) => bytes,
            Self::Large(bytes) => bytes,
        }
    }
}

/// A request that was refused for who sent it.
#[derive(Debug)]
pub(super) struct RefusedExchange {
    pub(super) exchange: Exchange,
    pub(super) refusal: Refusal,
}
