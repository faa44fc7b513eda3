//! `Message`: the bytes as received and the few fields Trunkline looks at.

use std::borrow::Cow;

use crate::fault::FaultKind;
use crate::splice::Span;
use crate::text;

/// One scanned message. Its bytes are proven to be one JSON object in UTF-8.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    pub bytes: &'a [u8],
    pub kind: Kind,
    /// The id as written (a number or string token, or `null` in an error). Never for notifications.
    pub id: Option<Span>,
    /// The method without its quotes, as written.
    pub method: Option<Span>,
    /// There are escapes in it.
    pub(crate) method_is_escaped: bool,
    pub params: Params,
    pub result: Option<Span>,
    /// `result.resultType`, with its quotes: the stateless era says what kind of result it is.
    pub result_type: Option<Span>,
    pub error: Option<Span>,
    /// A response that strict clients cannot read, and why: `result` is not an object, or `error` lacks
    /// an integer `code` or a string `message`.
    pub unreadable: Option<FaultKind>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Request,
    Notification,
    /// A response with `result`.
    Answer,
    /// A response with `error`.
    Refusal,
}

/// What was found in `params`. Spans of strings include their quotes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Params {
    pub span: Option<Span>,
    pub name: Option<Span>,
    pub uri: Option<Span>,
    pub arguments: Option<Span>,
    pub cursor: Option<Span>,
    /// Of `notifications/cancelled`.
    pub request_id: Option<Span>,
    /// Of `notifications/progress`.
    pub progress_token: Option<Span>,
    pub meta: ParamsMeta,
    /// Of a request that is made again with what was asked for.
    pub input_responses: Option<Span>,
    pub request_state: Option<Span>,
}

/// What was found in `params._meta`.
#[derive(Clone, Copy, Debug, Default)]
pub struct ParamsMeta {
    pub span: Option<Span>,
    /// Two messages with the same number here have the same `_meta`, to the byte. 0: nothing is known.
    pub number: u64,
    /// `progressToken` of a request.
    pub progress_token: Option<Span>,
    /// The revision a request of the stateless era is in.
    pub version: Option<Span>,
    pub capabilities: Option<Span>,
    pub level: Option<Span>,
    /// The `subscriptions/listen` a notification belongs to.
    pub subscription: Option<Span>,
}

impl<'a> Message<'a> {
    pub fn text(&self, span: Option<Span>) -> &'a [u8] {
        span.map(|span| span.of(self.bytes)).unwrap_or_default()
    }

    /// The method as text: some writers escape the slash in it.
    pub fn method(&self) -> Cow<'a, [u8]> {
        let raw = self.text(self.method);
        if !self.method_is_escaped {
            return Cow::Borrowed(raw);
        }
        // `decode` wants the quotes, which stand right around the method.
        let token = self.method.map(|span| Span::new(span.start() - 1, span.end() + 1));
        match text::decode(self.text(token)) {
            Some(text) => Cow::Owned(text.into_owned().into_bytes()),
            None => Cow::Borrowed(raw),
        }
    }

    pub fn id(&self) -> &'a [u8] {
        self.text(self.id)
    }
}
