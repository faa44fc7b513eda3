//! What a key takes, as a JSON Schema.

use serde_json::{Value, json};
use trunkline_catalog::client::Client;
use trunkline_catalog::config::{
    ConfigKey, HTTP_TYPES, LOCAL_TYPES, SSE_TYPES, SandboxProfile, Takes,
};

use super::reference;

/// Something, and no control character in it.
pub(super) const CONTROL_FREE: &str = r"^[^\u0000-\u001f\u007f-\u009f]+$";

/// No NUL, and something else than spaces.
const FILLED: &str = r"^[^\u0000]*[^\s\u0000][^\u0000]*$";

const NO_NUL: &str = r"^[^\u0000]*$";

/// A web address, or one with a variable in it, whose value is known at the start only.
const ADDRESS: &str = r"^(?:[^\u0000]*\$[^\u0000]*|[hH][tT][tT][pP][sS]?://(?:\[[0-9A-Fa-f:.]+\]|[-A-Za-z0-9._]+)(?::[0-9]{0,5})?(?:[/?#][^\s\u0000-\u001f\u007f-\u009f]*)?)$";

/// The characters of a token (RFC 9110).
const HEADER: &str = r"^[-!#$%&'*+.^_`|~0-9A-Za-z]+$";

/// One line; a tab may stand in it.
const HEADER_VALUE: &str = r"^[^\u0000-\u0008\u000a-\u001f\u007f-\u009f]*$";

/// The name of a variable.
const VARIABLE: &str = r"^[^=\u0000]+$";

pub(super) fn is_address(key: &ConfigKey) -> bool {
    key.takes == Takes::Address
}

pub(super) fn value(takes: Takes) -> Value {
    match takes {
        // `true` has no room for a description.
        Takes::Anything => json!({}),
        Takes::Text => json!({ "type": "string" }),
        Takes::Filled => json!({ "type": "string", "pattern": FILLED }),
        Takes::Name => name(),
        Takes::ToolName => json!({ "type": "string", "pattern": CONTROL_FREE }),
        Takes::Address => json!({ "type": "string", "pattern": ADDRESS }),
        Takes::Texts => {
            json!({ "type": "array", "items": { "type": "string", "pattern": NO_NUL } })
        }
        Takes::Variables => pairs(VARIABLE, NO_NUL),
        Takes::Headers => pairs(HEADER, HEADER_VALUE),
        Takes::Flag => json!({ "type": "boolean" }),
        Takes::Word(words) => json!({ "enum": words }),
        Takes::Type => one_of(&[LOCAL_TYPES.as_slice(), &HTTP_TYPES, &SSE_TYPES].concat()),
        Takes::Decimal { least, most } => {
            json!({ "type": "number", "minimum": least, "maximum": most })
        }
        Takes::IdleTime => json!({ "anyOf": [
            { "type": "number", "minimum": 1, "maximum": 604_800 },
            { "type": "string", "pattern": r"^(?:off|0*[1-9][0-9]*\s*(?:s|m|min|h|d)?)$" },
            { "const": false },
        ] }),
        Takes::Sandbox => json!({ "anyOf": [
            { "enum": SandboxProfile::ALL.map(SandboxProfile::word) },
            { "const": false },
            reference("sandbox"),
        ] }),
        Takes::Net => json!({ "anyOf": [{ "type": "boolean" }, reference("net")] }),
        Takes::Container => reference("container"),
        Takes::Tls => reference("tls"),
        Takes::Count { least, most } => {
            json!({ "type": "integer", "minimum": least, "maximum": most })
        }
        Takes::ToolNames => json!({ "type": "array", "items": name() }),
        Takes::Exposed => {
            json!({ "type": "array", "items": { "anyOf": [name(), reference("renamed")] } })
        }
        Takes::ExposedElsewhere => exposed_elsewhere(),
        Takes::Servers => reference("servers"),
        Takes::CustomTools => custom_tools(),
        Takes::Subtools => reference("subtools"),
        Takes::Presets => json!({
            "type": "object",
            "propertyNames": { "pattern": CONTROL_FREE },
            "additionalProperties": { "type": "array", "items": name() },
        }),
        Takes::Clients => json!({
            "type": "object",
            "propertyNames": { "enum": Client::ALL.map(Client::id) },
            "additionalProperties": reference("client"),
        }),
        Takes::ServerLimits => reference("serverLimits"),
        Takes::SharedLimits => reference("sharedLimits"),
        Takes::CallerLimits => reference("callerLimits"),
        Takes::Limits => reference("limits"),
        Takes::ToolLimits => json!({
            "type": "object",
            "propertyNames": { "minLength": 1 },
            "additionalProperties": reference("limits"),
        }),
        Takes::SubtoolList => {
            json!({ "type": "array", "items": { "anyOf": [name(), reference("subtool")] } })
        }
    }
}

pub(super) fn local_types() -> Value {
    one_of(&LOCAL_TYPES)
}

pub(super) fn remote_types() -> Value {
    one_of(&[HTTP_TYPES.as_slice(), &SSE_TYPES].concat())
}

fn name() -> Value {
    json!({ "type": "string", "minLength": 1 })
}

fn pairs(name: &str, text: &str) -> Value {
    let text = json!({ "type": "string", "pattern": text });
    let plain = json!({ "type": ["number", "boolean"] });
    json!({
        "type": "object",
        "propertyNames": { "pattern": name },
        "additionalProperties": { "anyOf": [text, plain] },
    })
}

/// Words in any case: as they are usually written, for editors to offer, and as a pattern.
fn one_of(words: &[&str]) -> Value {
    let either = |letter: char| match letter.is_ascii_alphabetic() {
        true => format!("[{}{}]", letter.to_ascii_lowercase(), letter.to_ascii_uppercase()),
        false => letter.to_string(),
    };
    let any_case: Vec<String> =
        words.iter().map(|word| word.chars().map(either).collect()).collect();
    let pattern = format!("^(?:{})$", any_case.join("|"));
    json!({ "anyOf": [{ "enum": words }, { "type": "string", "pattern": pattern }] })
}

/// Settings and permissions of other clients stand under the same key.
fn exposed_elsewhere() -> Value {
    json!({ "anyOf": [
        { "type": "array", "items": name() },
        { "type": "array", "contains": { "const": "*" } },
        { "type": "array", "contains": { "type": "object" } },
        { "type": "object" },
    ] })
}

/// Gemini CLI has settings under the same key: an object in which nothing looks like ours.
fn custom_tools() -> Value {
    let ours = json!({
        "type": "object",
        "anyOf": [
            { "maxProperties": 0 },
            { "required": ["description"] },
            { "required": ["subtools"] },
        ],
    });
    json!({
        "type": "object",
        "anyOf": [
            {
                "propertyNames": { "pattern": CONTROL_FREE },
                "additionalProperties": reference("customTool"),
            },
            { "additionalProperties": { "not": ours } },
        ],
    })
}
