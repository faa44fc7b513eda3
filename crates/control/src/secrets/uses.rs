//! Which servers refer to which secrets: the references are sealed with the values they stand in.

use std::collections::BTreeMap;

use trunkline_store::Store;

use super::error::SecretError;
use super::resolve::secrets_named;
use super::safe::Safe;

/// A registered server that refers to a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretUser {
    pub id: String,
    pub name: String,
}

impl Safe {
    /// By the secret's name; servers in the order of theirs. One that cannot be opened uses nothing:
    /// it cannot be connected either.
    pub async fn uses(
        &self,
        store: &Store,
    ) -> Result<BTreeMap<String, Vec<SecretUser>>, SecretError> {
        self.keys()?;
        let mut uses: BTreeMap<String, Vec<SecretUser>> = BTreeMap::new();
        for server in store.all_servers().await? {
            let credentials = store.credentials(&server.id).await?;
            let Ok(connection) = self.open(&server, &credentials) else { continue };
            for name in secrets_named(&connection) {
                let user = SecretUser { id: server.id.clone(), name: server.name.clone() };
                uses.entry(name).or_default().push(user);
            }
        }
        Ok(uses)
    }
}
