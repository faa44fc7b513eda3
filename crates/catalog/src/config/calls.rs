//! What a file says about the calls of one server: reads the settings of the table.

use super::call_rules::{CALL_SETTINGS, CallRules, CallSetting, SettingUnit};
use super::checker::{ConfigChecker, find};
use super::path::Path;
use super::problem::Problem;
use super::shape::{ConfigKey, Takes};
use super::spec::Rules;
use crate::jsonc::{JsonMember, Value};

#[expect(
    clippy::indexing_slicing,
    reason = "the compiler evaluates it: out of bounds does not build"
)]
pub(crate) const CALLS: [ConfigKey; CALL_SETTINGS.len()] = {
    let mut keys = [ConfigKey::new("", Takes::Anything, ""); CALL_SETTINGS.len()];
    let mut at = 0;
    while at < keys.len() {
        keys[at] = key(&CALL_SETTINGS[at]);
        at += 1;
    }
    keys
};

const fn key(setting: &CallSetting) -> ConfigKey {
    let takes = match setting.unit {
        SettingUnit::Seconds => {
            let (least, most) = setting.bounds();
            Takes::Seconds { least, most }
        }
        SettingUnit::Calls => Takes::Count { least: setting.least, most: setting.most },
    };
    ConfigKey::new(setting.key, takes, setting.doc)
}

impl ConfigChecker<'_> {
    pub(crate) fn calls(&mut self, members: &[JsonMember], at: &Path) -> CallRules {
        if self.rules == Rules::Simple {
            return CallRules::default();
        }
        CallRules::of(|setting| self.setting(members, at, setting))
    }

    fn setting(&mut self, members: &[JsonMember], at: &Path, setting: &CallSetting) -> Option<u32> {
        let key = setting.key;
        let member = find(members, key)?;
        let at = at.key(key);
        let Value::Number(text) = &member.value.value else {
            self.wrong_type(&member.value, &at, &format!("`{key}`"), "a number");
            return None;
        };
        let value = setting.read(text);
        if value.is_none() {
            let message = format!("`{key}` cannot be this number");
            self.report(Problem::schema(&at, member.value.span, message).help(setting.help()));
        }
        value
    }
}
