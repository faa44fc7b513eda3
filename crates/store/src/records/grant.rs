//! What authorization servers have granted us for a server, as sealed bytes.

use crate::error::StoreError;
use crate::records::page;
use crate::session::Session;
use crate::value::Row;

#[derive(Clone, PartialEq, Eq)]
pub struct GrantRecord {
    pub server_id: String,
    pub issuer: String,
    /// For whom; `-` if for everybody.
    pub principal: String,
    pub sealed: Vec<u8>,
    /// Of the key it is sealed with.
    pub key_version: i64,
    pub expires_at: Option<i64>,
    /// 1 for a new one, and one more with each change; what is given when writing does not count.
    pub revision: i64,
}

impl std::fmt::Debug for GrantRecord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GrantRecord")
            .field("server_id", &self.server_id)
            .field("issuer", &self.issuer)
            .field("principal", &self.principal)
            .field("revision", &self.revision)
            .finish_non_exhaustive()
    }
}

const COLUMNS: &str = "server_id, issuer, principal, sealed, key_version, expires_at, revision";
const THIS: &str = "server_id = $1 AND issuer = $2 AND principal = $3";

/// A new one if none is expected; otherwise in the place of the one with this revision. Stale if
/// somebody was quicker.
pub(crate) async fn put(
    session: &mut Session,
    new: GrantRecord,
    expected: Option<i64>,
) -> Result<(), StoreError> {
    let GrantRecord { server_id, issuer, principal, sealed, key_version, expires_at, .. } = new;
    let mut values = vec![
        server_id.into(),
        issuer.into(),
        principal.into(),
        sealed.into(),
        key_version.into(),
        expires_at.into(),
    ];
    let sql = match expected {
        None => {
            values.push(1.into());
            format!(
                "INSERT INTO grants ({COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7) \
                 ON CONFLICT DO NOTHING"
            )
        }
        Some(expected) => {
            values.push(expected.into());
            format!(
                "UPDATE grants SET sealed = $4, key_version = $5, expires_at = $6, \
                 revision = revision + 1 WHERE {THIS} AND revision = $7"
            )
        }
    };
    match session.execute(&sql, values).await? {
        0 => Err(StoreError::Stale),
        _ => Ok(()),
    }
}

pub(crate) async fn get(
    session: &mut Session,
    server_id: &str,
    issuer: &str,
    principal: &str,
) -> Result<GrantRecord, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM grants WHERE {THIS}");
    let row = session.row(&sql, vec![server_id.into(), issuer.into(), principal.into()]).await?;
    row.ok_or(StoreError::NotFound).and_then(read)
}

/// All for one server: there are few.
pub(crate) async fn list(
    session: &mut Session,
    server_id: &str,
) -> Result<Vec<GrantRecord>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM grants WHERE server_id = $1 ORDER BY issuer, principal LIMIT $2"
    );
    let values = vec![server_id.into(), page(usize::MAX).into()];
    session.rows(&sql, values).await?.into_iter().map(read).collect()
}

pub(crate) async fn delete(
    session: &mut Session,
    server_id: &str,
    issuer: &str,
    principal: &str,
) -> Result<(), StoreError> {
    let sql = format!("DELETE FROM grants WHERE {THIS}");
    let values = vec![server_id.into(), issuer.into(), principal.into()];
    match session.execute(&sql, values).await? {
        0 => Err(StoreError::NotFound),
        _ => Ok(()),
    }
}

/// Those that are sealed with another key than this one; each that is sealed anew is one less.
pub(crate) async fn under_other_keys(
    session: &mut Session,
    key_version: i64,
    limit: usize,
) -> Result<Vec<GrantRecord>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM grants WHERE key_version <> $1 \
         ORDER BY server_id, issuer, principal LIMIT $2"
    );
    let rows = session.rows(&sql, vec![key_version.into(), page(limit).into()]).await?;
    rows.into_iter().map(read).collect()
}

fn read(mut row: Row) -> Result<GrantRecord, StoreError> {
    Ok(GrantRecord {
        server_id: row.text()?,
        issuer: row.text()?,
        principal: row.text()?,
        sealed: row.bytes()?,
        key_version: row.int()?,
        expires_at: row.maybe_int()?,
        revision: row.int()?,
    })
}
