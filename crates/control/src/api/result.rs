//! The answer of `POST /tools/call`: the tool's result as its server wrote it, and what we add.
//!
//! Our `metadata` comes as the last member and no other byte changes. A tool whose result has a
//! `metadata` of its own keeps it; ours is then called `_trunkline` (with more `_` before it, should
//! the result have that, too).

use std::time::Duration;

use trunkline_wire::{Kind as Message, encode_into, is_json, members, scan};

use super::problem::{About, Kind, Problem};
use crate::services::server_error;

pub const METADATA: &str = "metadata";
const OTHERWISE: &str = "_trunkline";

/// What we say about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metadata<'a> {
    /// The server's name.
    pub routed_to: &'a str,
    /// Ours: from the request's last byte to the server's first, and back.
    pub routing_time: Duration,
    /// The server's.
    pub execution_time: Duration,
}

/// What the answer of a server (a whole JSON-RPC message) becomes over REST.
pub fn answer(message: &[u8], server: &About, metadata: &Metadata<'_>) -> Result<Vec<u8>, Problem> {
    let name = &server.name;
    let unusable = || {
        let detail = format!("`{name}` answered with something that is not a tool's result");
        Problem::new(Kind::BadAnswer, detail).server(server.clone())
    };
    let scanned = scan(message).map_err(|_| unusable())?;
    match (scanned.kind, scanned.result, scanned.error) {
        (Message::Answer, Some(result), _) => {
            with_metadata(result.of(message), metadata).ok_or_else(unusable)
        }
        (Message::Refusal, _, Some(error)) => Err(server_error(error.of(message), server)),
        _ => Err(unusable()),
    }
}

/// The result with our metadata; `None` if it is not an object.
pub fn with_metadata(result: &[u8], metadata: &Metadata<'_>) -> Option<Vec<u8>> {
    let trimmed = result.trim_ascii_end();
    let open = trimmed.strip_suffix(b"}").filter(|_| is_json(result))?;
    if !trimmed.trim_ascii_start().starts_with(b"{") {
        return None;
    }
    let mut out = Vec::with_capacity(result.len() + 160);
    out.extend_from_slice(open);
    if members(result).next().is_some() {
        out.push(b',');
    }
    encode_into(&free_name(result), &mut out);
    out.push(b':');
    write(metadata, &mut out);
    out.push(b'}');
    out.extend_from_slice(result.get(trimmed.len()..).unwrap_or_default());
    Some(out)
}

fn free_name(result: &[u8]) -> String {
    let taken = |name: &str| members(result).any(|(key, _)| key == name);
    if !taken(METADATA) {
        return METADATA.to_owned();
    }
    let mut name = OTHERWISE.to_owned();
    while taken(&name) {
        name.insert(0, '_');
    }
    name
}

fn write(metadata: &Metadata<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"routed_to\":");
    encode_into(metadata.routed_to, out);
    out.extend_from_slice(b",\"routing_time_ms\":");
    out.extend_from_slice(millis(metadata.routing_time).as_bytes());
    out.extend_from_slice(b",\"execution_time_ms\":");
    out.extend_from_slice(millis(metadata.execution_time).as_bytes());
    out.push(b'}');
}

