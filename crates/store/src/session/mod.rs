//! One conversation with a database: the same statements, said to `SQLite` or to Postgres.
//!
//! Everything above this room is written once. On `SQLite` nothing here ever waits, so that its
//! thread drives these futures with a single poll.
//!
//! By hand above rusqlite and tokio-postgres: no pool tells a commit that failed from one whose
//! answer was lost.

mod postgres;
mod sqlite;

use std::pin::Pin;

use crate::error::StoreError;
use crate::limits::ROWS_PER_INSERT;
use crate::value::{Row, Value};

pub(crate) use postgres::fault as postgres_fault;
pub(crate) use sqlite::fault as sqlite_fault;

/// Between a Postgres and those who want to know what changes in it.
pub(crate) const LISTEN: &str = "LISTEN trunkline";
const NOTIFY: &str = "NOTIFY trunkline";

#[derive(Debug)]
pub(crate) enum Session {
    Sqlite(rusqlite::Connection),
    Postgres(tokio_postgres::Client),
}

/// What is done within one transaction.
pub(crate) type Doing<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TransactionMode {
    /// One state of all records, whatever others write meanwhile.
    Read,
    Write,
}

/// What replicas do one after the other. `SQLite` has one writer at a time anyway.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Lock {
    Migration,
    Audit,
}

impl Session {
    /// Runs one statement; its parameters are `$1`, `$2`, … Says how many rows it touched.
    pub(crate) async fn execute(
        &mut self,
        sql: &str,
        values: Vec<Value>,
    ) -> Result<u64, StoreError> {
        // Checked here for both databases: SQLite would take a NUL inside a text that Postgres
        // refuses.
        values.iter().try_for_each(Value::check)?;
        match self {
            Self::Sqlite(connection) => sqlite::execute(connection, sql, &values),
            Self::Postgres(client) => postgres::execute(client, sql, &values).await,
        }
    }

    pub(crate) async fn rows(
        &mut self,
        sql: &str,
        values: Vec<Value>,
    ) -> Result<Vec<Row>, StoreError> {
        values.iter().try_for_each(Value::check)?;
        match self {
            Self::Sqlite(connection) => sqlite::rows(connection, sql, &values),
            Self::Postgres(client) => postgres::rows(client, sql, &values).await,
        }
    }

    pub(crate) async fn row(
        &mut self,
        sql: &str,
        values: Vec<Value>,
    ) -> Result<Option<Row>, StoreError> {
        Ok(self.rows(sql, values).await?.into_iter().next())
    }

    /// `head VALUES (…), (…) tail` for all rows: to Postgres some hundred at a time, which saves trips;
    /// to `SQLite` one by one, which saves making a statement for each number of rows.
    pub(crate) async fn insert(
        &mut self,
        head: &str,
        rows: Vec<Vec<Value>>,
        tail: &str,
    ) -> Result<u64, StoreError> {
        let most = match self {
            Self::Sqlite(_) => 1,
            Self::Postgres(_) => ROWS_PER_INSERT,
        };
        let (mut inserted, mut sql, mut made_for) = (0, String::new(), 0);
        let mut rows = rows.into_iter().peekable();
        while let Some(first) = rows.peek() {
            let width = first.len();
            let chunk: Vec<Vec<Value>> = rows.by_ref().take(most).collect();
            // The statement is made again only when the number of rows differs: in practice for the
            // last chunk.
            if chunk.len() != made_for {
                sql = format!("{head} VALUES {} {tail}", places(chunk.len(), width));
                made_for = chunk.len();
            }
            inserted += self.execute(&sql, chunk.into_iter().flatten().collect()).await?;
        }
        Ok(inserted)
    }

    /// Statements without parameters and without results.
    pub(crate) async fn batch(&mut self, sql: &str) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(connection) => {
                connection.execute_batch(sql).map_err(|error| sqlite_fault(&error))
            }
            Self::Postgres(client) => {
                client.batch_execute(sql).await.map_err(|error| postgres_fault(&error))
            }
        }
    }

    /// Held until the end of the transaction.
    pub(crate) async fn lock(&mut self, lock: Lock) -> Result<(), StoreError> {
        // Two numbers nobody else is likely to use; they are local to the database.
        let number: i64 = match lock {
            Lock::Migration => 0x7472_756e_6b00_0001,
            Lock::Audit => 0x7472_756e_6b00_0002,
        };
        if let Self::Postgres(_) = self {
            // Transaction-level and not session-level: it is released by commit, rollback and a
            // broken connection alike.
            self.batch(&format!("SELECT pg_advisory_xact_lock({number})")).await?;
        }
        Ok(())
    }

    /// Tells all who listen, when and if the transaction is committed. Those of a `SQLite` file
    /// cannot be told.
    pub(crate) async fn tell(&mut self) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(_) => Ok(()),
            Self::Postgres(_) => self.batch(NOTIFY).await,
        }
    }

    /// What makes a SELECT hold its rows against other writers.
    pub(crate) fn for_update(&self) -> &'static str {
        match self {
            Self::Sqlite(_) => "",
            Self::Postgres(_) => " FOR UPDATE",
        }
    }

    pub(crate) async fn begin(&mut self, mode: TransactionMode) -> Result<(), StoreError> {
        let sql = match (&self, mode) {
            (Self::Sqlite(_), TransactionMode::Read) => "BEGIN",
            // Not deferred: a reader that becomes a writer may find that it cannot.
            (Self::Sqlite(_), TransactionMode::Write) => "BEGIN IMMEDIATE",
            (Self::Postgres(_), TransactionMode::Read) => {
                // Several SELECTs of one operation see one snapshot, as SQLite's readers do.
                "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
            }
            // Not serializable: what must not interleave takes `for_update` or an advisory lock, so
            // that no caller has to retry.
            (Self::Postgres(_), TransactionMode::Write) => "BEGIN ISOLATION LEVEL READ COMMITTED",
        };
        self.batch(sql).await
    }

    /// If this fails, a rollback is owed.
    pub(crate) async fn commit(&mut self) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(connection) => sqlite::commit(connection),
            Self::Postgres(client) => postgres::commit(client).await,
        }
    }

    pub(crate) async fn rollback(&mut self) -> Result<(), StoreError> {
        match self {
            // Some faults (a full disk) have rolled back already.
            Self::Sqlite(connection) if connection.is_autocommit() => Ok(()),
            _ => self.batch("ROLLBACK").await,
        }
    }
}

/// `($1, $2), ($3, $4)`
pub(crate) fn places(rows: usize, width: usize) -> String {
    let row = |row: usize| {
        let places: Vec<String> = (1..=width).map(|at| format!("${}", row * width + at)).collect();
        format!("({})", places.join(", "))
    };
    (0..rows).map(row).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_through_all_rows() {
        assert_eq!(places(1, 1), "($1)");
        assert_eq!(places(2, 3), "($1, $2, $3), ($4, $5, $6)");
        assert_eq!(places(0, 3), "");
    }
}
