//! `PinRecord`: what is pinned of one server and what waits for a person, and its form in a file or a store.

use sha2::{Digest as _, Sha256};
use trunkline_wire::{decode, elements, encode_into, is_json, pick};

use super::canonical::hex;
use super::definition::{Definition, DefinitionKind};
use crate::config::OnChange;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PinRecord {
    /// The server's key in its config, for people.
    pub server: String,
    /// Its name and version when it was last listed.
    pub identity: Option<String>,
    /// Seconds since 1970.
    pub first_seen: u64,
    pub pins: Vec<Pin>,
    pub waiting: Vec<WaitingDefinition>,
}

/// A definition that was approved: by a person, by the policy, or because it was the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    pub definition: Definition,
    /// Seconds since 1970.
    pub since: u64,
    /// The name and version of the server that listed it.
    pub identity: Option<String>,
    /// A person has approved exactly this: what the scanner finds in it does not withhold it.
    pub is_approved: bool,
}

/// A definition that a person is to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingDefinition {
    pub definition: Definition,
    pub reason: WaitingReason,
    /// Seconds since 1970.
    pub noticed: u64,
    /// The name and version of the server that listed it.
    pub identity: Option<String>,
    /// Somebody does not want it: it is withheld until it changes again.
    pub is_rejected: bool,
}

/// Why a definition waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitingReason {
    /// Another definition of it was approved.
    Changed,
    /// The server was known, and this was not there.
    New,
    /// What was approved before was lost.
    Lost,
    /// The scanner suspects it; in words. It is withheld whatever the policy says.
    Finding(String),
}

impl WaitingDefinition {
    /// Are callers not shown it?
    pub fn is_withheld(&self, policy: OnChange) -> bool {
        let is_found = matches!(self.reason, WaitingReason::Finding(_));
        self.is_rejected || is_found || policy == OnChange::Hold
    }
}

impl WaitingReason {
    pub fn word(&self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::New => "new",
            Self::Lost => "lost",
            Self::Finding(_) => "finding",
        }
    }

    /// What a finding says.
    pub fn note(&self) -> Option<&str> {
        match self {
            Self::Finding(note) => Some(note),
            Self::Changed | Self::New | Self::Lost => None,
        }
    }

    fn read(word: &str, note: Option<String>) -> Option<Self> {
        Some(match word {
            "changed" => Self::Changed,
            "new" => Self::New,
            "lost" => Self::Lost,
            "finding" => Self::Finding(note.unwrap_or_default()),
            _ => return None,
        })
    }
}

/// The bytes are no record, or not the whole of one, or another version of Trunkline has written them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is damaged, or another version of Trunkline has written it")]
pub struct DamagedPins;

const FORMAT: u64 = 1;
/// Stands before the hash of all that is before it.
const SEAL: &[u8] = b",\"content_hash\":\"";
const HASH_LENGTH: usize = 64;

impl PinRecord {
    /// What was approved of the thing that this defines, if anything was.
    pub fn pin(&self, of: &Definition) -> Option<&Pin> {
        self.pins.iter().find(|pin| pin.definition.is_of(of))
    }

    /// Those that nobody has decided on.
    pub fn undecided(&self) -> impl Iterator<Item = &WaitingDefinition> {
        self.waiting.iter().filter(|waiting| !waiting.is_rejected)
    }

    /// Without the definitions themselves: where they are too long for their home.
    #[must_use]
    pub fn with_hashes_only(mut self) -> Self {
        let pinned = self.pins.iter_mut().map(|pin| &mut pin.definition);
        let waiting = self.waiting.iter_mut().map(|waiting| &mut waiting.definition);
        pinned.chain(waiting).for_each(|definition| definition.bytes = None);
        self
    }

    pub fn write(&self) -> Vec<u8> {
        let mut out =
            format!(r#"{{"format":{FORMAT},"first_seen":{}"#, self.first_seen).into_bytes();
        put_text("server", Some(&self.server), &mut out);
        put_text("identity", self.identity.as_deref(), &mut out);
        out.extend_from_slice(b",\"pins\":[");
        for (place, pin) in self.pins.iter().enumerate() {
            open_item(place, pin.since, &pin.definition, &mut out);
            put_text("identity", pin.identity.as_deref(), &mut out);
            if pin.is_approved {
                out.extend_from_slice(b",\"approved\":true");
            }
            close_item(&pin.definition, &mut out);
        }
        out.extend_from_slice(b"],\"waiting\":[");
        for (place, waiting) in self.waiting.iter().enumerate() {
            open_item(place, waiting.noticed, &waiting.definition, &mut out);
            put_text("reason", Some(waiting.reason.word()), &mut out);
            put_text("note", waiting.reason.note(), &mut out);
            put_text("identity", waiting.identity.as_deref(), &mut out);
            if waiting.is_rejected {
                out.extend_from_slice(b",\"rejected\":true");
            }
            close_item(&waiting.definition, &mut out);
        }
        out.push(b']');
        // Last, over all that is before it: a record that was cut or changed anywhere does not fit it.
        let hash = hex(&Sha256::digest(&out));
        out.extend_from_slice(SEAL);
        out.extend_from_slice(hash.as_bytes());
        out.extend_from_slice(b"\"}\n");
        out
    }

    pub fn read(bytes: &[u8]) -> Result<Self, DamagedPins> {
        whole(bytes.trim_ascii()).ok_or(DamagedPins)
    }
}

fn whole(bytes: &[u8]) -> Option<PinRecord> {
    let end = bytes.strip_suffix(b"\"}")?;
    let (sealed, hash) = end.split_at_checked(end.len().checked_sub(HASH_LENGTH)?)?;
    let content = sealed.strip_suffix(SEAL)?;
    (hex(&Sha256::digest(content)).as_bytes() == hash && is_json(bytes)).then_some(())?;
    let [format, first_seen, server, identity, pins, waiting] =
        pick(bytes, ["format", "first_seen", "server", "identity", "pins", "waiting"]);
    (number(format)? == FORMAT).then_some(())?;
    let items = |list: Option<&'_ [u8]>| -> Option<Vec<Vec<u8>>> {
        let list = list?;
        Some(elements(list).map(|at| at.of(list).to_vec()).collect())
    };
    let pins = items(pins)?.iter().map(|item| read_pin(item)).collect::<Option<_>>()?;
    let waiting = items(waiting)?.iter().map(|item| read_waiting(item)).collect::<Option<_>>()?;
    Some(PinRecord {
        server: text(server)?,
        identity: text(identity),
        first_seen: number(first_seen)?,
        pins,
        waiting,
    })
}

