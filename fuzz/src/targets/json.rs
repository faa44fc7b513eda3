//! JSON and JSON-RPC messages: `serde_json` reads the same text, and an edited message says the same.

use serde_json::Value;
use trunkline_wire::{
    Edits, Message, Outline, decode, elements, encode, is_json, members, pretty, salvage_id,
    salvage_token, scan,
};

/// Any bytes: is it JSON, and what is in it?
pub(crate) fn value(bytes: &[u8]) {
    let is = is_json(bytes);
    assert_eq!(is, serde_takes(bytes), "one reader says JSON, the other does not");
    let outline = Outline::of(bytes);
    if let Some(id) = outline.id {
        assert!(is_json(id), "an id that is no JSON");
    }
    let _ = (salvage_id(bytes), salvage_token(bytes));
    if is {
        walked(bytes);
    }
}

/// Strings may hold halves of surrogate pairs, which no `String` can hold: so nothing is built.
pub(crate) fn serde_takes(bytes: &[u8]) -> bool {
    // `serde_json` does not look at UTF-8 in what it skips.
    str::from_utf8(bytes).is_ok() && serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok()
}

fn walked(bytes: &[u8]) {
    let text = bytes.trim_ascii();
    for span in elements(text) {
        assert!(is_json(span.of(text)), "an element that is no JSON");
    }
    for (_, span) in members(text) {
        assert!(is_json(span.of(text)), "a member that is no JSON");
    }
    let Ok(known) = serde_json::from_slice::<Value>(bytes) else { return };
    match &known {
        Value::Array(known) => assert_eq!(elements(text).count(), known.len()),
        Value::String(known) => {
            let read = decode(text).expect("serde_json decodes it");
            assert_eq!(read, known.as_str());
            assert_eq!(decode(&encode(known)).as_deref(), Some(known.as_str()));
        }
        Value::Object(known) => {
            for (name, span) in members(text) {
                assert!(known.contains_key(name.as_ref()), "a member that is not there");
                assert!(serde_takes(span.of(text)));
            }
        }
        _ => {}
    }
    let shown: Value = serde_json::from_str(&pretty(text)).expect("pretty is JSON");
    assert_eq!(shown, known, "pretty says something else");
}

/// A line of a client or server.
pub(crate) fn message(bytes: &[u8]) {
    let Ok(message) = scan(bytes) else { return };
    assert!(is_json(bytes), "a message that is no JSON");
    let found = [message.id, message.result, message.error, message.params.span];
    for span in found.into_iter().flatten().chain(of_params(&message)) {
        assert!(is_json(span.of(bytes)), "a field that is no JSON");
    }
    if let Ok(Value::Object(known)) = serde_json::from_slice(bytes)
        && let Some(Value::String(method)) = known.get("method")
        && message.method.is_some()
    {
        assert_eq!(message.method(), method.as_bytes());
    }
    let Some(id) = message.id else { return };
    let edits = Edits::one(id, b"7");
    let mut edited = Vec::new();
    edits.write(bytes, &mut edited);
    assert_eq!(edited.len(), edits.length(bytes));
    let again = scan(&edited).expect("with another id it is still a message");
    assert_eq!(
        (again.kind, again.id(), again.method()),
        (message.kind, &b"7"[..], message.method())
    );
    assert_eq!(again.text(again.params.span), message.text(message.params.span));
    assert_eq!(again.text(again.result), message.text(message.result));
    assert_eq!(again.text(again.error), message.text(message.error));
}

fn of_params(message: &Message<'_>) -> impl Iterator<Item = trunkline_wire::Span> {
    let params = &message.params;
    let meta = &params.meta;
    [
        params.name,
        params.uri,
        params.arguments,
        params.cursor,
        params.request_id,
        params.progress_token,
        params.input_responses,
        params.request_state,
        meta.span,
        meta.progress_token,
        meta.version,
        meta.capabilities,
        meta.level,
        meta.subscription,
    ]
    .into_iter()
    .flatten()
}
