//! The settings of a server's calls as members of requests and answers, made of their table.

use serde_json::Value;
use trunkline_catalog::config::{CALL_SETTINGS, CallRules, CallSetting, SettingUnit};
use trunkline_catalog::jsonc;

use super::{Field, Schema, SharedMembers, optional, required};

/// As they are written in a request: each may be absent or null.
pub const CALL_RULES: &[Field] = &fields(false);

impl SharedMembers for CallRules {
    const FIELDS: &'static [Field] = &fields(true);

    fn members(&self) -> impl Iterator<Item = (&'static str, Value)> {
        self.values().map(|(setting, value)| {
            // What a setting writes is a JSON number.
            let number = |value| serde_json::from_str(&setting.written(value)).ok();
            (setting.name, value.and_then(number).unwrap_or_default())
        })
    }
}

/// The value of a setting in a request; `None` if the check complains about it, or if it is null.
pub fn read_setting(setting: &CallSetting, value: Option<&jsonc::Value>) -> Option<u32> {
    match value {
        Some(jsonc::Value::Number(number)) => setting.read(number),
        _ => None,
    }
}

#[expect(
    clippy::indexing_slicing,
    reason = "the compiler evaluates it: out of bounds does not build"
)]
const SCHEMAS: &[Schema; CALL_SETTINGS.len()] = &{
    let mut schemas = [Schema::Anything; CALL_SETTINGS.len()];
    let mut at = 0;
    while at < schemas.len() {
        schemas[at] = schema(&CALL_SETTINGS[at]);
        at += 1;
    }
    schemas
};

const fn schema(setting: &CallSetting) -> Schema {
    match setting.unit {
        SettingUnit::Seconds => {
            let (least, most) = setting.bounds();
            Schema::Number { least, most }
        }
        SettingUnit::Calls => {
            Schema::Integer { least: setting.least as i64, most: setting.most as i64 }
        }
    }
}

#[expect(
    clippy::indexing_slicing,
    reason = "the compiler evaluates it: out of bounds does not build"
)]
const fn fields(is_required: bool) -> [Field; CALL_SETTINGS.len()] {
    let mut fields = [optional("", Schema::Anything, ""); CALL_SETTINGS.len()];
    let mut at = 0;
    while at < fields.len() {
        let (setting, schema) = (&CALL_SETTINGS[at], Schema::Nullable(&SCHEMAS[at]));
        let field = required(setting.name, schema, setting.doc);
        fields[at] = Field { is_required, ..field };
        at += 1;
    }
    fields
}
