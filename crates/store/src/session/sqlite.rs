//! How a statement is said to `SQLite`, and what its faults mean.

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, ToSql, params_from_iter};

use super::{Statement, StatementResult};
use crate::error::StoreError;
use crate::value::{Cell, Row, Value};

pub(super) fn execute(
    connection: &Connection,
    sql: &str,
    values: &[Value],
) -> Result<u64, StoreError> {
    // Cached: the same few statements come again and again, and parsing is what costs on SQLite.
    let mut statement = connection.prepare_cached(&spelt(sql)).map_err(|error| fault(&error))?;
    let touched = statement.execute(params_from_iter(values)).map_err(|error| fault(&error))?;
    // Saturating and not failing: the number is only compared with small ones.
    Ok(u64::try_from(touched).unwrap_or(u64::MAX))
}

pub(super) fn rows(
    connection: &Connection,
    sql: &str,
    values: &[Value],
) -> Result<Vec<Row>, StoreError> {
    let mut statement = connection.prepare_cached(&spelt(sql)).map_err(|error| fault(&error))?;
    let width = statement.column_count();
    let mut found = statement.query(params_from_iter(values)).map_err(|error| fault(&error))?;
    let mut rows = Vec::new();
    while let Some(row) = found.next().map_err(|error| fault(&error))? {
        let columns: Result<Vec<Value>, StoreError> = (0..width)
            .map(|column| row.get_ref(column).map_err(|error| fault(&error)).and_then(value))
            .collect();
        rows.push(Row::new(columns?));
    }
    Ok(rows)
}

/// Every row, one after the other.
pub(super) fn each(
    connection: &Connection,
    sql: &str,
    take: &mut (dyn FnMut(Vec<Cell>) -> Result<(), String> + Send),
) -> Result<(), StoreError> {
    let mut statement = connection.prepare(sql).map_err(|error| fault(&error))?;
    let width = statement.column_count();
    let mut found = statement.query([]).map_err(|error| fault(&error))?;
    while let Some(row) = found.next().map_err(|error| fault(&error))? {
        let cells: Result<Vec<Cell>, StoreError> = (0..width)
            .map(|column| row.get_ref(column).map_err(|error| fault(&error)).and_then(value))
            .map(|value| value.map(Cell::from))
            .collect();
        take(cells?).map_err(StoreError::invalid)?;
    }
    Ok(())
}

/// Rows of a query, or how many it has touched.
pub(super) fn run(
    connection: &Connection,
    Statement { sql, values }: &Statement,
) -> Result<StatementResult, StoreError> {
    let is_query = sql.starts_with("SELECT");
    match is_query {
        true => Ok(StatementResult { rows: rows(connection, sql, values)?, touched: 0 }),
        false => {
            Ok(StatementResult { rows: Vec::new(), touched: execute(connection, sql, values)? })
        }
    }
}

/// When the disk fails in the middle of a commit, it may have been made.
pub(super) fn commit(connection: &Connection) -> Result<(), StoreError> {
    connection.execute_batch("COMMIT").map_err(|error| match error.sqlite_error_code() {
        // After an I/O error SQLite cannot say whether the journal reached the disk.
        Some(ErrorCode::SystemIoFailure) => StoreError::Uncertain { reason: error.to_string() },
        _ => fault(&error),
    })
}

pub(crate) fn fault(error: &rusqlite::Error) -> StoreError {
    let Some(code) = error.sqlite_error_code() else {
        return StoreError::invalid(format!("SQLite: {error}"));
    };
    match code {
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => {
            // `busy_timeout` has been waited for already: another process is stuck, not merely at
            // work.
            StoreError::unavailable("another process keeps the file locked")
        }
        ErrorCode::DiskFull => StoreError::full("the disk is full"),
        ErrorCode::ReadOnly => StoreError::full("the file is read-only"),
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => {
            StoreError::corrupt(error.to_string())
        }
        ErrorCode::ConstraintViolation => violated(error),
        ErrorCode::SystemIoFailure | ErrorCode::CannotOpen | ErrorCode::OutOfMemory => {
            StoreError::unavailable(error.to_string())
        }
        _ => StoreError::invalid(format!("SQLite: {error}")),
    }
}

fn violated(error: &rusqlite::Error) -> StoreError {
    use rusqlite::ffi;
    match error.sqlite_error().map(|error| error.extended_code) {
        // The row that this one refers to is gone, which is what a caller would have found by
        // asking for it.
        Some(ffi::SQLITE_CONSTRAINT_FOREIGNKEY) => StoreError::NotFound,
        Some(ffi::SQLITE_CONSTRAINT_UNIQUE | ffi::SQLITE_CONSTRAINT_PRIMARYKEY) => {
            StoreError::conflict("such a record")
        }
        _ => StoreError::invalid(format!("SQLite: {error}")),
    }
}

/// To `SQLite`, `$1` is a name, and `?1` the first.
fn spelt(sql: &str) -> String {
    sql.replace('$', "?")
}

fn value(found: ValueRef<'_>) -> Result<Value, StoreError> {
    Ok(match found {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(value) => Value::Int(value),
        ValueRef::Text(text) => match str::from_utf8(text) {
            Ok(text) => Value::Text(text.to_owned()),
            // `STRICT` tables refuse other types, not broken UTF-8: only a damaged or foreign file
            // has it.
            Err(_) => return Err(StoreError::corrupt("a text is not UTF-8")),
        },
        ValueRef::Blob(bytes) => Value::Bytes(bytes.to_vec()),
        ValueRef::Real(_) => return Err(StoreError::corrupt("a column holds a fraction")),
    })
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Int(value) => ValueRef::Integer(*value),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}
