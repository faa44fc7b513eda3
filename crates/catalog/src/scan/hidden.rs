//! What a text holds that its reader does not see: characters, markup, other writings.

use crate::scan::invisible::{HiddenKind, hidden_characters};
use crate::scan::markup::markup;

/// The rules that hold of this text by what is hidden in it, each with its place.
pub(super) fn hidden(text: &str, hits: &mut Vec<(&'static str, usize)>) {
    let mut first: [Option<usize>; 4] = [None; 4];
    let mut count = [0_usize; 4];
    if !text.is_ascii() || text.bytes().any(|byte| byte < 0x20 || byte == 0x7f) {
        for (at, _, kind) in hidden_characters(text) {
            let place = kind as usize;
            if let (Some(first), Some(count)) = (first.get_mut(place), count.get_mut(place)) {
                first.get_or_insert(at);
                *count += 1;
            }
        }
    }
    for (kind, (first, count)) in KINDS.into_iter().zip(first.into_iter().zip(count)) {
        let Some(at) = first else { continue };
        hits.push((rule_of(kind, text, count), at));
    }
    let lower = text.to_ascii_lowercase();
    markup(&lower, hits);
}

const KINDS: [HiddenKind; 4] =
    [HiddenKind::Invisible, HiddenKind::Bidi, HiddenKind::Tag, HiddenKind::Control];

fn rule_of(kind: HiddenKind, text: &str, count: usize) -> &'static str {
    match kind {
        // One that was pasted along is a mistake; a row of them is a message.
        HiddenKind::Invisible if count < 3 => "stray-invisible",
        HiddenKind::Invisible => "invisible-characters",
        HiddenKind::Bidi => "bidi-control",
        HiddenKind::Tag => "unicode-tags",
        HiddenKind::Control if text.contains(['\u{1b}', '\u{9b}', '\u{8}', '\u{9d}']) => {
            "terminal-escape"
        }
        HiddenKind::Control => "control-character",
    }
}
