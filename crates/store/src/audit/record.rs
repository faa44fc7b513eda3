//! One record of the audit log, and the hash that binds it to the one before.

use ring::digest::{Context, SHA256};

use crate::error::StoreError;
use crate::value::{Row, Value};

/// What happened. Texts may come from clients: what a database cannot hold is replaced.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewAudit {
    /// Milliseconds since 1970. The order is that of `seq`: clocks jump.
    pub at: i64,
    pub principal: String,
    pub credential_id: Option<String>,
    pub address: Option<String>,
    pub action: String,
    pub server_id: Option<String>,
    pub server_name: Option<String>,
    pub tool: Option<String>,
    pub argument_hash: Option<String>,
    pub outcome: String,
    pub detail: Option<String>,
    pub duration_us: Option<i64>,
    pub request_id: Option<String>,
    /// For how many like this one it stands; `None`: for itself.
    pub count: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRecord {
    /// From 1, without gaps.
    pub seq: i64,
    pub what: NewAudit,
    pub prev_hash: [u8; 32],
    pub hash: [u8; 32],
}

pub(super) const COLUMNS: &str = "seq, at, principal, credential_id, address, action, server_id, \
                                  server_name, tool, argument_hash, outcome, detail, \
                                  duration_us, request_id, count, prev_hash, hash";

/// Before every encoding, so that no hash of another kind or version is mistaken for one of these.
const DOMAIN: &[u8] = b"trunkline audit 1";

impl AuditRecord {
    pub(super) fn new(seq: i64, what: NewAudit, prev_hash: [u8; 32]) -> Self {
        let what = what.storable();
        let hash = hash(seq, &what, &prev_hash);
        Self { seq, what, prev_hash, hash }
    }

    /// Is its hash that of what it says and of the record before it?
    pub fn is_intact(&self) -> bool {
        hash(self.seq, &self.what, &self.prev_hash) == self.hash
    }

    pub(super) fn into_row(self) -> Vec<Value> {
        let what = self.what;
        vec![
            self.seq.into(),
            what.at.into(),
            what.principal.into(),
            what.credential_id.into(),
            what.address.into(),
            what.action.into(),
            what.server_id.into(),
            what.server_name.into(),
            what.tool.into(),
            what.argument_hash.into(),
            what.outcome.into(),
            what.detail.into(),
            what.duration_us.into(),
            what.request_id.into(),
            what.count.into(),
            self.prev_hash.to_vec().into(),
            self.hash.to_vec().into(),
        ]
    }

    pub(super) fn read(mut row: Row) -> Result<Self, StoreError> {
        Ok(Self {
            seq: row.int()?,
            what: NewAudit {
                at: row.int()?,
                principal: row.text()?,
                credential_id: row.maybe_text()?,
                address: row.maybe_text()?,
                action: row.text()?,
                server_id: row.maybe_text()?,
                server_name: row.maybe_text()?,
                tool: row.maybe_text()?,
                argument_hash: row.maybe_text()?,
                outcome: row.text()?,
                detail: row.maybe_text()?,
                duration_us: row.maybe_int()?,
                request_id: row.maybe_text()?,
                count: row.maybe_int()?,
            },
            prev_hash: row.hash()?,
            hash: row.hash()?,
        })
    }
}

/// Every field with its length or the mark that there is none: no two records encode alike.
fn hash(seq: i64, what: &NewAudit, prev_hash: &[u8; 32]) -> [u8; 32] {
    let mut context = Context::new(&SHA256);
    context.update(DOMAIN);
    context.update(prev_hash);
    integer(&mut context, Some(seq));
    integer(&mut context, Some(what.at));
    let texts = [
        Some(&what.principal),
        what.credential_id.as_ref(),
        what.address.as_ref(),
        Some(&what.action),
        what.server_id.as_ref(),
        what.server_name.as_ref(),
        what.tool.as_ref(),
        what.argument_hash.as_ref(),
        Some(&what.outcome),
        what.detail.as_ref(),
        what.request_id.as_ref(),
    ];
    for text in texts {
        field(&mut context, text.map(String::as_bytes));
    }
    integer(&mut context, what.duration_us);
    // Absent from records of older versions, whose hashes stay what they are.
    if what.count.is_some() {
        integer(&mut context, what.count);
    }
    let mut hash = [0; 32];
    hash.copy_from_slice(context.finish().as_ref());
    hash
}

