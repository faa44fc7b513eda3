//! A request of one era, as a server of the other gets it.

use std::sync::Arc;

use ring::digest::{Context, SHA256};
use trunkline_wire::{MODERN, Message, decode, elements, encode_into, members};

use crate::era::object::{Member, is_empty, rebuilt, with, without};

/// What `_meta` says in the stateless era and nobody needs to hear in the other.
const RESERVED: [&str; 4] = [
    "io.modelcontextprotocol/protocolVersion",
    "io.modelcontextprotocol/clientInfo",
    "io.modelcontextprotocol/clientCapabilities",
    "io.modelcontextprotocol/logLevel",
];

/// Only of a request that is made again.
const AGAIN: [&str; 2] = ["inputResponses", "requestState"];

/// What every request to a server of the stateless era carries in `_meta`, as members without
/// braces.
#[derive(Clone, Debug)]
pub(crate) struct Stamp(Arc<[u8]>);

impl Stamp {
    /// `info` and `capabilities` are objects as their client wrote them.
    pub(crate) fn new(info: &[u8], capabilities: &[u8], level: Option<&str>) -> Self {
        let mut out = Vec::with_capacity(info.len() + capabilities.len() + 160);
        let [version_key, info_key, capabilities_key, level_key] = RESERVED;
        let mut put = |key: &str, value: &[u8]| {
            if !out.is_empty() {
                out.push(b',');
            }
            encode_into(key, &mut out);
            out.push(b':');
            out.extend_from_slice(value);
        };
        put(version_key, format!("\"{MODERN}\"").as_bytes());
        if info.starts_with(b"{") {
            put(info_key, info);
        }
        // 2026-07-28, Overview, General fields: required in every request, also of a client that
        // declared nothing.
        put(capabilities_key, if capabilities.starts_with(b"{") { capabilities } else { b"{}" });
        if let Some(level) = level {
            put(level_key, format!("\"{level}\"").as_bytes());
        }
        Self(out.into())
    }

    /// A stamp with more members of `_meta`.
    pub(crate) fn and(&self, more: &[u8]) -> Self {
        Self([&self.0, &b","[..], more].concat().into())
    }

    /// `params` of a request with this in `_meta`; they may be missing.
    pub(crate) fn on(&self, params: &[u8]) -> Vec<u8> {
        if !params.starts_with(b"{") {
            return [&b"{\"_meta\":{"[..], &self.0, b"}}"].concat();
        }
        let has_meta = members(params).any(|(key, value)| is_meta(&key, value.of(params)));
        if !has_meta {
            let meta = [&b"\"_meta\":{"[..], &self.0, b"}"].concat();
            return with(&without(params, |key| key == "_meta"), &meta);
        }
        rebuilt(params, |key, value| {
            if !is_meta(key, value) {
                return Member::Kept;
            }
            // What the client wrote under a reserved key would stand there twice, and contradict
            // ours.
            let cleaned = without(value, |key| RESERVED.contains(&key));
            Member::Changed(with(&cleaned, &self.0))
        })
    }
}

fn is_meta(key: &str, value: &[u8]) -> bool {
    key == "_meta" && value.starts_with(b"{")
}

/// A request for a server of the stateless era, made of one that was made in a session.
pub(crate) fn for_modern(message: &Message<'_>, stamp: &Stamp) -> Vec<u8> {
    let stamped = stamp.on(message.text(message.params.span));
    with_params(message, &stamped)
}

/// A request for a server that was opened with `initialize`, made of one that stands for itself.
pub(crate) fn for_legacy(message: &Message<'_>) -> Vec<u8> {
    let cleaned = rebuilt(message.text(message.params.span), |key, value| match key {
        "_meta" if value.starts_with(b"{") => {
            Member::Changed(without(value, |key| RESERVED.contains(&key)))
        }
        _ if AGAIN.contains(&key) => Member::Dropped,
        _ => Member::Kept,
    });
    with_params(message, &cleaned)
}

/// Which subscription a notification belongs to.
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// A notification without the mark of the subscription it came with: that is ours, and means
/// something else to our clients.
pub(crate) fn untagged(message: &Message<'_>) -> Vec<u8> {
    let params = rebuilt(message.text(message.params.span), |key, value| {
        if !is_meta(key, value) {
            return Member::Kept;
        }
        match without(value, |key| key == SUBSCRIPTION) {
            // An empty `_meta` was made by the mark alone: the notification leaves as its server
            // would write it for one client.
            meta if is_empty(&meta) => Member::Dropped,
            meta => Member::Changed(meta),
        }
    });
    with_params(message, &params)
}

