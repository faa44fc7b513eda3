//! Brings a database to the schema this version knows: numbered steps, one transaction each.

mod steps;

use crate::error::StoreError;
use crate::session::{Lock, Session, TransactionMode};
use steps::{KNOWN, STEPS, Statement};

/// What is done about the schema of a database that is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SchemaGoal {
    /// It is made, or brought to that of this version.
    Current,
    /// There is one, and it is left alone.
    AsItIs,
    /// There is none yet, and none is made.
    New,
}

/// Does what is wanted.
pub(crate) async fn settle(session: &mut Session, wanted: SchemaGoal) -> Result<(), StoreError> {
    if wanted == SchemaGoal::Current {
        return migrate(session).await;
    }
    match (wanted, looked_up(session).await?) {
        (SchemaGoal::AsItIs, 0) => {
            Err(StoreError::invalid("it is empty: Trunkline has kept nothing there"))
        }
        (SchemaGoal::New, found) if found > 0 => {
            Err(StoreError::conflict("a store of Trunkline; it was left as it is"))
        }
        _ => Ok(()),
    }
}

/// Refuses a store of a newer version, and touches nothing.
pub(crate) async fn check(session: &mut Session) -> Result<i64, StoreError> {
    match version(session).await? {
        found if found > KNOWN => Err(StoreError::Newer { found, known: KNOWN }),
        found => Ok(found),
    }
}

/// Takes the steps that have not been taken. Others may do the same at the same time.
async fn migrate(session: &mut Session) -> Result<(), StoreError> {
    migrate_to(session, KNOWN).await
}

/// Takes the steps up to this version.
async fn migrate_to(session: &mut Session, wanted: i64) -> Result<(), StoreError> {
    let mut found = looked_up(session).await?;
    while found < wanted {
        session.begin(TransactionMode::Write).await?;
        let outcome = match step(session, wanted).await {
            Ok(reached) => session.commit().await.map(|()| reached),
            Err(error) => Err(error),
        };
        match outcome {
            Ok(reached) => found = reached,
            Err(error) => {
                session.rollback().await?;
                return Err(error);
            }
        }
    }
    Ok(())
}

/// `check` in a transaction of its own: behind a pooler nothing else says where the tables are.
async fn looked_up(session: &mut Session) -> Result<i64, StoreError> {
    session.begin(TransactionMode::Read).await?;
    let found = check(session).await;
    session.rollback().await?;
    found
}

/// Makes the tables of this version in an empty database, within the transaction that is open.
pub(crate) async fn make(session: &mut Session, wanted: i64) -> Result<(), StoreError> {
    session.lock(Lock::Migration).await?;
    match check(session).await? {
        0 if (1..=KNOWN).contains(&wanted) => {}
        0 => return Err(StoreError::Newer { found: wanted, known: KNOWN }),
        _ => return Err(StoreError::conflict("a store of Trunkline; it was left as it is")),
    }
    while step(session, wanted).await? < wanted {}
    Ok(())
}

async fn step(session: &mut Session, wanted: i64) -> Result<i64, StoreError> {
    session.lock(Lock::Migration).await?;
    let found = check(session).await?;
    let statements = usize::try_from(found).ok().and_then(|found| STEPS.get(found));
    let Some(statements) = statements.filter(|_| found < wanted) else { return Ok(found) };
    if let Session::Postgres(_) = session {
        // An index of a log with millions of records takes minutes.
        session.batch("SET LOCAL statement_timeout = 0").await?;
    }
    for statement in *statements {
        match (statement, &session) {
            (Statement::Both(sql), Session::Postgres(_)) => session.batch(&postgres(sql)).await?,
            (Statement::Both(sql) | Statement::Sqlite(sql), Session::Sqlite(_))
            | (Statement::Postgres(sql), Session::Postgres(_)) => session.batch(sql).await?,
            (Statement::Sqlite(_), _) | (Statement::Postgres(_), _) => {}
        }
    }
    let reached = found + 1;
    session.execute("UPDATE schema_version SET version = $1", vec![reached.into()]).await?;
    Ok(reached)
}

/// 0 for an empty database.
async fn version(session: &mut Session) -> Result<i64, StoreError> {
    let there = match session {
        Session::Sqlite(_) => "SELECT name FROM sqlite_master WHERE name = 'schema_version'",
        Session::Postgres(_) => {
            "SELECT table_name::text FROM information_schema.tables
             WHERE table_schema = 'trunkline' AND table_name = 'schema_version'"
        }
    };
    if session.row(there, vec![]).await?.is_none() {
        return Ok(0);
    }
    match session.row("SELECT version FROM schema_version", vec![]).await? {
        Some(mut row) => row.int(),
        None => Err(StoreError::corrupt("it does not say which version its schema has")),
    }
}

/// Postgres' words for the same table. Texts are compared by their bytes, as `SQLite` does, and
/// not by the customs of the server's country: pages would differ otherwise.
fn postgres(sql: &str) -> String {
    sql.replace("INTEGER", "BIGINT")
        .replace("TEXT", "TEXT COLLATE \"C\"")
        .replace("BLOB", "BYTEA")
        .replace(") STRICT", ")")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_said_in_the_words_of_postgres() {
        let sqlite = "CREATE TABLE t (a TEXT PRIMARY KEY, b BLOB, c INTEGER NOT NULL) STRICT";
        let expected =
            "CREATE TABLE t (a TEXT COLLATE \"C\" PRIMARY KEY, b BYTEA, c BIGINT NOT NULL)";
        assert_eq!(postgres(sqlite), expected);
    }

    #[test]
    fn there_is_a_step_to_every_version() {
        assert_eq!(i64::try_from(STEPS.len()).unwrap(), KNOWN);
    }
}
