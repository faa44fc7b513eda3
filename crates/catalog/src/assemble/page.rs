//! The result of a list request: definitions as their servers wrote them, but for single values.

use bytes::Bytes;
use trunkline_wire::{Edits, Span, members};

use crate::listing::ListKind;

#[derive(Debug, Default)]
pub(super) struct ListPage {
    pub(super) bytes: Bytes,
    pub(super) count: usize,
}

/// An entry as it is listed.
pub(super) struct ListedEntry<'a> {
    /// What clients call it: the list is sorted by this.
    pub(super) name: &'a str,
    pub(super) definition: Vec<u8>,
}

impl ListPage {
    pub(super) fn of(kind: ListKind, mut lines: Vec<ListedEntry<'_>>) -> Self {
        lines.sort_by(|a, b| a.name.cmp(b.name));
        let size = lines.iter().map(|line| line.definition.len() + 1);
        let mut out = Vec::with_capacity(size.sum::<usize>() + 32);
        out.extend_from_slice(b"{\"");
        out.extend_from_slice(kind.member().as_bytes());
        out.extend_from_slice(b"\":[");
        for (index, line) in lines.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            out.extend_from_slice(&line.definition);
        }
        out.extend_from_slice(b"]}");
        Self { bytes: Bytes::from(out), count: lines.len() }
    }
}

/// `definition` with other values at these places.
pub(super) fn spliced(definition: &[u8], edits: &[(Span, &[u8])]) -> Vec<u8> {
    let mut all = Edits::new();
    for (span, new) in edits {
        all.add(*span, new);
    }
    let mut out = Vec::new();
    all.write(definition, &mut out);
    out
}

/// Where the value of member `key` lies; the last one if there are several, as JSON parsers do.
pub(super) fn value_of(definition: &[u8], key: &str) -> Option<Span> {
    members(definition).filter(|(name, _)| name == key).last().map(|(_, span)| span)
}
