//! How a statement is said to Postgres, and what its faults mean.

use std::error::Error as _;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use tokio_postgres::error::SqlState;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, Error};

use super::{Statement, StatementResult, TransactionMode};
use crate::error::StoreError;
use crate::limits::STATEMENT;
use crate::value::{Row, Value};

/// Makes another connection in the place of one that turns out to be dead.
pub(crate) type Redial =
    Box<dyn FnOnce() -> BoxFuture<Result<Client, StoreError>> + Send + Sync + 'static>;

type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send + 'static>>;

/// One connection. Statements carry the types of their parameters, so that each is one message and leaves nothing
/// behind on the server: a pooler between us and it may give each transaction another connection there.
pub(crate) struct PostgresSession {
    client: Client,
    /// The words that begin the transaction: they travel with its first statement.
    begin: Option<String>,
    mode: TransactionMode,
    /// A connection that was idle may have died unnoticed: until its transaction has begun, another can take its
    /// place.
    redial: Option<Redial>,
    commit: CommitState,
}

/// How far the end of a transaction is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CommitState {
    Open,
    /// Asked for; the answer is not there.
    Said,
    Done,
}

impl PostgresSession {
    pub(crate) fn new(client: Client) -> Self {
        let mode = TransactionMode::Read;
        Self { client, begin: None, mode, redial: None, commit: CommitState::Open }
    }

    /// The next transaction may be the first after a while.
    pub(crate) fn may_be_dead(&mut self, redial: Option<Redial>) {
        self.redial = redial;
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    pub(super) fn begin(&mut self, mode: TransactionMode) {
        self.begin = Some(beginning(mode));
        self.mode = mode;
        self.commit = CommitState::Open;
    }

    /// A commit was asked for, and nobody knows whether it was made.
    pub(crate) fn is_uncertain(&self) -> bool {
        self.commit == CommitState::Said
    }

    pub(super) async fn execute(&mut self, sql: &str, values: &[Value]) -> Result<u64, StoreError> {
        Ok(self.one(PostgresMessage::Execute(sql, values)).await?.touched)
    }

    pub(super) async fn rows(
        &mut self,
        sql: &str,
        values: &[Value],
    ) -> Result<Vec<Row>, StoreError> {
        Ok(self.one(PostgresMessage::Query(sql, values)).await?.rows)
    }

    pub(super) async fn batch(&mut self, sql: &str) -> Result<(), StoreError> {
        self.one(PostgresMessage::Batch(sql)).await.map(drop)
    }

    pub(super) async fn trip(
        &mut self,
        statements: &[Statement],
    ) -> Result<Vec<StatementResult>, StoreError> {
        let messages: Vec<_> = statements.iter().map(PostgresMessage::of).collect();
        let answers = self.exchange(&messages).await.map_err(|failure| failure.error)?;
        answers.into_iter().map(|answer| answer.map_err(|failure| failure.error)).collect()
    }

    /// These, and the commit behind them. A connection that breaks here does not say whether the commit was made.
    pub(super) async fn finish(
        &mut self,
        statements: &[Statement],
    ) -> Result<Vec<StatementResult>, StoreError> {
        // Apart from a commit: where the beginning has no answer, nothing may have been committed.
        self.exchange(&[]).await.map_err(|failure| failure.error)?;
        let mut messages: Vec<_> = statements.iter().map(PostgresMessage::of).collect();
        messages.push(PostgresMessage::Batch("COMMIT"));
        self.commit = CommitState::Said;
        let mut results = Vec::new();
        for answer in say(&self.client, &messages).await {
            match answer {
                Ok(result) => results.push(result),
                // After a statement that failed, COMMIT rolls back and reports no error: the statement does.
                Err(failure) => {
                    self.commit = CommitState::Open;
                    return Err(failure.of_commit());
                }
            }
        }
        results.truncate(statements.len());
        self.commit = CommitState::Done;
        Ok(results)
    }

    pub(super) async fn commit(&mut self) -> Result<(), StoreError> {
        // Nothing was said in it, or the commit went with its last statements.
        if self.begin.take().is_some() || self.commit == CommitState::Done {
            return Ok(());
        }
        match self.mode {
            TransactionMode::Write => {
                let said = PostgresMessage::Batch("COMMIT").say(&self.client).await;
                said.map(drop).map_err(StatementFailure::of_commit)
            }
            // Nobody has to know when a reader has ended: said, and not waited for.
            TransactionMode::Read => {
                let mut said = Box::pin(self.client.batch_execute("ROLLBACK"));
                poll_fn(|context| {
                    drop(said.as_mut().poll(context));
                    Poll::Ready(())
                })
                .await;
                Ok(())
            }
        }
    }

    pub(super) async fn rollback(&mut self) -> Result<(), StoreError> {
        if self.begin.take().is_some() || self.commit == CommitState::Done {
            return Ok(());
        }
        let said = PostgresMessage::Batch("ROLLBACK").say(&self.client).await;
        said.map(drop).map_err(|failure| failure.error)
    }

    async fn one(&mut self, message: PostgresMessage<'_>) -> Result<StatementResult, StoreError> {
        let answers = self.exchange(&[message]).await.map_err(|failure| failure.error)?;
        let answer =
            answers.into_iter().next().unwrap_or_else(|| Err(StatementFailure::no_answer()));
        answer.map_err(|failure| failure.error)
    }

    /// Says all of this at once, behind the beginning of the transaction if that was not said yet.
    async fn exchange(
        &mut self,
        messages: &[PostgresMessage<'_>],
    ) -> Result<Vec<StatementAnswer>, StatementFailure> {
        let Some(begin) = self.begin.take() else { return Ok(say(&self.client, messages).await) };
        let mut all = vec![PostgresMessage::Batch(&begin)];
        all.extend(messages);
        let mut answers = say(&self.client, &all).await.into_iter();
        let mut began = answers.next().unwrap_or_else(|| Err(StatementFailure::no_answer()));
        if let (Err(failure), Some(redial)) = (&began, self.redial.take())
            && matches!(failure.error, StoreError::Unavailable { .. })
        {
            // The transaction was never begun, and no commit went with it: nothing was written.
            self.client =
                redial().await.map_err(|error| StatementFailure { error, is_certain: true })?;
            answers = say(&self.client, &all).await.into_iter();
            began = answers.next().unwrap_or_else(|| Err(StatementFailure::no_answer()));
        }
        self.redial = None;
        began.map(|_| answers.collect())
    }
}

impl std::fmt::Debug for PostgresSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PostgresSession").finish_non_exhaustive()
    }
}

