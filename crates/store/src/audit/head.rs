//! The end of the audit log, remembered apart from it and authenticated: a cut tail is seen.

use std::fmt;

use ring::{digest, hmac};
use zeroize::Zeroizing;

use crate::error::StoreError;
use crate::records::setting;
use crate::session::{Session, Statement, StatementResult};

/// The last record of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditHead {
    pub seq: i64,
    pub hash: [u8; 32],
}

/// Authenticates the head: who can write to the database but has no key cannot make another.
#[derive(Clone)]
pub struct AuditKey(Zeroizing<[u8; 32]>);

impl AuditKey {
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(Zeroizing::new(bytes))
    }
}

impl fmt::Debug for AuditKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AuditKey(***)")
    }
}

impl AuditHead {
    /// Of a log without records.
    pub(super) const EMPTY: Self = Self { seq: 0, hash: [0; 32] };
}

const SETTING: &str = "audit.head";
/// The last of the records that were removed from the beginning of the log.
const CHECKPOINT: &str = "audit.checkpoint";

pub(crate) async fn current(
    session: &mut Session,
    keys: &[AuditKey],
) -> Result<Option<AuditHead>, StoreError> {
    let stored = session.trip(vec![statement()]).await?.pop().unwrap_or_default();
    read(stored, keys)
}

/// What asks for the end of the log.
pub(super) fn statement() -> Statement {
    setting::get_statement(SETTING)
}

/// None if nothing was ever logged. Corrupt if it is not one that we have written.
pub(super) fn read(
    found: StatementResult,
    keys: &[AuditKey],
) -> Result<Option<AuditHead>, StoreError> {
    match found.rows.into_iter().next() {
        Some(mut row) => decode(&row.bytes()?, keys).map(Some).map_err(StoreError::corrupt),
        None => Ok(None),
    }
}

/// What remembers this end.
pub(super) async fn remember(
    session: &mut Session,
    head: AuditHead,
    keys: &[AuditKey],
) -> Result<Statement, StoreError> {
    if keys.len() > 1 {
        // The key is being changed: what it authenticates is written with the new one.
        if let Some(pruned) = checkpoint(session, keys).await? {
            remember_checkpoint(session, pruned, keys).await?;
        }
    }
    Ok(setting::put_statement(SETTING, encode(head, keys.first())))
}

/// None if the log begins with its first record. Corrupt if it is not one that we have written.
pub(crate) async fn checkpoint(
    session: &mut Session,
    keys: &[AuditKey],
) -> Result<Option<AuditHead>, StoreError> {
    match setting::get(session, CHECKPOINT).await? {
        Some(stored) => decode_checkpoint(&stored, keys).map(Some).map_err(StoreError::corrupt),
        None => Ok(None),
    }
}

pub(super) async fn remember_checkpoint(
    session: &mut Session,
    pruned: AuditHead,
    keys: &[AuditKey],
) -> Result<(), StoreError> {
    // Marked, so that an old end of the log cannot be passed off as its beginning.
    let marked = encode(AuditHead { seq: -pruned.seq, hash: pruned.hash }, keys.first());
    setting::put(session, CHECKPOINT, marked).await
}

fn decode_checkpoint(stored: &[u8], keys: &[AuditKey]) -> Result<AuditHead, &'static str> {
    let marked = decode(stored, keys)
        .map_err(|_| "the beginning of the audit log was not written with this key")?;
    match marked.seq {
        seq if seq < 0 => Ok(AuditHead { seq: -seq, hash: marked.hash }),
        _ => Err("the beginning of the audit log is none"),
    }
}

const HASHED: u8 = 1;
const AUTHENTICATED: u8 = 2;

/// Kind, number, hash, tag.
fn encode(head: AuditHead, key: Option<&AuditKey>) -> Vec<u8> {
    let mut bytes = vec![if key.is_some() { AUTHENTICATED } else { HASHED }];
    bytes.extend_from_slice(&head.seq.to_be_bytes());
    bytes.extend_from_slice(&head.hash);
    match key {
        Some(key) => {
            let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key.0.as_slice()), &bytes);
            bytes.extend_from_slice(tag.as_ref());
        }
        None => {
            let tag = digest::digest(&digest::SHA256, &bytes);
            bytes.extend_from_slice(tag.as_ref());
        }
    }
    bytes
}

/// With keys, one that is only hashed does not count: anybody could have written it.
fn decode(stored: &[u8], keys: &[AuditKey]) -> Result<AuditHead, &'static str> {
    let unreadable = "the end of the audit log cannot be read";
    let (said, tag) = stored.split_at_checked(41).ok_or(unreadable)?;
    let (kind, rest) = said.split_first().ok_or(unreadable)?;
    let (seq, hash) = rest.split_at_checked(8).ok_or(unreadable)?;
    let genuine = match *kind {
        HASHED if keys.is_empty() => digest::digest(&digest::SHA256, said).as_ref() == tag,
        AUTHENTICATED => keys.iter().any(|key| {
            let key = hmac::Key::new(hmac::HMAC_SHA256, key.0.as_slice());
            hmac::verify(&key, said, tag).is_ok()
        }),
        _ => false,
    };
    if !genuine {
        return Err("the end of the audit log was not written with this key");
    }
    let seq = seq.try_into().map_err(|_| unreadable)?;
    let hash = hash.try_into().map_err(|_| unreadable)?;
    Ok(AuditHead { seq: i64::from_be_bytes(seq), hash })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_counts_only_with_a_key_that_is_known() {
        let head = AuditHead { seq: 7, hash: [3; 32] };
        let [a, b] = [1, 2].map(|byte| AuditKey::new([byte; 32]));
        let table: &[(Option<&AuditKey>, &[AuditKey], bool)] = &[
            (None, &[], true),
            (None, std::slice::from_ref(&a), false),
            (Some(&a), &[], false),
            (Some(&a), std::slice::from_ref(&a), true),
            (Some(&a), std::slice::from_ref(&b), false),
            (Some(&a), &[b.clone(), a.clone()], true),
        ];
        for (written, known, counts) in table {
            let decoded = decode(&encode(head, *written), known);
            assert_eq!(decoded.is_ok_and(|found| found == head), *counts, "{written:?} {known:?}");
        }
    }

    #[test]
    fn a_changed_bit_anywhere_is_seen() {
        let key = [AuditKey::new([1; 32])];
        for key in [&key[..], &[]] {
            let genuine = encode(AuditHead { seq: 7, hash: [3; 32] }, key.first());
            for at in 0..genuine.len() {
                let mut changed = genuine.clone();
                changed[at] ^= 4;
                assert!(decode(&changed, key).is_err(), "byte {at}");
            }
            assert!(decode(&genuine[..genuine.len() - 1], key).is_err());
            assert!(decode(&[], key).is_err());
        }
    }
}
