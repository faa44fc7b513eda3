//! Finds records of the audit log, newest first.

use crate::audit::record::{AuditRecord, COLUMNS};
use crate::error::StoreError;
use crate::records::page;
use crate::session::{Session, Statement};
use crate::value::Value;

/// All that is given must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// From this record on.
    pub since_seq: Option<i64>,
    /// Up to this record. For the next page: one less than the last record's number.
    pub until_seq: Option<i64>,
    pub since: Option<i64>,
    /// Before this time.
    pub until: Option<i64>,
    /// Its id or its name.
    pub server: Option<String>,
    pub tool: Option<String>,
    pub action: Option<String>,
    pub outcome: Option<String>,
    pub principal: Option<String>,
    /// How `tool`, `action` and `principal` are compared.
    pub match_mode: TextMatch,
}

/// How the text of a filter is compared with that of a record.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TextMatch {
    #[default]
    Exact,
    /// The record's text contains it, in upper or lower case. A tool is its name behind its server's,
    /// `server.tool`; the words of an action may be joined with blanks.
    Contains,
}

pub(crate) async fn query(
    session: &mut Session,
    filter: AuditFilter,
    limit: usize,
) -> Result<Vec<AuditRecord>, StoreError> {
    let Statement { sql, values } = statement(filter, limit);
    session.rows(&sql, values).await?.into_iter().map(AuditRecord::read).collect()
}

/// How the database goes about such a query, in its own words.
pub(crate) async fn explain(
    session: &mut Session,
    filter: AuditFilter,
    limit: usize,
) -> Result<Vec<String>, StoreError> {
    let Statement { sql, values } = statement(filter, limit);
    let (words, column) = match session {
        Session::Sqlite(_) => ("EXPLAIN QUERY PLAN", 3),
        Session::Postgres(_) => ("EXPLAIN", 0),
    };
    let rows = session.rows(&format!("{words} {sql}"), values).await?;
    rows.into_iter().map(|mut row| row.text_at(column)).collect()
}

fn statement(mut filter: AuditFilter, limit: usize) -> Statement {
    let server = filter.server.take();
    let (condition, mut values) = condition(filter);
    values.push(page(limit).into());
    let last = format!("ORDER BY seq DESC LIMIT ${}", values.len());
    let newest = |condition: &str| format!("SELECT {COLUMNS} FROM audit WHERE {condition} {last}");
    let Some(server) = server else { return Statement::new(newest(&condition), values) };
    values.push(server.into());
    let place = values.len();
    // A walk along each index: for one OR of both, neither database walks them in the order of numbers.
    let by = |column: &str| newest(&format!("{condition} AND {column} = ${place}"));
    let sql = format!(
        "SELECT {COLUMNS} FROM (SELECT * FROM ({}) AS by_id UNION SELECT * FROM ({}) AS by_name) \
         AS found {last}",
        by("server_id"),
        by("server_name")
    );
    Statement::new(sql, values)
}

/// The last of the records at the beginning of the log that are all from before this time.
pub(super) async fn last_before(
    session: &mut Session,
    before: i64,
) -> Result<Option<i64>, StoreError> {
    // Clocks jump: what follows on a newer record stays with it.
    let sql = "SELECT COALESCE((SELECT MIN(seq) - 1 FROM audit WHERE at >= $1), \
               (SELECT MAX(seq) FROM audit))";
    match session.row(sql, vec![before.into()]).await? {
        Some(mut row) => row.maybe_int(),
        None => Ok(None),
    }
}

fn condition(filter: AuditFilter) -> (String, Vec<Value>) {
    let is_part = filter.match_mode == TextMatch::Contains;
    let [tool, action, principal] = match is_part {
        false => ["tool = $", "action = $", "principal = $"],
        // The database lowers both sides: SQLite knows only the letters of ASCII, Postgres all.
        true => [
            "LOWER(COALESCE(server_name, '') || '.' || COALESCE(tool, '')) LIKE LOWER($) ESCAPE '\\' \
             AND tool IS NOT NULL",
            "LOWER(REPLACE(action, '-', ' ')) LIKE LOWER($) ESCAPE '\\'",
            "LOWER(principal) LIKE LOWER($) ESCAPE '\\'",
        ],
    };
    let text = |text: Option<String>| match is_part {
        false => text.into(),
        true => text.as_deref().map(containing).into(),
    };
    let words = filter.action.map(|action| match is_part {
        false => action,
        true => action.replace('-', " "),
    });
    let parts: [(&str, Value); 8] = [
        ("seq >= $", filter.since_seq.into()),
        ("seq <= $", filter.until_seq.into()),
        ("at >= $", filter.since.into()),
        ("at < $", filter.until.into()),
        (tool, text(filter.tool)),
        (action, text(words)),
        ("outcome = $", filter.outcome.into()),
        (principal, text(filter.principal)),
    ];
    let (mut conditions, mut values) = (vec!["seq > 0".to_owned()], Vec::new());
    for (condition, value) in parts {
        if value != Value::Null {
            values.push(value);
            conditions.push(condition.replace('$', &format!("${}", values.len())));
        }
    }
    (conditions.join(" AND "), values)
}

/// A pattern of `LIKE … ESCAPE '\\'` for everything that contains this text, letter by letter.
fn containing(text: &str) -> String {
    let escaped = text.replace('\\', r"\\").replace('%', r"\%").replace('_', r"\_");
    format!("%{escaped}%")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_means_its_text() {
        for (text, pattern) in [
            ("a", "%a%"),
            ("", "%%"),
            ("a_b", r"%a\_b%"),
            ("100%", r"%100\%%"),
            (r"a\b", r"%a\\b%"),
        ] {
            assert_eq!(containing(text), pattern);
        }
    }

    #[test]
    fn only_what_is_given_is_asked_for() {
        let (sql, values) = condition(AuditFilter::default());
        assert_eq!((sql.as_str(), values.len()), ("seq > 0", 0));
        let filter = AuditFilter {
            until_seq: Some(9),
            server: Some("s".to_owned()),
            outcome: Some("ok".to_owned()),
            ..AuditFilter::default()
        };
        let Statement { sql, values } = statement(filter, 5);
        for part in [
            "seq > 0 AND seq <= $1 AND outcome = $2 AND server_id = $4 ORDER BY seq DESC LIMIT $3",
            "seq > 0 AND seq <= $1 AND outcome = $2 AND server_name = $4 ORDER BY seq DESC LIMIT $3",
        ] {
            assert!(sql.contains(part), "{sql}");
        }
        assert_eq!(values, [9.into(), "ok".into(), 5.into(), "s".into()]);
    }
}
