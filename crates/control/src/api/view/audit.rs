//! Records of the audit log.

use serde_json::Value;

use super::NEXT_CURSOR;
use crate::api::schema::{Moment, answer, list};

/// How a record of the audit log can end: a call or a change, and, of `change-status`, the status.
pub const OUTCOMES: [&str; 12] = [
    "ok",
    "tool-error",
    "rpc-error",
    "timeout",
    "gone",
    "cancelled",
    "refused",
    "failed",
    "lost",
    "connected",
    "degraded",
    "error",
];

answer! {
    /// Who did what, and what came of it.
    pub struct AuditView<'a> as "AuditRecord" {
        /// Its number; none is left out.
        #[example = 42] pub seq: i64,
        pub at: i64 as Moment,
        /// Who.
        #[example = "ci"] pub principal: &'a str,
        /// With which token.
        #[example = "k7Qm2xVd"] pub credential_id: Option<&'a str>,
        /// From where.
        #[example = "127.0.0.1"] pub address: Option<&'a str>,
        /// What.
        #[example = "call-tool"] pub action: &'a str,
        #[example = "0d9c4c5e-8a2b-4a9e-9d62-8f4f2f1f2a10"] pub server_id: Option<&'a str>,
        #[example = "github-mcp"] pub server_name: Option<&'a str>,
        #[example = "create_issue"] pub tool: Option<&'a str>,
        /// SHA-256 of the arguments.
        #[example = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"]
        pub argument_hash: Option<&'a str>,
        #[example = "ok"] pub outcome: &'a str,
        pub detail: Option<&'a str>,
        /// Microseconds.
        #[example = 450200] pub duration_us: Option<i64>,
        pub request_id: Option<&'a str>,
        /// For how many requests like this one it stands: refusals of one caller are counted over a minute.
        pub count: Option<i64>,
        /// Over this record and the hash of the one before, in hexadecimal digits.
        #[example = "60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752"]
        pub hash: &'a str,
    }
}

answer! {
    /// A page of the audit log, the newest first.
    pub struct AuditList as "AuditList" {
        pub records: Vec<Value> => list(&AuditView::SCHEMA),
        #[doc = NEXT_CURSOR]
        pub next_cursor: Option<String>,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::view::tests::assert_fits;

    #[test]
    fn a_record_has_its_shape() {
        let record = AuditView {
            seq: 1,
            at: 0,
            principal: "admin",
            credential_id: None,
            address: Some("127.0.0.1"),
            action: "register-server",
            server_id: Some("1"),
            server_name: Some("github-mcp"),
            tool: None,
            argument_hash: None,
            outcome: "ok",
            detail: None,
            duration_us: Some(1200),
            request_id: None,
            count: Some(990),
            hash: "00",
        };
        let list = AuditList { records: vec![record.json()], next_cursor: None };
        assert_fits(&list.json().to_string(), &AuditList::SCHEMA);
    }
}
