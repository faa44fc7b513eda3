//! What a listing is, compared with what is pinned of its server: what is noticed, what is kept, and what callers
//! are shown.

use std::collections::{BTreeMap, HashMap, HashSet};

use trunkline_wire::decode;

use super::definition::{Definition, DefinitionKind, Definitions};
use super::record::{Pin, PinRecord, WaitingDefinition, WaitingReason};
use super::suspicion::Suspicion;
use crate::config::OnChange;
use crate::listing::{Listing, Substitute};

/// What was known of the server before.
#[derive(Clone, Copy, Debug)]
pub enum KnownPins<'a> {
    /// It was never seen: what it lists is pinned.
    Nothing,
    /// It was, and what was pinned cannot be read any more: nothing is taken as approved.
    Lost,
    Record(&'a PinRecord),
}

/// A server has listed this.
#[derive(Clone, Copy, Debug)]
pub struct Sighting<'a> {
    /// Its key.
    pub server: &'a str,
    /// Its name and version.
    pub identity: Option<&'a str>,
    pub definitions: &'a Definitions,
    /// What the scanner suspects of the definitions: each is withheld until a person has approved it.
    pub suspected: &'a [Suspicion],
    /// Definitions whose pins the scanner suspects: they are not shown in the place of others.
    pub suspected_pins: &'a [Suspicion],
    pub policy: OnChange,
    /// Seconds since 1970.
    pub now: u64,
}

#[derive(Clone, Debug)]
pub struct Comparison {
    /// What is known from now on.
    pub record: PinRecord,
    /// What was not noticed before.
    pub noticed: Vec<Noticed>,
    pub effective: EffectiveListing,
}

/// Something about a definition that was not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Noticed {
    pub kind: DefinitionKind,
    pub name: String,
    pub reason: WaitingReason,
    /// The hash of what was approved, if anything was.
    pub before: Option<String>,
    pub after: String,
    pub handling: Handling,
}

/// What is done with a definition that was not approved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handling {
    /// It is approved by the policy.
    Allowed,
    /// Callers are shown it, and a person is to look at it.
    Shown,
    /// Callers keep what was approved, or have nothing.
    Held,
}

/// What callers are shown, as far as it is not what the server lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EffectiveListing(HashMap<DefinitionKind, HeldDefinitions>);

/// By name: what was approved, or nothing.
type HeldDefinitions = HashMap<String, Option<Box<[u8]>>>;

/// More are not kept of one server: those that it does not list any more go first.
const MOST_KEPT: usize = 40_000;

type Key = (DefinitionKind, String);

pub fn compare(known: KnownPins<'_>, seen: &Sighting<'_>) -> Comparison {
    let record = match known {
        KnownPins::Record(record) => Some(record),
        KnownPins::Nothing | KnownPins::Lost => None,
    };
    let mut judge = Judge {
        known,
        seen,
        pins: record.map(pins_of).unwrap_or_default(),
        waiting: record.map(waiting_of).unwrap_or_default(),
        suspected: by_key(seen.suspected),
        suspected_pins: by_key(seen.suspected_pins),
        noticed: Vec::new(),
        effective: EffectiveListing::default(),
    };
    seen.definitions.0.iter().for_each(|definition| judge.judge(definition));
    let listed: HashSet<_> =
        seen.definitions.0.iter().map(|it| (it.kind, it.name.as_str())).collect();
    let is_kept = |key: &Key| listed.contains(&(key.0, key.1.as_str()));
    let Judge { mut pins, mut waiting, noticed, effective, .. } = judge;
    if pins.len() > MOST_KEPT {
        pins.retain(|key, _| is_kept(key));
    }
    if waiting.len() > MOST_KEPT {
        waiting.retain(|key, _| is_kept(key));
    }
    let identity = seen.identity.map(str::to_owned);
    let record = PinRecord {
        server: seen.server.to_owned(),
        identity: identity.or_else(|| record.and_then(|record| record.identity.clone())),
        first_seen: record.map_or(seen.now, |record| record.first_seen),
        pins: pins.into_values().collect(),
        waiting: waiting.into_values().collect(),
    };
    Comparison { record, noticed, effective }
}

fn by_key(all: &[Suspicion]) -> HashMap<(DefinitionKind, &str), &Suspicion> {
    all.iter().map(|it| ((it.kind, it.name.as_str()), it)).collect()
}

fn pins_of(record: &PinRecord) -> BTreeMap<Key, Pin> {
    record.pins.iter().map(|pin| (key(&pin.definition), pin.clone())).collect()
}

fn waiting_of(record: &PinRecord) -> BTreeMap<Key, WaitingDefinition> {
    record.waiting.iter().map(|it| (key(&it.definition), it.clone())).collect()
}

fn key(definition: &Definition) -> Key {
    (definition.kind, definition.name.clone())
}

