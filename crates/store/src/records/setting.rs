//! Single values the platform keeps about itself.

use crate::error::StoreError;
use crate::session::{Session, Statement};

pub(crate) async fn get(session: &mut Session, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
    let Statement { sql, values } = get_statement(name);
    match session.row(&sql, values).await? {
        Some(mut row) => row.bytes().map(Some),
        None => Ok(None),
    }
}

pub(crate) async fn put(
    session: &mut Session,
    name: &str,
    value: Vec<u8>,
) -> Result<(), StoreError> {
    let Statement { sql, values } = put_statement(name, value);
    session.execute(&sql, values).await?;
    Ok(())
}

pub(crate) fn get_statement(name: &str) -> Statement {
    Statement::new("SELECT value FROM settings WHERE name = $1", vec![name.into()])
}

pub(crate) fn put_statement(name: &str, value: Vec<u8>) -> Statement {
    let sql = "INSERT INTO settings (name, value) VALUES ($1, $2) \
               ON CONFLICT (name) DO UPDATE SET value = excluded.value";
    Statement::new(sql, vec![name.into(), value.into()])
}

pub(crate) async fn remove(session: &mut Session, name: &str) -> Result<(), StoreError> {
    session.execute("DELETE FROM settings WHERE name = $1", vec![name.into()]).await.map(drop)
}

/// Replaces the value if it is still the old one. False: it is not.
pub(crate) async fn replace(
    session: &mut Session,
    name: &str,
    old: Vec<u8>,
    new: Vec<u8>,
) -> Result<bool, StoreError> {
    let sql = "UPDATE settings SET value = $3 WHERE name = $1 AND value = $2";
    Ok(session.execute(sql, vec![name.into(), old.into(), new.into()]).await? > 0)
}

/// What is there afterwards: this value, or that of whoever was first.
pub(crate) async fn put_if_absent(
    session: &mut Session,
    name: &str,
    value: Vec<u8>,
) -> Result<Vec<u8>, StoreError> {
    let sql = "INSERT INTO settings (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING";
    session.execute(sql, vec![name.into(), value.into()]).await?;
    get(session, name).await?.ok_or(StoreError::NotFound)
}
