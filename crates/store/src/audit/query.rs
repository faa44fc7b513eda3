//! Finds records of the audit log, newest first.

use crate::audit::record::{AuditRecord, COLUMNS};
use crate::error::StoreError;
use crate::records::page;
use crate::session::Session;
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
}

pub(crate) async fn query(
    session: &mut Session,
    filter: AuditFilter,
    limit: usize,
) -> Result<Vec<AuditRecord>, StoreError> {
    let (condition, mut values) = condition(filter);
    values.push(page(limit).into());
    let sql = format!(
        "SELECT {COLUMNS} FROM audit WHERE {condition} ORDER BY seq DESC LIMIT ${}",
        values.len()
    );
    session.rows(&sql, values).await?.into_iter().map(AuditRecord::read).collect()
}

fn condition(filter: AuditFilter) -> (String, Vec<Value>) {
    let parts: [(&str, Value); 9] = [
        ("seq >= $", filter.since_seq.into()),
        ("seq <= $", filter.until_seq.into()),
        ("at >= $", filter.since.into()),
        ("at < $", filter.until.into()),
        ("$ IN (server_id, server_name)", filter.server.into()),
        ("tool = $", filter.tool.into()),
        ("action = $", filter.action.into()),
        ("outcome = $", filter.outcome.into()),
        ("principal = $", filter.principal.into()),
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

#[cfg(test)]
mod tests {
    use super::*;

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
        let (sql, values) = condition(filter);
        let expected = "seq > 0 AND seq <= $1 AND $2 IN (server_id, server_name) AND outcome = $3";
        assert_eq!(sql, expected);
        assert_eq!(values, [9.into(), "s".into(), "ok".into()]);
    }
}
