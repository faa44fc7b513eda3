//! Skills: what was changed of those that come with the program, which tools have which, and those that
//! somebody has yet to decide on.

use crate::error::StoreError;
use crate::records::page;
use crate::session::Session;
use crate::value::{Row, Value};

/// A skill that was added, changed or removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillRecord {
    pub id: String,
    pub title: String,
    pub keywords: String,
    pub removed: bool,
    pub updated_at: i64,
}

/// The skills of one tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolSkillsRecord {
    pub server_id: String,
    pub original_name: String,
    /// Of what they were made: while it is the same they need not be made again.
    pub fingerprint: String,
    /// JSON.
    pub skills: String,
    /// Who says so.
    pub source: String,
    pub updated_at: i64,
}

/// The `source` that nothing but a person's word replaces.
pub const BY_HAND: &str = "manual";

/// A skill that is not there and might be wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuggestionRecord {
    pub id: String,
    /// Unique: what was refused once is not asked again.
    pub skill: String,
    pub title: String,
    pub keywords: String,
    pub reason: String,
    /// The tool it was suggested for.
    pub server_id: String,
    pub tool: String,
    pub state: String,
    pub created_at: i64,
    pub decided_at: Option<i64>,
    pub decided_by: Option<String>,
}

/// The `state` of a suggestion that nobody has decided on.
pub const PENDING: &str = "pending";

const TOOL: &str = "server_id, original_name, fingerprint, skills, source, updated_at";
const SUGGESTION: &str = "id, skill, title, keywords, reason, server_id, tool, state, created_at, \
                          decided_at, decided_by";

pub(crate) async fn all(session: &mut Session) -> Result<Vec<SkillRecord>, StoreError> {
    let sql = "SELECT id, title, keywords, removed, updated_at FROM skills ORDER BY id";
    let read = |mut row: Row| {
        Ok(SkillRecord {
            id: row.text()?,
            title: row.text()?,
            keywords: row.text()?,
            removed: row.flag()?,
            updated_at: row.int()?,
        })
    };
    session.rows(sql, vec![]).await?.into_iter().map(read).collect()
}

pub(crate) async fn put(session: &mut Session, record: SkillRecord) -> Result<(), StoreError> {
    let sql = "INSERT INTO skills (id, title, keywords, removed, updated_at) \
               VALUES ($1, $2, $3, $4, $5) ON CONFLICT (id) DO UPDATE SET \
               title = excluded.title, keywords = excluded.keywords, removed = excluded.removed, \
               updated_at = excluded.updated_at";
    let SkillRecord { id, title, keywords, removed, updated_at } = record;
    let values = vec![id.into(), title.into(), keywords.into(), removed.into(), updated_at.into()];
    session.execute(sql, values).await?;
    Ok(())
}

pub(crate) async fn of_server(
    session: &mut Session,
    server_id: &str,
) -> Result<Vec<ToolSkillsRecord>, StoreError> {
    let sql = format!("SELECT {TOOL} FROM tool_skills WHERE server_id = $1 ORDER BY original_name");
    session.rows(&sql, vec![server_id.into()]).await?.into_iter().map(read).collect()
}

/// Any tool's that were made of the same.
pub(crate) async fn by_fingerprint(
    session: &mut Session,
    fingerprint: &str,
) -> Result<Option<ToolSkillsRecord>, StoreError> {
    let sql =
        format!("SELECT {TOOL} FROM tool_skills WHERE fingerprint = $1 AND source <> $2 LIMIT 1");
    let row = session.row(&sql, vec![fingerprint.into(), BY_HAND.into()]).await?;
    row.map(read).transpose()
}

/// What a person has said stays, unless `record` is a person's word, too.
pub(crate) async fn put_of_tools(
    session: &mut Session,
    records: Vec<ToolSkillsRecord>,
) -> Result<(), StoreError> {
    let (by_hand, others): (Vec<_>, Vec<_>) =
        records.into_iter().partition(|record| record.source == BY_HAND);
    let head = format!("INSERT INTO tool_skills ({TOOL})");
    let set = "ON CONFLICT (server_id, original_name) DO UPDATE SET \
               fingerprint = excluded.fingerprint, skills = excluded.skills, \
               source = excluded.source, updated_at = excluded.updated_at";
    session.insert(&head, by_hand.into_iter().map(row).collect(), set).await?;
    let unless = format!("{set} WHERE tool_skills.source <> '{BY_HAND}'");
    session.insert(&head, others.into_iter().map(row).collect(), &unless).await?;
    Ok(())
}

