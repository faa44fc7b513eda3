//! Secrets with a name of their own, which any server may refer to: `${secret:NAME}`.

use std::collections::{BTreeSet, HashMap};

use trunkline_store::{Change, Store, StoreError};
use zeroize::Zeroizing;

use super::error::{LINE_END, SecretError};
pub use super::reference::is_secret_name;
use super::safe::Safe;

/// The owner of what belongs to no server.
pub const SHARED: &str = "-";
const KIND: &str = "secret";

/// What may be known of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedSecret {
    pub name: String,
    pub updated_at: i64,
}

impl Safe {
    /// The change that keeps it; to be committed with the audit record that tells of it.
    pub fn put_named(&self, name: &str, value: &str, at: i64) -> Result<Change, SecretError> {
        if !is_secret_name(name) {
            return Err(SecretError::Name(name.to_owned()));
        }
        if value.contains(['\r', '\n', '\0']) {
            let what = format!("the secret `{name}`");
            return Err(SecretError::Unkeepable { what, why: LINE_END });
        }
        self.credential(SHARED, name, KIND, value, at).map(Change::PutCredential)
    }

    /// The change that removes it. Servers that refer to it can no longer be connected.
    pub fn delete_named(name: &str) -> Change {
        Change::DeleteCredential { owner: SHARED.to_owned(), name: name.to_owned() }
    }

    pub async fn named(store: &Store) -> Result<Vec<NamedSecret>, SecretError> {
        let records = store.credentials(SHARED).await?;
        let named = records.into_iter().filter(|record| record.kind == KIND);
        Ok(named.map(|r| NamedSecret { name: r.name, updated_at: r.updated_at }).collect())
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
