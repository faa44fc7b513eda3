//! `TaggedSink`: adds the id of a subscription to every notification that leaves through it.

use tokio_util::sync::CancellationToken;
use trunkline_wire::{Edits, Span, members, scan};

use crate::call::{Payload, Responder, ResponseSink};
use crate::pump::FlushSet;

const KEY: &str = "io.modelcontextprotocol/subscriptionId";

/// `"key":id`, as a member of `_meta`.
pub(super) fn mark(id: &[u8]) -> Vec<u8> {
    [b"\"", KEY.as_bytes(), b"\":", id].concat()
}

/// The notification with the id of the subscription in its `_meta`, instead of any other that
/// stands there. Every other byte stays.
pub(super) fn tagged(notification: &[u8], id: &[u8]) -> Vec<u8> {
    let Ok(message) = scan(notification) else { return notification.to_vec() };
    let params = message.params.span.filter(|span| span.of(notification).starts_with(b"{"));
    let meta = message.params.meta.span.filter(|span| span.of(notification).starts_with(b"{"));
    let mark = mark(id);
    let (at, new) = match (message.params.meta.subscription, meta, params) {
        (Some(other), ..) => (other, id.to_vec()),
        (None, Some(meta), _) => (inside(meta), joined(&mark, meta.of(notification))),
        (None, None, Some(params)) => {
            // A `_meta` that is no object carries nothing: it is replaced.
            match message.params.meta.span {
                Some(odd) => (odd, [b"{", &mark[..], b"}"].concat()),
                None => {
                    let meta = [b"\"_meta\":{", &mark[..], b"}"].concat();
                    (inside(params), joined(&meta, params.of(notification)))
                }
            }
        }
        (None, None, None) => {
            let params = [b"\"params\":{\"_meta\":{", &mark[..], b"}}"].concat();
            let open = notification.iter().position(|byte| *byte == b'{').unwrap_or_default();
            (Span::at(open + 1), joined(&params, notification))
        }
    };
    let mut out = Vec::with_capacity(notification.len() + new.len());
    Edits::one(at, &new).write(notification, &mut out);
    out
}

/// Behind the opening brace.
fn inside(object: Span) -> Span {
    Span::at(object.start() + 1)
}

/// New members, before those of the object.
fn joined(new: &[u8], object: &[u8]) -> Vec<u8> {
    let comma: &[u8] = if members(object).next().is_none() { b"" } else { b"," };
    [new, comma].concat()
}

/// Where the notifications of one subscription leave.
#[derive(Debug)]
pub(super) struct TaggedSink {
    pub(super) sink: ResponseSink,
    /// The id of the request that opened it, as spelt.
    pub(super) id: Box<[u8]>,
    /// The subscription has ended: nothing more leaves.
    pub(super) cancelled: CancellationToken,
}

impl Responder for TaggedSink {
    fn say(&self, bytes: &[u8], edits: &Edits<'_>, touched: &mut FlushSet) -> bool {
        if self.cancelled.is_cancelled() {
            return false;
        }
        let mut whole = Vec::with_capacity(bytes.len() + 64);
        edits.write(bytes, &mut whole);
        self.sink.say(&tagged(&whole, &self.id), &Edits::new(), touched)
    }

    fn answer(&self, _: Payload<'_>, _: &Edits<'_>, _: &mut FlushSet) -> bool {
        false // no request comes in through it
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notification_says_whose_it_is() {
        for (rest, expected) in [
            (r#""method":"m""#, r#""params":{"_meta":{KEY:"s-1"}},"jsonrpc":"2.0","method":"m""#),
            (
                r#""method":"m","params":{}"#,
                r#""jsonrpc":"2.0","method":"m","params":{"_meta":{KEY:"s-1"}}"#,
            ),
            (
                r#""method":"m","params":{"uri":"a://x"}"#,
                r#""jsonrpc":"2.0","method":"m","params":{"_meta":{KEY:"s-1"},"uri":"a://x"}"#,
            ),
            (
                r#""method":"m","params":{"uri":"a://x","_meta":{ }}"#,
                r#""jsonrpc":"2.0","method":"m","params":{"uri":"a://x","_meta":{KEY:"s-1" }}"#,
            ),
            (
                r#""method":"m","params":{"_meta":{"a":1.0}}"#,
                r#""jsonrpc":"2.0","method":"m","params":{"_meta":{KEY:"s-1","a":1.0}}"#,
            ),
            (
                r#""method":"m","params":{"_meta":{"a":1,KEY:77}}"#,
                r#""jsonrpc":"2.0","method":"m","params":{"_meta":{"a":1,KEY:"s-1"}}"#,
            ),
            (
                r#""method":"m","params":{"_meta":5}"#,
                r#""jsonrpc":"2.0","method":"m","params":{"_meta":{KEY:"s-1"}}"#,
            ),
        ] {
            let key = format!("\"{KEY}\"");
            let text = format!(r#"{{"jsonrpc":"2.0",{rest}}}"#).replace("KEY", &key);
            let got = String::from_utf8(tagged(text.as_bytes(), b"\"s-1\"")).unwrap();
            assert_eq!(got, format!("{{{expected}}}").replace("KEY", &key));
            scan(got.as_bytes()).unwrap();
        }
    }
}
