//! What the scanner says of definitions: which ones it suspects, and what it found in one that waits.

use std::collections::HashSet;

use trunkline_wire::decode;

use super::definition::{Definition, DefinitionKind, Definitions};
use super::record::PinRecord;
use crate::scan::{
    Finding, HeldItem, ItemKind, ScanContext, ScanMode, ScanPolicy, Screening, scan_definition,
    scan_instructions,
};

/// A definition that the scanner suspects, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suspicion {
    pub kind: DefinitionKind,
    pub name: String,
    pub note: String,
}

impl Suspicion {
    /// What a screening withholds of that which is pinned.
    pub fn of(screening: &Screening) -> Vec<Self> {
        let held = screening.held.iter().filter_map(|HeldItem { kind, item, note }| {
            let kind = definition_kind(*kind)?;
            let name = if kind == DefinitionKind::Instructions { "" } else { item };
            Some(Self { kind, name: name.to_owned(), note: note.clone() })
        });
        held.collect()
    }

    /// Of these pins, those that the policy withholds.
    pub fn of_pins(pins: &[Definition], record: &PinRecord, policy: &ScanPolicy) -> Vec<Self> {
        let context = context(record);
        let suspected = pins.iter().filter_map(|pin| {
            let found = policy.open(scan(pin, &context));
            let worst = found.iter().find(|it| it.is_held())?;
            Some(Self { kind: pin.kind, name: pin.name.clone(), note: worst.note() })
        });
        suspected.collect()
    }
}

/// Pins that nobody has approved, and in whose place the server lists something else now.
pub fn unapproved_pins(record: &PinRecord, listed: &Definitions) -> Vec<Definition> {
    let hashes: HashSet<_> = listed.0.iter().map(|it| (it.kind, &it.name, &it.hash)).collect();
    let pins = record.pins.iter().filter(|pin| !pin.is_approved).map(|pin| &pin.definition);
    pins.filter(|it| !hashes.contains(&(it.kind, &it.name, &it.hash))).cloned().collect()
}

/// What the scanner finds in a definition of this record, the worst first, and nobody has accepted.
pub fn findings(definition: &Definition, record: &PinRecord, policy: &ScanPolicy) -> Vec<Finding> {
    match policy.mode() {
        ScanMode::Off => Vec::new(),
        _ => policy.open(scan(definition, &context(record))),
    }
}

fn scan(definition: &Definition, context: &ScanContext) -> Vec<Finding> {
    let Some(bytes) = definition.bytes.as_deref() else { return Vec::new() };
    let kind = match definition.kind {
        DefinitionKind::Tool => ItemKind::Tool,
        DefinitionKind::Prompt => ItemKind::Prompt,
        DefinitionKind::Template => ItemKind::Template,
        DefinitionKind::Instructions => {
            let words = decode(bytes).unwrap_or_default();
            return scan_instructions(&words, context);
        }
    };
    scan_definition(kind, &definition.name, bytes, context)
}

/// The tools that are known of the server are its own.
fn context(record: &PinRecord) -> ScanContext {
    let pinned = record.pins.iter().map(|it| &it.definition);
    let waiting = record.waiting.iter().map(|it| &it.definition);
    let tools = pinned.chain(waiting).filter(|it| it.kind == DefinitionKind::Tool);
    ScanContext { own: tools.map(|it| it.name.to_lowercase()).collect(), others: HashSet::new() }
}

/// `None`: it is not pinned.
fn definition_kind(kind: ItemKind) -> Option<DefinitionKind> {
    match kind {
        ItemKind::Tool => Some(DefinitionKind::Tool),
        ItemKind::Prompt => Some(DefinitionKind::Prompt),
        ItemKind::Template => Some(DefinitionKind::Template),
        ItemKind::Instructions => Some(DefinitionKind::Instructions),
        ItemKind::Resource => None,
    }
}
