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
use crate::limits::{FETCHED, LOCK_IDLE, ROWS_PER_INSERT};
use crate::value::{Cell, Row, Value};

pub(crate) use postgres::{PostgresSession, Redial, fault as postgres_fault};
pub(crate) use sqlite::fault as sqlite_fault;

/// Between a Postgres and those who want to know what changes in it.
pub(crate) const LISTEN: &str = "LISTEN trunkline";
const NOTIFY: &str = "NOTIFY trunkline";

#[derive(Debug)]
pub(crate) enum Session {
    Sqlite(rusqlite::Connection),
    Postgres(PostgresSession),
}

/// A statement with the values of its parameters `$1`, `$2`, …
#[derive(Debug)]
pub(crate) struct Statement {
    pub(crate) sql: String,
    pub(crate) values: Vec<Value>,
}

impl Statement {
    pub(crate) fn new(sql: impl Into<String>, values: Vec<Value>) -> Self {
        Self { sql: sql.into(), values }
    }
}

/// A statement, and what it means if it touches nothing.
#[derive(Debug)]
pub(crate) struct PlannedStatement {
    pub(crate) statement: Statement,
    pub(crate) nothing: Option<StoreError>,
}

/// What one statement of several has returned and touched.
#[derive(Debug, Default)]
pub(crate) struct StatementResult {
    pub(crate) rows: Vec<Row>,
    pub(crate) touched: u64,
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
            Self::Postgres(session) => session.execute(sql, &values).await,
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
            Self::Postgres(session) => session.rows(sql, &values).await,
        }
    }

    pub(crate) async fn row(
        &mut self,
        sql: &str,
        values: Vec<Value>,
    ) -> Result<Option<Row>, StoreError> {
        Ok(self.rows(sql, values).await?.into_iter().next())
    }

    /// Every row of a query without parameters, one after the other: they may be more than fit into memory.
    pub(crate) async fn each(
        &mut self,
        sql: &str,
        take: &mut (dyn FnMut(Vec<Cell>) -> Result<(), String> + Send),
    ) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(connection) => sqlite::each(connection, sql, take),
            Self::Postgres(_) => {
                self.batch(&format!("DECLARE all_rows NO SCROLL CURSOR FOR {sql}")).await?;
                loop {
                    let fetch = format!("FETCH FORWARD {FETCHED} FROM all_rows");
                    let rows = self.rows(&fetch, vec![]).await?;
                    let is_last = rows.len() < FETCHED;
                    for row in rows {
                        take(row.cells()).map_err(StoreError::invalid)?;
                    }
                    if is_last {
                        return self.batch("CLOSE all_rows").await;
                    }
                }
            }
        }
    }

    /// Several statements in one trip to Postgres, each whether or not the one before has worked: after a
    /// failure Postgres refuses the others of a transaction. The rows each has returned or touched.
    pub(crate) async fn trip(
        &mut self,
        statements: Vec<Statement>,
    ) -> Result<Vec<StatementResult>, StoreError> {
        for statement in &statements {
            statement.values.iter().try_for_each(Value::check)?;
        }
        match self {
            Self::Postgres(session) => session.trip(&statements).await,
            Self::Sqlite(connection) => {
                let run = |statement: &Statement| sqlite::run(connection, statement);
                statements.iter().map(run).collect()
            }
        }
    }

    /// Several changes in one trip; the first that touches nothing and should have is the outcome.
    pub(crate) async fn make(&mut self, planned: Vec<PlannedStatement>) -> Result<(), StoreError> {
        if planned.is_empty() {
            return Ok(());
        }
        let (statements, nothings) = split(planned);
        checked(&self.trip(statements).await?, nothings)
    }

    /// The last statements of a transaction and its commit, in one trip to Postgres.
    pub(crate) async fn finish(
        &mut self,
        statements: Vec<Statement>,
    ) -> Result<Vec<StatementResult>, StoreError> {
        match self {
            Self::Sqlite(_) => self.trip(statements).await,
            Self::Postgres(session) => {
                for statement in &statements {
                    statement.values.iter().try_for_each(Value::check)?;
                }
                session.finish(&statements).await
            }
        }
    }

    /// `head VALUES (…), (…) tail` for all rows, in one trip.
    pub(crate) async fn insert(
        &mut self,
        head: &str,
        rows: Vec<Vec<Value>>,
        tail: &str,
    ) -> Result<u64, StoreError> {
        let statements = self.inserts(head, rows, tail);
        let inserted = self.trip(statements).await?;
        Ok(inserted.iter().map(|done| done.touched).sum())
    }

    /// To Postgres some hundred rows at a time; to `SQLite` one by one, which saves making a statement for each
    /// number of rows.
    pub(crate) fn inserts(&self, head: &str, rows: Vec<Vec<Value>>, tail: &str) -> Vec<Statement> {
        let most = match self {
            Self::Sqlite(_) => 1,
            Self::Postgres(_) => ROWS_PER_INSERT,
        };
        let (mut statements, mut sql, mut made_for) = (Vec::new(), String::new(), 0);
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
            statements.push(Statement::new(sql.clone(), chunk.into_iter().flatten().collect()));
        }
        statements
    }

    /// Statements without parameters and without results.
    pub(crate) async fn batch(&mut self, sql: &str) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(connection) => {
                connection.execute_batch(sql).map_err(|error| sqlite_fault(&error))
            }
            Self::Postgres(session) => session.batch(sql).await,
        }
    }

    /// Held until the end of the transaction.
    pub(crate) async fn lock(&mut self, lock: Lock) -> Result<(), StoreError> {
        let statements = self.lock_statements(lock);
        self.trip(statements).await.map(drop)
    }

    /// What takes the lock. `SQLite` needs nothing.
    pub(crate) fn lock_statements(&self, lock: Lock) -> Vec<Statement> {
        // Two numbers nobody else is likely to use; they are local to the database.
        let number: i64 = match lock {
            Lock::Migration => 0x7472_756e_6b00_0001,
            Lock::Audit => 0x7472_756e_6b00_0002,
        };
        match self {
            Self::Sqlite(_) => Vec::new(),
            // Transaction-level and not session-level: it is released by commit, rollback and a broken connection
            // alike. Beside a transaction's other limits, so that it ends soon if its program stands still.
            Self::Postgres(_) => vec![
                Statement::new(
                    format!("SET LOCAL idle_in_transaction_session_timeout = '{LOCK_IDLE}'"),
                    vec![],
                ),
                Statement::new("SELECT 1 FROM pg_advisory_xact_lock($1)", vec![number.into()]),
            ],
        }
    }

    /// What tells all who listen, when and if the transaction is committed. Those of a `SQLite` file
    /// cannot be told.
    pub(crate) fn tell_statements(&self) -> Vec<Statement> {
        match self {
            Self::Sqlite(_) => Vec::new(),
            Self::Postgres(_) => vec![Statement::new(NOTIFY, vec![])],
        }
    }

    /// What makes a SELECT hold its rows against other writers.
    pub(crate) fn for_update(&self) -> &'static str {
        match self {
            Self::Sqlite(_) => "",
            Self::Postgres(_) => " FOR UPDATE",
        }
    }

    /// To Postgres this goes with the first statement of the transaction.
    pub(crate) async fn begin(&mut self, mode: TransactionMode) -> Result<(), StoreError> {
        match (self, mode) {
            (Self::Postgres(session), mode) => {
                session.begin(mode);
                Ok(())
            }
            (sqlite, TransactionMode::Read) => sqlite.batch("BEGIN").await,
            // Not deferred: a reader that becomes a writer may find that it cannot.
            (sqlite, TransactionMode::Write) => sqlite.batch("BEGIN IMMEDIATE").await,
        }
    }

    /// If this fails, a rollback is owed.
    pub(crate) async fn commit(&mut self) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(connection) => sqlite::commit(connection),
            Self::Postgres(session) => session.commit().await,
        }
    }

    pub(crate) async fn rollback(&mut self) -> Result<(), StoreError> {
        match self {
            // Some faults (a full disk) have rolled back already.
            Self::Sqlite(connection) if connection.is_autocommit() => Ok(()),
            Self::Sqlite(_) => self.batch("ROLLBACK").await,
            Self::Postgres(session) => session.rollback().await,
        }
    }
}

/// The statements, and what each means if it touches nothing.
pub(crate) fn split(planned: Vec<PlannedStatement>) -> (Vec<Statement>, Vec<Option<StoreError>>) {
    planned.into_iter().map(|planned| (planned.statement, planned.nothing)).unzip()
}

/// Has each touched what it was to touch?
pub(crate) fn checked(
    results: &[StatementResult],
    nothings: Vec<Option<StoreError>>,
) -> Result<(), StoreError> {
    for (result, nothing) in results.iter().zip(nothings) {
        if let (0, Some(error)) = (result.touched, nothing) {
            return Err(error);
        }
    }
    Ok(())
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
