//! Policies: texts in Cedar, changed by who has read all of them, because only together they are right or wrong.

use crate::error::StoreError;
use crate::session::Session;
use crate::value::Row;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyRecord {
    pub id: String,
    pub text: String,
    pub created_at: i64,
    pub updated_at: i64,
    pub updated_by: String,
    /// That of the whole set when this was written: it never comes again, also if the id does.
    pub revision: i64,
}

/// Every stored policy, and the revision of the set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PolicySetRecord {
    pub revision: i64,
    /// By id.
    pub policies: Vec<PolicyRecord>,
}

const COLUMNS: &str = "id, text, created_at, updated_at, updated_by, revision";

pub(crate) async fn all(session: &mut Session) -> Result<PolicySetRecord, StoreError> {
    // First: who reads policies that are newer than their revision reads them again, or finds it stale.
    let revision = revision(session).await?;
    let sql = format!("SELECT {COLUMNS} FROM policies ORDER BY id");
    let policies =
        session.rows(&sql, vec![]).await?.into_iter().map(read).collect::<Result<_, _>>();
    Ok(PolicySetRecord { revision, policies: policies? })
}

/// Another number means that somebody has changed a policy.
pub(crate) async fn revision(session: &mut Session) -> Result<i64, StoreError> {
    let sql = "SELECT COALESCE(MAX(revision), 0) FROM policy_set";
    session.row(sql, vec![]).await?.ok_or(StoreError::NotFound)?.int()
}

/// New, or in the place of the one with this id. Stale if the set has another revision than this.
pub(crate) async fn put(
    session: &mut Session,
    record: PolicyRecord,
    expected: i64,
) -> Result<(), StoreError> {
    let revision = advance(session, expected).await?;
    let sql = format!(
        "INSERT INTO policies ({COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6) \
         ON CONFLICT (id) DO UPDATE SET text = excluded.text, updated_at = excluded.updated_at, \
         updated_by = excluded.updated_by, revision = excluded.revision"
    );
    let PolicyRecord { id, text, created_at, updated_at, updated_by, .. } = record;
    let values = vec![
        id.into(),
        text.into(),
        created_at.into(),
        updated_at.into(),
        updated_by.into(),
        revision.into(),
    ];
    session.execute(&sql, values).await?;
    Ok(())
}

/// Stale if the set has another revision than this.
pub(crate) async fn delete(
    session: &mut Session,
    id: &str,
    expected: i64,
) -> Result<(), StoreError> {
    advance(session, expected).await?;
    match session.execute("DELETE FROM policies WHERE id = $1", vec![id.into()]).await? {
        0 => Err(StoreError::NotFound),
        _ => Ok(()),
    }
}

/// The next revision of the set. Replicas that change it at once wait for each other here.
async fn advance(session: &mut Session, expected: i64) -> Result<i64, StoreError> {
    let sql = "UPDATE policy_set SET revision = revision + 1 WHERE revision = $1";
    match session.execute(sql, vec![expected.into()]).await? {
        0 => Err(StoreError::Stale),
        _ => Ok(expected + 1),
    }
}

fn read(mut row: Row) -> Result<PolicyRecord, StoreError> {
    Ok(PolicyRecord {
        id: row.text()?,
        text: row.text()?,
        created_at: row.int()?,
        updated_at: row.int()?,
        updated_by: row.text()?,
        revision: row.int()?,
    })
}