/// To the microsecond: `12.5`, `0.034`, `3.0`.
fn millis(time: Duration) -> String {
    let micros = time.as_micros();
    let text = format!("{}.{:03}", micros / 1000, micros % 1000);
    let short = text.trim_end_matches('0');
    if short.ends_with('.') { format!("{short}0") } else { short.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    const METADATA: Metadata<'_> = Metadata {
        routed_to: "github-mcp",
        routing_time: Duration::from_micros(12_500),
        execution_time: Duration::from_micros(450_200),
    };
    const OURS: &str =
        r#"{"routed_to":"github-mcp","routing_time_ms":12.5,"execution_time_ms":450.2}"#;

    fn about() -> About {
        About { id: "1".into(), name: "github-mcp".into(), status: "CONNECTED" }
    }

    #[test]
    fn metadata_comes_last_and_nothing_else_changes() {
        for (result, before, after) in [
            ("{}", "{\"metadata\":", "}"),
            ("{ }", "{ \"metadata\":", "}"),
            (
                r#"{"content":[],"isError":false}"#,
                r#"{"content":[],"isError":false,"metadata":"#,
                "}",
            ),
            ("{\"a\":1.0 \n} ", "{\"a\":1.0 \n,\"metadata\":", "} "),
            (r#" {"a":"}"}"#, r#" {"a":"}","metadata":"#, "}"),
            (r#"{"metadata":1}"#, r#"{"metadata":1,"_trunkline":"#, "}"),
            (r#"{"m\u0065tadata":1}"#, r#"{"m\u0065tadata":1,"_trunkline":"#, "}"),
            (
                r#"{"metadata":1,"_trunkline":2}"#,
                r#"{"metadata":1,"_trunkline":2,"__trunkline":"#,
                "}",
            ),
            (r#"{"x":{"metadata":1}}"#, r#"{"x":{"metadata":1},"metadata":"#, "}"),
        ] {
            let got = with_metadata(result.as_bytes(), &METADATA).expect(result);
            let got = String::from_utf8(got).unwrap();
            assert_eq!(got, format!("{before}{OURS}{after}"));
        }
    }

    #[test]
    fn what_is_no_object_is_no_result() {
        for result in ["", "[]", "null", "1", "\"}\"", "{", "}", "{}}", "[{}", "{\"a\":}", "x}"] {
            assert_eq!(with_metadata(result.as_bytes(), &METADATA), None, "{result}");
        }
    }

    #[test]
    fn times_are_written_to_the_microsecond() {
        for (micros, expected) in
            [(0, "0.0"), (34, "0.034"), (500, "0.5"), (3000, "3.0"), (1_234_567, "1234.567")]
        {
            assert_eq!(millis(Duration::from_micros(micros)), expected);
        }
    }

    #[test]
    fn answers_become_results_and_errors_become_problems() {
        let ok = br#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#;
        let body = answer(ok, &about(), &METADATA).unwrap();
        assert!(body.starts_with(br#"{"content":[],"metadata":{"#));
        for (message, status, part) in [
            (
                r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no \"quota\"\n"}}"#,
                502,
                r#""error":{"code":-32000,"message":"no \"quota\"\n"}}"#,
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"error":{"code":1.5}}"#,
                502,
                "`github-mcp` answered with an error",
            ),
            (r#"{"jsonrpc":"2.0","id":1,"result":[]}"#, 502, "not a tool's result"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"x"}"#, 502, "not a tool's result"),
            ("{", 502, "not a tool's result"),
        ] {
            let problem = answer(message.as_bytes(), &about(), &METADATA).unwrap_err();
            let body = String::from_utf8(problem.json()).unwrap();
            assert_eq!(problem.status(), status);
            assert!(body.contains(part), "{body}");
            assert!(body.contains(r#""server":{"id":"1""#), "{body}");
        }
    }

    /// Objects as serde writes them, compact or spread out.
    fn object() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            ".{0,12}".prop_map(Value::from),
        ];
        let value = leaf.prop_recursive(3, 24, 4, |inner| {
            let key = prop_oneof![".{0,6}", Just("metadata".to_owned())];
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((key, inner), 0..4)
                    .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
            ]
        });
        let key = prop_oneof![".{0,6}", Just("metadata".to_owned()), Just("_trunkline".to_owned())];
        let members = prop::collection::vec((key, value), 0..5);
        (members, any::<bool>()).prop_map(|(members, pretty)| {
            let value = Value::Object(members.into_iter().collect());
            if pretty { format!("{value:#}\n") } else { value.to_string() }
        })
    }

    proptest! {
        #[test]
        fn taking_ours_out_again_gives_the_tools_bytes(result in object()) {
            let got = with_metadata(result.as_bytes(), &METADATA).unwrap();
            prop_assert!(is_json(&got));
            let got = String::from_utf8(got).unwrap();
            let at = got.rfind(OURS).unwrap();
            let before = got.get(..at).unwrap();
            let name = before.rfind("\"metadata\":").max(before.rfind("_trunkline\":")).unwrap();
            let name = before.get(..=name).unwrap().rfind('"').unwrap();
            let before = before.get(..name).unwrap();
            let before = before.strip_suffix(',').unwrap_or(before);
            let after = got.get(at + OURS.len()..).unwrap();
            prop_assert_eq!(&format!("{before}{after}"), &result);
            // and whoever reads it finds every member as it was
            let was: Value = serde_json::from_str(&result).unwrap();
            let is: Value = serde_json::from_str(&got).unwrap();
            prop_assert_eq!(is.as_object().unwrap().len(), was.as_object().unwrap().len() + 1);
            for (key, value) in was.as_object().unwrap() {
                prop_assert_eq!(&is[key], value);
            }
        }

        #[test]
        fn no_bytes_are_too_odd(result in any::<Vec<u8>>()) {
            if let Some(got) = with_metadata(&result, &METADATA) {
                prop_assert!(is_json(&result) && is_json(&got));
            }
        }
    }
}
