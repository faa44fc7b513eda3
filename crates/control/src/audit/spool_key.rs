//! `SpoolKey`: says of a line of the spool that a holder of the store's key has written it, as this record.
//!
//! Such a line is a record's JSON object with `hmac` as its last member: of the writer, the number of the record and all
//! that stands before. A line that was changed, added, or moved to another number or another spool has a wrong one.

use ring::hmac;
use trunkline_store::NewAudit;

use super::spooled::{line_of, record_of};
use crate::access::{Pepper, Use};

#[derive(Debug, Clone)]
pub struct SpoolKey(hmac::Key);

/// Around the digits of the HMAC.
const BEFORE: &str = ",\"hmac\":\"";
const BEHIND: &str = "\"}\n";

/// So much longer is a line than that of the record alone.
pub(super) const SEAL: usize = BEFORE.len() + 64 + BEHIND.len() - END.len();

/// How the line of a record ends.
const END: &str = "}\n";

impl SpoolKey {
    pub fn of(pepper: &Pepper) -> Self {
        // Of the pepper, which is sealed with the store's key and stays when that is changed: what waits then is good
        // afterwards, too.
        Self::new(pepper.mac(Use::AuditSpool, "").as_bytes())
    }

    pub(super) fn new(secret: &[u8; 32]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, secret))
    }

    /// The line of this record, with its end.
    pub(super) fn sealed(&self, writer: &str, number: u64, record: &NewAudit) -> Vec<u8> {
        let mut line = line_of(record);
        line.truncate(line.len().saturating_sub(END.len()));
        let tag = hmac::sign(&self.0, &message(writer, number, &line));
        line.extend_from_slice(BEFORE.as_bytes());
        line.extend_from_slice(hex::encode(tag).as_bytes());
        line.extend_from_slice(BEHIND.as_bytes());
        line
    }

    /// `None`: this writer did not write that as this record.
    pub(super) fn opened(&self, writer: &str, number: u64, line: &[u8]) -> Option<NewAudit> {
        let body = line.len().checked_sub(SEAL + END.len())?;
        let (body, seal) = line.split_at_checked(body)?;
        let digits = seal.strip_prefix(BEFORE.as_bytes())?.strip_suffix(BEHIND.as_bytes())?;
        let tag = hex::decode(digits).ok()?;
        hmac::verify(&self.0, &message(writer, number, body), &tag).ok()?;
        record_of(&[body, b"}"].concat())
    }
}

/// Each writer's name has the same length: none of two messages can be read as the other.
fn message(writer: &str, number: u64, body: &[u8]) -> Vec<u8> {
    [writer.as_bytes(), &number.to_be_bytes(), body].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> NewAudit {
        let text = |text: &str| Some(text.to_owned());
        NewAudit {
            action: "call-tool".to_owned(),
            detail: text("\"},\"hmac\":\"\n"),
            tool: text("名"),
            ..NewAudit::default()
        }
    }

    #[test]
    fn a_line_is_one_json_object_and_opens_as_what_it_is_only() {
        let key = SpoolKey::new(&[7; 32]);
        let line = key.sealed("w", 3, &record());
        assert_eq!(line.len(), line_of(&record()).len() + SEAL);
        assert_eq!(line.iter().filter(|&&byte| byte == b'\n').count(), 1);
        let shown: serde_json::Value = serde_json::from_slice(&line).unwrap();
        assert_eq!(shown["action"], "call-tool");
        assert_eq!(key.opened("w", 3, &line), Some(record()));
        assert_eq!(key.opened("w", 4, &line), None, "another number");
        assert_eq!(key.opened("x", 3, &line), None, "another writer");
        assert_eq!(SpoolKey::new(&[8; 32]).opened("w", 3, &line), None, "another key");
        assert_eq!(key.opened("w", 3, &line_of(&record())), None, "no seal");
        assert_eq!(key.opened("w", 3, b""), None);
    }

    #[test]
    fn no_bit_of_a_line_can_be_changed() {
        let key = SpoolKey::new(&[7; 32]);
        let line = key.sealed("w", 3, &record());
        for at in 0..line.len() {
            for bit in 0..8 {
                let mut changed = line.clone();
                changed[at] ^= 1 << bit;
                // The digits of the HMAC may be large letters: that is the same HMAC.
                let is_same = changed.eq_ignore_ascii_case(&line) && at > line.len() - SEAL;
                assert!(is_same || key.opened("w", 3, &changed).is_none(), "byte {at}, bit {bit}");
            }
        }
    }
}
