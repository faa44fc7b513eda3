//! `Refusals`: requests that did not run. The first of each caller and minute are recorded one by one, the
//! others in one record with their count, so that a flood of them neither fills the log nor hides in it.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;
use trunkline_store::NewAudit;

/// The outcome of a request that did not run.
pub(super) const REFUSED: &str = "refused";
/// How long refusals are counted together.
const WINDOW: Duration = Duration::from_secs(60);
/// Recorded one by one in a window: a person who mistypes a few names finds each of them in the log.
const ONE_BY_ONE: u32 = 10;
/// Callers and actions that are told apart, some 500 bytes each; further ones are counted together.
const TALLIES: usize = 1_024;

#[derive(Debug, Default)]
pub(super) struct Refusals {
    tallies: HashMap<TallyKey, Tally>,
}

/// Who was refused, by credential or else by address, and what. `None`: one of many.
type TallyKey = Option<(String, String)>;

#[derive(Debug)]
struct Tally {
    since: Instant,
    one_by_one: u32,
    /// Besides those.
    count: u64,
    /// What those that are counted have in common.
    common: NewAudit,
}

impl Refusals {
    /// Takes one of the places of those that are recorded one by one. True: the record is to be written as it is.
    pub(super) fn spell_out(&mut self, record: &NewAudit, now: Instant) -> bool {
        let tally = self.tally(record, now);
        let is_first = now.duration_since(tally.since) < WINDOW && tally.one_by_one < ONE_BY_ONE;
        tally.one_by_one += u32::from(is_first);
        is_first
    }

    pub(super) fn count(&mut self, record: NewAudit, times: u64, now: Instant) {
        let tally = self.tally(&record, now);
        tally.common = match tally.count {
            0 => record,
            _ => common(std::mem::take(&mut tally.common), record),
        };
        tally.count = tally.count.saturating_add(times);
    }

    /// The counts of windows that are over, or of all.
    pub(super) fn due(&mut self, now: Option<Instant>) -> Vec<NewAudit> {
        let mut due = Vec::new();
        self.tallies.retain(|_, tally| {
            let is_over = now.is_none_or(|now| tally.end() <= now);
            if is_over && tally.count > 0 {
                due.push(tally.record());
            }
            !is_over
        });
        due
    }

    /// When the next count is due.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.tallies.values().filter(|tally| tally.count > 0).map(Tally::end).min()
    }

    /// Refusals that no record tells of yet.
    pub(super) fn counted(&self) -> u64 {
        self.tallies.values().map(|tally| tally.count).sum()
    }

    fn tally(&mut self, record: &NewAudit, now: Instant) -> &mut Tally {
        let who = record.credential_id.as_ref().or(record.address.as_ref());
        let key = Some((who.cloned().unwrap_or_default(), record.action.clone()));
        if self.tallies.len() >= TALLIES && !self.tallies.contains_key(&key) {
            // Windows that are over and have nothing to tell.
            self.tallies.retain(|_, tally| tally.count > 0 || now < tally.end());
        }
        // Bounded: a caller with many tokens must not fill the memory.
        let is_known = self.tallies.contains_key(&key) || self.tallies.len() < TALLIES;
        let tally = self.tallies.entry(key.filter(|_| is_known)).or_insert_with(|| Tally {
            since: now,
            one_by_one: if is_known { 0 } else { ONE_BY_ONE },
            count: 0,
            common: NewAudit::default(),
        });
        if tally.end() <= now && tally.count == 0 {
            (tally.since, tally.one_by_one) = (now, 0);
        }
        tally
    }
}

impl Tally {
    fn end(&self) -> Instant {
        self.since + WINDOW
    }

    fn record(&mut self) -> NewAudit {
        let what = self.common.detail.take().map(|detail| format!(": {detail}"));
        let detail = format!("counted over a minute{}", what.unwrap_or_default());
        NewAudit {
            detail: Some(detail),
            count: Some(i64::try_from(self.count).unwrap_or(i64::MAX)),
            ..std::mem::take(&mut self.common)
        }
    }
}

/// What two refusals have in common, at the time of the later one.
fn common(one: NewAudit, other: NewAudit) -> NewAudit {
    let same =
        |one: Option<String>, other: Option<String>| one.filter(|it| other.as_ref() == Some(it));
    NewAudit {
        at: other.at,
        principal: if one.principal == other.principal { one.principal } else { "many".to_owned() },
        credential_id: same(one.credential_id, other.credential_id),
        address: same(one.address, other.address),
        action: if one.action == other.action { one.action } else { "ask".to_owned() },
        server_id: same(one.server_id, other.server_id),
        server_name: same(one.server_name, other.server_name),
        tool: same(one.tool, other.tool),
        outcome: REFUSED.to_owned(),
        detail: same(one.detail, other.detail),
        ..NewAudit::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(key: &str, tool: &str) -> NewAudit {
        NewAudit {
            at: 1,
            principal: key.to_owned(),
            credential_id: Some(key.to_owned()),
            action: "call-tool".to_owned(),
            tool: Some(tool.to_owned()),
            outcome: REFUSED.to_owned(),
            ..NewAudit::default()
        }
    }

    fn push(refusals: &mut Refusals, record: NewAudit, now: Instant) -> bool {
        let is_spelt_out = refusals.spell_out(&record, now);
        if !is_spelt_out {
            refusals.count(record, 1, now);
        }
        is_spelt_out
    }

    #[test]
    fn a_flood_of_one_caller_is_a_few_records_and_a_count() {
        let (mut refusals, start) = (Refusals::default(), Instant::now());
        let told = (0..1_000).filter(|n| push(&mut refusals, refusal("a", &n.to_string()), start));
        assert_eq!(told.count(), 10);
        assert!(push(&mut refusals, refusal("b", "x"), start), "another caller is told apart");
        assert_eq!((refusals.counted(), refusals.due(Some(start)).len()), (990, 0));
        assert_eq!(refusals.next_due(), Some(start + WINDOW));
        let due = refusals.due(Some(start + WINDOW));
        let [counted] = &due[..] else { panic!("{due:?}") };
        assert_eq!((counted.count, counted.tool.as_deref()), (Some(990), None));
        assert_eq!((&*counted.principal, &*counted.outcome), ("a", REFUSED));
        assert_eq!((refusals.counted(), refusals.next_due()), (0, None));
        assert!(push(&mut refusals, refusal("a", "y"), start + WINDOW), "a new minute");
    }

    #[test]
    fn what_refusals_have_in_common_is_told() {
        let (mut refusals, now) = (Refusals::default(), Instant::now());
        refusals.count(NewAudit { detail: Some("why".to_owned()), ..refusal("a", "t") }, 5, now);
        refusals.count(NewAudit { detail: Some("why".to_owned()), ..refusal("a", "t") }, 2, now);
        let due = refusals.due(None);
        assert_eq!((due[0].count, due[0].tool.as_deref()), (Some(7), Some("t")));
        assert_eq!(due[0].detail.as_deref(), Some("counted over a minute: why"));
    }

    #[test]
    fn many_callers_are_counted_together() {
        let (mut refusals, now) = (Refusals::default(), Instant::now());
        for n in 0..10 * TALLIES {
            push(&mut refusals, refusal(&n.to_string(), "t"), now);
        }
        assert_eq!(refusals.tallies.len(), TALLIES + 1);
        let due = refusals.due(None);
        assert_eq!(due.len(), 1);
        assert_eq!(due[0].count, Some(i64::try_from(9 * TALLIES).unwrap()));
        assert_eq!((&*due[0].principal, due[0].tool.as_deref()), ("many", Some("t")));
    }
}