fn integer(context: &mut Context, value: Option<i64>) {
    field(context, value.map(i64::to_be_bytes).as_ref().map(<[u8; 8]>::as_slice));
}

fn field(context: &mut Context, value: Option<&[u8]>) {
    let Some(bytes) = value else { return context.update(&[0]) };
    context.update(&[1]);
    context.update(&u64::try_from(bytes.len()).unwrap_or(u64::MAX).to_be_bytes());
    context.update(bytes);
}

impl NewAudit {
    /// As it is kept: Postgres has no U+0000 in texts, and a call whose tool is named with one must
    /// be recorded, too.
    #[must_use]
    pub fn storable(mut self) -> Self {
        let required = [&mut self.principal, &mut self.action, &mut self.outcome];
        let optional = [
            &mut self.credential_id,
            &mut self.address,
            &mut self.server_id,
            &mut self.server_name,
            &mut self.tool,
            &mut self.argument_hash,
            &mut self.detail,
            &mut self.request_id,
        ];
        for text in required.into_iter().chain(optional.into_iter().flatten()) {
            if text.contains('\0') {
                *text = text.replace('\0', "\u{fffd}");
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full() -> NewAudit {
        let text = |text: &str| Some(text.to_owned());
        NewAudit {
            at: 5,
            principal: "p".to_owned(),
            credential_id: text("c"),
            address: text("a"),
            action: "call".to_owned(),
            server_id: text("s"),
            server_name: text("n"),
            tool: text("t"),
            argument_hash: text("h"),
            outcome: "ok".to_owned(),
            detail: text("d"),
            duration_us: Some(7),
            request_id: text("r"),
            count: None,
        }
    }

    type Change = fn(&mut AuditRecord);

    #[test]
    fn a_change_of_any_field_is_seen() {
        let table: &[(&str, Change)] = &[
            ("seq", |r| r.seq += 1),
            ("at", |r| r.what.at += 1),
            ("principal", |r| r.what.principal.push('x')),
            ("credential_id", |r| r.what.credential_id = None),
            ("address", |r| r.what.address = Some(String::new())),
            ("action", |r| r.what.action.clear()),
            ("server_id", |r| r.what.server_id = Some("t".to_owned())),
            ("server_name", |r| r.what.server_name = None),
            ("tool", |r| r.what.tool = None),
            ("argument_hash", |r| r.what.argument_hash = None),
            ("outcome", |r| r.what.outcome = "no".to_owned()),
            ("detail", |r| r.what.detail = None),
            ("duration_us", |r| r.what.duration_us = None),
            ("request_id", |r| r.what.request_id = None),
            ("count", |r| r.what.count = Some(1)),
            ("prev_hash", |r| r.prev_hash[31] ^= 1),
            ("hash", |r| r.hash[0] ^= 1),
            ("a text moved to its neighbour", |r| {
                r.what.server_name = r.what.server_id.take();
            }),
            ("texts cut elsewhere", |r| {
                r.what.server_id = Some("sn".to_owned());
                r.what.server_name = Some(String::new());
            }),
        ];
        assert!(AuditRecord::new(1, full(), [0; 32]).is_intact());
        for (field, change) in table {
            let mut record = AuditRecord::new(1, full(), [0; 32]);
            change(&mut record);
            assert!(!record.is_intact(), "{field}");
        }
    }

    #[test]
    fn what_a_database_cannot_hold_is_replaced_before_it_is_hashed() {
        let what = NewAudit { tool: Some("a\0b".to_owned()), ..full() };
        let record = AuditRecord::new(1, what, [0; 32]);
        assert_eq!(record.what.tool.as_deref(), Some("a\u{fffd}b"));
        assert!(record.is_intact());
    }

    /// The encoding is a promise to logs that exist: this value never changes.
    #[test]
    fn the_hash_of_a_record_is_the_same_in_every_version() {
        let record = AuditRecord::new(1, full(), [0; 32]);
        let hex = hex::encode(record.hash);
        assert_eq!(hex, "808f7921786dc7242ec502fb80a4f3cdb51032ec57d10a783b0a0413bd53e616");
    }
}