struct Judge<'a> {
    known: KnownPins<'a>,
    seen: &'a Sighting<'a>,
    pins: BTreeMap<Key, Pin>,
    waiting: BTreeMap<Key, WaitingDefinition>,
    suspected: HashMap<(DefinitionKind, &'a str), &'a Suspicion>,
    suspected_pins: HashMap<(DefinitionKind, &'a str), &'a Suspicion>,
    noticed: Vec<Noticed>,
    effective: EffectiveListing,
}

impl Judge<'_> {
    fn judge(&mut self, definition: &Definition) {
        let key = key(definition);
        let pin = self.pins.get(&key);
        let waits = self.waiting.get(&key).filter(|it| it.definition.hash == definition.hash);
        let is_rejected = waits.is_some_and(|it| it.is_rejected);
        let is_pinned = pin.is_some_and(|pin| pin.definition.hash == definition.hash);
        // What was only seen first was approved by nobody: a pin alone does not answer the scanner.
        let is_answered = pin.is_some_and(|pin| pin.is_approved) || self.suspicion(&key).is_none();
        if is_pinned && is_answered && !is_rejected {
            // It is again what it was. What was rejected stays known: it may come back.
            if self.waiting.get(&key).is_some_and(|waiting| !waiting.is_rejected) {
                self.waiting.remove(&key);
            }
            return;
        }
        let before = pin.filter(|_| !is_pinned).map(|pin| pin.definition.hash.clone());
        let reason = self.reason(definition, before.is_some());
        let is_known = waits.is_some_and(|it| it.reason == reason);
        let handling = self.handling(&reason, is_rejected);
        let is_first = matches!(self.known, KnownPins::Nothing) && handling == Handling::Allowed;
        if !is_known && !is_first {
            self.noticed.push(Noticed {
                kind: definition.kind,
                name: definition.name.clone(),
                reason: reason.clone(),
                before,
                after: definition.hash.clone(),
                handling,
            });
        }
        if handling == Handling::Held {
            let kept = if is_pinned { None } else { self.kept(&key) };
            let of_kind = self.effective.0.entry(definition.kind).or_default();
            of_kind.insert(definition.name.clone(), kept);
        }
        self.keep(key, definition, reason, handling);
    }

    fn suspicion(&self, key: &Key) -> Option<&Suspicion> {
        self.suspected.get(&(key.0, key.1.as_str())).copied()
    }

    /// What callers have in the place of a definition that is held.
    fn kept(&self, key: &Key) -> Option<Box<[u8]>> {
        let pin = self.pins.get(key)?;
        let is_suspected = self.suspected_pins.contains_key(&(key.0, key.1.as_str()));
        (pin.is_approved || !is_suspected).then(|| pin.definition.bytes.clone())?
    }

    fn reason(&self, definition: &Definition, was_pinned: bool) -> WaitingReason {
        match self.suspicion(&key(definition)) {
            Some(suspicion) => WaitingReason::Finding(suspicion.note.clone()),
            None if was_pinned => WaitingReason::Changed,
            None if matches!(self.known, KnownPins::Lost) => WaitingReason::Lost,
            // What was lost is still not looked at, although the record is known again.
            None => match self.waiting.get(&key(definition)) {
                Some(waiting) if waiting.reason == WaitingReason::Lost => WaitingReason::Lost,
                _ => WaitingReason::New,
            },
        }
    }

    fn handling(&self, reason: &WaitingReason, is_rejected: bool) -> Handling {
        if is_rejected || matches!(reason, WaitingReason::Finding(_)) {
            return Handling::Held;
        }
        match (self.known, self.seen.policy) {
            (KnownPins::Nothing, _) | (_, OnChange::Allow) => Handling::Allowed,
            (_, OnChange::Warn) => Handling::Shown,
            (_, OnChange::Hold) => Handling::Held,
        }
    }

    fn keep(&mut self, key: Key, definition: &Definition, reason: WaitingReason, how: Handling) {
        let identity = self.seen.identity.map(str::to_owned);
        if how == Handling::Allowed {
            self.waiting.remove(&key);
            let definition = definition.clone();
            let since = self.seen.now;
            self.pins.insert(key, Pin { definition, since, identity, is_approved: false });
            return;
        }
        let waits = self.waiting.get_mut(&key);
        match waits.filter(|it| it.definition.hash == definition.hash) {
            Some(waiting) => waiting.reason = reason,
            None => {
                let waiting = WaitingDefinition {
                    definition: definition.clone(),
                    reason,
                    noticed: self.seen.now,
                    identity,
                    is_rejected: false,
                };
                self.waiting.insert(key, waiting);
            }
        }
    }
}

impl EffectiveListing {
    /// Everything that is listed but what the scanner suspects: where nobody can be asked what was approved.
    pub fn without(suspected: &[Suspicion]) -> Self {
        let mut all = Self::default();
        for Suspicion { kind, name, .. } in suspected {
            all.0.entry(*kind).or_default().insert(name.clone(), None);
        }
        all
    }

    /// Is it what the server lists?
    pub fn is_as_listed(&self) -> bool {
        self.0.is_empty()
    }

    /// How many definitions are withheld, or shown as they were.
    pub fn held(&self) -> usize {
        self.0.values().map(HashMap::len).sum()
    }

    /// What callers are listed, made of what the server lists.
    pub fn listing(&self, listed: &Listing) -> Listing {
        listed.substituted(|list, entry| {
            let kind = DefinitionKind::of_list(list)?;
            let kept = self.0.get(&kind)?.get(&entry.name)?;
            Some(kept.as_deref().map_or(Substitute::Nothing, Substitute::Definition))
        })
    }

    /// The instructions that callers are told, made of those of the server.
    pub fn instructions(&self, said: Option<&str>) -> Option<String> {
        let held = self.0.get(&DefinitionKind::Instructions).and_then(|held| held.get(""));
        match held {
            None => said.map(str::to_owned),
            Some(kept) => kept.as_deref().and_then(decode).map(Into::into),
        }
    }
}

#[cfg(test)]
mod tests;
