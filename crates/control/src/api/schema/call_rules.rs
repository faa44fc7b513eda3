//! The settings of a server's calls as members of requests and answers, made of their table.

use serde::{Serialize, Serializer};
use serde_json::Value;
use trunkline_catalog::config::{
    CALL_SETTINGS, CallRules, CallSetting, LIMIT_SETTINGS, LimitRules,
};
use trunkline_catalog::jsonc;

use super::{
    Described, Field, FromJson, ObjectSchema, Schema, SharedMembers, UnknownKeys, optional,
    required,
};

/// As they are written in a request: each may be absent or null.
pub const CALL_RULES: &[Field] = &fields(CALL_SETTINGS, SCHEMAS, false);

/// What a caller may have: each may be absent or null.
pub const LIMITS: Schema = Schema::Object(&ObjectSchema {
    name: "Limits",
    doc: "What a caller may have at most. A limit that is absent or null is the default; 0 is no limit.",
    fields: &fields(LIMIT_SETTINGS, LIMIT_SCHEMAS, false),
    shared: &[],
    refused: &[],
    unknown_keys: UnknownKeys::Refused,
});

/// Limits as they are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShownLimits(pub LimitRules);

impl Described for ShownLimits {
    const SCHEMA: Schema = LIMITS;
}

impl Serialize for ShownLimits {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(
            self.0.values().map(|(setting, value)| (setting.name, shown(setting, value))),
        )
    }
}

impl FromJson for LimitRules {
    fn from_json(value: &jsonc::Value) -> Option<Self> {
        let jsonc::Value::Object(members) = value else { return None };
        Some(Self::of(|setting| {
            let member = members.iter().find(|member| member.key.value == setting.name);
            read_setting(setting, member.map(|member| &member.value.value))
        }))
    }

    fn absent() -> Self {
        Self::default()
    }
}

impl Described for LimitRules {
    const SCHEMA: Schema = LIMITS;
}

/// A setting writes a JSON number.
fn shown(setting: &CallSetting, value: Option<u32>) -> Value {
    let number = |value| serde_json::from_str(&setting.written(value)).ok();
    value.and_then(number).unwrap_or_default()
}

impl SharedMembers for CallRules {
    const FIELDS: &'static [Field] = &fields(CALL_SETTINGS, SCHEMAS, true);

    fn members(&self) -> impl Iterator<Item = (&'static str, Value)> {
        self.values().map(|(setting, value)| (setting.name, shown(setting, value)))
    }
}

/// The value of a setting in a request; `None` if the check complains about it, or if it is null.
pub fn read_setting(setting: &CallSetting, value: Option<&jsonc::Value>) -> Option<u32> {
    match value {
        Some(jsonc::Value::Number(number)) => setting.read(number),
        _ => None,
    }
}

const SCHEMAS: &[Schema; CALL_SETTINGS.len()] = &schemas(CALL_SETTINGS);
const LIMIT_SCHEMAS: &[Schema; LIMIT_SETTINGS.len()] = &schemas(LIMIT_SETTINGS);

#[expect(
    clippy::indexing_slicing,
    reason = "the compiler evaluates it: out of bounds does not build"
)]
const fn schemas<const N: usize>(settings: &[CallSetting; N]) -> [Schema; N] {
    let mut schemas = [Schema::Anything; N];
    let mut at = 0;
    while at < N {
        schemas[at] = schema(&settings[at]);
        at += 1;
    }
    schemas
}

const fn schema(setting: &CallSetting) -> Schema {
    if setting.unit.has_parts() {
        let (least, most) = setting.bounds();
        return Schema::Number { least, most };
    }
    Schema::Integer { least: setting.least as i64, most: setting.most as i64 }
}

#[expect(
    clippy::indexing_slicing,
    reason = "the compiler evaluates it: out of bounds does not build"
)]
const fn fields<const N: usize>(
    settings: &'static [CallSetting; N],
    schemas: &'static [Schema; N],
    is_required: bool,
) -> [Field; N] {
    let mut fields = [optional("", Schema::Anything, ""); N];
    let mut at = 0;
    while at < N {
        let (setting, schema) = (&settings[at], Schema::Nullable(&schemas[at]));
        let field = required(setting.name, schema, setting.doc);
        fields[at] = Field { is_required, ..field };
        at += 1;
    }
    fields
}
