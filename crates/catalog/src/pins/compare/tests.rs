//! What is noticed, kept and shown, by policy.

use super::*;
use crate::config::Secrets;
use crate::listing::ListKind;
use crate::pins::{Choice, Decision};

fn listing(tools: &[(&str, &str)]) -> Listing {
    let tools = tools.iter().map(|(name, description)| {
        format!(r#"{{"name" : "{name}","description":"{description}","inputSchema":{{"type":"object"}}}}"#)
    });
    let page = format!(r#"{{"tools":[{}]}}"#, tools.collect::<Vec<_>>().join(","));
    let mut listing = Listing::default();
    listing.add_page(ListKind::Tools, page.as_bytes(), 99).unwrap();
    listing
}

struct Seen {
    listing: Listing,
    instructions: Option<&'static str>,
    suspected: Vec<Suspicion>,
}

impl Seen {
    fn tools(tools: &[(&str, &str)]) -> Self {
        Self { listing: listing(tools), instructions: None, suspected: Vec::new() }
    }

    fn compare(&self, known: KnownPins<'_>, policy: OnChange) -> Comparison {
        let definitions = Definitions::of(&self.listing, self.instructions, &Secrets::new());
        compare(
            known,
            &Sighting {
                server: "s",
                identity: Some("rail 1"),
                definitions: &definitions,
                suspected: &self.suspected,
                suspected_pins: &[],
                policy,
                now: 7,
            },
        )
    }

    fn first(&self) -> PinRecord {
        self.compare(KnownPins::Nothing, OnChange::Hold).record
    }
}

fn shown(comparison: &Comparison, listed: &Listing) -> Vec<String> {
    let listing = comparison.effective.listing(listed);
    let text = |it: &crate::listing::Tool| String::from_utf8(it.definition.to_vec()).unwrap();
    listing.tools().iter().map(text).collect()
}

fn told(comparison: &Comparison) -> Vec<(&str, &str, Handling)> {
    let all = comparison.noticed.iter();
    all.map(|it| (it.name.as_str(), it.reason.word(), it.handling)).collect()
}

#[test]
fn what_is_first_seen_is_pinned_and_nothing_is_said() {
    let seen = Seen::tools(&[("a", "x"), ("b", "y")]);
    let first = seen.compare(KnownPins::Nothing, OnChange::Hold);
    assert_eq!((told(&first), first.record.pins.len()), (vec![], 2));
    assert!(first.effective.is_as_listed() && first.record.waiting.is_empty());
    let again = seen.compare(KnownPins::Record(&first.record), OnChange::Hold);
    assert_eq!(again.record, first.record, "there is nothing to write");
}

#[test]
fn what_has_changed_is_handled_by_policy() {
    let before = Seen::tools(&[("a", "x"), ("b", "y")]);
    let record = before.first();
    let now = Seen::tools(&[("b", "y"), ("new", "n"), ("a", "EVIL")]);
    let [old, fresh] = [&before, &now]
        .map(|it| shown(&it.compare(KnownPins::Nothing, OnChange::Warn), &it.listing));
    for (policy, handling, expected, waiting) in [
        (OnChange::Allow, Handling::Allowed, fresh.clone(), 0),
        (OnChange::Warn, Handling::Shown, fresh, 2),
        // The old bytes at the new place, and nothing of what is new.
        (OnChange::Hold, Handling::Held, vec![old[1].clone(), old[0].clone()], 2),
    ] {
        let comparison = now.compare(KnownPins::Record(&record), policy);
        let noticed = vec![("new", "new", handling), ("a", "changed", handling)];
        assert_eq!(told(&comparison), noticed, "{policy:?}");
        assert_eq!(shown(&comparison, &now.listing), expected, "{policy:?}");
        assert_eq!(comparison.record.waiting.len(), waiting, "{policy:?}");
        let again = now.compare(KnownPins::Record(&comparison.record), policy);
        assert_eq!((told(&again), &again.record), (vec![], &comparison.record), "said once");
        assert_eq!(shown(&again, &now.listing), expected, "{policy:?}");
    }
}

#[test]
fn what_is_gone_is_gone_and_its_pin_stays() {
    let record = Seen::tools(&[("a", "x"), ("b", "y")]).first();
    let fewer = Seen::tools(&[("a", "x")]);
    let without = fewer.compare(KnownPins::Record(&record), OnChange::Hold);
    assert_eq!(shown(&without, &fewer.listing).len(), 1);
    let back = Seen::tools(&[("a", "x"), ("b", "other")]);
    let back = back.compare(KnownPins::Record(&without.record), OnChange::Hold);
    assert_eq!(told(&back), [("b", "changed", Handling::Held)], "it is not taken as a new one");
}

#[test]
fn what_was_rejected_is_withheld_until_it_changes_again() {
    let record = Seen::tools(&[("a", "x")]).first();
    let evil = Seen::tools(&[("a", "EVIL")]);
    for policy in [OnChange::Allow, OnChange::Warn, OnChange::Hold] {
        let mut noticed = evil.compare(KnownPins::Record(&record), OnChange::Warn).record;
        noticed.decide(Decision::Reject, &[Choice::read("a")], 8).unwrap();
        let held = evil.compare(KnownPins::Record(&noticed), policy);
        assert_eq!((told(&held), held.effective.held()), (vec![], 1), "{policy:?}");
        // It was good again for a while.
        let good = Seen::tools(&[("a", "x")]).compare(KnownPins::Record(&held.record), policy);
        let again = evil.compare(KnownPins::Record(&good.record), policy);
        assert_eq!((told(&again), again.effective.held()), (vec![], 1), "{policy:?}");
        let other = Seen::tools(&[("a", "other")]).compare(KnownPins::Record(&noticed), policy);
        assert_eq!(other.noticed.len(), 1, "{policy:?}");
        assert_eq!(other.effective.held(), usize::from(policy == OnChange::Hold), "{policy:?}");
    }
}

#[test]
fn what_was_approved_is_shown() {
    let record = Seen::tools(&[("a", "x")]).first();
    let now = Seen::tools(&[("a", "y"), ("b", "z")]);
    let mut record = now.compare(KnownPins::Record(&record), OnChange::Hold).record;
    let decided = record.decide(Decision::Approve, &[], 9).unwrap();
    assert_eq!((decided[0].before.is_some(), decided[1].before.is_some()), (true, false));
    let shown = now.compare(KnownPins::Record(&record), OnChange::Hold);
    assert!(shown.effective.is_as_listed() && shown.noticed.is_empty());
    assert_eq!(shown.record, record);
}

#[test]
fn what_was_lost_is_not_taken_as_first_seen() {
    let now = Seen::tools(&[("a", "x")]);
    let held = now.compare(KnownPins::Lost, OnChange::Hold);
    assert_eq!(told(&held), [("a", "lost", Handling::Held)]);
    assert!(shown(&held, &now.listing).is_empty() && held.record.pins.is_empty());
    let again = now.compare(KnownPins::Record(&held.record), OnChange::Hold);
    assert_eq!((told(&again), &again.record), (vec![], &held.record));
    let warned = now.compare(KnownPins::Lost, OnChange::Warn);
    assert!(warned.effective.is_as_listed() && warned.record.waiting.len() == 1);
}

#[test]
fn instructions_are_held_like_tools() {
    let said = |words| Seen { instructions: words, ..Seen::tools(&[]) };
    let told = |record: &PinRecord, words| {
        let comparison = said(words).compare(KnownPins::Record(record), OnChange::Hold);
        comparison.effective.instructions(words)
    };
    let record = said(Some("Be \"kind\".\n")).first();
    assert_eq!(told(&record, Some("Be \"kind\".\n")).as_deref(), Some("Be \"kind\".\n"));
    assert_eq!(told(&record, Some("Be evil.")).as_deref(), Some("Be \"kind\".\n"));
    assert_eq!(told(&record, None), None, "what is gone is gone");
    let none = said(None).first();
    assert_eq!(told(&none, Some("Be evil.")), None);
}

#[test]
fn a_finding_holds_what_was_not_approved_under_every_policy() {
    let seen = Seen { suspected: vec![suspicion("a")], ..Seen::tools(&[("a", "x"), ("b", "y")]) };
    for policy in [OnChange::Allow, OnChange::Warn, OnChange::Hold] {
        let first = seen.compare(KnownPins::Nothing, policy);
        assert_eq!(told(&first), [("a", "finding", Handling::Held)], "{policy:?}");
        assert_eq!(shown(&first, &seen.listing).len(), 1);
        let mut record = first.record;
        record.decide(Decision::Approve, &[], 8).unwrap();
        let approved = seen.compare(KnownPins::Record(&record), policy);
        assert!(approved.effective.is_as_listed() && approved.noticed.is_empty(), "{policy:?}");
        let other =
            Seen { suspected: vec![suspicion("a")], ..Seen::tools(&[("a", "z"), ("b", "y")]) };
        let changed = other.compare(KnownPins::Record(&record), policy);
        assert_eq!(told(&changed), [("a", "finding", Handling::Held)], "another text: {policy:?}");
        assert_eq!(shown(&changed, &other.listing), shown(&approved, &seen.listing));
    }
}

#[test]
fn what_was_only_seen_first_is_withheld_when_it_is_suspected_later() {
    let plain = Seen::tools(&[("a", "x"), ("b", "y")]);
    let record = plain.first();
    let seen = Seen { suspected: vec![suspicion("a")], ..Seen::tools(&[("a", "x"), ("b", "y")]) };
    let held = seen.compare(KnownPins::Record(&record), OnChange::Allow);
    assert_eq!(told(&held), [("a", "finding", Handling::Held)]);
    assert_eq!(shown(&held, &seen.listing).len(), 1, "not even as it was pinned");
    let again = seen.compare(KnownPins::Record(&held.record), OnChange::Allow);
    assert!(again.noticed.is_empty(), "it is told once");
    let unsuspected = plain.compare(KnownPins::Record(&held.record), OnChange::Allow);
    assert!(unsuspected.effective.is_as_listed() && unsuspected.record.waiting.is_empty());
    let mut rejected = held.record;
    rejected.decide(Decision::Reject, &[], 8).unwrap();
    let unsuspected = plain.compare(KnownPins::Record(&rejected), OnChange::Allow);
    assert_eq!(shown(&unsuspected, &plain.listing).len(), 1, "a person has rejected this text");
}

#[test]
fn a_suspected_pin_is_not_shown_in_the_place_of_what_is_held() {
    let record = Seen::tools(&[("a", "bad")]).first();
    let now = listing(&[("a", "other")]);
    let definitions = Definitions::of(&now, None, &Secrets::new());
    for (suspected_pins, expected) in [(vec![], 1), (vec![suspicion("a")], 0)] {
        let sighting = Sighting {
            server: "s",
            identity: None,
            definitions: &definitions,
            suspected: &[],
            suspected_pins: &suspected_pins,
            policy: OnChange::Hold,
            now: 7,
        };
        let held = compare(KnownPins::Record(&record), &sighting);
        assert_eq!(shown(&held, &now).len(), expected);
    }
}

fn suspicion(name: &str) -> Suspicion {
    Suspicion {
        kind: DefinitionKind::Tool,
        name: name.to_owned(),
        note: "it speaks of other tools".to_owned(),
    }
}
