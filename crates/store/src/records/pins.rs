//! What is pinned of servers' definitions: one document for each entry, replaced as a whole by who has read it.

use crate::error::StoreError;
use crate::session::Session;
use crate::value::Row;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinsRecord {
    /// A digest of what the entry starts or connects to.
    pub entry: String,
    /// A server of the configuration file, or a row of `servers`.
    pub server_id: String,
    /// Only its writer knows what it says.
    pub document: Vec<u8>,
    /// How many definitions in it wait, those that were rejected among them.
    pub waiting: i64,
    /// Of the document; the first is 1.
    pub revision: i64,
    /// When somebody last decided something (ms since 1970); 0: never.
    pub decided_at: i64,
    pub updated_at: i64,
}

const COLUMNS: &str = "entry, server_id, document, waiting, revision, decided_at, updated_at";

/// An entry that is edited leaves its pins behind, and replicas may be restarted one after the other: the last
/// few are kept of each server.
const MOST_ENTRIES: i64 = 8;

pub(crate) async fn get(
    session: &mut Session,
    entry: &str,
) -> Result<Option<PinsRecord>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM pins WHERE entry = $1");
    session.row(&sql, vec![entry.into()]).await?.map(read).transpose()
}

/// A database takes so many values in one statement.
const AT_ONCE: usize = 200;

/// Of these entries, those that are there.
pub(crate) async fn of_entries(
    session: &mut Session,
    entries: Vec<String>,
) -> Result<Vec<PinsRecord>, StoreError> {
    let mut found = Vec::new();
    for entries in entries.chunks(AT_ONCE) {
        let places: Vec<_> = (1..=entries.len()).map(|place| format!("${place}")).collect();
        let places = places.join(", ");
        let sql = format!("SELECT {COLUMNS} FROM pins WHERE entry IN ({places})");
        let values = entries.iter().map(|entry| entry.as_str().into()).collect();
        for row in session.rows(&sql, values).await? {
            found.push(read(row)?);
        }
    }
    Ok(found)
}

/// Those in which something waits, or was rejected, by server; the last first.
pub(crate) async fn waiting(session: &mut Session) -> Result<Vec<PinsRecord>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM pins WHERE waiting > 0 ORDER BY server_id, updated_at DESC, entry"
    );
    session.rows(&sql, vec![]).await?.into_iter().map(read).collect()
}

/// Another number means that somebody has decided something.
pub(crate) async fn mark(session: &mut Session) -> Result<i64, StoreError> {
    let sql = "SELECT COALESCE(MAX(decided_at), 0) FROM pins";
    session.row(sql, vec![]).await?.ok_or(StoreError::NotFound)?.int()
}

/// Stale if it has another revision than this, or if there is one and none was expected.
pub(crate) async fn put(
    session: &mut Session,
    record: PinsRecord,
    expected: Option<i64>,
) -> Result<(), StoreError> {
    let PinsRecord { entry, server_id, document, waiting, decided_at, updated_at, .. } = record;
    let mut values = vec![
        entry.into(),
        server_id.clone().into(),
        document.into(),
        waiting.into(),
        decided_at.into(),
        updated_at.into(),
    ];
    let sql = match expected {
        None => format!(
            "INSERT INTO pins ({COLUMNS}) VALUES ($1, $2, $3, $4, 1, $5, $6) \
             ON CONFLICT (entry) DO NOTHING"
        ),
        Some(expected) => {
            values.push(expected.into());
            "UPDATE pins SET server_id = $2, document = $3, waiting = $4, \
             revision = revision + 1, decided_at = $5, updated_at = $6 \
             WHERE entry = $1 AND revision = $7"
                .to_owned()
        }
    };
    let written = session.execute(&sql, values).await?;
    match (written, expected) {
        (0, _) => Err(StoreError::Stale),
        (_, None) => forget_oldest(session, &server_id).await,
        (_, Some(_)) => Ok(()),
    }
}

async fn forget_oldest(session: &mut Session, server_id: &str) -> Result<(), StoreError> {
    let sql = "DELETE FROM pins WHERE server_id = $1 AND entry NOT IN (SELECT entry FROM pins \
               WHERE server_id = $1 ORDER BY updated_at DESC, entry LIMIT $2)";
    session.execute(sql, vec![server_id.into(), MOST_ENTRIES.into()]).await?;
    Ok(())
}

/// The server is removed.
pub(crate) async fn forget_server(
    session: &mut Session,
    server_id: &str,
) -> Result<(), StoreError> {
    session.execute("DELETE FROM pins WHERE server_id = $1", vec![server_id.into()]).await?;
    Ok(())
}

fn read(mut row: Row) -> Result<PinsRecord, StoreError> {
    Ok(PinsRecord {
        entry: row.text()?,
        server_id: row.text()?,
        document: row.bytes()?,
        waiting: row.int()?,
        revision: row.int()?,
        decided_at: row.int()?,
        updated_at: row.int()?,
    })
}
