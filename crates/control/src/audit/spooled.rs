//! How a record stands in the spool and in the archive: one JSON object a line.

use serde::{Deserialize, Serialize};
use trunkline_store::NewAudit;

/// Short: a busy gateway writes thousands a second. What is absent was absent.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct SpooledRecord {
    at: i64,
    principal: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    credential_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<String>,
    action: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    server_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    argument_hash: Option<String>,
    outcome: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_us: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<i64>,
}

pub(super) fn of(record: &NewAudit) -> SpooledRecord {
    let record = record.clone();
    SpooledRecord {
        at: record.at,
        principal: record.principal,
        credential_id: record.credential_id,
        address: record.address,
        action: record.action,
        server_id: record.server_id,
        server_name: record.server_name,
        tool: record.tool,
        argument_hash: record.argument_hash,
        outcome: record.outcome,
        detail: record.detail,
        duration_us: record.duration_us,
        request_id: record.request_id,
        count: record.count,
    }
}

/// With its end.
pub(super) fn line_of(record: &NewAudit) -> Vec<u8> {
    // Texts and numbers: this does not fail.
    let mut line = serde_json::to_vec(&of(record)).unwrap_or_default();
    line.push(b'\n');
    line
}

/// Its texts cut, so that its line is short, whatever they hold.
pub(super) fn shortened(record: &NewAudit) -> NewAudit {
    // Of eleven texts with six bytes for each character.
    const CUT: usize = 4096;
    let cut = |text: &String| text.chars().take(CUT).collect::<String>();
    let short = |text: &Option<String>| text.as_ref().map(cut);
    NewAudit {
        at: record.at,
        principal: cut(&record.principal),
        credential_id: short(&record.credential_id),
        address: short(&record.address),
        action: cut(&record.action),
        server_id: short(&record.server_id),
        server_name: short(&record.server_name),
        tool: short(&record.tool),
        argument_hash: short(&record.argument_hash),
        outcome: cut(&record.outcome),
        detail: short(&record.detail),
        duration_us: record.duration_us,
        request_id: short(&record.request_id),
        count: record.count,
    }
}

/// `None`: it was damaged.
pub(super) fn record_of(line: &[u8]) -> Option<NewAudit> {
    let spooled: SpooledRecord = serde_json::from_slice(line).ok()?;
    Some(spooled.into())
}

impl From<SpooledRecord> for NewAudit {
    fn from(spooled: SpooledRecord) -> Self {
        Self {
            at: spooled.at,
            principal: spooled.principal,
            credential_id: spooled.credential_id,
            address: spooled.address,
            action: spooled.action,
            server_id: spooled.server_id,
            server_name: spooled.server_name,
            tool: spooled.tool,
            argument_hash: spooled.argument_hash,
            outcome: spooled.outcome,
            detail: spooled.detail,
            duration_us: spooled.duration_us,
            request_id: spooled.request_id,
            count: spooled.count,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let text = |text: &str| Some(text.to_owned());
        let full = NewAudit {
            at: -1,
            principal: "p\n\"".to_owned(),
            credential_id: text("c"),
            address: text(""),
            action: "a".to_owned(),
            server_id: text("s"),
            server_name: text("名"),
            tool: text("t\0"),
            argument_hash: text("h"),
            outcome: "ok".to_owned(),
            detail: text("d"),
            duration_us: Some(i64::MAX),
            request_id: text("r"),
            count: Some(3),
        };
        for record in [full, NewAudit::default()] {
            let line = line_of(&record);
            assert_eq!(line.iter().filter(|&&byte| byte == b'\n').count(), 1);
            assert_eq!(record_of(&line), Some(record));
        }
        for damaged in ["", "{}x", "{\"at\":1", "{\"other\":1}", "\0\0\0\0"] {
            assert_eq!(record_of(damaged.as_bytes()), None, "{damaged}");
        }
    }
}
