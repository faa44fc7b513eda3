//! Records of the audit log.

use serde_json::{Value, json};

use super::{MOMENT, NEXT_CURSOR, moment};
use crate::api::shape::{Object, Shape, any_text, count, required};

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

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditView<'a> {
    pub seq: i64,
    pub at: i64,
    pub principal: &'a str,
    pub credential_id: Option<&'a str>,
    pub address: Option<&'a str>,
    pub action: &'a str,
    pub server_id: Option<&'a str>,
    pub server_name: Option<&'a str>,
    pub tool: Option<&'a str>,
    pub argument_hash: Option<&'a str>,
    pub outcome: &'a str,
    pub detail: Option<&'a str>,
    pub duration_us: Option<i64>,
    pub request_id: Option<&'a str>,
    /// In hexadecimal digits.
    pub hash: &'a str,
}

impl AuditView<'_> {
    pub fn json(&self) -> Value {
        json!({
            "seq": self.seq,
            "at": moment(self.at),
            "principal": self.principal,
            "credential_id": self.credential_id,
            "address": self.address,
            "action": self.action,
            "server_id": self.server_id,
            "server_name": self.server_name,
            "tool": self.tool,
            "argument_hash": self.argument_hash,
            "outcome": self.outcome,
            "detail": self.detail,
            "duration_us": self.duration_us,
            "request_id": self.request_id,
            "hash": self.hash,
        })
    }
}

const TEXT_OR_NULL: Shape = Shape::OrNull(&any_text());

pub static AUDIT_RECORD: Object = Object::answer(
    "AuditRecord",
    "Who did what, and what came of it.",
    &[
        required("seq", count(), "Its number; none is left out."),
        required("at", MOMENT, ""),
        required("principal", any_text(), "Who."),
        required("credential_id", TEXT_OR_NULL, "With which token."),
        required("address", TEXT_OR_NULL, "From where."),
        required("action", any_text(), "What."),
        required("server_id", TEXT_OR_NULL, ""),
        required("server_name", TEXT_OR_NULL, ""),
        required("tool", TEXT_OR_NULL, ""),
        required("argument_hash", TEXT_OR_NULL, "SHA-256 of the arguments."),
        required("outcome", any_text(), ""),
        required("detail", TEXT_OR_NULL, ""),
        required("duration_us", Shape::OrNull(&count()), "Microseconds."),
        required("request_id", TEXT_OR_NULL, ""),
        required("hash", any_text(), "Over this record and the hash of the one before."),
    ],
);

pub static AUDIT_LIST: Object = Object::answer(
    "AuditList",
    "A page of the audit log, the newest first.",
    &[
        required(
            "records",
            Shape::List { of: &Shape::Object(&AUDIT_RECORD), most: usize::MAX },
            "",
        ),
        required("next_cursor", Shape::OrNull(&any_text()), NEXT_CURSOR),
    ],
);

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
            hash: "00",
        };
        let list = json!({"records": [record.json()], "next_cursor": null});
        assert_fits(&list.to_string(), &Shape::Object(&AUDIT_LIST));
    }
}
