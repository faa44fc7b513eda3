//! What a request of the stateless era repeats in header fields, for those who do not read its body.
//! Pure.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use trunkline_catalog::{Listing, ParamHeader};
use trunkline_wire::{decode, member};

use crate::era::encoded;
use crate::upstream::transport::Heading;

/// The tools that want arguments in headers, by name.
pub(super) type Annotated = HashMap<String, Arc<[ParamHeader]>>;

/// Those of a listing.
pub(super) fn annotated(listing: &Listing) -> Annotated {
    let wanted = |headers: &Option<Arc<[ParamHeader]>>| headers.as_ref().map(Arc::clone);
    let tools = listing.tools().iter();
    tools.filter_map(|tool| Some((tool.name.clone(), wanted(&tool.headers)?))).collect()
}

/// Adds the fields for one request, complete lines. A value can never end its line: `encoded` lets
/// only printable characters through.
pub(super) fn fields(heading: &Heading<'_>, body: &[u8], tools: &Annotated, out: &mut Vec<u8>) {
    let Some(method) = text(heading.method) else { return };
    add("Mcp-Method", &method, out);
    let name = match &*method {
        "tools/call" | "prompts/get" | "resources/read" => heading.name.and_then(decode),
        "tasks/get" | "tasks/update" | "tasks/cancel" | "tasks/result" => {
            member(body, "params").and_then(|params| member(params, "taskId")).and_then(decode)
        }
        _ => None,
    };
    let Some(name) = name else { return };
    add("Mcp-Name", &name, out);
    if method == "tools/call"
        && !tools.is_empty()
        && let Some(headers) = tools.get(&*name)
    {
        for ParamHeader { name, path } in headers.iter() {
            if let Some(value) = value_at(heading.arguments.unwrap_or_default(), path) {
                add(&format!("Mcp-Param-{name}"), &value, out);
            }
        }
    }
}

/// A string that stands without its quotes.
fn text(inner: &[u8]) -> Option<Cow<'_, str>> {
    if !inner.contains(&b'\\') {
        return std::str::from_utf8(inner).ok().map(Cow::Borrowed);
    }
    let quoted = [b"\"", inner, b"\""].concat();
    decode(&quoted).map(|text| Cow::Owned(text.into_owned()))
}

fn add(name: &str, value: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    out.extend_from_slice(encoded(value).as_bytes());
    out.extend_from_slice(b"\r\n");
}

/// The argument at the path, as a header has it; `None`: there is none, or nothing that has a place
/// in one.
fn value_at(arguments: &[u8], path: &[String]) -> Option<String> {
    let value = path.iter().try_fold(arguments, |outer, key| member(outer, key))?;
    match value.first()? {
        b'"' => decode(value).map(Into::into),
        b't' | b'f' => String::from_utf8(value.to_vec()).ok(),
        b'-' | b'0'..=b'9' => Some(integer(std::str::from_utf8(value).ok()?)),
        _ => None,
    }
}

/// A whole number in plain digits, however it is written: `42.0` is 42.
fn integer(number: &str) -> String {
    /// Up to here every whole number has its own floating-point number.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.bytes().all(|byte| matches!(byte, b'-' | b'0'..=b'9')) {
        return number.to_owned();
    }
    match number.parse::<f64>() {
        Ok(value) if value.fract() == 0.0 && value.abs() < EXACT => format!("{value:.0}"),
        _ => number.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tools(headers: &[(&str, &[&str])]) -> Annotated {
        let headers: Vec<_> = headers
            .iter()
            .map(|(name, path)| ParamHeader {
                name: (*name).to_owned(),
                path: path.iter().map(|key| (*key).to_owned()).collect(),
            })
            .collect();
        Annotated::from([("t".to_owned(), headers.into())])
    }

    fn written(heading: &Heading<'_>, body: &str, tools: &Annotated) -> Vec<String> {
        let mut out = Vec::new();
        fields(heading, body.as_bytes(), tools, &mut out);
        let out = String::from_utf8(out).unwrap();
        assert!(out.ends_with("\r\n"), "{out:?}");
        out.trim_end_matches("\r\n").split("\r\n").map(str::to_owned).collect()
    }

    #[test]
    fn a_request_says_what_it_is_about() {
        let none = Annotated::new();
        for (method, name, body, expected) in [
            ("tools/list", None, "{}", &["Mcp-Method: tools/list"][..]),
            ("tools\\/call", Some("\"t\""), "{}", &["Mcp-Method: tools/call", "Mcp-Name: t"]),
            ("prompts/get", Some("\"p q\""), "{}", &["Mcp-Method: prompts/get", "Mcp-Name: p q"]),
            (
                "resources/read",
                Some("\"x://\\u00e9\""),
                "{}",
                &["Mcp-Method: resources/read", "Mcp-Name: =?base64?eDovL8Op?="],
            ),
            (
                "tools/call",
                Some("\"a\\r\\nX-Evil: 1\""),
                "{}",
                &["Mcp-Method: tools/call", "Mcp-Name: =?base64?YQ0KWC1FdmlsOiAx?="],
            ),
            ("completion/complete", Some("\"n\""), "{}", &["Mcp-Method: completion/complete"]),
            (
                "tasks/get",
                None,
                r#"{"params":{"taskId":"k-1"}}"#,
                &["Mcp-Method: tasks/get", "Mcp-Name: k-1"],
            ),
            ("a\\nb", None, "{}", &["Mcp-Method: =?base64?YQpi?="]),
        ] {
            let name = name.map(str::as_bytes);
            let heading = Heading { method: method.as_bytes(), name, arguments: None };
            assert_eq!(written(&heading, body, &none), expected, "{method}");
        }
    }

    #[test]
    fn arguments_are_repeated_where_the_tool_wants_it() {
        let tools = tools(&[("Region", &["region"]), ("Deep", &["a", "b"])]);
        for (arguments, expected) in [
            ("{}", &[][..]),
            (r#"{"region":null,"a":5}"#, &[]),
            (r#"{"region":"eu","other":"x"}"#, &["Mcp-Param-Region: eu"]),
            (r#"{"region":"eu\r\nX: 1"}"#, &["Mcp-Param-Region: =?base64?ZXUNClg6IDE=?="]),
            (r#"{"region":" "}"#, &["Mcp-Param-Region: =?base64?IA==?="]),
            (r#"{"region":42}"#, &["Mcp-Param-Region: 42"]),
            (r#"{"region":-7.0}"#, &["Mcp-Param-Region: -7"]),
            (r#"{"region":4.2e1}"#, &["Mcp-Param-Region: 42"]),
            (r#"{"region":1.5}"#, &["Mcp-Param-Region: 1.5"]),
            (r#"{"region":12345678901234567890}"#, &["Mcp-Param-Region: 12345678901234567890"]),
            (
                r#"{"region":true,"a":{"b":false}}"#,
                &["Mcp-Param-Region: true", "Mcp-Param-Deep: false"],
            ),
            (r#"{"region":["eu"],"a":{"b":{}}}"#, &[]),
            (r#"{"a":{"b":"\u0078"},"b":"no"}"#, &["Mcp-Param-Deep: x"]),
        ] {
            let heading = Heading {
                method: b"tools/call",
                name: Some(b"\"t\""),
                arguments: Some(arguments.as_bytes()),
            };
            let got = written(&heading, "{}", &tools);
            assert_eq!(&got[2..], expected, "{arguments}");
            let other = Heading { name: Some(b"\"u\""), ..heading };
            assert_eq!(written(&other, "{}", &tools).len(), 2);
        }
    }
}
