//! What servers listed last: one document for each entry, so that a replica that starts lists it before its servers
//! are up.

use crate::error::StoreError;
use crate::session::Session;
use crate::value::Row;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownListingRecord {
    /// A digest of what the entry starts or connects to.
    pub entry: String,
    /// A server of the configuration file, or a row of `servers`.
    pub server_id: String,
    /// Only its writer knows what it says.
    pub document: Vec<u8>,
    pub updated_at: i64,
}

const COLUMNS: &str = "entry, server_id, document, updated_at";

/// An entry that is edited leaves its listing behind, and the edit may be undone: the last few are kept of each server.
const MOST_ENTRIES: i64 = 4;

/// A database takes so many values in one statement.
const AT_ONCE: usize = 200;

/// Of these entries, those that are there.
pub(crate) async fn of_entries(
    session: &mut Session,
    entries: Vec<String>,
) -> Result<Vec<KnownListingRecord>, StoreError> {
    let mut found = Vec::new();
    for entries in entries.chunks(AT_ONCE) {
        let places: Vec<_> = (1..=entries.len()).map(|place| format!("${place}")).collect();
        let places = places.join(", ");
        let sql = format!("SELECT {COLUMNS} FROM known_listings WHERE entry IN ({places})");
        let values = entries.iter().map(|entry| entry.as_str().into()).collect();
        for row in session.rows(&sql, values).await? {
            found.push(read(row)?);
        }
    }
    Ok(found)
}

/// In the place of what was there: whoever has asked the server last knows best.
pub(crate) async fn put(
    session: &mut Session,
    record: KnownListingRecord,
) -> Result<(), StoreError> {
    let KnownListingRecord { entry, server_id, document, updated_at } = record;
    let sql = format!(
        "INSERT INTO known_listings ({COLUMNS}) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (entry) DO UPDATE SET \
         server_id = excluded.server_id, document = excluded.document, \
         updated_at = excluded.updated_at"
    );
    let of_server = server_id.clone();
    let values = vec![entry.into(), server_id.into(), document.into(), updated_at.into()];
    session.execute(&sql, values).await?;
    let sql = "DELETE FROM known_listings WHERE server_id = $1 AND entry NOT IN \
               (SELECT entry FROM known_listings WHERE server_id = $1 \
               ORDER BY updated_at DESC, entry LIMIT $2)";
    session.execute(sql, vec![of_server.into(), MOST_ENTRIES.into()]).await?;
    Ok(())
}

/// Removes what was not seen since this time: of servers that a configuration file had once. Says how many.
pub(crate) async fn prune(session: &mut Session, before: i64) -> Result<u64, StoreError> {
    session.execute("DELETE FROM known_listings WHERE updated_at < $1", vec![before.into()]).await
}

/// The server is removed.
pub(crate) async fn forget_server(
    session: &mut Session,
    server_id: &str,
) -> Result<(), StoreError> {
    let sql = "DELETE FROM known_listings WHERE server_id = $1";
    session.execute(sql, vec![server_id.into()]).await?;
    Ok(())
}

fn read(mut row: Row) -> Result<KnownListingRecord, StoreError> {
    Ok(KnownListingRecord {
        entry: row.text()?,
        server_id: row.text()?,
        document: row.bytes()?,
        updated_at: row.int()?,
    })
}
