//! Makes a store of what another held, in one transaction: all of it is there, or nothing.

use super::{Dumped, DumpedTable, PASSING, TABLES};
use crate::error::StoreError;
use crate::schema;
use crate::session::Session;
use crate::value::{Cell, Value};

/// Gives what is to be written; nothing more at the end.
pub(crate) type Give<'a> = &'a mut (dyn FnMut() -> Result<Option<Dumped>, String> + Send);

/// Rows that go to the database together.
const TOGETHER: usize = 1_000;

/// How many rows were written. `version`: that of the schema they had.
pub(crate) async fn write(
    session: &mut Session,
    version: i64,
    give: Give<'_>,
) -> Result<u64, StoreError> {
    schema::make(session, version).await?;
    let (mut table, mut rows, mut written) = (None::<DumpedTable>, Vec::new(), 0);
    loop {
        let given = give().map_err(StoreError::invalid)?;
        let is_row = matches!(given, Some(Dumped::Row(_)));
        if !is_row || rows.len() >= TOGETHER {
            written += insert(session, table.as_ref(), std::mem::take(&mut rows)).await?;
        }
        match given {
            Some(Dumped::Table(next)) => {
                check(&next)?;
                // The steps of the schema put rows into some tables.
                session.execute(&format!("DELETE FROM {}", next.name), vec![]).await?;
                table = Some(next);
            }
            Some(Dumped::Row(row)) => {
                let width = table.as_ref().map_or(0, |table| table.columns.len());
                if row.len() != width || width == 0 {
                    return Err(StoreError::invalid("a row does not fit its table"));
                }
                rows.push(row);
            }
            None => return Ok(written),
        }
    }
}

async fn insert(
    session: &mut Session,
    table: Option<&DumpedTable>,
    rows: Vec<Vec<Cell>>,
) -> Result<u64, StoreError> {
    let Some(table) = table.filter(|_| !rows.is_empty()) else { return Ok(0) };
    let values = |row: Vec<Cell>| row.into_iter().map(Value::from).collect();
    let rows = rows.into_iter().map(values).collect();
    let head = format!("INSERT INTO {} ({})", table.name, table.columns.join(", "));
    session.insert(&head, rows, "").await
}

/// Names become part of statements: only those there are.
fn check(table: &DumpedTable) -> Result<(), StoreError> {
    let is_table = TABLES.contains(&table.name.as_str()) && !PASSING.contains(&table.name.as_str());
    let is_column = |name: &String| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    };
    match is_table && !table.columns.is_empty() && table.columns.iter().all(is_column) {
        true => Ok(()),
        false => Err(StoreError::invalid("it names a table or a column that there is not")),
    }
}
