//! A key as the store has it, as it is checked, and as it is shown.

use trunkline_catalog::config::LimitRules;
use trunkline_store::KeyRecord;

use crate::access::{ApiKey, Grants, KeyId, Mac, Role};

/// A key that is to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewKey {
    pub name: String,
    pub role: Role,
    /// Patterns of the tools it may see and call; `None` is all.
    pub tools: Option<Vec<String>>,
    /// What it may have at most, as far as that is said.
    pub limits: LimitRules,
    /// In milliseconds since 1970; `None` is never.
    pub expires_at: Option<i64>,
}

/// A key as it may be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyInfo {
    pub id: String,
    pub name: String,
    pub role: String,
    /// `None` is all.
    pub tools: Option<Vec<String>>,
    pub limits: LimitRules,
    pub created_at: i64,
    pub expires_at: Option<i64>,
    pub last_used_at: Option<i64>,
    pub revoked_at: Option<i64>,
}

impl KeyInfo {
    /// A list of tools that cannot be read allows none, and is shown so.
    pub(super) fn of(record: KeyRecord) -> Self {
        let tools = record.tools.as_deref().map(|json| patterns(json).unwrap_or_default());
        Self {
            id: record.id,
            name: record.name,
            role: record.role,
            tools,
            limits: record.limits.as_deref().and_then(limits).unwrap_or_default(),
            created_at: record.created_at,
            expires_at: record.expires_at,
            last_used_at: record.last_used_at,
            revoked_at: record.revoked_at,
        }
    }
}

/// To be kept.
pub(super) fn made(new: &NewKey, id: &KeyId, mac: &Mac, at: i64) -> KeyRecord {
    KeyRecord {
        id: id.to_string(),
        prefix: id.to_string(),
        name: new.name.clone(),
        role: new.role.name().to_owned(),
        tools: new.tools.as_ref().map(|tools| serde_json::json!(tools).to_string()),
        limits: kept_limits(new.limits),
        mac: *mac.as_bytes(),
        created_at: at,
        expires_at: new.expires_at,
        last_used_at: None,
        revoked_at: None,
    }
}

/// To be checked against; `None` if it is damaged, and then it opens nothing.
pub(super) fn known(record: &KeyRecord) -> Option<ApiKey> {
    let grants = match record.tools.as_deref() {
        None => Grants::All,
        Some(json) => Grants::read(patterns(json)?.iter().map(String::as_str)).ok()?,
    };
    let limits = match record.limits.as_deref() {
        None => LimitRules::default(),
        Some(json) => limits(json)?,
    };
    Some(ApiKey {
        limits,
        id: KeyId::read(&record.id)?,
        name: record.name.clone(),
        role: Role::named(&record.role)?,
        grants,
        mac: Mac::from_bytes(record.mac),
        expires_at: record.expires_at.map(seconds),
        revoked_at: record.revoked_at.map(seconds),
    })
}

/// Rounded down: a key ends rather a moment too early.
pub(super) fn seconds(millis: i64) -> u64 {
    u64::try_from(millis.div_euclid(1_000)).unwrap_or(0)
}

/// As they are kept; `None`: nothing is said.
pub(super) fn kept_limits(limits: LimitRules) -> Option<String> {
    let said =
        limits.values().filter_map(|(it, value)| Some((it.stored.to_owned(), value?.into())));
    let said: serde_json::Map<_, _> = said.collect();
    (!said.is_empty()).then(|| serde_json::Value::Object(said).to_string())
}

/// `None`: they cannot be read, and whoever has the key must not have more than was meant.
fn limits(json: &str) -> Option<LimitRules> {
    let value: serde_json::Value = serde_json::from_str(json).ok()?;
    let object = value.as_object()?;
    let is_number = |value: &serde_json::Value| {
        value.as_u64().is_some_and(|value| u32::try_from(value).is_ok())
    };
    if !object.values().all(is_number) {
        return None;
    }
    let whole = |name: &str| u32::try_from(object.get(name)?.as_u64()?).ok();
    Some(LimitRules::of(|setting| whole(setting.stored)))
}

fn patterns(json: &str) -> Option<Vec<String>> {
    let value: serde_json::Value = serde_json::from_str(json).ok()?;
    value.as_array()?.iter().map(|pattern| pattern.as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> KeyRecord {
        let new = NewKey {
            name: "ci".to_owned(),
            role: Role::Caller,
            tools: Some(vec!["a.*".to_owned()]),
            limits: LimitRules { burst: Some(5), sessions: Some(0), ..LimitRules::default() },
            expires_at: Some(1_999),
        };
        made(&new, &KeyId::read("abcdefghij").unwrap(), &Mac::from_bytes([7; 32]), 5)
    }

    #[test]
    fn a_key_is_the_same_when_it_comes_back() {
        let known = known(&record()).unwrap();
        assert_eq!((known.id.as_str(), known.role), ("abcdefghij", Role::Caller));
        assert!(known.grants.allows("a", "x") && !known.grants.allows("b", "x"));
        assert_eq!(known.expires_at, Some(1));
        let info = KeyInfo::of(record());
        assert_eq!(info.tools.as_deref(), Some(&["a.*".to_owned()][..]));
        let expected = LimitRules { burst: Some(5), sessions: Some(0), ..LimitRules::default() };
        assert_eq!((known.limits, info.limits), (expected, expected));
        assert_eq!(kept_limits(LimitRules::default()), None);
    }

    #[test]
    fn by_a_record_that_cannot_be_read_nobody_gets_in() {
        let broken: &[fn(&mut KeyRecord)] = &[
            |record| record.role = "root".to_owned(),
            |record| record.tools = Some("[\"nodot\"]".to_owned()),
            |record| record.tools = Some("[1]".to_owned()),
            |record| record.tools = Some("{".to_owned()),
            |record| record.limits = Some("{".to_owned()),
            |record| record.limits = Some("{\"burst\":\"5\"}".to_owned()),
            |record| record.limits = Some("{\"burst\":-5}".to_owned()),
            |record| record.id = "short".to_owned(),
        ];
        for damage in broken {
            let mut record = record();
            damage(&mut record);
            assert_eq!(known(&record), None, "{record:?}");
        }
        let unreadable = KeyRecord { tools: Some("{".to_owned()), ..record() };
        assert_eq!(KeyInfo::of(unreadable).tools, Some(vec![]));
    }
}
