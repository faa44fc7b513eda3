//! How a statement is said to Postgres, and what its faults mean.

use std::error::Error as _;

use tokio_postgres::error::SqlState;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, Error};

use crate::error::StoreError;
use crate::value::{Row, Value};

/// Statements carry the types of their parameters, so that each is one round trip and leaves
/// nothing behind on the server (poolers between us and it may mix up connections).
pub(super) async fn execute(
    client: &Client,
    sql: &str,
    values: &[Value],
) -> Result<u64, StoreError> {
    client.execute_typed(sql, &typed(values)).await.map_err(|error| fault(&error))
}

pub(super) async fn rows(
    client: &Client,
    sql: &str,
    values: &[Value],
) -> Result<Vec<Row>, StoreError> {
    let found = client.query_typed(sql, &typed(values)).await.map_err(|error| fault(&error))?;
    found.iter().map(row).collect()
}

/// A connection that breaks here does not say whether the commit was made.
pub(super) async fn commit(client: &Client) -> Result<(), StoreError> {
    client.batch_execute("COMMIT").await.map_err(|error| match fault(&error) {
        // Postgres itself ended the transaction: then it is certain that nothing was committed.
        StoreError::Unavailable { reason } if !refused(&error) => StoreError::Uncertain { reason },
        other => other,
    })
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

/// Postgres itself has ended the transaction.
fn refused(error: &Error) -> bool {
    let class = error.code().and_then(|code| code.code().get(..2));
    matches!(class, Some("40" | "53"))
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
