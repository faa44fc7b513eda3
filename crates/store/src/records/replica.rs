//! The replicas that work with a store: each says now and then that it is there, and where it is reached.
//! Times are those of the database's clock, since the clocks of the replicas may differ.

use crate::error::StoreError;
use crate::session::Session;

/// One that was heard of in time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicaRecord {
    pub id: String,
    /// Where others reach it.
    pub address: String,
}

/// The replicas there are, as the database sees them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicaList {
    /// By id.
    pub replicas: Vec<ReplicaRecord>,
    /// The database's time, in milliseconds since 1970.
    pub now: i64,
}

/// Milliseconds without a word after which a replica is forgotten: long after nobody asks it any more.
const FORGOTTEN: i64 = 60 * 60 * 1_000;

/// This replica is there; which others were heard of within so many milliseconds.
pub(crate) async fn beat(
    session: &mut Session,
    id: &str,
    address: &str,
    within: i64,
) -> Result<ReplicaList, StoreError> {
    let now = now(session).await?;
    let sql = "INSERT INTO replicas (id, address, started_at, seen_at) VALUES ($1, $2, $3, $3) \
               ON CONFLICT (id) DO UPDATE SET address = excluded.address, seen_at = excluded.seen_at";
    session.execute(sql, vec![id.into(), address.into(), now.into()]).await?;
    let sql = "DELETE FROM replicas WHERE seen_at < $1";
    session.execute(sql, vec![(now - FORGOTTEN).into()]).await?;
    list_at(session, now, within).await
}

/// The replicas that were heard of within so many milliseconds.
pub(crate) async fn list(session: &mut Session, within: i64) -> Result<ReplicaList, StoreError> {
    let now = now(session).await?;
    list_at(session, now, within).await
}

async fn list_at(session: &mut Session, now: i64, within: i64) -> Result<ReplicaList, StoreError> {
    // One that was seen in the future was seen before the database's clock was set back.
    let sql = "SELECT id, address FROM replicas WHERE seen_at >= $1 ORDER BY id";
    let rows = session.rows(sql, vec![(now - within).into()]).await?;
    let read =
        |mut row: crate::value::Row| Ok(ReplicaRecord { id: row.text()?, address: row.text()? });
    let replicas = rows.into_iter().map(read).collect::<Result<_, StoreError>>()?;
    Ok(ReplicaList { replicas, now })
}

/// It ends in order: nobody need ask it any more.
pub(crate) async fn leave(session: &mut Session, id: &str) -> Result<(), StoreError> {
    session.execute("DELETE FROM replicas WHERE id = $1", vec![id.into()]).await?;
    Ok(())
}

async fn now(session: &mut Session) -> Result<i64, StoreError> {
    let sql = match session {
        Session::Sqlite(_) => "SELECT CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)",
        Session::Postgres(_) => {
            "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)"
        }
    };
    match session.row(sql, vec![]).await? {
        Some(mut row) => row.int(),
        None => Err(StoreError::corrupt("it does not say what time it is")),
    }
}

/// Milliseconds after which it is forgotten which replica has a task: servers keep theirs for less.
const TASK_FORGOTTEN: i64 = 24 * 60 * 60 * 1_000;

/// These tasks, by digests of their ids and owners, are with this replica.
pub(crate) async fn put_tasks(
    session: &mut Session,
    replica: &str,
    tasks: Vec<String>,
) -> Result<(), StoreError> {
    let now = now(session).await?;
    for task in tasks {
        // Whoever had it first keeps it: an answer that only names a task makes it nobody else's.
        let sql =
            "INSERT INTO tasks (id, replica, made_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
        session.execute(sql, vec![task.into(), replica.into(), now.into()]).await?;
    }
    let sql = "DELETE FROM tasks WHERE made_at < $1";
    session.execute(sql, vec![(now - TASK_FORGOTTEN).into()]).await?;
    Ok(())
}

/// The replica that has this task.
pub(crate) async fn of_task(
    session: &mut Session,
    task: &str,
) -> Result<Option<String>, StoreError> {
    let found = session.row("SELECT replica FROM tasks WHERE id = $1", vec![task.into()]).await?;
    found.map(|mut row| row.text()).transpose()
}