fn read_pin(item: &[u8]) -> Option<Pin> {
    let [at, identity, approved] = pick(item, ["at", "identity", "approved"]);
    Some(Pin {
        definition: read_definition(item)?,
        since: number(at)?,
        identity: text(identity),
        // Records of older versions do not say it: what the scanner suspects is then shown to a person once more.
        is_approved: approved == Some(b"true"),
    })
}

fn read_waiting(item: &[u8]) -> Option<WaitingDefinition> {
    let [at, reason, note, identity, rejected] =
        pick(item, ["at", "reason", "note", "identity", "rejected"]);
    Some(WaitingDefinition {
        definition: read_definition(item)?,
        reason: WaitingReason::read(&text(reason)?, text(note))?,
        noticed: number(at)?,
        identity: text(identity),
        is_rejected: rejected == Some(b"true"),
    })
}

fn read_definition(item: &[u8]) -> Option<Definition> {
    let [kind, name, hash, definition] = pick(item, ["kind", "name", "hash", "definition"]);
    Some(Definition {
        kind: DefinitionKind::of_word(&text(kind)?)?,
        name: text(name)?,
        hash: text(hash)?,
        bytes: definition.map(Into::into),
    })
}

fn open_item(place: usize, at: u64, definition: &Definition, out: &mut Vec<u8>) {
    if place > 0 {
        out.push(b',');
    }
    out.extend_from_slice(format!(r#"{{"at":{at}"#).as_bytes());
    put_text("kind", Some(definition.kind.word()), out);
    put_text("name", Some(&definition.name), out);
    put_text("hash", Some(&definition.hash), out);
}

fn close_item(definition: &Definition, out: &mut Vec<u8>) {
    if let Some(bytes) = &definition.bytes {
        out.extend_from_slice(b",\"definition\":");
        out.extend_from_slice(bytes);
    }
    out.push(b'}');
}

fn put_text(name: &str, text: Option<&str>, out: &mut Vec<u8>) {
    if let Some(text) = text {
        out.extend_from_slice(format!(",\"{name}\":").as_bytes());
        encode_into(text, out);
    }
}

fn number(value: Option<&[u8]>) -> Option<u64> {
    std::str::from_utf8(value?).ok()?.parse().ok()
}

fn text(value: Option<&[u8]>) -> Option<String> {
    value.and_then(decode).map(Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(name: &str, bytes: Option<&str>) -> Definition {
        Definition {
            kind: DefinitionKind::Tool,
            name: name.to_owned(),
            hash: format!("hash of {name}"),
            bytes: bytes.map(|bytes| bytes.as_bytes().into()),
        }
    }

    fn record() -> PinRecord {
        let waiting = |name: &str, reason| WaitingDefinition {
            definition: definition(name, Some(r#"{"name" : "x\u0041", "n":1.0}"#)),
            reason,
            noticed: 9,
            identity: Some("rail 2".to_owned()),
            is_rejected: name == "c",
        };
        PinRecord {
            server: "my \"server\"".to_owned(),
            identity: Some("rail 1".to_owned()),
            first_seen: 7,
            pins: vec![
                Pin {
                    definition: definition("a", Some("{ }")),
                    since: 7,
                    identity: Some("rail 1".to_owned()),
                    is_approved: true,
                },
                Pin {
                    definition: definition("b", None),
                    since: 8,
                    identity: None,
                    is_approved: false,
                },
            ],
            waiting: vec![
                waiting("a", WaitingReason::Changed),
                waiting("c", WaitingReason::New),
                waiting("d", WaitingReason::Lost),
                waiting("e", WaitingReason::Finding("it lies".to_owned())),
            ],
        }
    }

    #[test]
    fn what_is_written_is_read_to_the_byte() {
        for record in [record(), PinRecord::default(), record().with_hashes_only()] {
            assert_eq!(PinRecord::read(&record.write()), Ok(record));
        }
    }

    #[test]
    fn what_was_cut_or_changed_is_damaged() {
        let whole = record().write();
        let cut = (0..whole.len() - 1).map(|at| whole[..at].to_vec());
        let changed = (0..whole.len() - 1).map(|at| {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            bytes
        });
        for bytes in cut.chain(changed).chain([b"{}".to_vec(), b"\0".to_vec()]) {
            let shown = String::from_utf8_lossy(&bytes).into_owned();
            assert_eq!(PinRecord::read(&bytes), Err(DamagedPins), "{shown}");
        }
    }
}
