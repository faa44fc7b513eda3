//! Making, listing and revoking keys: each change in one transaction with the record that tells of it.

use trunkline_catalog::config::LimitRules;
use trunkline_store::{Change, KeyRecord, NewAudit, StoreError};
use zeroize::Zeroizing;

use super::holder::{ApiKeys, KeysError, MARK};
use super::record::{KeyInfo, NewKey, kept_limits, known, made, seconds};
use crate::access::{self, Grants, KeyId, Principal, Secret};

/// Who asks for a change, and from where: for the audit.
#[derive(Debug, Clone, Copy)]
pub struct Actor<'a> {
    pub principal: &'a Principal,
    pub address: Option<&'a str>,
    pub request_id: Option<&'a str>,
}

/// A new key, and what its owner gets to see once.
#[derive(Debug)]
pub struct CreatedKey {
    pub info: KeyInfo,
    pub secret: Secret,
}

impl ApiKeys {
    /// `now` in milliseconds since 1970, as all times here.
    pub async fn create(
        &self,
        new: &NewKey,
        by: Actor<'_>,
        now: i64,
    ) -> Result<CreatedKey, KeysError> {
        if self.fixed.is_locked {
            return Err(KeysError::Locked);
        }
        if let Some(tools) = &new.tools {
            Grants::read(tools.iter().map(String::as_str))
                .map_err(|(at, fault)| KeysError::Pattern { at, why: fault.to_string() })?;
        }
        let seed = Zeroizing::new(access::random()?);
        let (id, mac, secret) = access::make_key(&self.fixed.pepper, &seed);
        let record = made(new, &id, &mac, now);
        let detail = format!("{} ({}) as {}", id, new.name, record.role);
        let changes = vec![Change::InsertKey(record.clone()), mark()?];
        self.store.commit(changes, vec![audit_record("create-key", &detail, by, now)]).await?;
        if let Some(key) = known(&record) {
            self.apply(|keys| drop(keys.insert(id, key)));
        }
        Ok(CreatedKey { info: KeyInfo::of(record), secret })
    }

    /// By id, those after this one; and how many there are in all.
    pub async fn list(
        &self,
        after: &str,
        limit: usize,
    ) -> Result<(Vec<KeyInfo>, usize), KeysError> {
        let page = self.store.keys(after, limit).await?;
        let with_last_use = |mut record: KeyRecord| {
            // Written once a minute; known here at once.
            record.last_used_at = record.last_used_at.max(self.last_use(&record.id));
            KeyInfo::of(record)
        };
        Ok((page.into_iter().map(with_last_use).collect(), self.known().keys.len()))
    }

    /// From now on it is refused. One that is revoked already stays so.
    pub async fn revoke(&self, id: &str, by: Actor<'_>, now: i64) -> Result<(), KeysError> {
        let record = self.store.key(id).await?;
        let detail = format!("{} ({})", record.id, record.name);
        let changes = vec![Change::RevokeKey { id: record.id, at: now }, mark()?];
        self.store.commit(changes, vec![audit_record("revoke-key", &detail, by, now)]).await?;
        self.apply(|keys| {
            if let Some(key) = KeyId::read(id).and_then(|id| keys.get_mut(&id)) {
                key.revoked_at.get_or_insert(seconds(now));
            }
        });
        Ok(())
    }

    /// What it may have from now on. Sessions that are open keep what they have used.
    pub async fn limit(
        &self,
        id: &str,
        limits: LimitRules,
        by: Actor<'_>,
        now: i64,
    ) -> Result<KeyInfo, KeysError> {
        let mut record = self.store.key(id).await?;
        if record.revoked_at.is_some() {
            return Err(StoreError::NotFound.into()); // nobody can use it any more
        }
        record.limits = kept_limits(limits);
        let said = limits.values().filter_map(|(it, value)| Some((it.name, it.written(value?))));
        let said: Vec<_> = said.map(|(name, value)| format!("{name} {value}")).collect();
        let said = if said.is_empty() { "the defaults".to_owned() } else { said.join(", ") };
        let detail = format!("{} ({}): {said}", record.id, record.name);
        let change = Change::LimitKey { id: record.id.clone(), limits: record.limits.clone() };
        let audit = vec![audit_record("limit-key", &detail, by, now)];
        self.store.commit(vec![change, mark()?], audit).await?;
        self.apply(|keys| {
            if let Some(key) = KeyId::read(id).and_then(|id| keys.get_mut(&id)) {
                key.limits = limits;
            }
        });
        record.last_used_at = record.last_used_at.max(self.last_use(&record.id));
        Ok(KeyInfo::of(record))
    }
}

impl KeysError {
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Store(StoreError::NotFound))
    }
}

fn mark() -> Result<Change, KeysError> {
    let value = access::random::<16>()?.to_vec();
    Ok(Change::PutSetting { name: MARK.to_owned(), value })
}

fn audit_record(action: &str, detail: &str, by: Actor<'_>, now: i64) -> NewAudit {
    NewAudit {
        at: now,
        principal: by.principal.name().to_owned(),
        credential_id: Some(by.principal.credential().to_string()),
        address: by.address.map(str::to_owned),
        action: action.to_owned(),
        outcome: "ok".to_owned(),
        detail: Some(detail.to_owned()),
        request_id: by.request_id.map(str::to_owned),
        ..NewAudit::default()
    }
}
