//! Secrets with a name of their own, which any server may refer to: `${secret:NAME}`.

use std::collections::{BTreeSet, HashMap};

use trunkline_store::{Change, CredentialRecord, Store, StoreError};
use zeroize::Zeroizing;

use super::error::{NUL, SecretError};
use super::reference::is_secret_name;
use super::safe::Safe;

/// The owner of what belongs to no server.
pub const SHARED: &str = "-";
const KIND: &str = "secret";
/// In characters: as much as a variable of a server may have.
pub const LONGEST_SECRET: usize = 32_000;

/// What may be known of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedSecret {
    pub name: String,
    pub updated_at: i64,
    /// Who has put it there.
    pub updated_by: Option<String>,
}

impl Safe {
    /// The change that keeps it; to be committed with the audit record that tells of it.
    pub fn put_named(
        &self,
        name: &str,
        value: &str,
        by: &str,
        at: i64,
    ) -> Result<Change, SecretError> {
        if !is_secret_name(name) {
            return Err(SecretError::Name(name.to_owned()));
        }
        // Line ends it may have: a variable takes them. Where it cannot be used is seen at connect.
        let why = match value.chars().count() {
            0 => Some("it is empty"),
            length if length > LONGEST_SECRET => Some("it is too long"),
            _ => value.contains('\0').then_some(NUL),
        };
        if let Some(why) = why {
            return Err(SecretError::Unkeepable { what: format!("the secret `{name}`"), why });
        }
        let record = self.credential(SHARED, name, KIND, value, at)?;
        Ok(Change::PutCredential(CredentialRecord { updated_by: Some(by.to_owned()), ..record }))
    }

    /// The change that removes it. Servers that refer to it can no longer be connected.
    pub fn delete_named(name: &str) -> Change {
        Change::DeleteCredential { owner: SHARED.to_owned(), name: name.to_owned() }
    }

    /// Without their values, by name.
    pub async fn named(store: &Store) -> Result<Vec<NamedSecret>, SecretError> {
        let records = store.credentials(SHARED).await?;
        let named = records.into_iter().filter(|record| record.kind == KIND);
        let seen = |record: CredentialRecord| NamedSecret {
            name: record.name,
            updated_at: record.updated_at,
            updated_by: record.updated_by,
        };
        Ok(named.map(seen).collect())
    }

    /// Those of these that there are.
    pub async fn values_of(
        &self,
        store: &Store,
        names: &BTreeSet<String>,
    ) -> Result<HashMap<String, Zeroizing<String>>, SecretError> {
        let mut values = HashMap::new();
        for name in names {
            match store.credential(SHARED, name).await {
                Ok(record) => {
                    let value = self.value(SHARED, &record, &format!("the secret `{name}`"))?;
                    values.insert(name.clone(), value);
                }
                Err(StoreError::NotFound) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(values)
    }
}
