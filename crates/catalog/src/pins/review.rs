//! What a person decides on definitions that wait: they are approved, or rejected and stay withheld.

use super::definition::{Definition, DefinitionKind, ITEM_HASH};
use super::diff::{DiffLength, FieldDiff, diff};
use super::record::{Pin, PinRecord, WaitingDefinition};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    Approve,
    Reject,
}

impl Decision {
    pub fn done(self) -> &'static str {
        match self {
            Self::Approve => "approved",
            Self::Reject => "rejected",
        }
    }
}

/// Which of the definitions that wait is meant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// `None`: of any kind.
    pub kind: Option<DefinitionKind>,
    pub name: String,
    /// What somebody has seen: the whole hash, or its beginning. `None`: whatever waits.
    pub hash: Option<String>,
}

impl Choice {
    /// `NAME`, `KIND:NAME` or `instructions`; each may end in `@` and the beginning of the hash.
    pub fn read(text: &str) -> Self {
        let (text, hash) = match text.rsplit_once('@') {
            Some((text, hash)) if is_hash(hash) => (text, Some(hash.to_ascii_lowercase())),
            _ => (text, None),
        };
        if text == DefinitionKind::Instructions.word() {
            let kind = Some(DefinitionKind::Instructions);
            return Self { kind, name: String::new(), hash };
        }
        let (kind, name) = match text.split_once(':') {
            Some((word, name)) => match DefinitionKind::of_word(word) {
                Some(kind) => (Some(kind), name),
                None => (None, text),
            },
            None => (None, text),
        };
        Self { kind, name: name.to_owned(), hash }
    }

    /// Is this what is meant, as far as it says what was seen?
    pub fn names(&self, definition: &Definition) -> bool {
        self.is_of(definition) && self.has_seen(definition)
    }

    fn is_of(&self, definition: &Definition) -> bool {
        self.kind.is_none_or(|kind| kind == definition.kind) && self.name == definition.name
    }

    /// Does it name the whole hash? Only who has looked at the whole definition knows that.
    fn has_whole_hash(&self) -> bool {
        self.hash.as_ref().is_some_and(|hash| hash.len() == WHOLE_HASH)
    }

    fn has_seen(&self, definition: &Definition) -> bool {
        self.hash.as_ref().is_none_or(|hash| definition.hash.starts_with(hash))
    }
}

/// The digits of a SHA-256.
const WHOLE_HASH: usize = 64;

fn is_hash(text: &str) -> bool {
    (ITEM_HASH..=WHOLE_HASH).contains(&text.len()) && text.chars().all(|c| c.is_ascii_hexdigit())
}

/// Why nothing was decided.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnknownChoice {
    #[error("nothing called `{name}` waits")]
    Unknown { name: String },
    /// It has changed since somebody looked at it.
    #[error("`{name}` is not what it was when it was looked at: it has changed again")]
    Other { name: String },
    #[error("`{name}` was not shown as it is now: look at it first")]
    NotShown { name: String },
    /// It is longer than what is shown at once, or its text is not kept.
    #[error(
        "only a part of `{name}` was shown: look at the whole, and approve it with the whole hash that stands there"
    )]
    Unseen { name: String },
}

/// What was decided of one definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    pub kind: DefinitionKind,
    pub name: String,
    /// The hash of what was approved before, if anything was.
    pub before: Option<String>,
    pub after: String,
}

impl PinRecord {
    /// A definition that these choices approve without naming a hash, though `is_shown` says that nobody has seen it.
    pub fn not_shown(
        &self,
        choices: &[Choice],
        is_shown: impl Fn(&Definition) -> bool,
    ) -> Option<UnknownChoice> {
        let is_meant = |waiting: &&WaitingDefinition| match choices {
            [] => !waiting.is_rejected,
            choices => choices.iter().any(|it| it.hash.is_none() && it.is_of(&waiting.definition)),
        };
        let mut meant = self.waiting.iter().filter(is_meant);
        let unseen = meant.find(|it| !is_shown(&it.definition))?;
        Some(UnknownChoice::NotShown { name: unseen.definition.item() })
    }

