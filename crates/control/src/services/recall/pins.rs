//! `StoredPins`: the pins in the store. What is noticed and its audit record are one transaction.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use trunkline_catalog::pins::{Handling, Noticed, PinRecord};
use trunkline_gateway::PinnedEntry;
use trunkline_gateway::{Later, LoadedPins, PinChange, PinHome, PinHomeError, PinRevision};
use trunkline_store::{Change, NewAudit, PinsRecord, Store, StoreError};

use crate::clock;
use crate::services::records::TRUNKLINE;

#[derive(Debug, Clone)]
pub(super) struct StoredPins {
    pub(super) store: Store,
    /// The store was sealed with another key: nothing can be recorded, so nothing is changed.
    pub(super) is_locked: bool,
    /// Read, for servers that are about to be started, by entry. A leaf lock.
    pub(super) read: Arc<Mutex<HashMap<String, LoadedPins>>>,
}

impl StoredPins {
    /// What a record says.
    pub(super) fn loaded(stored: &PinsRecord) -> LoadedPins {
        let revision = PinRevision(stored.revision.to_string());
        match PinRecord::read(&stored.document) {
            Ok(record) => LoadedPins::Record(record, revision),
            Err(why) => LoadedPins::Damaged(revision, format!("the store's record: {why}")),
        }
    }
}

/// Longer documents are kept without the definitions themselves.
const LARGEST_DOCUMENT: usize = 16 * 1024 * 1024;
/// The audit record names so many definitions.
const MOST_NAMED: usize = 20;

impl PinHome for StoredPins {
    fn load(&self, entry: PinnedEntry) -> Later<'_, Result<LoadedPins, PinHomeError>> {
        Box::pin(async move {
            let stored = self.store.pins(&entry.id).await.map_err(|error| failed(&error))?;
            Ok(stored.as_ref().map_or(LoadedPins::Nothing, Self::loaded))
        })
    }

    fn save(&self, entry: PinnedEntry, change: PinChange) -> Later<'_, Result<(), PinHomeError>> {
        Box::pin(async move {
            if self.is_locked {
                return Err(PinHomeError::Failed("the store is locked".to_owned()));
            }
            let at = clock::now();
            let expected = change.expected.as_ref().and_then(|it| it.0.parse().ok());
            let audit = noticed_record(&entry.server_id, &change, at);
            let record = stored(&entry.id, &entry.server_id, &change.record, at);
            // When somebody last decided something is not changed by what is noticed.
            let before = self.store.pins(&entry.id).await.map_err(|error| failed(&error))?;
            let decided_at = before.map_or(0, |before| before.decided_at);
            let change = Change::PutPins { record: PinsRecord { decided_at, ..record }, expected };
            let done = self.store.commit(vec![change], audit.into_iter().collect()).await;
            done.map(drop).map_err(|error| failed(&error))
        })
    }

    fn load_now(&self, entry: &PinnedEntry) -> Option<Result<LoadedPins, PinHomeError>> {
        // What was not read before is not known: nothing is listed by it.
        let read = self.read.lock().remove(&entry.id);
        Some(read.ok_or_else(|| PinHomeError::Failed("it was not read".to_owned())))
    }

    fn save_soon(&self, _entry: &PinnedEntry, _change: PinChange) {}

    fn remedy(&self, _server: &str) -> String {
        "see Review in the dashboard, or GET /api/v1/reviews".to_owned()
    }
}

/// A record as the store keeps it.
pub(in crate::services) fn stored(
    entry: &str,
    server_id: &str,
    record: &PinRecord,
    at: i64,
) -> PinsRecord {
    let mut document = record.write();
    if document.len() > LARGEST_DOCUMENT {
        document = record.clone().with_hashes_only().write();
    }
    PinsRecord {
        entry: entry.to_owned(),
        server_id: server_id.to_owned(),
        document,
        waiting: i64::try_from(record.waiting.len()).unwrap_or(i64::MAX),
        revision: 1,
        decided_at: 0,
        updated_at: at,
    }
}

/// One record for all that one listing has brought: a server that changes all the time must not fill the log.
fn noticed_record(server_id: &str, change: &PinChange, at: i64) -> Option<NewAudit> {
    let outcome = match change.noticed.iter().map(|it| it.handling).max_by_key(|it| *it as u8)? {
        Handling::Allowed => "allowed",
        Handling::Shown => "shown",
        Handling::Held => "held",
    };
    let named = change.noticed.iter().map(|noticed| {
        let Noticed { kind, name, reason, before, after, .. } = noticed;
        definition_words(kind.word(), name, reason.word(), before.as_deref(), after)
    });
    Some(NewAudit {
        at,
        principal: TRUNKLINE.to_owned(),
        action: "notice-definitions".to_owned(),
        server_id: Some(server_id.to_owned()),
        server_name: Some(change.record.server.clone()),
        outcome: outcome.to_owned(),
        detail: Some(some_of(named.collect())),
        ..NewAudit::default()
    })
}

/// `tool add changed: HASH → HASH`. Never the text of a definition.
pub(in crate::services) fn definition_words(
    kind: &str,
    name: &str,
    what: &str,
    before: Option<&str>,
    after: &str,
) -> String {
    let name = trunkline_catalog::name::escaped(name);
    let label = if name.is_empty() { kind.to_owned() } else { format!("{kind} {name}") };
    match before {
        Some(before) => format!("{label} {what}: {before} \u{2192} {after}"),
        None => format!("{label} {what}: {after}"),
    }
}

pub(in crate::services) fn some_of(mut all: Vec<String>) -> String {
    let more = all.len().saturating_sub(MOST_NAMED);
    all.truncate(MOST_NAMED);
    if more > 0 {
        all.push(format!("and {more} more"));
    }
    all.join("; ")
}

fn failed(error: &StoreError) -> PinHomeError {
    match error {
        StoreError::Stale => PinHomeError::Stale,
        error => PinHomeError::Failed(error.to_string()),
    }
}