/// What begins a transaction. All that it relies on is set within it: behind a pooler the next one may have another
/// connection. Whatever the server's or the role's defaults are, what is acknowledged is on disk; and if this process
/// stalls with a transaction open, Postgres ends it and frees its locks.
fn beginning(mode: TransactionMode) -> String {
    let mode = match mode {
        // Several SELECTs of one operation see one snapshot, as SQLite's readers do.
        TransactionMode::Read => "REPEATABLE READ READ ONLY",
        // Not serializable: what must not interleave takes `for_update` or an advisory lock, so that no caller
        // has to retry.
        TransactionMode::Write => "READ COMMITTED",
    };
    format!(
        "BEGIN ISOLATION LEVEL {mode}; SET LOCAL search_path = trunkline; \
         SET LOCAL synchronous_commit = on; SET LOCAL statement_timeout = '{STATEMENT}'; \
         SET LOCAL idle_in_transaction_session_timeout = '{STATEMENT}'"
    )
}

type StatementAnswer = Result<StatementResult, StatementFailure>;

#[derive(Debug, Clone)]
struct StatementFailure {
    error: StoreError,
    /// Postgres itself said so. Otherwise its answer was lost.
    is_certain: bool,
}

impl StatementFailure {
    fn no_answer() -> Self {
        Self { error: StoreError::unavailable("Postgres did not answer"), is_certain: false }
    }

    /// What a commit was said behind.
    fn of_commit(self) -> StoreError {
        match self.error {
            StoreError::Unavailable { reason } if !self.is_certain => {
                StoreError::Uncertain { reason }
            }
            error => error,
        }
    }
}

impl From<Error> for StatementFailure {
    fn from(error: Error) -> Self {
        Self { is_certain: is_certain(&error), error: fault(&error) }
    }
}

#[derive(Debug, Clone, Copy)]
enum PostgresMessage<'a> {
    Batch(&'a str),
    Execute(&'a str, &'a [Value]),
    Query(&'a str, &'a [Value]),
}

impl<'a> PostgresMessage<'a> {
    fn of(Statement { sql, values }: &'a Statement) -> Self {
        match sql.starts_with("SELECT") {
            true => Self::Query(sql, values),
            false => Self::Execute(sql, values),
        }
    }

