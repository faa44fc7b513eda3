//! `SecretService`: named secrets, listed without their values, put and removed. Servers that refer to one
//! are connected anew when it changes.

use std::sync::Arc;

use trunkline_store::{Change, NewAudit, Store, StoreError};

use super::directory::KnownServers;
use super::page::{Page, Paged};
use super::problems::{secret_problem, store_problem};
use super::records::record;
use crate::clock;
use crate::fault::{Pointer, Problem, ProblemKind, RequestFault};
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
pub enum RemovalRule {
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

/// A named secret without its value.
#[derive(Debug, Clone)]
pub(crate) struct SecretSummary {
    pub(crate) secret: NamedSecret,
    /// The servers that refer to it; `None` while the store is locked.
    pub(crate) used_by: Option<Vec<SecretUser>>,
}

#[derive(Debug)]
pub struct SecretService {
    pub(super) store: Store,
    pub(super) safe: Arc<Safe>,
    pub(super) known: Arc<KnownServers>,
}

impl SecretService {
    /// One page, by name.
    pub(crate) async fn list(&self, page: &Page) -> Result<Paged<SecretSummary>, Problem> {
        let failed = |error: SecretError| problem(&error);
        let all = Safe::named(&self.store).await.map_err(failed)?;
        let uses = match self.safe.uses(&self.store).await {
            Ok(uses) => Some(uses),
            Err(SecretError::Locked) => None,
            Err(error) => return Err(failed(error)),
        };
        let is_later = |secret: &&NamedSecret| {
            page.after.as_deref().is_none_or(|after| secret.name.as_str() > after)
        };
        let mut rest = all.iter().filter(is_later);
        let shown: Vec<&NamedSecret> = rest.by_ref().take(page.limit).collect();
        let last = shown.last().filter(|_| rest.next().is_some());
        let summary = |secret: &NamedSecret| SecretSummary {
            used_by: uses.as_ref().map(|it| it.get(&secret.name).cloned().unwrap_or_default()),
            secret: secret.clone(),
        };
        Ok(Paged {
            next: last.map(|secret| secret.name.clone()),
            items: shown.into_iter().map(summary).collect(),
            total: all.len(),
        })
    }

    /// Keeps a value, and shows what can be seen of it.
    pub(crate) async fn put(
        &self,
        name: &str,
        value: &str,
        by: Actor<'_>,
    ) -> Result<(SecretWrite, SecretSummary), Problem> {
        let record = record("put-secret", by, clock::now());
        let written = put(&self.store, &self.safe, name, value, record).await;
        let (written, secret) = written.map_err(|error| problem(&error))?;
        self.known.request_reconcile();
        let mut uses = self.safe.uses(&self.store).await.map_err(|error| problem(&error))?;
        let used_by = Some(uses.remove(&secret.name).unwrap_or_default());
        Ok((written, SecretSummary { secret, used_by }))
    }

    pub(crate) async fn delete(
        &self,
        name: &str,
        removal: RemovalRule,
        by: Actor<'_>,
    ) -> Result<(), Problem> {
        let record = record("delete-secret", by, clock::now());
        let removed = remove(&self.store, &self.safe, name, removal, record).await;
        removed.map_err(|why| match &why {
            SecretNotRemoved::NotThere(_) => {
                Problem::new(ProblemKind::NoSuchSecret, why.to_string())
            }
            SecretNotRemoved::Used { .. } => {
                Problem::new(ProblemKind::SecretInUse, why.to_string())
            }
            SecretNotRemoved::Secret(error) => problem(error),
        })?;
        self.known.request_reconcile();
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
    // Only for the answer: two writers of a new secret may both hear that theirs is new.
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
    removal: RemovalRule,
    record: NewAudit,
) -> Result<(), SecretNotRemoved> {
    let not_there = || SecretNotRemoved::NotThere(trunkline_catalog::name::escaped(name));
    let users = safe.uses(store).await?.remove(name).unwrap_or_default();
    if !Safe::named(store).await?.iter().any(|known| known.name == name) {
        return Err(not_there());
    }
    let detail = match (users.as_slice(), removal) {
        ([], _) => name.to_owned(),
        (users, RemovalRule::InAnyCase) => format!("{name}, used by {}", names(users)),
        (_, RemovalRule::IfUnused) => {
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

fn names(users: &[SecretUser]) -> String {
    let names: Vec<_> = users.iter().map(|user| format!("`{}`", user.name)).collect();
    names.join(", ")
}

fn problem(error: &SecretError) -> Problem {
    match error {
        SecretError::Name(_) => Problem::invalid(vec![RequestFault::parameter(
            "name",
            "is not a name a secret can have",
        )]),
        SecretError::Store(error) => store_problem(error),
        error => secret_problem(error, &Pointer::root().key("value")),
    }
}