/// The message with other `params`.
pub(super) fn with_params(message: &Message<'_>, params: &[u8]) -> Vec<u8> {
    match message.params.span {
        Some(span) => {
            let mut out = Vec::with_capacity(message.bytes.len() + params.len());
            trunkline_wire::Edits::one(span, params).write(message.bytes, &mut out);
            out
        }
        None => with(message.bytes, &[&b"\"params\":"[..], params].concat()),
    }
}

/// A fingerprint of what is asked for: everything in `params` but `_meta` and what comes when it is
/// asked again, in whatever order.
pub(crate) fn digest(params: &[u8]) -> [u8; 32] {
    let mut parts: Vec<_> = members(params)
        .filter(|(key, _)| key != "_meta" && !AGAIN.contains(&&**key))
        .map(|(key, value)| {
            let mut canonical = Vec::new();
            canonical_into(value.of(params), CANONICAL_DEPTH, &mut canonical);
            (key, canonical)
        })
        .collect();
    // The order of members means nothing (RFC 8259, 4): a client that comes again may write another
    // one.
    parts.sort();
    let mut context = Context::new(&SHA256);
    for (key, value) in parts {
        for part in [key.as_bytes(), &value] {
            // With its length: else `ab` + `c` and `a` + `bc` would be the same request.
            context.update(&u64::try_from(part.len()).unwrap_or(u64::MAX).to_le_bytes());
            context.update(part);
        }
    }
    context.finish().as_ref().try_into().unwrap_or_default()
}

/// Deeper than any request is; what is deeper counts as it is spelt.
// Bounded: the walk recurses, and a request may be nested as deep as it likes.
const CANONICAL_DEPTH: u8 = 64;

/// JSON with the members of objects in the order of their keys, without space between tokens and
/// with every string spelt in one way: clients that keep a request as values write it anew.
fn canonical_into(value: &[u8], depth: u8, out: &mut Vec<u8>) {
    let value = value.trim_ascii();
    match value.first() {
        Some(b'{') if depth > 0 => {
            let mut all: Vec<_> = members(value).collect();
            all.sort_by(|(one, _), (other, _)| one.cmp(other));
            out.push(b'{');
            for (key, member) in all {
                encode_into(&key, out);
                out.push(b':');
                canonical_into(member.of(value), depth - 1, out);
                out.push(b',');
            }
            out.push(b'}');
        }
        Some(b'[') if depth > 0 => {
            out.push(b'[');
            for element in elements(value) {
                canonical_into(element.of(value), depth - 1, out);
                out.push(b',');
            }
            out.push(b']');
        }
        Some(b'"') => match decode(value) {
            Some(text) => encode_into(&text, out),
            None => out.extend_from_slice(value),
        },
        _ => out.extend(squeezed(value)),
    }
}

/// JSON without the space between its tokens.
fn squeezed(value: &[u8]) -> Vec<u8> {
    let (mut quoted, mut escaped) = (false, false);
    let mut keep = |byte: &u8| {
        if quoted {
            (quoted, escaped) = (escaped || *byte != b'"', !escaped && *byte == b'\\');
            return true;
        }
        quoted = *byte == b'"';
        !byte.is_ascii_whitespace()
    };
    value.iter().copied().filter(|byte| keep(byte)).collect()
}

#[cfg(test)]
mod tests {
    use trunkline_wire::scan;

    use super::*;

    const STAMP: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c"},"io.modelcontextprotocol/clientCapabilities":{"roots":{}}"#;