pub(crate) async fn forget_tool(
    session: &mut Session,
    server_id: &str,
    name: &str,
) -> Result<(), StoreError> {
    let sql = "DELETE FROM tool_skills WHERE server_id = $1 AND original_name = $2";
    session.execute(sql, vec![server_id.into(), name.into()]).await?;
    Ok(())
}

pub(crate) async fn forget_server(
    session: &mut Session,
    server_id: &str,
) -> Result<(), StoreError> {
    let sql = "DELETE FROM tool_skills WHERE server_id = $1";
    session.execute(sql, vec![server_id.into()]).await?;
    Ok(())
}

/// How many skills, and skills of tools by hand, there are and when one was last written: other
/// numbers, other words of people.
pub(crate) async fn mark(session: &mut Session) -> Result<[i64; 4], StoreError> {
    let by_hand = format!("FROM tool_skills WHERE source = '{BY_HAND}'");
    let sql = format!(
        "SELECT (SELECT COUNT(*) FROM skills), (SELECT COALESCE(MAX(updated_at), 0) FROM skills), \
         (SELECT COUNT(*) {by_hand}), (SELECT COALESCE(MAX(updated_at), 0) {by_hand})"
    );
    let mut row = session.row(&sql, vec![]).await?.ok_or(StoreError::NotFound)?;
    Ok([row.int()?, row.int()?, row.int()?, row.int()?])
}

/// Those whose ids come after this one.
pub(crate) async fn suggestions(
    session: &mut Session,
    state: Option<&str>,
    after: &str,
    limit: usize,
) -> Result<Vec<SuggestionRecord>, StoreError> {
    let sql = format!(
        "SELECT {SUGGESTION} FROM skill_suggestions WHERE id > $1 AND ($2 = '' OR state = $2) \
         ORDER BY id LIMIT $3"
    );
    let values = vec![after.into(), state.unwrap_or_default().into(), page(limit).into()];
    session.rows(&sql, values).await?.into_iter().map(read_suggestion).collect()
}

pub(crate) async fn suggestion(
    session: &mut Session,
    id: &str,
) -> Result<SuggestionRecord, StoreError> {
    let sql = format!("SELECT {SUGGESTION} FROM skill_suggestions WHERE id = $1");
    let row = session.row(&sql, vec![id.into()]).await?.ok_or(StoreError::NotFound)?;
    read_suggestion(row)
}

/// Unless the same skill was suggested before.
pub(crate) async fn suggest(
    session: &mut Session,
    records: Vec<SuggestionRecord>,
) -> Result<u64, StoreError> {
    let row = |it: SuggestionRecord| -> Vec<Value> {
        vec![
            it.id.into(),
            it.skill.into(),
            it.title.into(),
            it.keywords.into(),
            it.reason.into(),
            it.server_id.into(),
            it.tool.into(),
            it.state.into(),
            it.created_at.into(),
            it.decided_at.into(),
            it.decided_by.into(),
        ]
    };
    let rows = records.into_iter().map(row).collect();
    let head = format!("INSERT INTO skill_suggestions ({SUGGESTION})");
    session.insert(&head, rows, "ON CONFLICT DO NOTHING").await
}

/// Stale if somebody has decided on it before.
pub(crate) async fn decide(
    session: &mut Session,
    id: &str,
    state: &str,
    at: i64,
    by: &str,
) -> Result<(), StoreError> {
    let sql = "UPDATE skill_suggestions SET state = $2, decided_at = $3, decided_by = $4 \
               WHERE id = $1 AND state = $5";
    let values = vec![id.into(), state.into(), at.into(), by.into(), PENDING.into()];
    match session.execute(sql, values).await? {
        0 => {
            suggestion(session, id).await?;
            Err(StoreError::Stale)
        }
        _ => Ok(()),
    }
}

fn row(it: ToolSkillsRecord) -> Vec<Value> {
    vec![
        it.server_id.into(),
        it.original_name.into(),
        it.fingerprint.into(),
        it.skills.into(),
        it.source.into(),
        it.updated_at.into(),
    ]
}

fn read(mut row: Row) -> Result<ToolSkillsRecord, StoreError> {
    Ok(ToolSkillsRecord {
        server_id: row.text()?,
        original_name: row.text()?,
        fingerprint: row.text()?,
        skills: row.text()?,
        source: row.text()?,
        updated_at: row.int()?,
    })
}

fn read_suggestion(mut row: Row) -> Result<SuggestionRecord, StoreError> {
    Ok(SuggestionRecord {
        id: row.text()?,
        skill: row.text()?,
        title: row.text()?,
        keywords: row.text()?,
        reason: row.text()?,
        server_id: row.text()?,
        tool: row.text()?,
        state: row.text()?,
        created_at: row.int()?,
        decided_at: row.maybe_int()?,
        decided_by: row.maybe_text()?,
    })
}
