//! `Trace`: a request that is followed, while it runs: where it came from, and what its server is told
//! about that.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use trunkline_wire::{Message, Span, decode, encode, find, members};

use crate::call::ResponseSink;
use crate::events::Outcome;
use crate::traces::{Followed, SpanKind, Target, TraceContext, Traces};

#[derive(Debug)]
pub(crate) struct Trace {
    traces: Arc<dyn Traces>,
    trail: TraceContext,
    method: String,
    target: Option<Target>,
    hop: SpanKind,
    began: SystemTime,
    /// Nanoseconds from its beginning until it was with its server, and one; 0: it is not yet.
    handed: AtomicU64,
}

/// Methods of the protocol are shorter: the rest of a longer one is cut off.
const LONGEST_METHOD: usize = 64;

impl Trace {
    /// `own`: the server's own name for what it is about.
    pub(crate) fn begin(
        traces: &Arc<dyn Traces>,
        message: &Message<'_>,
        own: Option<&[u8]>,
        sink: &ResponseSink,
        hop: SpanKind,
    ) -> Option<Self> {
        let said = message.params.meta.span.and_then(|meta| find(message.bytes, meta, &[PARENT]));
        let said = said.and_then(|at| decode(at.of(message.bytes)));
        let trail = traces.begin([said.as_deref(), sink.parent()])?;
        let method = message.method();
        let method = String::from_utf8_lossy(&method).chars().take(LONGEST_METHOD).collect();
        let target = target(message, own, sink.asked());
        let (traces, began) = (Arc::clone(traces), SystemTime::now());
        Some(Self { traces, trail, method, target, hop, began, handed: AtomicU64::new(0) })
    }

    /// It is with its server. Only the first time counts: one that is made again was there before.
    pub(crate) fn handed(&self, started: Instant) {
        let after = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX - 1);
        // If it was there before, that stays.
        // Relaxed: the number is all there is; `ended` reads it after the answer, which came later.
        // 0 means "never", so the time is kept plus one.
        let _ = self.handed.compare_exchange(0, after + 1, Ordering::Relaxed, Ordering::Relaxed);
    }

    pub(crate) fn ended(
        &self,
        server: &Arc<str>,
        who: Option<&Arc<str>>,
        outcome: Outcome,
        took: Duration,
    ) {
        // Relaxed: a number alone. If it were missed, the span would lack the time of the
        // hand-over, no more.
        let handed = self.handed.load(Ordering::Relaxed);
        self.traces.ended(Followed {
            trail: self.trail,
            method: self.method.clone(),
            target: self.target.clone(),
            server: Arc::clone(server),
            hop: self.hop,
            who: who.cloned(),
            outcome,
            started: self.began,
            handed: handed.checked_sub(1).map(Duration::from_nanos),
            took,
        });
    }

    /// What is changed in the request so that its server knows where it comes from.
    pub(crate) fn onward(&self, message: &Message<'_>) -> Option<(Span, Vec<u8>)> {
        told(message, &encode(&self.trail.onward()))
    }
}

/// The key in `_meta`, without a prefix: the protocol has reserved it for this.
const PARENT: &str = "traceparent";

fn target(message: &Message<'_>, own: Option<&[u8]>, asked: Option<&str>) -> Option<Target> {
    let is_prompt = match &*message.method() {
        b"tools/call" => false,
        b"prompts/get" => true,
        _ => return None,
    };
    let asked = match asked {
        Some(asked) => asked.to_owned(),
        None => decode(message.text(message.params.name))?.into_owned(),
    };
    let own = own.and_then(decode).unwrap_or_default().into_owned();
    Some(Target { is_prompt, asked, own })
}

/// Where `token` belongs in the request, and with what around it. `None`: its params or `_meta` are no
/// object.
fn told(message: &Message<'_>, token: &[u8]) -> Option<(Span, Vec<u8>)> {
    let params = message.params.span.filter(|at| at.of(message.bytes).starts_with(b"{"))?;
    let Some(meta) = message.params.meta.span else {
        return Some(in_front(message, params, &[b"\"_meta\":{\"traceparent\":", token, b"}"]));
    };
    if !meta.of(message.bytes).starts_with(b"{") {
        return None; // what is no object stays what it is
    }
    match find(message.bytes, meta, &[PARENT]) {
        Some(said) => Some((said, token.to_vec())),
        None => Some(in_front(message, meta, &[b"\"traceparent\":", token])),
    }
}

/// A new first member of the object at `object`.
fn in_front(message: &Message<'_>, object: Span, member: &[&[u8]]) -> (Span, Vec<u8>) {
    let mut new = member.concat();
    if members(object.of(message.bytes)).next().is_some() {
        new.push(b',');
    }
    (Span::at(object.start() + 1), new)
}

#[cfg(test)]
mod tests {
    use trunkline_wire::{Edits, scan};

    use super::*;

    #[test]
    fn a_server_is_told_in_meta_and_every_other_byte_stays() {
        for (params, expected) in [
            (r#"{"name":"x"}"#, r#"{"_meta":{"traceparent":"T"},"name":"x"}"#),
            ("{}", r#"{"_meta":{"traceparent":"T"}}"#),
            (r#"{ "a":1.0, "_meta":{}}"#, r#"{ "a":1.0, "_meta":{"traceparent":"T"}}"#),
            (
                r#"{"_meta":{ "progressToken":7},"a":1}"#,
                r#"{"_meta":{"traceparent":"T", "progressToken":7},"a":1}"#,
            ),
            (
                r#"{"_meta":{"traceparent":"old","tracestate":"s","baggage":"b"}}"#,
                r#"{"_meta":{"traceparent":"T","tracestate":"s","baggage":"b"}}"#,
            ),
            (r#"{"_meta":{"traceparent":7}}"#, r#"{"_meta":{"traceparent":"T"}}"#),
            (r#"{"_meta":{"trace\u0070arent":"old"}}"#, r#"{"_meta":{"trace\u0070arent":"T"}}"#),
            (
                r#"{"arguments":{"traceparent":"a"}}"#,
                r#"{"_meta":{"traceparent":"T"},"arguments":{"traceparent":"a"}}"#,
            ),
            (r#"{"_meta":null}"#, r#"{"_meta":null}"#),
            (r#"[1]"#, r#"[1]"#),
        ] {
            let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{params}}}"#);
            let message = scan(text.as_bytes()).unwrap();
            let change = told(&message, b"\"T\"");
            let edits = change.as_ref().map(|(at, new)| Edits::one(*at, new)).unwrap_or_default();
            let mut got = Vec::new();
            edits.write(text.as_bytes(), &mut got);
            assert_eq!(String::from_utf8(got.clone()).unwrap(), text.replace(params, expected));
            scan(&got).unwrap();
        }
        let bare = scan(br#"{"jsonrpc":"2.0","id":1,"method":"m"}"#).unwrap();
        assert!(told(&bare, b"\"T\"").is_none());
    }
}
