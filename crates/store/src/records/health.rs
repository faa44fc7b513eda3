//! Samples of the servers' health.

use std::collections::HashSet;

use crate::error::StoreError;
use crate::records::page;
use crate::session::Session;
use crate::value::Row;

/// How the ids of servers begin that are in the configuration file and not in the store.
pub const OF_THE_FILE: &str = "file:";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HealthSample {
    /// Of a server in the store, or of one of the configuration file.
    pub server_id: String,
    pub at: i64,
    pub ok: bool,
    pub status: String,
    pub response_ms: Option<i64>,
    pub detail: Option<String>,
}

const COLUMNS: &str = "server_id, at, ok, status, response_ms, detail";

/// Samples of servers that are gone are left out: they were taken before that. Of two samples of
/// the same moment the first stays.
pub(crate) async fn append(
    session: &mut Session,
    samples: Vec<HealthSample>,
) -> Result<(), StoreError> {
    let mut there = HashSet::new();
    for mut row in session.rows("SELECT id FROM servers", vec![]).await? {
        there.insert(row.text()?);
    }
    let rows = samples
        .into_iter()
        .filter(|sample| {
            sample.server_id.starts_with(OF_THE_FILE) || there.contains(&sample.server_id)
        })
        .map(|sample| {
            vec![
                sample.server_id.into(),
                sample.at.into(),
                sample.ok.into(),
                sample.status.into(),
                sample.response_ms.into(),
                // It may quote a server.
                sample.detail.map(|detail| detail.replace('\0', "\u{fffd}")).into(),
            ]
        })
        .collect();
    let head = format!("INSERT INTO health_samples ({COLUMNS})");
    session.insert(&head, rows, "ON CONFLICT DO NOTHING").await?;
    Ok(())
}

/// Newest first.
pub(crate) async fn latest(
    session: &mut Session,
    server_id: &str,
    limit: usize,
) -> Result<Vec<HealthSample>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM health_samples WHERE server_id = $1 ORDER BY at DESC LIMIT $2"
    );
    let rows = session.rows(&sql, vec![server_id.into(), page(limit).into()]).await?;
    rows.into_iter().map(read).collect()
}

/// Says how many were removed.
pub(crate) async fn prune(session: &mut Session, before: i64) -> Result<u64, StoreError> {
    session.execute("DELETE FROM health_samples WHERE at < $1", vec![before.into()]).await
}

fn read(mut row: Row) -> Result<HealthSample, StoreError> {
    Ok(HealthSample {
        server_id: row.text()?,
        at: row.int()?,
        ok: row.flag()?,
        status: row.text()?,
        response_ms: row.maybe_int()?,
        detail: row.maybe_text()?,
    })
}
