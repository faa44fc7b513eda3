//! `AppliedRevisions`: which revision of its record and secrets each running server was made of, so that
//! nothing is read and opened again before it has changed.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use trunkline_store::ServerRecord;

/// When each named secret was last changed; `None`: the store does not say now.
pub(super) type SecretChanges = Option<HashMap<String, i64>>;

/// By the servers' ids.
#[derive(Debug, Default)]
pub(crate) struct AppliedRevisions(HashMap<String, AppliedRevision>);

#[derive(Debug)]
struct AppliedRevision {
    revision: i64,
    updated_at: i64,
    /// The secrets it refers to, and when they were last changed, as far as they were there.
    secrets: BTreeMap<String, Option<i64>>,
}

impl AppliedRevisions {
    pub(super) fn note(
        &mut self,
        record: &ServerRecord,
        names: &BTreeSet<String>,
        changed: &SecretChanges,
    ) {
        let at = |name: &String| changed.as_ref().and_then(|changed| changed.get(name)).copied();
        let version = AppliedRevision {
            revision: record.revision,
            updated_at: record.updated_at,
            secrets: names.iter().map(|name| (name.clone(), at(name))).collect(),
        };
        self.0.insert(record.id.clone(), version);
    }

    /// Was the server made of this, as far as the store says?
    pub(super) fn holds(&self, record: &ServerRecord, changed: &SecretChanges) -> bool {
        self.0.get(&record.id).is_some_and(|version| {
            let is_same = |(name, at): (&String, &Option<i64>)| {
                changed.as_ref().is_none_or(|changed| changed.get(name) == at.as_ref())
            };
            (version.revision, version.updated_at) == (record.revision, record.updated_at)
                && version.secrets.iter().all(is_same)
        })
    }

    /// Does any server refer to named secrets?
    pub(super) fn has_named_secrets(&self) -> bool {
        self.0.values().any(|version| !version.secrets.is_empty())
    }

    /// Only of these.
    pub(super) fn keep(&mut self, is_known: impl Fn(&str) -> bool) {
        self.0.retain(|id, _| is_known(id));
    }
}

#[cfg(test)]
mod tests {
    use trunkline_store::{DesiredState, Transport};

    use super::*;

    fn record(revision: i64, updated_at: i64) -> ServerRecord {
        ServerRecord {
            id: "1".to_owned(),
            name: "a".to_owned(),
            description: String::new(),
            transport: Transport::Http,
            config: "{}".to_owned(),
            auto_connect: true,
            wanted: DesiredState::Connected,
            health_check_url: None,
            created_at: 0,
            updated_at,
            revision,
        }
    }

    #[test]
    fn what_was_made_holds_until_its_record_or_one_of_its_secrets_has_changed() {
        let changed = |at: &[(&str, i64)]| -> SecretChanges {
            Some(at.iter().map(|(name, at)| ((*name).to_owned(), *at)).collect())
        };
        let mut made = AppliedRevisions::default();
        assert!(!made.holds(&record(1, 1), &None), "it was never made");
        let names = ["here", "missing"].map(str::to_owned).into();
        made.note(&record(1, 1), &names, &changed(&[("here", 5), ("other", 5)]));
        for (version, at, expected) in [
            ((1, 1), changed(&[("here", 5)]), true),
            ((1, 1), changed(&[("here", 5), ("other", 6)]), true),
            ((1, 1), None, true),
            ((2, 1), changed(&[("here", 5)]), false),
            ((1, 2), None, false),
            ((1, 1), changed(&[("here", 6)]), false),
            ((1, 1), changed(&[]), false),
            ((1, 1), changed(&[("here", 5), ("missing", 6)]), false),
        ] {
            let record = record(version.0, version.1);
            assert_eq!(made.holds(&record, &at), expected, "{version:?} {at:?}");
        }
        assert!(made.has_named_secrets());
        made.keep(|id| id != "1");
        assert!(!made.has_named_secrets() && !made.holds(&record(1, 1), &None));
    }
}