    /// Decides on the definitions that are chosen; on all that wait if none is named.
    pub fn decide(
        &mut self,
        decision: Decision,
        choices: &[Choice],
        now: u64,
    ) -> Result<Vec<Decided>, UnknownChoice> {
        // All or nothing: who has mistyped one name gives the whole command again.
        for choice in choices {
            let mut found =
                self.waiting.iter().filter(|it| choice.is_of(&it.definition)).peekable();
            let name = choice.name.clone();
            if found.peek().is_none() {
                return Err(UnknownChoice::Unknown { name });
            }
            if !found.any(|it| choice.has_seen(&it.definition)) {
                return Err(UnknownChoice::Other { name });
            }
        }
        let is_chosen = |waiting: &WaitingDefinition| match choices {
            // What somebody has rejected by name is not approved by accident.
            [] => !waiting.is_rejected,
            choices => choices.iter().any(|it| it.names(&waiting.definition)),
        };
        let is_unseen = |waiting: &WaitingDefinition| {
            let knows_all =
                choices.iter().any(|it| it.has_whole_hash() && it.names(&waiting.definition));
            is_chosen(waiting) && !knows_all && self.is_cut(waiting)
        };
        if decision == Decision::Approve
            && let Some(unseen) = self.waiting.iter().find(|it| is_unseen(it))
        {
            let name = unseen.definition.item();
            return Err(UnknownChoice::Unseen { name });
        }
        let (chosen, others) =
            std::mem::take(&mut self.waiting).into_iter().partition(|it| is_chosen(it));
        self.waiting = others;
        Ok(Vec::into_iter(chosen).map(|waiting| self.decide_one(decision, waiting, now)).collect())
    }

    /// What a definition that waits is compared with. One that is pinned as it is, and waits because of a
    /// finding, is shown whole.
    pub fn base(&self, definition: &Definition) -> Option<&[u8]> {
        let pin = self.pin(definition).filter(|pin| pin.definition.hash != definition.hash)?;
        pin.definition.bytes.as_deref()
    }

    /// Is it more than is shown at once, or not kept at all? Then its approval needs the whole hash.
    pub fn is_cut(&self, waiting: &WaitingDefinition) -> bool {
        let Some(after) = waiting.definition.bytes.as_deref() else { return true };
        diff(self.base(&waiting.definition), Some(after), DiffLength::Short)
            .iter()
            .any(FieldDiff::is_cut)
    }

