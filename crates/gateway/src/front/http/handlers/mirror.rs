//! Checks that the head of a stateless request repeats what its body says: proxies route by the head
//! (2026-07-28, Transports, Streamable HTTP). Pure.

use trunkline_catalog::ParamHeader;
use trunkline_http::Headers;
use trunkline_wire::{Message, Span, decode, find};

use crate::era::decoded;
use crate::error::CallError;

pub(crate) const VERSION: &str = "mcp-protocol-version";
pub(crate) const METHOD: &str = "mcp-method";
pub(crate) const NAME: &str = "mcp-name";
const PARAM: &str = "mcp-param-";

/// Is this the name of a header that repeats an argument? Which there are, the tools say.
pub(crate) fn repeats_argument(name: &str) -> bool {
    name.get(..PARAM.len()).is_some_and(|prefix| prefix.eq_ignore_ascii_case(PARAM))
}

/// The revision the head names, if the body has to be compared with it.
pub(crate) fn check_version(headers: &Headers<'_>, message: &Message<'_>) -> Result<(), CallError> {
    let said = one(headers, VERSION)?.ok_or_else(|| missing("MCP-Protocol-Version"))?;
    let meant = decode(message.text(message.params.meta.version));
    if meant.is_some_and(|meant| meant.as_bytes() != said) {
        return Err(mismatch("MCP-Protocol-Version", said, "the protocol version in `_meta`"));
    }
    Ok(())
}

/// `Mcp-Method` and `Mcp-Name`.
pub(crate) fn check_standard(
    headers: &Headers<'_>,
    message: &Message<'_>,
) -> Result<(), CallError> {
    let method = message.method();
    let said = one(headers, METHOD)?.ok_or_else(|| missing("Mcp-Method"))?;
    // A proxy has let the request pass for what the head says: the body must not ask for something
    // else.
    if said != &*method {
        return Err(mismatch("Mcp-Method", said, "the method"));
    }
    let params = &message.params;
    let (name, needed) = match &*method {
        b"tools/call" | b"prompts/get" => (params.name, true),
        b"resources/read" => (params.uri, true),
        // An extension, which may be younger than its clients.
        method if method.starts_with(b"tasks/") => (task(message), false),
        _ => return Ok(()),
    };
    let meant = name.and_then(|at| decode(at.of(message.bytes)));
    match (one(headers, NAME)?, meant) {
        (Some(said), Some(meant)) if decoded(said).as_deref() == Some(&*meant) => Ok(()),
        (Some(said), _) => Err(mismatch("Mcp-Name", said, "what the request is about")),
        (None, Some(_)) if needed => Err(missing("Mcp-Name")),
        (None, _) => Ok(()),
    }
}

fn task(message: &Message<'_>) -> Option<Span> {
    find(message.bytes, message.params.span?, &["taskId"])
}

/// The `Mcp-Param-…` that a tool's schema asks for.
pub(crate) fn check_params(
    headers: &Headers<'_>,
    wanted: &[ParamHeader],
    message: &Message<'_>,
) -> Result<(), CallError> {
    for header in wanted {
        let name = format!("Mcp-Param-{}", header.name);
        let path: Vec<&str> = header.path.iter().map(String::as_str).collect();
        let at = message.params.arguments.and_then(|from| find(message.bytes, from, &path));
        let value = message.text(at);
        let mut said = headers.all(&name);
        let (said, again) = (said.next(), said.next());
        // The proxy may have read the other one.
        if again.is_some() {
            return Err(CallError::HeaderMismatch(format!("{name} is there more than once")));
        }
        match (said, value) {
            // Of a kind that no header can carry: the server will say so.
            (None, [b'{' | b'[', ..]) | (None, b"" | b"null") => {}
            (Some(said), b"" | b"null") => {
                return Err(mismatch(&name, said, "the arguments, which have no such value"));
            }
            (None, _) => return Err(missing(&name)),
            (Some(said), value) if is_same(said, value) => {}
            (Some(said), _) => return Err(mismatch(&name, said, "the arguments")),
        }
    }
    Ok(())
}

