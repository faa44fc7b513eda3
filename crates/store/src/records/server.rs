//! Servers that were registered.

use crate::error::StoreError;
use crate::records::{known_listing, page, pending, pins, skill};
use crate::session::{PlannedStatement, Session, Statement, places};
use crate::value::{Row, Value};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerRecord {
    /// A UUID.
    pub id: String,
    /// Unique.
    pub name: String,
    pub description: String,
    pub transport: Transport,
    /// JSON. It holds references where secrets belong, never their values.
    pub config: String,
    pub auto_connect: bool,
    pub wanted: DesiredState,
    pub health_check_url: Option<String>,
    /// Milliseconds since 1970, as are all times here.
    pub created_at: i64,
    pub updated_at: i64,
    /// 1 for a new one, and one more with each change; what is given when writing does not count.
    pub revision: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    Stdio,
    Sse,
    Http,
}

/// What the operator wants the server to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DesiredState {
    Connected,
    Disconnected,
}

impl Transport {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Sse => "sse",
            Self::Http => "http",
        }
    }

    fn read(text: &str) -> Result<Self, StoreError> {
        [Self::Stdio, Self::Sse, Self::Http]
            .into_iter()
            .find(|transport| transport.as_str() == text)
            .ok_or_else(|| StoreError::corrupt("a server has an unknown transport"))
    }
}

impl DesiredState {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Connected => "connected",
            Self::Disconnected => "disconnected",
        }
    }

    fn read(text: &str) -> Result<Self, StoreError> {
        [Self::Connected, Self::Disconnected]
            .into_iter()
            .find(|wanted| wanted.as_str() == text)
            .ok_or_else(|| StoreError::corrupt("a server is to be in an unknown state"))
    }
}

const COLUMNS: &str = "id, name, description, transport, config, auto_connect, wanted, \
                       health_check_url, created_at, updated_at, revision";

/// What a change writes, in the order of `changeable`.
const CHANGEABLE: &str = "name, description, transport, config, auto_connect, wanted, \
                          health_check_url, updated_at";

fn changeable(new: ServerRecord) -> Vec<Value> {
    vec![
        new.name.into(),
        new.description.into(),
        new.transport.as_str().into(),
        new.config.into(),
        new.auto_connect.into(),
        new.wanted.as_str().into(),
        new.health_check_url.into(),
        new.updated_at.into(),
    ]
}

const TAKEN: &str = "a server with this name";

pub(crate) fn insert(new: ServerRecord) -> PlannedStatement {
    let (id, created_at) = (new.id.clone(), new.created_at);
    let mut row = changeable(new);
    row.extend([id.into(), created_at.into(), 1.into()]);
    let sql = format!(
        "INSERT INTO servers ({CHANGEABLE}, id, created_at, revision) VALUES {} ON CONFLICT DO NOTHING",
        places(1, row.len())
    );
    let nothing = Some(StoreError::conflict(TAKEN));
    PlannedStatement { statement: Statement::new(sql, row), nothing }
}

pub(crate) async fn by_id(session: &mut Session, id: &str) -> Result<ServerRecord, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM servers WHERE id = $1");
    let row = session.row(&sql, vec![id.into()]).await?;
    row.ok_or(StoreError::NotFound).and_then(read)
}

pub(crate) async fn by_name(session: &mut Session, name: &str) -> Result<ServerRecord, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM servers WHERE name = $1");
    let row = session.row(&sql, vec![name.into()]).await?;
    row.ok_or(StoreError::NotFound).and_then(read)
}

/// Those whose names come after this one.
pub(crate) async fn list(
    session: &mut Session,
    after: &str,
    limit: usize,
) -> Result<Vec<ServerRecord>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM servers WHERE name > $1 ORDER BY name LIMIT $2");
    let rows = session.rows(&sql, vec![after.into(), page(limit).into()]).await?;
    rows.into_iter().map(read).collect()
}

/// Changes the server that has this revision; when it was created is not changed.
pub(crate) async fn update(
    session: &mut Session,
    new: ServerRecord,
    expected: i64,
) -> Result<(), StoreError> {
    held(session, &new.id, Some(expected)).await?;
    let others = "SELECT 1 FROM servers WHERE name = $1 AND id <> $2";
    let values: Vec<Value> = vec![new.name.as_str().into(), new.id.as_str().into()];
    if session.row(others, values).await?.is_some() {
        return Err(StoreError::conflict(TAKEN));
    }
    let sql = format!(
        "UPDATE servers SET ({CHANGEABLE}) = ($1, $2, $3, $4, $5, $6, $7, $8), \
         revision = revision + 1 WHERE id = $9"
    );
    let id = new.id.clone();
    let mut values = changeable(new);
    values.push(id.into());
    session.execute(&sql, values).await.map_err(|error| match error {
        // Another replica has taken the name since we looked.
        StoreError::Conflict { .. } => StoreError::conflict(TAKEN),
        other => other,
    })?;
    Ok(())
}

/// Its credentials, grants, tools and samples go with it.
pub(crate) async fn delete(
    session: &mut Session,
    id: &str,
    expected: Option<i64>,
) -> Result<(), StoreError> {
    held(session, id, expected).await?;
    session.execute("DELETE FROM credentials WHERE owner = $1", vec![id.into()]).await?;
    session.execute("DELETE FROM grants WHERE server_id = $1", vec![id.into()]).await?;
    pending::forget(session, id).await?;
    session.execute("DELETE FROM health_samples WHERE server_id = $1", vec![id.into()]).await?;
    skill::forget_server(session, id).await?;
    pins::forget_server(session, id).await?;
    known_listing::forget_server(session, id).await?;
    session.execute("DELETE FROM servers WHERE id = $1", vec![id.into()]).await?;
    Ok(())
}

/// Nobody else changes this server until the transaction ends.
pub(crate) async fn held(
    session: &mut Session,
    id: &str,
    expected: Option<i64>,
) -> Result<(), StoreError> {
    let sql = format!("SELECT revision FROM servers WHERE id = $1{}", session.for_update());
    let mut row = session.row(&sql, vec![id.into()]).await?.ok_or(StoreError::NotFound)?;
    let found = row.int()?;
    match expected {
        Some(expected) if expected != found => Err(StoreError::Stale),
        _ => Ok(()),
    }
}

fn read(mut row: Row) -> Result<ServerRecord, StoreError> {
    Ok(ServerRecord {
        id: row.text()?,
        name: row.text()?,
        description: row.text()?,
        transport: Transport::read(&row.text()?)?,
        config: row.text()?,
        auto_connect: row.flag()?,
        wanted: DesiredState::read(&row.text()?)?,
        health_check_url: row.maybe_text()?,
        created_at: row.int()?,
        updated_at: row.int()?,
        revision: row.int()?,
    })
}