    fn stamp() -> Stamp {
        Stamp::new(br#"{"name":"c"}"#, br#"{"roots":{}}"#, None)
    }

    #[test]
    fn what_a_session_has_said_stands_in_every_request() {
        for (request, expected) in [
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#,
                r#"{"params":{"_meta":{STAMP}},"jsonrpc":"2.0","id":1,"method":"m"}"#,
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{}}"#,
                r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{STAMP}}}"#,
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"name":"x", "arguments":{"n":1.0}}}"#,
                r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{STAMP},"name":"x", "arguments":{"n":1.0}}}"#,
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1,"_meta":{"progressToken":7}}}"#,
                r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1,"_meta":{STAMP,"progressToken":7}}}"#,
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{"io.modelcontextprotocol/clientInfo":5,"x":1}}}"#,
                r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{STAMP,"x":1}}}"#,
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":5,"a":1}}"#,
                r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{STAMP},"a":1}}"#,
            ),
        ] {
            let got = for_modern(&scan(request.as_bytes()).unwrap(), &stamp());
            let expected = expected.replace("STAMP", STAMP);
            assert_eq!(String::from_utf8(got.clone()).unwrap(), expected);
            scan(&got).unwrap();
        }
    }

    #[test]
    fn what_a_request_says_about_itself_is_not_told_to_the_older_era() {
        for (params, expected) in [
            (r#"{"name":"x","arguments":{"a":1.0}}"#, r#"{"name":"x","arguments":{"a":1.0}}"#),
            (
                r#"{"name":"x","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{},"traceparent":"t","io.modelcontextprotocol/clientCapabilities":{},"progressToken":1,"io.modelcontextprotocol/logLevel":"info"}}"#,
                r#"{"name":"x","_meta":{"traceparent":"t","progressToken":1}}"#,
            ),
            (r#"{"requestState":"s","inputResponses":{},"name":"x"}"#, r#"{"name":"x"}"#),
            (r#"{"_meta":{"io.modelcontextprotocol/logLevel":"info"}}"#, r#"{"_meta":{}}"#),
        ] {
            let message = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{params}}}"#);
            let got = for_legacy(&scan(message.as_bytes()).unwrap());
            assert_eq!(String::from_utf8(got).unwrap(), message.replace(params, expected));
        }
    }

    #[test]
    fn the_mark_of_our_own_subscription_is_taken_off() {
        for (params, expected) in [
            (
                r#"{"_meta":{"io.modelcontextprotocol/subscriptionId":7},"uri":"a"}"#,
                r#"{"uri":"a"}"#,
            ),
            (
                r#"{"uri":"a","_meta":{"x":1.0,"io.modelcontextprotocol/subscriptionId":"s"}}"#,
                r#"{"uri":"a","_meta":{"x":1.0}}"#,
            ),
            (r#"{"uri":"a"}"#, r#"{"uri":"a"}"#),
        ] {
            let message = format!(r#"{{"jsonrpc":"2.0","method":"m","params":{params}}}"#);
            let got = untagged(&scan(message.as_bytes()).unwrap());
            assert_eq!(String::from_utf8(got).unwrap(), message.replace(params, expected));
        }
    }

    #[test]
    fn a_level_and_more_can_be_stamped() {
        let stamp = Stamp::new(b"", b"", Some("debug")).and(b"\"a\":1");
        assert_eq!(
            String::from_utf8(stamp.on(b"")).unwrap(),
            r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/logLevel":"debug","a":1}}"#
        );
    }

    #[test]
    fn the_same_request_has_the_same_fingerprint() {
        let first = r#"{"name":"x","arguments":{"a":"b c"},"_meta":{"progressToken":1}}"#;
        for same in [
            r#"{"name":"x","arguments":{"a":"b c"}}"#,
            r#"{"arguments":{ "a" : "b c" },"name":"x","requestState":"s","inputResponses":{"k":{}}}"#,
            r#"{"arguments":{"\u0061":"b\u0020c"},"name":"x"}"#,
        ] {
            assert_eq!(digest(first.as_bytes()), digest(same.as_bytes()), "{same}");
        }
        let deep = r#"{"arguments":{"a":{"c":[1,{"e":1,"f":"\/"}],"d":2},"b":[ ]}}"#;
        let same = r#"{"arguments":{"b":[],"a":{"d":2, "c":[1, {"f":"/","e":1}]}}}"#;
        assert_eq!(digest(deep.as_bytes()), digest(same.as_bytes()));
        for other in [
            r#"{"arguments":{"b":[],"a":{"d":2, "c":[{"f":"/","e":1},1]}}}"#,
            r#"{"arguments":{"b":[],"a":{"d":2, "c":[1, {"f":"/","e":1}]},"g":null}}"#,
            r#"{"arguments":{"b":[[]],"a":{"d":2, "c":[1, {"f":"/","e":1}]}}}"#,
            r#"{"arguments":{"b":[],"a":{"d":1, "c":[1, {"f":"/","e":2}]}}}"#,
            r#"{"arguments":{"b":[],"a":{"d":"2", "c":[1, {"f":"/","e":1}]}}}"#,
        ] {
            assert_ne!(digest(deep.as_bytes()), digest(other.as_bytes()), "{other}");
        }
        let nested = |depth: usize, inner: &str| {
            format!(r#"{{"a":{}{inner}{}}}"#, "[".repeat(depth), "]".repeat(depth))
        };
        assert_eq!(digest(nested(999, " 1").as_bytes()), digest(nested(999, "1").as_bytes()));
        assert_ne!(digest(nested(999, "2").as_bytes()), digest(nested(999, "1").as_bytes()));
        for other in [
            r#"{"name":"y","arguments":{"a":"b c"}}"#,
            r#"{"name":"x","arguments":{"a":"bc"}}"#,
            r#"{"name":"x","arguments":{"a":"b\" c"}}"#,
            r#"{"name":"x"}"#,
            r#"{"name":"x","arguments":{"a":"b c"},"more":1}"#,
        ] {
            assert_ne!(digest(first.as_bytes()), digest(other.as_bytes()), "{other}");
        }
    }
}
