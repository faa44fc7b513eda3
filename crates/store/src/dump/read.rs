//! Reads all that a store holds, in one state: what is written meanwhile is not in it.

use super::{Dumped, PASSING, TABLES, VERSION};
use crate::error::StoreError;
use crate::schema;
use crate::session::Session;
use crate::value::Cell;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DumpedTable {
    pub name: String,
    pub columns: Vec<String>,
}

/// Takes what is read; an error ends the reading.
pub(crate) type Take<'a> = &'a mut (dyn FnMut(Dumped) -> Result<(), String> + Send);

/// The schema's version.
pub(crate) async fn read(session: &mut Session, take: Take<'_>) -> Result<i64, StoreError> {
    let version = schema::check(session).await?;
    let there = tables(session).await?;
    let is_known = |name: &String| TABLES.contains(&name.as_str()) || name == VERSION;
    if let Some(unknown) = there.iter().find(|name| !is_known(name)) {
        return Err(StoreError::invalid(format!(
            "the store has a table `{unknown}`, which this version does not know"
        )));
    }
    for name in TABLES {
        if PASSING.contains(&name) || !there.iter().any(|found| found == name) {
            continue;
        }
        let columns = columns(session, name).await?;
        let listed = columns.join(", ");
        let table = DumpedTable { name: name.to_owned(), columns };
        take(Dumped::Table(table)).map_err(StoreError::invalid)?;
        let mut row = |row: Vec<Cell>| take(Dumped::Row(row));
        session.each(&format!("SELECT {listed} FROM {name}"), &mut row).await?;
    }
    Ok(version)
}

async fn tables(session: &mut Session) -> Result<Vec<String>, StoreError> {
    let sql = match session {
        Session::Sqlite(_) => {
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        }
        Session::Postgres(_) => {
            "SELECT table_name::text FROM information_schema.tables WHERE table_schema = 'trunkline'"
        }
    };
    let rows = session.rows(sql, vec![]).await?;
    rows.into_iter().map(|mut row| row.text()).collect()
}

async fn columns(session: &mut Session, table: &str) -> Result<Vec<String>, StoreError> {
    let sql = match session {
        Session::Sqlite(_) => "SELECT name FROM pragma_table_info($1) ORDER BY cid",
        Session::Postgres(_) => {
            "SELECT column_name::text FROM information_schema.columns \
             WHERE table_schema = 'trunkline' AND table_name = $1 ORDER BY ordinal_position"
        }
    };
    let rows = session.rows(sql, vec![table.into()]).await?;
    rows.into_iter().map(|mut row| row.text()).collect()
}
