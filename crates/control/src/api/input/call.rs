//! `POST /tools/call`: which tool, and its arguments as the bytes they came in.

use std::collections::HashSet;

use trunkline_catalog::name::escaped;
use trunkline_wire::{decode, is_json, members};

use super::body::{Declared, MOST_ARGUMENTS, none, syntax};
use crate::api::fault::{Pointer, RequestFault};
use crate::api::problem::{Kind, Problem};
use crate::api::schema::{
    ObjectSchema, Schema, TextFormat, TextRule, nearest, optional, required, text,
};

#[derive(Clone, PartialEq, Eq)]
pub struct CallTool<'a> {
    /// `server.tool`, or with `server_id` the tool as its server calls it.
    pub name: String,
    pub server_id: Option<String>,
    /// An object, not a byte of it changed. It may hold line ends between its tokens.
    pub arguments: Option<&'a [u8]>,
}

/// Never shows the arguments.
impl std::fmt::Debug for CallTool<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { name, server_id, .. } = self;
        f.debug_struct("CallTool")
            .field("name", name)
            .field("server_id", server_id)
            .finish_non_exhaustive()
    }
}

impl<'a> CallTool<'a> {
    /// The arguments are proven to be JSON and not looked into: they are the server's affair,
    /// however deep they are and however often they repeat a key.
    pub fn read(body: &Declared<'a>) -> Result<Self, Problem> {
        let text = body.text(MOST_ARGUMENTS)?;
        let bytes = text.as_bytes();
        // One scan proves the syntax; a parser would build a tree of up to 64 MiB for nothing.
        if !is_json(bytes) {
            // Only what is broken is read again, for the place.
            let told = syntax(text).err();
            return Err(told.unwrap_or_else(|| {
                Problem::new(Kind::Malformed, "the body is not one JSON value")
            }));
        }
        let mut call = Self { name: String::new(), server_id: None, arguments: None };
        let mut faults = Vec::new();
        if bytes.trim_ascii_start().starts_with(b"{") {
            call.members(bytes, &mut faults);
        } else {
            faults.push(RequestFault::at(&Pointer::root(), "must be an object"));
        }
        none(faults)?;
        Ok(call)
    }

    fn members(&mut self, bytes: &'a [u8], faults: &mut Vec<RequestFault>) {
        let mut seen = HashSet::new();
        for (key, span) in members(bytes) {
            let value = span.of(bytes);
            let at = Pointer::root().key(&key);
            match key.as_ref() {
                "name" => self.name = string(value, &NAME, &at, faults).unwrap_or_default(),
                "server_id" if value == b"null" => {}
                "server_id" => self.server_id = string(value, &ID, &at, faults),
                "arguments" if value == b"null" => {}
                "arguments" if value.starts_with(b"{") => self.arguments = Some(value),
                "arguments" => faults.push(RequestFault::at(&at, "must be an object")),
                key => faults.push(unknown(key, &at)),
            }
            if !seen.insert(key.into_owned()) {
                faults.push(RequestFault::at(&at, "appears twice").hint("keep one of them"));
            }
        }
        let meant = |fault: &RequestFault| fault.hint.as_deref() == Some("did you mean `name`?");
        if !seen.contains("name") && !faults.iter().any(meant) {
            let fault = RequestFault::at(&Pointer::root().key("name"), "is missing");
            faults.push(fault.hint(NAME_DOC));
        }
    }
}

fn string(
    value: &[u8],
    rule: &TextRule,
    at: &Pointer,
    faults: &mut Vec<RequestFault>,
) -> Option<String> {
    let Some(found) = decode(value) else {
        faults.push(RequestFault::at(at, "must be a string"));
        return None;
    };
    let message = match found.chars().count() {
        0 => Some("must not be empty".to_owned()),
        length if length > rule.most => Some(format!("has more than {} characters", rule.most)),
        _ => rule.format.fault(&found).map(|(message, _)| message),
    };
    faults.extend(message.map(|message| RequestFault::at(at, message)));
    Some(found.into_owned())
}

fn unknown(key: &str, at: &Pointer) -> RequestFault {
    let fault = RequestFault::at(at, format!("unknown field `{}`", escaped(key)));
    match nearest(key, CALL_TOOL.fields.iter().map(|field| field.name)) {
        Some(guess) => fault.hint(format!("did you mean `{guess}`?")),
        None => fault.hint("expected one of name, server_id, arguments"),
    }
}

const NAME: TextRule = TextRule { least: 1, most: 1000, format: TextFormat::Line };
const ID: TextRule = TextRule { least: 1, most: 64, format: TextFormat::Line };
const NAME_DOC: &str = "`server.tool`; or, with `server_id`, the tool's name as its server has it.";

