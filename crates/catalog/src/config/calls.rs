//! What a file says about the calls of one server: reads the settings of the table.

use super::call_rules::{CALL_TIMEOUT, CallRules, CallSetting, MAX_CONCURRENCY};
use super::checker::{ConfigChecker, find};
use super::path::Path;
use super::problem::Problem;
use super::shape::{ConfigKey, Takes};
use super::spec::Rules;
use crate::jsonc::{JsonMember, Value};

/// Those that stand in a server's entry itself.
pub(crate) const CALLS: [ConfigKey; 2] = [key(&CALL_TIMEOUT), key(&MAX_CONCURRENCY)];

pub(super) const fn key(setting: &CallSetting) -> ConfigKey {
    let takes = if setting.unit.has_parts() {
        let (least, most) = setting.bounds();
        Takes::Decimal { least, most }
    } else {
        Takes::Count { least: setting.least, most: setting.most }
    };
    ConfigKey::new(setting.key, takes, setting.doc)
}

impl ConfigChecker<'_> {
    pub(crate) fn calls(&mut self, members: &[JsonMember], at: &Path) -> CallRules {
        if self.rules == Rules::Simple {
            return CallRules::default();
        }
        CallRules::of(|setting| {
            let is_own = CALLS.iter().any(|key| key.name == setting.key);
            is_own.then(|| self.setting(members, at, setting))?
        })
    }

    pub(super) fn setting(
        &mut self,
        members: &[JsonMember],
        at: &Path,
        setting: &CallSetting,
    ) -> Option<u32> {
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
