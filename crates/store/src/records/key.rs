//! API keys: what is needed to recognise them, never the keys.

use crate::error::StoreError;
use crate::records::page;
use crate::session::Session;
use crate::value::Row;

#[derive(Clone, PartialEq, Eq)]
pub struct KeyRecord {
    pub id: String,
    /// The part of a key by which it is looked up; unique.
    pub prefix: String,
    pub name: String,
    pub role: String,
    /// JSON: patterns of tools; none if the role alone decides.
    pub tools: Option<String>,
    /// JSON: what it may have at most; none if the defaults hold.
    pub limits: Option<String>,
    pub mac: [u8; 32],
    pub created_at: i64,
    pub expires_at: Option<i64>,
    pub last_used_at: Option<i64>,
    pub revoked_at: Option<i64>,
}

impl std::fmt::Debug for KeyRecord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeyRecord")
            .field("id", &self.id)
            .field("prefix", &self.prefix)
            .field("name", &self.name)
            .field("role", &self.role)
            .field("tools", &self.tools)
            .field("limits", &self.limits)
            .field("expires_at", &self.expires_at)
            .field("revoked_at", &self.revoked_at)
            .finish_non_exhaustive()
    }
}

const COLUMNS: &str =
    "id, prefix, name, role, tools, limits, mac, created_at, expires_at, last_used_at, revoked_at";

pub(crate) async fn insert(session: &mut Session, new: KeyRecord) -> Result<(), StoreError> {
    let row = vec![
        new.id.into(),
        new.prefix.into(),
        new.name.into(),
        new.role.into(),
        new.tools.into(),
        new.limits.into(),
        new.mac.to_vec().into(),
        new.created_at.into(),
        new.expires_at.into(),
        new.last_used_at.into(),
        new.revoked_at.into(),
    ];
    let head = format!("INSERT INTO api_keys ({COLUMNS})");
    match session.insert(&head, vec![row], "ON CONFLICT DO NOTHING").await? {
        0 => Err(StoreError::conflict("a key with this prefix")),
        _ => Ok(()),
    }
}

pub(crate) async fn by_id(session: &mut Session, id: &str) -> Result<KeyRecord, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM api_keys WHERE id = $1");
    let row = session.row(&sql, vec![id.into()]).await?;
    row.ok_or(StoreError::NotFound).and_then(read)
}

pub(crate) async fn by_prefix(
    session: &mut Session,
    prefix: &str,
) -> Result<KeyRecord, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM api_keys WHERE prefix = $1");
    let row = session.row(&sql, vec![prefix.into()]).await?;
    row.ok_or(StoreError::NotFound).and_then(read)
}

/// Those whose prefixes come after this one.
pub(crate) async fn list(
    session: &mut Session,
    after: &str,
    limit: usize,
) -> Result<Vec<KeyRecord>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM api_keys WHERE prefix > $1 ORDER BY prefix LIMIT $2");
    let rows = session.rows(&sql, vec![after.into(), page(limit).into()]).await?;
    rows.into_iter().map(read).collect()
}

/// A key that was revoked stays revoked since then.
pub(crate) async fn revoke(session: &mut Session, id: &str, at: i64) -> Result<(), StoreError> {
    let sql = "UPDATE api_keys SET revoked_at = coalesce(revoked_at, $2) WHERE id = $1";
    match session.execute(sql, vec![id.into(), at.into()]).await? {
        0 => Err(StoreError::NotFound),
        _ => Ok(()),
    }
}

/// What it may have from now on.
pub(crate) async fn limit(
    session: &mut Session,
    id: &str,
    limits: Option<String>,
) -> Result<(), StoreError> {
    let sql = "UPDATE api_keys SET limits = $2 WHERE id = $1";
    match session.execute(sql, vec![id.into(), limits.into()]).await? {
        0 => Err(StoreError::NotFound),
        _ => Ok(()),
    }
}

/// When keys were last used; those that are gone do not matter any more.
pub(crate) async fn touch(
    session: &mut Session,
    uses: Vec<(String, i64)>,
) -> Result<(), StoreError> {
    // Always in the same order: replicas that touch the same keys wait for each other only one way.
    let mut uses = uses;
    uses.sort_unstable();
    let sql = "UPDATE api_keys SET last_used_at = $2 \
               WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < $2)";
    for (id, at) in uses {
        session.execute(sql, vec![id.into(), at.into()]).await?;
    }
    Ok(())
}

fn read(mut row: Row) -> Result<KeyRecord, StoreError> {
    Ok(KeyRecord {
        id: row.text()?,
        prefix: row.text()?,
        name: row.text()?,
        role: row.text()?,
        tools: row.maybe_text()?,
        limits: row.maybe_text()?,
        mac: row.hash()?,
        created_at: row.int()?,
        expires_at: row.maybe_int()?,
        last_used_at: row.maybe_int()?,
        revoked_at: row.maybe_int()?,
    })
}