pub static CALL_TOOL: ObjectSchema = ObjectSchema::request(
    "CallTool",
    "A call of a tool.",
    &[
        required("name", Schema::Text(NAME), NAME_DOC).example("\"github-mcp.create_issue\""),
        optional(
            "server_id",
            Schema::Nullable(&text(ID.least, ID.most, ID.format)),
            "The server that has it, where `name` does not say so.",
        ),
        optional(
            "arguments",
            Schema::Nullable(&Schema::AnyObject),
            "What the tool is called with; passed on to the byte.",
        )
        .example(r#"{"repo":"owner/repo","title":"Bug report","body":"Description of the bug"}"#),
    ],
);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(bytes: &[u8]) -> Result<CallTool<'_>, Problem> {
        CallTool::read(&Declared { content_type: Some(b"application/json"), bytes })
    }

    #[test]
    fn arguments_are_the_bytes_they_came_in() {
        for (json, name, server, arguments) in [
            (r#"{"name":"a.b"}"#, "a.b", None, None),
            (r#"{"name":"a.b","arguments":{}}"#, "a.b", None, Some("{}")),
            (
                r#"{"arguments": { "n":1.0e0, "n":2, "s":"\u0041" } ,"name":"b","server_id":"1"}"#,
                "b",
                Some("1"),
                Some(r#"{ "n":1.0e0, "n":2, "s":"\u0041" }"#),
            ),
            (r#"{"n\u0061me":"a.b","arguments":null,"server_id":null}"#, "a.b", None, None),
            (
                r#"{"name":"a.b","arguments":{"x":"\ud800"}}"#,
                "a.b",
                None,
                Some(r#"{"x":"\ud800"}"#),
            ),
        ] {
            let call = read(json.as_bytes()).expect(json);
            assert_eq!((call.name.as_str(), call.server_id.as_deref()), (name, server), "{json}");
            assert_eq!(call.arguments, arguments.map(str::as_bytes), "{json}");
        }
    }

    #[test]
    fn deep_arguments_are_taken() {
        let deep = format!(
            r#"{{"name":"a","arguments":{{"x":{}{}}}}}"#,
            "[".repeat(5000),
            "]".repeat(5000)
        );
        assert_eq!(read(deep.as_bytes()).unwrap().arguments.map(<[u8]>::len), Some(10_006));
    }

    #[test]
    fn what_is_no_call_is_refused() {
        for (json, status, expected) in [
            ("", 400, "the body is empty"),
            ("{", 400, "line 1, column 2"),
            (r#"{"name":"a","arguments":{"x":}}"#, 400, "expected a value"),
            ("[]", 422, "the body must be an object"),
            ("{}", 422, "/name is missing"),
            (r#"{"name":1}"#, 422, "/name must be a string"),
            (r#"{"name":""}"#, 422, "/name must not be empty"),
            (r#"{"name":"a\n"}"#, 422, "/name has a control character"),
            (r#"{"name":"\ud800"}"#, 422, "/name must be a string"),
            (r#"{"name":"a","name":"b"}"#, 422, "/name appears twice"),
            (r#"{"name":"a","n\u0061me":"b"}"#, 422, "/name appears twice"),
            (r#"{"name":"a","arguments":[]}"#, 422, "/arguments must be an object"),
            (r#"{"name":"a","arguments":"{}"}"#, 422, "/arguments must be an object"),
            (r#"{"name":"a","args":{}}"#, 422, "/args unknown field `args`"),
            (r#"{"name":"a","server_id":7}"#, 422, "/server_id must be a string"),
            (r#"{"nmae":"a"}"#, 422, "one mistake: /nmae"),
        ] {
            let problem = read(json.as_bytes()).expect_err(json);
            assert_eq!(problem.status(), status, "{json}");
            assert!(problem.detail().contains(expected), "{json}: {}", problem.detail());
        }
    }

    #[test]
    fn debug_shows_no_arguments() {
        let call = read(br#"{"name":"a","arguments":{"password":"hunter2"}}"#).unwrap();
        assert!(!format!("{call:?}").contains("hunter2"));
    }

    proptest! {
        #[test]
        fn any_object_travels_unchanged(arguments in r#"\{ ?("[a-z]{0,3}" ?: ?[0-9]{1,3}(\.0|e1)?)?[ \n]?\}"#) {
            let arguments = if is_json(arguments.as_bytes()) { arguments } else { "{}".to_owned() };
            let body = format!(r#"{{"name":"x","arguments" : {arguments} }}"#);
            let call = read(body.as_bytes()).unwrap();
            prop_assert_eq!(call.arguments, Some(arguments.as_bytes()));
        }

        #[test]
        fn no_body_is_too_odd(bytes in any::<Vec<u8>>()) {
            let _ = read(&bytes);
        }
    }
}
