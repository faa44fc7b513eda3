//! `sandbox` of a registration: the walls around a server that is a command.

use serde_json::Value as Json;
use trunkline_catalog::config::{ContainerEngine, SandboxProfile, SandboxRules};
use trunkline_catalog::jsonc::Value;

use super::members::Members;
use crate::api::fault::{Pointer, RequestFault};
use crate::api::schema::{
    Case, EnumValues, Field, ObjectSchema, Schema, TextFormat, optional, required, text,
};
use crate::secrets::{BadSandbox, read_sandbox};

const PATHS: Schema =
    Schema::List { of: &text(1, 4000, TextFormat::AbsolutePath), least: 0, most: 200 };
const MOUNTS: Schema = Schema::List { of: &text(1, 4000, TextFormat::Mount), least: 0, most: 200 };
const HOST_NAMES: Schema =
    Schema::List { of: &text(1, 200, TextFormat::SandboxHost), least: 0, most: 200 };
const NAMES: Schema =
    Schema::List { of: &text(1, 200, TextFormat::VariableName), least: 0, most: 200 };
const PROFILES: EnumValues = EnumValues {
    known: &[SandboxProfile::Standard.word(), SandboxProfile::Strict.word()],
    case: Case::Sensitive,
};
const WORDS: EnumValues = EnumValues {
    known: &[
        SandboxProfile::Off.word(),
        SandboxProfile::Standard.word(),
        SandboxProfile::Strict.word(),
    ],
    case: Case::Sensitive,
};
const ENGINES: EnumValues = EnumValues {
    known: &[ContainerEngine::Podman.word(), ContainerEngine::Docker.word()],
    case: Case::Sensitive,
};

const HOSTS: ObjectSchema = ObjectSchema::request(
    "SandboxHosts",
    "The hosts that a server may reach.",
    &[required("hosts", HOST_NAMES, "`api.example.com:443`, `*.example.com` (ports 80 and 443).")],
);

const CONTAINER: ObjectSchema = ObjectSchema::request(
    "SandboxContainer",
    "The container that a server runs in.",
    &[
        required("image", text(1, 500, TextFormat::EngineName), "The image."),
        optional("engine", Schema::Enum(&ENGINES), "Who runs it; podman where there is one."),
        optional("mounts", MOUNTS, "`/path`, `/path:/target`, each with `:ro` (default) or `:rw`."),
        optional("network", text(1, 200, TextFormat::EngineName), "A network of the engine."),
    ],
);

const OBJECT: ObjectSchema = ObjectSchema::request(
    "Sandbox",
    "What a walled-in server may do beyond its profile.",
    &[
        optional("profile", Schema::Enum(&PROFILES), "What the rest is added to; `standard`."),
        optional("read", PATHS, "Absolute paths that it may read as well."),
        optional("write", PATHS, "Absolute paths that it may change as well."),
        optional(
            "net",
            Schema::OneOf(&[&Schema::Bool, &Schema::Object(&HOSTS)]),
            "Whether it may use the network, or which hosts of it.",
        ),
        optional("env", NAMES, "The only variables of Trunkline's own that are passed on to it."),
        optional("unix_sockets", Schema::Bool, "Whether it may use sockets of this machine."),
        optional("container", Schema::Object(&CONTAINER), "The container it runs in instead."),
    ],
);

/// A word or an object, in requests and in answers.
pub const SANDBOXES: Schema = Schema::OneOf(&[&Schema::Enum(&WORDS), &Schema::Object(&OBJECT)]);

pub(super) const SANDBOX: Field = optional(
    "sandbox",
    Schema::Nullable(&SANDBOXES),
    "The walls around the command: `off`, `standard`, `strict`, or what it may do; null is the platform's \
     default. Only an admin may make them wider.",
);

/// What a body says; the check has found it well formed.
pub(super) fn read(members: &Members<'_>, faults: &mut Vec<RequestFault>) -> Option<SandboxRules> {
    let value = members.value(SANDBOX.name).filter(|value| !matches!(value, Value::Null))?;
    match read_sandbox(&json(value)) {
        Ok(rules) => Some(rules),
        // The check says so already.
        Err(_) if !faults.is_empty() => None,
        Err(BadSandbox { at, message }) => {
            let root = Pointer::root().key(SANDBOX.name);
            let place = at.iter().fold(root, |place, key| place.key(key));
            faults.push(RequestFault::at(&place, message));
            None
        }
    }
}

/// Without numbers, of which a sandbox has none.
fn json(value: &Value) -> Json {
    match value {
        Value::String(text) => text.value.clone().into(),
        Value::Bool(flag) => (*flag).into(),
        Value::Array(items) => items.iter().map(|item| json(&item.value)).collect(),
        Value::Object(members) => Json::Object(
            members.iter().map(|it| (it.key.value.clone(), json(&it.value.value))).collect(),
        ),
        _ => Json::Null,
    }
}
