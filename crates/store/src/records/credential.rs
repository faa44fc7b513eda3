//! Secrets that belong to a server or to nobody, as sealed bytes.

use crate::error::StoreError;
use crate::records::page;
use crate::session::{PlannedStatement, Session, Statement, places};
use crate::value::Row;

#[derive(Clone, PartialEq, Eq)]
pub struct CredentialRecord {
    pub id: String,
    /// The id of a server, or `-`.
    pub owner: String,
    /// Unique for its owner.
    pub name: String,
    pub kind: String,
    pub sealed: Vec<u8>,
    /// Of the key it is sealed with.
    pub key_version: i64,
    pub updated_at: i64,
    /// Who has put it there; not kept for those of a server.
    pub updated_by: Option<String>,
}

impl std::fmt::Debug for CredentialRecord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CredentialRecord")
            .field("id", &self.id)
            .field("owner", &self.owner)
            .field("name", &self.name)
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}

const COLUMNS: &str = "id, owner, name, kind, sealed, key_version, updated_at, updated_by";

/// Takes the place of the owner's credential of this name, if there is one, with its new id: what
/// is sealed is bound to it.
pub(crate) fn put(new: CredentialRecord) -> PlannedStatement {
    let row = vec![
        new.id.into(),
        new.owner.into(),
        new.name.into(),
        new.kind.into(),
        new.sealed.into(),
        new.key_version.into(),
        new.updated_at.into(),
        new.updated_by.into(),
    ];
    let sql = format!(
        "INSERT INTO credentials ({COLUMNS}) VALUES {} ON CONFLICT (owner, name) DO UPDATE SET \
         id = excluded.id, kind = excluded.kind, sealed = excluded.sealed, \
         key_version = excluded.key_version, updated_at = excluded.updated_at, \
         updated_by = excluded.updated_by",
        places(1, row.len())
    );
    PlannedStatement { statement: Statement::new(sql, row), nothing: None }
}

pub(crate) async fn get(
    session: &mut Session,
    owner: &str,
    name: &str,
) -> Result<CredentialRecord, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM credentials WHERE owner = $1 AND name = $2");
    let row = session.row(&sql, vec![owner.into(), name.into()]).await?;
    row.ok_or(StoreError::NotFound).and_then(read)
}

/// All of one owner: there are few.
pub(crate) async fn list(
    session: &mut Session,
    owner: &str,
) -> Result<Vec<CredentialRecord>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM credentials WHERE owner = $1 ORDER BY name");
    let rows = session.rows(&sql, vec![owner.into()]).await?;
    rows.into_iter().map(read).collect()
}

pub(crate) async fn delete(
    session: &mut Session,
    owner: &str,
    name: &str,
) -> Result<(), StoreError> {
    let sql = "DELETE FROM credentials WHERE owner = $1 AND name = $2";
    match session.execute(sql, vec![owner.into(), name.into()]).await? {
        0 => Err(StoreError::NotFound),
        _ => Ok(()),
    }
}

/// Those that are sealed with another key than this one, from an id on.
pub(crate) async fn under_other_keys(
    session: &mut Session,
    key_version: i64,
    after: &str,
    limit: usize,
) -> Result<Vec<CredentialRecord>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM credentials WHERE key_version <> $1 AND id > $2 \
         ORDER BY id LIMIT $3"
    );
    let values = vec![key_version.into(), after.into(), page(limit).into()];
    session.rows(&sql, values).await?.into_iter().map(read).collect()
}

/// Stale if somebody has put another one there in the meantime.
pub(crate) async fn reseal(
    session: &mut Session,
    old: CredentialRecord,
    sealed: Vec<u8>,
    key_version: i64,
) -> Result<(), StoreError> {
    let sql = "UPDATE credentials SET sealed = $1, key_version = $2 WHERE id = $3 AND sealed = $4";
    let values = vec![sealed.into(), key_version.into(), old.id.into(), old.sealed.into()];
    match session.execute(sql, values).await? {
        0 => Err(StoreError::Stale),
        _ => Ok(()),
    }
}

fn read(mut row: Row) -> Result<CredentialRecord, StoreError> {
    Ok(CredentialRecord {
        id: row.text()?,
        owner: row.text()?,
        name: row.text()?,
        kind: row.text()?,
        sealed: row.bytes()?,
        key_version: row.int()?,
        updated_at: row.int()?,
        updated_by: row.maybe_text()?,
    })
}