    async fn say(self, client: &Client) -> StatementAnswer {
        match self {
            Self::Batch(sql) => {
                client.batch_execute(sql).await?;
                Ok(StatementResult::default())
            }
            Self::Execute(sql, values) => {
                let touched = client.execute_typed(sql, &typed(values)).await?;
                Ok(StatementResult { rows: Vec::new(), touched })
            }
            Self::Query(sql, values) => {
                let found = client.query_typed(sql, &typed(values)).await?;
                let rows = found.iter().map(row).collect::<Result<_, _>>();
                let rows = rows.map_err(|error| StatementFailure { error, is_certain: true })?;
                Ok(StatementResult { rows, touched: 0 })
            }
        }
    }
}

/// One message behind the other; then all answers.
async fn say(client: &Client, messages: &[PostgresMessage<'_>]) -> Vec<StatementAnswer> {
    let mut saying: Vec<_> = messages.iter().map(|message| Box::pin(message.say(client))).collect();
    let mut answers: Vec<Option<StatementAnswer>> = saying.iter().map(|_| None).collect();
    poll_fn(|context| {
        // In their order: the driver sends a message when it is polled first.
        for (message, answer) in saying.iter_mut().zip(&mut answers) {
            if answer.is_none()
                && let Poll::Ready(said) = message.as_mut().poll(context)
            {
                *answer = Some(said);
            }
        }
        match answers.iter().all(Option::is_some) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    })
    .await;
    answers.into_iter().flatten().collect()
}

pub(crate) fn fault(error: &Error) -> StoreError {
    let Some(said) = error.as_db_error() else {
        // No answer of Postgres': the network, TLS, or what we asked for made no sense.
        let reason = match error.source() {
            Some(source) => format!("{error}: {source}"),
            None => error.to_string(),
        };
        return StoreError::Unavailable { reason };
    };
    let code = said.code();
    // The message names tables and constraints. Values would be in its detail, which is left out.
    let reason = format!("Postgres: {} ({})", said.message(), code.code());
    let class = code.code().get(..2).unwrap_or_default();
    match code {
        &SqlState::UNIQUE_VIOLATION => StoreError::conflict("such a record"),
        &SqlState::FOREIGN_KEY_VIOLATION => StoreError::NotFound,
        // A standby answers read-only: like a full disk, it needs an operator.
        &SqlState::DISK_FULL | &SqlState::READ_ONLY_SQL_TRANSACTION => StoreError::Full { reason },
        &SqlState::DATA_CORRUPTED | &SqlState::INDEX_CORRUPTED => StoreError::Corrupt { reason },
        &SqlState::LOCK_NOT_AVAILABLE => StoreError::Unavailable { reason },
        // lost connections, no resources, the operator's doing, deadlocks, the system's faults
        _ if matches!(class, "08" | "53" | "57" | "40" | "58" | "25") => {
            StoreError::Unavailable { reason }
        }
        _ => StoreError::Invalid { reason },
    }
}

/// Did Postgres itself say that the transaction has ended? A server that is being shut down may have committed before.
fn is_certain(error: &Error) -> bool {
    let code = error.code().map(SqlState::code);
    let class = code.and_then(|code| code.get(..2));
    class.is_some_and(|class| !matches!(class, "57" | "58" | "08")) || code == Some("57014")
}

fn typed(values: &[Value]) -> Vec<(&(dyn ToSql + Sync), Type)> {
    let one = |value| {
        let kind = match value {
            // Postgres works it out from where it stands.
            &Value::Null => Type::UNKNOWN,
            Value::Int(_) => Type::INT8,
            Value::Text(_) => Type::TEXT,
            Value::Bytes(_) => Type::BYTEA,
        };
        (value as &(dyn ToSql + Sync), kind)
    };
    values.iter().map(one).collect()
}

fn row(found: &tokio_postgres::Row) -> Result<Row, StoreError> {
    let columns = found.columns().iter().enumerate();
    let values: Result<Vec<Value>, Error> = columns
        .map(|(at, column)| match *column.type_() {
            Type::INT8 => found.try_get::<_, Option<i64>>(at).map(Value::from),
            // Literals are INT4 in Postgres; SQLite knows one integer only.
            Type::INT4 => found.try_get::<_, Option<i32>>(at).map(|v| v.map(i64::from).into()),
            Type::BYTEA => found.try_get::<_, Option<Vec<u8>>>(at).map(Value::from),
            _ => found.try_get::<_, Option<String>>(at).map(Value::from),
        })
        .collect();
    values.map(Row::new).map_err(|error| StoreError::corrupt(error.to_string()))
}

impl ToSql for Value {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Int(value) => value.to_sql(kind, out),
            Self::Text(text) => text.to_sql(kind, out),
            Self::Bytes(bytes) => bytes.to_sql(kind, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        // The type is given by `typed`; a check here would refuse NULL for all but one type.
        true
    }

    to_sql_checked!();
}