/// Does the header say what the value, a text, number or truth value as written, is?
fn is_same(said: &[u8], value: &[u8]) -> bool {
    let Some(said) = decoded(said) else { return false };
    match value.first() {
        Some(b'"') => decode(value).is_some_and(|text| text == said),
        Some(b't' | b'f') => said.as_bytes() == value,
        Some(b'{' | b'[') => false, // no header can carry it
        _ => {
            let value = String::from_utf8_lossy(value);
            value == *said || whole(&said).is_some_and(|number| whole(&value) == Some(number))
        }
    }
}

/// A whole number, also with a fraction of nothing: `42` and `42.0` are the same.
fn whole(text: &str) -> Option<i64> {
    let (number, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let is_whole = !fraction.is_empty() && fraction.bytes().all(|digit| digit == b'0');
    number.parse().ok().filter(|_| is_whole && !number.starts_with('+'))
}

/// The only value of a header.
fn one<'a>(headers: &Headers<'a>, name: &'static str) -> Result<Option<&'a [u8]>, CallError> {
    headers.once(name).map_err(|bad| CallError::HeaderMismatch(bad.to_string()))
}

fn missing(name: &str) -> CallError {
    CallError::HeaderMismatch(format!("{name} is missing"))
}

fn mismatch(name: &str, said: &[u8], what: &str) -> CallError {
    let said = String::from_utf8_lossy(said);
    CallError::HeaderMismatch(format!("{name} {said:?} is not {what}"))
}

#[cfg(test)]
mod tests {
    use trunkline_http::request;
    use trunkline_wire::scan;

    use super::*;

    /// The one place that knows how to ask; the tests below are data.
    fn check(
        fields: &[&str],
        method: &str,
        params: &str,
        check: impl Fn(&Headers<'_>, &Message<'_>) -> Result<(), CallError>,
    ) -> String {
        let head = format!("POST /mcp HTTP/1.1\r\nHost: a\r\n{}\r\n\r\n", fields.join("\r\n"));
        let (request, _) = request(head.as_bytes()).unwrap().unwrap();
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
        let outcome = check(&request.headers, &scan(body.as_bytes()).unwrap());
        outcome.map_or_else(|error| error.to_string(), |()| "fine".to_owned())
    }

    #[test]
    fn the_head_names_the_revision_of_the_body() {
        let meta = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#;
        for (fields, params, expected) in [
            (&["MCP-Protocol-Version: 2026-07-28"][..], meta, "fine"),
            (&["mcp-protocol-version:2026-07-28 "], meta, "fine"),
            (&["X: 1"], meta, "Header mismatch: MCP-Protocol-Version is missing"),
            (
                &["MCP-Protocol-Version: 2025-11-25"],
                meta,
                "Header mismatch: MCP-Protocol-Version \"2025-11-25\" is not the protocol version in `_meta`",
            ),
            (&["MCP-Protocol-Version: 2026-07-28"], "{}", "fine"),
        ] {
            assert_eq!(check(fields, "m", params, check_version), expected, "{fields:?}");
        }
        let twice = ["MCP-Protocol-Version: 2026-07-28", "MCP-Protocol-Version: 2026-07-28"];
        assert!(check(&twice, "m", meta, check_version).starts_with("Header mismatch"));
    }

    #[test]
    fn the_head_names_method_and_name() {
        let named = r#"{"name":"git:log"}"#;
        for (fields, method, params, fine) in [
            (&["Mcp-Method: tools/list"][..], "tools/list", "{}", true),
            (&["mcp-METHOD: tools/list"], "tools\\/list", "{}", true),
            (&["Mcp-Method: TOOLS/LIST"], "tools/list", "{}", false),
            (&["Mcp-Method: prompts/list"], "tools/list", "{}", false),
            (&["X: 1"], "tools/list", "{}", false),
            (&["Mcp-Method: tools/call", "Mcp-Name:   git:log  "], "tools/call", named, true),
            (&["Mcp-Method: tools/call", "Mcp-Name: log"], "tools/call", named, false),
            (&["Mcp-Method: tools/call"], "tools/call", named, false),
            (&["Mcp-Method: tools/call"], "tools/call", "{}", true),
            (&["Mcp-Method: tools/call", "Mcp-Name: x"], "tools/call", "{}", false),
            (
                &["Mcp-Method: prompts/get", "Mcp-Name: =?base64?w6k=?="],
                "prompts/get",
                r#"{"name":"\u00e9"}"#,
                true,
            ),
            (
                &["Mcp-Method: prompts/get", "Mcp-Name: =?base64?w6k?="],
                "prompts/get",
                r#"{"name":"\u00e9"}"#,
                false,
            ),
            (
                &["Mcp-Method: resources/read", "Mcp-Name: a://x"],
                "resources/read",
                r#"{"uri":"a://x"}"#,
                true,
            ),
            (&["Mcp-Method: resources/read"], "resources/read", r#"{"uri":"a://x"}"#, false),
            (&["Mcp-Method: tasks/get", "Mcp-Name: t1"], "tasks/get", r#"{"taskId":"t1"}"#, true),
            (&["Mcp-Method: tasks/get"], "tasks/get", r#"{"taskId":"t1"}"#, true),
            (&["Mcp-Method: tasks/get", "Mcp-Name: t2"], "tasks/get", r#"{"taskId":"t1"}"#, false),
        ] {
            let got = check(fields, method, params, check_standard);
            assert_eq!(got == "fine", fine, "{fields:?} {method} {params}: {got}");
            assert!(fine || got.starts_with("Header mismatch: "), "{got}");
        }
    }

    #[test]
    fn arguments_are_repeated_as_the_schema_says() {
        let wanted =
            [ParamHeader { name: "Value".to_owned(), path: vec!["a".to_owned(), "b".to_owned()] }];
        for (field, value, fine) in [
            ("Mcp-Param-Value: Hello", r#""Hello""#, true),
            ("MCP-PARAM-VALUE: Hello", r#""Hel\u006co""#, true),
            ("Mcp-Param-Value: =?base64?SGVsbG8=?=", r#""Hello""#, true),
            ("Mcp-Param-Value: SGVsbG8=", r#""SGVsbG8=""#, true),
            ("Mcp-Param-Value: =?base64?SGVsbG8=", r#""=?base64?SGVsbG8=""#, true),
            ("Mcp-Param-Value: =?base64?SGVsbG8?=", r#""Hello""#, false),
            ("Mcp-Param-Value: =?base64?SGVs!!!bG8=?=", r#""Hello""#, false),
            ("Mcp-Param-Value: Hello", r#""hello""#, false),
            ("X: 1", r#""Hello""#, false),
            ("Mcp-Param-Value:", r#""""#, true),
            ("X: 1", r#""""#, false),
            ("X: 1", "null", true),
            ("Mcp-Param-Value: null", "null", false),
            ("Mcp-Param-Value: 42", "42", true),
            ("Mcp-Param-Value: 42", "42.0", true),
            ("Mcp-Param-Value: 42.0", "42", true),
            ("Mcp-Param-Value: -7", "-7", true),
            ("Mcp-Param-Value: 42", "43", false),
            ("Mcp-Param-Value: 42.5", "42", false),
            ("Mcp-Param-Value: forty", "40", false),
            ("Mcp-Param-Value: true", "true", true),
            ("Mcp-Param-Value: True", "true", false),
            ("Mcp-Param-Value: false", "true", false),
            ("X: 1", "{}", true),
            ("Mcp-Param-Value: {}", "{}", false),
            ("Mcp-Param-Value: [1]", "[1]", false),
        ] {
            let params = format!(r#"{{"name":"t","arguments":{{"a":{{"b":{value}}}}}}}"#);
            let got = check(&[field], "tools/call", &params, |headers, message| {
                check_params(headers, &wanted, message)
            });
            assert_eq!(got == "fine", fine, "{field} {value}: {got}");
        }
        for params in [r#"{"name":"t"}"#, r#"{"name":"t","arguments":{"a":5}}"#] {
            for (field, fine) in [("X: 1", true), ("Mcp-Param-Value: x", false)] {
                let got = check(&[field], "tools/call", params, |headers, message| {
                    check_params(headers, &wanted, message)
                });
                assert_eq!(got == "fine", fine, "{field} {params}: {got}");
            }
        }
    }
}
