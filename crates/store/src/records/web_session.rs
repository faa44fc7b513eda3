//! Who is signed in at the dashboard: what is needed to recognise their cookies, never the cookies.

use crate::error::StoreError;
use crate::session::Session;
use crate::value::Row;

/// Sessions at once. Of whoever has the most, those that were idle for longest go first: signing in again and again
/// signs nobody else out.
// As many as one process of the dashboard keeps in memory.
const MOST: i64 = 1_024;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebSession {
    /// A digest of what the cookie holds.
    pub id: String,
    /// Whose it is, as the audit log writes it.
    pub credential: String,
    /// JSON: what else is needed to know whether that credential is still good.
    pub detail: String,
    pub began_at: i64,
    pub used_at: i64,
}

/// When sessions are over: those that began or were last used before these times.
#[derive(Clone, Copy, Debug)]
pub struct WebSessionEnds {
    pub began_before: i64,
    pub used_before: i64,
}

/// Those that are over or too many are gone afterwards.
pub(crate) async fn put(
    session: &mut Session,
    new: WebSession,
    ends: WebSessionEnds,
) -> Result<(), StoreError> {
    let over = "DELETE FROM web_sessions WHERE began_at <= $1 OR used_at <= $2";
    session.execute(over, vec![ends.began_before.into(), ends.used_before.into()]).await?;
    let WebSession { id, credential, detail, began_at, used_at } = new;
    let sql = "INSERT INTO web_sessions (id, credential, detail, began_at, used_at) \
               VALUES ($1, $2, $3, $4, $5)";
    let values =
        vec![id.clone().into(), credential.into(), detail.into(), began_at.into(), used_at.into()];
    session.execute(sql, values).await?;
    // The latest of everybody are kept first, then the second of everybody, and so on.
    let many = "DELETE FROM web_sessions WHERE id <> $2 AND id NOT IN \
                (SELECT id FROM (SELECT id, used_at, ROW_NUMBER() OVER \
                (PARTITION BY credential ORDER BY used_at DESC, id) AS place FROM web_sessions) AS placed \
                ORDER BY place, used_at DESC, id LIMIT $1)";
    session.execute(many, vec![MOST.into(), id.into()]).await?;
    Ok(())
}

pub(crate) async fn get(
    session: &mut Session,
    id: &str,
    ends: WebSessionEnds,
) -> Result<Option<WebSession>, StoreError> {
    let sql = "SELECT id, credential, detail, began_at, used_at FROM web_sessions \
               WHERE id = $1 AND began_at > $2 AND used_at > $3";
    let values = vec![id.into(), ends.began_before.into(), ends.used_before.into()];
    session.row(sql, values).await?.map(read).transpose()
}

/// Somebody was there; of several replicas the latest counts.
pub(crate) async fn touch(session: &mut Session, id: &str, at: i64) -> Result<(), StoreError> {
    let sql = "UPDATE web_sessions SET used_at = $2 WHERE id = $1 AND used_at < $2";
    session.execute(sql, vec![id.into(), at.into()]).await?;
    Ok(())
}

pub(crate) async fn end(session: &mut Session, id: &str) -> Result<(), StoreError> {
    session.execute("DELETE FROM web_sessions WHERE id = $1", vec![id.into()]).await?;
    Ok(())
}

fn read(mut row: Row) -> Result<WebSession, StoreError> {
    Ok(WebSession {
        id: row.text()?,
        credential: row.text()?,
        detail: row.text()?,
        began_at: row.int()?,
        used_at: row.int()?,
    })
}
