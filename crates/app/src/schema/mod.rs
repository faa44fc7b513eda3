//! The config file as a JSON Schema, made of the tables that the loader itself reads.
//!
//! Editors are told what the loader refuses for its shape, and nothing that it takes: keys of other
//! programs are fine. What no schema can say (keys given twice, servers that are not there) is left
//! to `trunkline check`. Draft 7: what editors know best.

mod values;

use serde_json::{Map, Value, json};
use trunkline_catalog::config::{ConfigKey, Object};
use values::{CONTROL_FREE, value};

/// The whole document, as it is shipped.
pub(crate) fn document() -> String {
    let mut text = format!("{:#}", schema());
    text.push('\n');
    text
}

fn schema() -> Value {
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Trunkline config",
        "description": "The MCP servers that Trunkline puts behind one endpoint.",
        "type": "object",
        "properties": properties(Object::File),
        "oneOf": [{ "required": ["mcpServers"] }, { "required": ["servers"] }],
        "definitions": {
            "servers": {
                "type": "object",
                "propertyNames": { "pattern": CONTROL_FREE },
                "additionalProperties": reference("server"),
            },
            "server": server(),
            "command": {
                "properties": with_type(Object::Stdio, &values::local_types()),
            },
            "remote": {
                "properties": with_type(Object::Remote, &values::remote_types()),
            },
            "renamed": object(Object::Renamed),
            "customTool": object(Object::CustomTool),
            "subtools": subtools(),
            "subtool": object(Object::Subtool),
            "client": object(Object::Client),
            "serverLimits": object(Object::ServerLimits),
            "limits": object(Object::Limits),
            "callerLimits": object(Object::CallerLimits),
            "sharedLimits": object(Object::SharedLimits),
            "sandbox": object(Object::Sandbox),
            "net": object(Object::Net),
            "container": object(Object::Container),
            "tls": object(Object::Tls),
        },
    })
}

pub(crate) fn reference(definition: &str) -> Value {
    json!({ "$ref": format!("#/definitions/{definition}") })
}

/// A server is a command or an address, which decides what its other keys mean: those of the other
/// kind have no effect, whatever they hold.
fn server() -> Value {
    let addresses = Object::Remote.keys();
    let addresses = addresses.iter().filter(|key| values::is_address(key));
    let ways = std::iter::once("command").chain(addresses.map(|key| key.name));
    let mut ways: Vec<Value> = ways.map(|way| json!({ "required": [way] })).collect();
    // An image may know its command itself.
    ways.push(json!({ "required": ["container"], "not": { "required": ["command"] } }));
    let both = |flag: bool| {
        json!({
            "properties": { "disabled": { "const": flag }, "enabled": { "const": flag } },
            "required": ["disabled", "enabled"],
        })
    };
    json!({
        "type": "object",
        "properties": properties(Object::Server),
        "oneOf": ways,
        "not": { "anyOf": [both(true), both(false)] },
        "if": { "required": ["command"] },
        "then": reference("command"),
        "else": reference("remote"),
    })
}

/// … each with a list, and one of these lists with something in it.
fn subtools() -> Value {
    let empty = json!({ "properties": { "tools": { "maxItems": 0 } }, "required": ["tools"] });
    json!({
        "type": "object",
        "additionalProperties": object(Object::OfServer),
        "minProperties": 1,
        "not": { "additionalProperties": empty },
    })
}

/// An object with these keys and any others.
fn object(of: Object) -> Value {
    let keys = of.keys();
    let needed: Vec<&str> = keys.iter().filter(|key| key.needed).map(|key| key.name).collect();
    json!({ "type": "object", "properties": properties(of), "required": needed })
}

fn properties(of: Object) -> Map<String, Value> {
    of.keys().into_iter().map(|key| (key.name.to_owned(), described(key))).collect()
}

/// The keys of one kind of server, with what its `type` may say.
fn with_type(of: Object, types: &Value) -> Map<String, Value> {
    let mut all = properties(of);
    all.insert("type".to_owned(), types.clone());
    all
}

/// In Draft 7 nothing beside a `$ref` counts.
fn described(key: &ConfigKey) -> Value {
    match value(key.takes) {
        Value::Object(mut shape) if !shape.contains_key("$ref") => {
            shape.insert("description".to_owned(), key.about.into());
            Value::Object(shape)
        }
        shape => json!({ "description": key.about, "allOf": [shape] }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_the_tables_is_described() {
        let schema = schema();
        let places = [
            ("/properties", Object::File),
            ("/definitions/server/properties", Object::Server),
            ("/definitions/command/properties", Object::Stdio),
            ("/definitions/remote/properties", Object::Remote),
            ("/definitions/renamed/properties", Object::Renamed),
            ("/definitions/customTool/properties", Object::CustomTool),
            ("/definitions/subtools/additionalProperties/properties", Object::OfServer),
            ("/definitions/subtool/properties", Object::Subtool),
            ("/definitions/client/properties", Object::Client),
            ("/definitions/serverLimits/properties", Object::ServerLimits),
            ("/definitions/limits/properties", Object::Limits),
            ("/definitions/callerLimits/properties", Object::CallerLimits),
            ("/definitions/sharedLimits/properties", Object::SharedLimits),
        ];
        for (place, object) in places {
            let found = schema.pointer(place).and_then(Value::as_object).expect(place);
            for key in object.keys() {
                assert_eq!(found[key.name]["description"], key.about, "{place}/{}", key.name);
            }
        }
    }

    #[test]
    fn the_shipped_schema_is_the_one_the_program_prints() {
        let shipped = include_str!("../../../../docs/config.schema.json");
        assert!(
            shipped == document(),
            "docs/config.schema.json is stale; write it anew: \
             cargo run -- schema > docs/config.schema.json"
        );
    }
}
