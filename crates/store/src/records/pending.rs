//! Logins that wait for the browser to come back, to whichever replica: each is taken once.

use crate::error::StoreError;
use crate::session::Session;
use crate::value::Row;

/// Logins at once; the oldest go first.
// People log in one by one, and a login ends after minutes: the bound is for programs that begin
// logins without end.
const MOST: i64 = 256;

#[derive(Clone, PartialEq, Eq)]
pub struct PendingLogin {
    /// Tells nobody how it can be finished.
    pub id: String,
    pub server_id: String,
    pub sealed: Vec<u8>,
    pub expires_at: i64,
}

impl std::fmt::Debug for PendingLogin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PendingLogin").field("server_id", &self.server_id).finish_non_exhaustive()
    }
}

/// Those that are late or too many are gone afterwards.
pub(crate) async fn put(
    session: &mut Session,
    new: PendingLogin,
    now: i64,
) -> Result<(), StoreError> {
    let late = "DELETE FROM pending_logins WHERE expires_at <= $1";
    session.execute(late, vec![now.into()]).await?;
    let sql = "INSERT INTO pending_logins (id, server_id, sealed, expires_at) \
               VALUES ($1, $2, $3, $4)";
    let PendingLogin { id, server_id, sealed, expires_at } = new;
    session
        .execute(sql, vec![id.into(), server_id.into(), sealed.into(), expires_at.into()])
        .await?;
    let many = "DELETE FROM pending_logins WHERE id NOT IN \
                (SELECT id FROM pending_logins ORDER BY expires_at DESC, id LIMIT $1)";
    session.execute(many, vec![MOST.into()]).await?;
    Ok(())
}

/// Of several who ask for it at once, one gets it.
pub(crate) async fn take(
    session: &mut Session,
    id: &str,
    now: i64,
) -> Result<Option<PendingLogin>, StoreError> {
    let sql = "DELETE FROM pending_logins WHERE id = $1 \
               RETURNING id, server_id, sealed, expires_at";
    let row = session.row(sql, vec![id.into()]).await?;
    let found = row.map(read).transpose()?;
    Ok(found.filter(|pending| now < pending.expires_at))
}

pub(crate) async fn forget(session: &mut Session, server_id: &str) -> Result<(), StoreError> {
    let sql = "DELETE FROM pending_logins WHERE server_id = $1";
    session.execute(sql, vec![server_id.into()]).await?;
    Ok(())
}

fn read(mut row: Row) -> Result<PendingLogin, StoreError> {
    Ok(PendingLogin {
        id: row.text()?,
        server_id: row.text()?,
        sealed: row.bytes()?,
        expires_at: row.int()?,
    })
}
