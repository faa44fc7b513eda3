//! Leases: what only one process may do at a time, for a while. They are counted by the database's
//! clock, so that those of the processes may differ.

use crate::error::StoreError;
use crate::session::Session;

/// A clock that is set back by less, in milliseconds, makes a lease last that much longer.
const CLOCK_SET_BACK: i64 = 60_000;

/// Takes it, for so many milliseconds. False: somebody else has it.
pub(crate) async fn take(
    session: &mut Session,
    name: &str,
    holder: &str,
    length: i64,
) -> Result<bool, StoreError> {
    let now = match session {
        Session::Sqlite(_) => "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)",
        Session::Postgres(_) => "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)",
    };
    // One that ends much later than this one would was taken before the clock was set back. Not just a little later: of two
    // that ask at once on Postgres, the one that waits for the other's row may have looked at the clock first.
    let sql = format!(
        "INSERT INTO leases (name, holder, until) VALUES ($1, $2, {now} + $3) \
         ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until \
         WHERE leases.until <= {now} OR leases.until > excluded.until + {CLOCK_SET_BACK}"
    );
    let taken = session.execute(&sql, vec![name.into(), holder.into(), length.into()]).await?;
    Ok(taken > 0)
}

/// Gives it back, if it is still this holder's.
pub(crate) async fn end(session: &mut Session, name: &str, holder: &str) -> Result<(), StoreError> {
    let sql = "DELETE FROM leases WHERE name = $1 AND holder = $2";
    session.execute(sql, vec![name.into(), holder.into()]).await?;
    Ok(())
}
