//! Tools the servers have offered, as they wrote them.

use std::collections::{HashMap, HashSet};

use crate::error::StoreError;
use crate::records::{page, server};
use crate::session::Session;
use crate::value::{Row, Value};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolRecord {
    pub server_id: String,
    pub original_name: String,
    /// JSON, verbatim.
    pub definition: String,
    pub definition_hash: String,
    pub first_seen: i64,
    pub last_seen: i64,
    pub available: bool,
}

/// A tool as its server lists it now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTool {
    pub original_name: String,
    pub definition: String,
    pub definition_hash: String,
}

const COLUMNS: &str = "server_id, original_name, definition, definition_hash, first_seen, \
                       last_seen, available";

/// The tools of this server are these, and all are available.
pub(crate) async fn replace(
    session: &mut Session,
    server_id: &str,
    listed: Vec<NewTool>,
    at: i64,
) -> Result<(), StoreError> {
    server::held(session, server_id, None).await?;
    let sql = "SELECT original_name, definition_hash FROM tools WHERE server_id = $1";
    let mut known = HashMap::new();
    for mut row in session.rows(sql, vec![server_id.into()]).await? {
        known.insert(row.text()?, row.text()?);
    }
    let Difference { written, gone } = difference(&known, listed);
    let sql = "DELETE FROM tools WHERE server_id = $1 AND original_name = $2";
    for name in gone {
        session.execute(sql, vec![server_id.into(), name.into()]).await?;
    }
    let sql = "UPDATE tools SET last_seen = $2, available = 1 WHERE server_id = $1";
    session.execute(sql, vec![server_id.into(), at.into()]).await?;
    let rows = written.into_iter().map(|tool| row(server_id, tool, at)).collect();
    let head = format!("INSERT INTO tools ({COLUMNS})");
    let tail = "ON CONFLICT (server_id, original_name) DO UPDATE SET \
                definition = excluded.definition, definition_hash = excluded.definition_hash";
    session.insert(&head, rows, tail).await?;
    Ok(())
}

/// They stay, with when they were last seen.
pub(crate) async fn mark_unavailable(
    session: &mut Session,
    server_id: &str,
) -> Result<(), StoreError> {
    let sql = "UPDATE tools SET available = 0 WHERE server_id = $1 AND available = 1";
    session.execute(sql, vec![server_id.into()]).await?;
    Ok(())
}

/// Those whose names come after this one.
pub(crate) async fn of_server(
    session: &mut Session,
    server_id: &str,
    after: &str,
    limit: usize,
) -> Result<Vec<ToolRecord>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM tools WHERE server_id = $1 AND original_name > $2 \
         ORDER BY original_name LIMIT $3"
    );
    let values = vec![server_id.into(), after.into(), page(limit).into()];
    session.rows(&sql, values).await?.into_iter().map(read).collect()
}

/// Those of all servers that come after this server's tool, by server and name.
pub(crate) async fn all(
    session: &mut Session,
    after: (&str, &str),
    limit: usize,
) -> Result<Vec<ToolRecord>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM tools WHERE (server_id, original_name) > ($1, $2) \
         ORDER BY server_id, original_name LIMIT $3"
    );
    let values = vec![after.0.into(), after.1.into(), page(limit).into()];
    session.rows(&sql, values).await?.into_iter().map(read).collect()
}

#[derive(Debug, PartialEq, Eq)]
struct Difference {
    /// New, or defined in another way.
    written: Vec<NewTool>,
    gone: Vec<String>,
}

/// A server that names a tool twice means the first.
fn difference(known: &HashMap<String, String>, listed: Vec<NewTool>) -> Difference {
    let mut names = HashSet::new();
    let mut written = Vec::new();
    for tool in listed {
        let unchanged = known.get(&tool.original_name) == Some(&tool.definition_hash);
        if names.insert(tool.original_name.clone()) && !unchanged {
            written.push(tool);
        }
    }
    let mut gone: Vec<String> =
        known.keys().filter(|name| !names.contains(*name)).cloned().collect();
    gone.sort_unstable();
    Difference { written, gone }
}

fn row(server_id: &str, tool: NewTool, at: i64) -> Vec<Value> {
    vec![
        server_id.into(),
        tool.original_name.into(),
        tool.definition.into(),
        tool.definition_hash.into(),
        at.into(),
        at.into(),
        true.into(),
    ]
}

fn read(mut row: Row) -> Result<ToolRecord, StoreError> {
    Ok(ToolRecord {
        server_id: row.text()?,
        original_name: row.text()?,
        definition: row.text()?,
        definition_hash: row.text()?,
        first_seen: row.int()?,
        last_seen: row.int()?,
        available: row.flag()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the server lists, what is written of that, and what is gone.
    type Line =
        (&'static [(&'static str, &'static str)], &'static [&'static str], &'static [&'static str]);

    #[test]
    fn only_what_differs_is_written() {
        let known = [("a", "1"), ("b", "1"), ("c", "1")];
        let known = known.map(|(name, hash)| (name.to_owned(), hash.to_owned())).into();
        let table: [Line; 5] = [
            (&[("a", "1"), ("b", "1"), ("c", "1")], &[], &[]),
            (&[("a", "1"), ("b", "2"), ("c", "1")], &["b2"], &[]),
            (&[("a", "1"), ("d", "1")], &["d1"], &["b", "c"]),
            (&[("a", "1"), ("a", "2"), ("b", "1"), ("c", "1")], &[], &[]),
            (&[], &[], &["a", "b", "c"]),
        ];
        for (listed, written, gone) in table {
            let tools = listed.iter().map(|(name, hash)| NewTool {
                original_name: (*name).to_owned(),
                definition: "{}".to_owned(),
                definition_hash: (*hash).to_owned(),
            });
            let found = difference(&known, tools.collect());
            let names =
                found.written.iter().map(|t| format!("{}{}", t.original_name, t.definition_hash));
            assert_eq!(names.collect::<Vec<_>>(), written, "{listed:?}");
            assert_eq!(found.gone, gone, "{listed:?}");
        }
    }
}
