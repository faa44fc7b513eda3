//! Secrets with names of their own: shown without their values, put and removed. Servers that refer to
//! one are connected anew when it changes.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use trunkline_store::{Change, NewAudit, Store, StoreError};

use super::change::{audit, secret_problem};
use super::show::store_problem;
use super::{Platform, clock};
use crate::api::fault::{Fault, Pointer};
use crate::api::paging::{List, Page, cursor};
use crate::api::problem::{Kind, Problem};
use crate::api::view::SecretView;
use crate::keys::Actor;
use crate::secrets::{NamedSecret, Safe, SecretError, SecretUser};

/// What has become of a secret that was put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretWrite {
    New,
    /// It has had another value.
    Again,
}

/// When a secret is to be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removal {
    IfUnused,
    /// Also if servers refer to it.
    InAnyCase,
}

/// Why a secret is not removed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SecretNotRemoved {
    #[error("there is no secret `{0}`")]
    NotThere(String),
    #[error("`{name}` is used by {}", names(.users))]
    Used { name: String, users: Vec<SecretUser> },
    #[error(transparent)]
    Secret(#[from] SecretError),
}

impl Platform {
    /// One page of them, by name.
    pub async fn secrets(&self, page: &Page) -> Result<Value, Problem> {
        let failed = |error: SecretError| problem(&error);
        let all = Safe::named(&self.0.store).await.map_err(failed)?;
        let uses = match self.0.safe.uses(&self.0.store).await {
            Ok(uses) => Some(uses),
            Err(SecretError::Locked) => None,
            Err(error) => return Err(failed(error)),
        };
        let later = |secret: &&NamedSecret| {
            page.after.as_deref().is_none_or(|after| secret.name.as_str() > after)
        };
        let mut rest = all.iter().filter(later);
        let shown: Vec<&NamedSecret> = rest.by_ref().take(page.limit).collect();
        let last = shown.last().filter(|_| rest.next().is_some());
        let next = last.map(|secret| cursor(List::Secrets, &secret.name));
        let shown: Vec<_> = shown.iter().map(|secret| view(secret, uses.as_ref())).collect();
        Ok(json!({"secrets": shown, "total": all.len(), "next_cursor": next}))
    }

    /// Keeps a value, and shows what can be seen of it.
    pub async fn put_secret(
        &self,
        name: &str,
        value: &str,
        by: Actor<'_>,
    ) -> Result<(SecretWrite, Value), Problem> {
        let inner = &self.0;
        let record = audit("put-secret", by, clock::now());
        let written = put(&inner.store, &inner.safe, name, value, record).await;
        let (written, secret) = written.map_err(|error| problem(&error))?;
        inner.wish.notify_one();
        let uses = inner.safe.uses(&inner.store).await.map_err(|error| problem(&error))?;
        Ok((written, view(&secret, Some(&uses))))
    }

    pub async fn delete_secret(
        &self,
        name: &str,
        removal: Removal,
        by: Actor<'_>,
    ) -> Result<(), Problem> {
        let inner = &self.0;
        let record = audit("delete-secret", by, clock::now());
        let removed = remove(&inner.store, &inner.safe, name, removal, record).await;
        removed.map_err(|why| match &why {
            SecretNotRemoved::NotThere(_) => Problem::new(Kind::NoSuchSecret, why.to_string()),
            SecretNotRemoved::Used { .. } => Problem::new(Kind::SecretInUse, why.to_string()),
            SecretNotRemoved::Secret(error) => problem(error),
        })?;
        inner.wish.notify_one();
        Ok(())
    }
}

/// Keeps a value together with the record that tells of it.
pub(super) async fn put(
    store: &Store,
    safe: &Safe,
    name: &str,
    value: &str,
    record: NewAudit,
) -> Result<(SecretWrite, NamedSecret), SecretError> {
    let change = safe.put_named(name, value, &record.principal, record.at)?;
    let known = Safe::named(store).await?;
    let written = match known.iter().any(|known| known.name == name) {
        true => SecretWrite::Again,
        false => SecretWrite::New,
    };
    let secret = NamedSecret {
        name: name.to_owned(),
        updated_at: record.at,
        updated_by: Some(record.principal.clone()),
    };
    commit(store, change, NewAudit { detail: Some(name.to_owned()), ..record }).await?;
    Ok((written, secret))
}

/// Removes it together with the record that tells of it.
pub(super) async fn remove(
    store: &Store,
    safe: &Safe,
    name: &str,
    removal: Removal,
    record: NewAudit,
) -> Result<(), SecretNotRemoved> {
    let not_there = || SecretNotRemoved::NotThere(trunkline_catalog::name::escaped(name));
    let users = safe.uses(store).await?.remove(name).unwrap_or_default();
    if !Safe::named(store).await?.iter().any(|known| known.name == name) {
        return Err(not_there());
    }
    let detail = match (users.as_slice(), removal) {
        ([], _) => name.to_owned(),
        (users, Removal::InAnyCase) => format!("{name}, used by {}", names(users)),
        (_, Removal::IfUnused) => {
            return Err(SecretNotRemoved::Used { name: name.to_owned(), users });
        }
    };
    let change = Safe::delete_named(name);
    match commit(store, change, NewAudit { detail: Some(detail), ..record }).await {
        Err(SecretError::Store(StoreError::NotFound)) => Err(not_there()),
        done => Ok(done?),
    }
}

async fn commit(store: &Store, change: Change, record: NewAudit) -> Result<(), SecretError> {
    Ok(store.commit(vec![change], vec![record]).await.map(drop)?)
}

fn view(secret: &NamedSecret, uses: Option<&BTreeMap<String, Vec<SecretUser>>>) -> Value {
    let users = |uses: &'_ BTreeMap<String, Vec<SecretUser>>| uses.get(&secret.name).cloned();
    let used_by = uses.map(|uses| users(uses).unwrap_or_default());
    SecretView { secret, used_by: used_by.as_deref() }.json()
}

fn names(users: &[SecretUser]) -> String {
    let names: Vec<_> = users.iter().map(|user| format!("`{}`", user.name)).collect();
    names.join(", ")
}

fn problem(error: &SecretError) -> Problem {
    match error {
        SecretError::Name(_) => {
            Problem::invalid(vec![Fault::parameter("name", "is not a name a secret can have")])
        }
        SecretError::Store(error) => store_problem(error),
        error => secret_problem(error, &Pointer::root().key("value")),
    }
}