    fn decide_one(&mut self, decision: Decision, waiting: WaitingDefinition, now: u64) -> Decided {
        let before = self.pin(&waiting.definition).map(|pin| pin.definition.hash.clone());
        let decided = Decided {
            kind: waiting.definition.kind,
            name: waiting.definition.name.clone(),
            before,
            after: waiting.definition.hash.clone(),
        };
        match decision {
            Decision::Approve => {
                let WaitingDefinition { definition, identity, .. } = waiting;
                self.pins.retain(|pin| !pin.definition.is_of(&definition));
                self.pins.push(Pin { definition, since: now, identity, is_approved: true });
                // As `compare` leaves them: a record that says the same is the same.
                self.pins.sort_by(|one, other| {
                    let key = |pin: &Pin| (pin.definition.kind, pin.definition.name.clone());
                    key(one).cmp(&key(other))
                });
            }
            Decision::Reject => {
                self.waiting.push(WaitingDefinition { is_rejected: true, ..waiting });
                self.waiting.sort_by(|one, other| {
                    let key =
                        |it: &WaitingDefinition| (it.definition.kind, it.definition.name.clone());
                    key(one).cmp(&key(other))
                });
            }
        }
        decided
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pins::WaitingReason;

    fn waiting(kind: DefinitionKind, name: &str, hash: &str) -> WaitingDefinition {
        WaitingDefinition {
            definition: Definition {
                kind,
                name: name.to_owned(),
                hash: hash.to_owned(),
                bytes: Some((*b"{}").into()),
            },
            reason: WaitingReason::New,
            noticed: 1,
            identity: None,
            is_rejected: false,
        }
    }

    fn record() -> PinRecord {
        PinRecord {
            waiting: vec![
                waiting(DefinitionKind::Instructions, "", &"a".repeat(64)),
                waiting(DefinitionKind::Tool, "add", &"b".repeat(64)),
                waiting(DefinitionKind::Prompt, "add", &"c".repeat(64)),
                waiting(DefinitionKind::Tool, "b:c", &"d".repeat(64)),
            ],
            ..PinRecord::default()
        }
    }

    fn names(record: &PinRecord) -> Vec<(&str, &str)> {
        record.pins.iter().map(|it| (it.definition.kind.word(), &*it.definition.name)).collect()
    }

    #[test]
    fn what_is_named_is_approved() {
        let (b, c) = (format!("tool:add@{}", "B".repeat(32)), format!("add@{}", "c".repeat(40)));
        let short = format!("add@{}", "c".repeat(31));
        assert_eq!(Choice::read(&short).hash, None, "a server can find two texts that begin so");
        for (choices, expected) in [
            (&["add"][..], &[("tool", "add"), ("prompt", "add")][..]),
            (&["tool:add"], &[("tool", "add")]),
            (&["prompt:add", "instructions"], &[("instructions", ""), ("prompt", "add")]),
            (&["b:c"], &[("tool", "b:c")]),
            (&[&b], &[("tool", "add")]),
            (&[&c], &[("prompt", "add")]),
            (&[], &[("instructions", ""), ("tool", "add"), ("tool", "b:c"), ("prompt", "add")]),
        ] {
            let mut record = record();
            let choices: Vec<_> = choices.iter().map(|text| Choice::read(text)).collect();
            let decided = record.decide(Decision::Approve, &choices, 5).unwrap();
            assert_eq!(names(&record), expected, "{choices:?}");
            assert_eq!((decided.len(), record.waiting.len()), (expected.len(), 4 - expected.len()));
        }
    }

    #[test]
    fn what_is_not_there_or_has_changed_again_decides_nothing() {
        let other = format!("add@{}", "0".repeat(32));
        for (choices, expected) in [
            (["add", "sub"], UnknownChoice::Unknown { name: "sub".to_owned() }),
            (["b:c", other.as_str()], UnknownChoice::Other { name: "add".to_owned() }),
        ] {
            let mut record = record();
            let choices = choices.map(Choice::read);
            assert_eq!(record.decide(Decision::Approve, &choices, 5), Err(expected));
            assert_eq!(record, self::record());
        }
    }

    #[test]
    fn what_was_rejected_is_approved_by_name_only() {
        let mut record = record();
        record.decide(Decision::Reject, &[Choice::read("tool:add")], 5).unwrap();
        assert_eq!(record.undecided().count(), 3);
        record.decide(Decision::Approve, &[], 6).unwrap();
        assert_eq!((record.pins.len(), record.waiting.len()), (3, 1));
        record.decide(Decision::Approve, &[Choice::read("tool:add")], 7).unwrap();
        assert_eq!((record.pins.len(), record.waiting.len()), (4, 0));
    }

    #[test]
    fn what_was_not_shown_whole_is_approved_with_its_whole_hash_only() {
        let hash = "ab".repeat(32);
        let long = format!("{{\"description\":\"{}\"}}", "x\\n".repeat(500));
        for bytes in [Some(long.as_bytes()), None] {
            let mut one = waiting(DefinitionKind::Tool, "long", &hash);
            one.definition.bytes = bytes.map(Into::into);
            let record = PinRecord { waiting: vec![one], ..PinRecord::default() };
            let part = format!("long@{}", "ab".repeat(16));
            for choices in [vec![], vec!["long"], vec![part.as_str()]] {
                let choices: Vec<_> = choices.into_iter().map(Choice::read).collect();
                let name = format!("tool:{part}");
                let refused = record.clone().decide(Decision::Approve, &choices, 5);
                assert_eq!(refused, Err(UnknownChoice::Unseen { name }), "{choices:?}");
                record.clone().decide(Decision::Reject, &choices, 5).unwrap();
            }
            let whole = [Choice::read(&format!("tool:long@{hash}"))];
            record.clone().decide(Decision::Approve, &whole, 5).unwrap();
        }
    }
}
