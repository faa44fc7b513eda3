//! Long strings, 64 bytes at a time with what the processor at hand can do: texts of files and
//! base64 are most of the bytes that pass, and every one of them is looked at.

use fearless_simd::prelude::*;
use fearless_simd::{Level, dispatch, u8x64};

use super::{Broken, HIGH, ScannedText, Walk, escape, short_string};

const BLOCK: usize = 64;

/// The end of the string that `at` is inside of (not within an escape).
pub(super) fn rest_of_string(text: &ScannedText<'_>, at: usize) -> Walk {
    dispatch!(Level::new(), simd => walk(simd, text, at))
}

#[inline(always)]
fn walk<S: Simd>(simd: S, text: &ScannedText<'_>, mut at: usize) -> Walk {
    let mut beyond = 0;
    while let Some(block) = text.get(at..).and_then(|rest| rest.first_chunk::<BLOCK>()) {
        let mut looked = look(simd, block);
        let mut next = at + BLOCK;
        while looked.ends != 0 {
            let place = looked.ends.trailing_zeros() as usize;
            match block.get(place) {
                Some(b'"') => {
                    text.saw(high(beyond | looked.beyond & !from(place)));
                    return Ok(at + place + 1);
                }
                Some(b'\\') => {
                    let behind = escape(text, at + place)?;
                    next = next.max(behind);
                    looked.ends &= from(behind - at);
                }
                _ => return Err(Broken(at + place)),
            }
        }
        beyond |= looked.beyond;
        at = next;
    }
    text.saw(high(beyond));
    short_string(text, at)
}

/// Over whole blocks in which no run of plain bytes ends.
pub(super) fn plain_blocks(bytes: &[u8], at: usize, seen: &mut u64) -> usize {
    dispatch!(Level::new(), simd => walk_plain(simd, bytes, at, seen))
}

#[inline(always)]
fn walk_plain<S: Simd>(simd: S, bytes: &[u8], mut at: usize, seen: &mut u64) -> usize {
    let mut beyond = 0;
    let (blocks, _) = bytes.get(at..).unwrap_or_default().as_chunks::<BLOCK>();
    for block in blocks {
        let looked = look(simd, block);
        if looked.ends != 0 {
            break;
        }
        beyond |= looked.beyond;
        at += BLOCK;
    }
    *seen |= high(beyond);
    at
}

/// The bits of a place and of all behind it.
#[inline(always)]
fn from(place: usize) -> u64 {
    if place < BLOCK { u64::MAX << place } else { 0 }
}

/// As `Text` notes what it has seen.
#[inline(always)]
fn high(beyond: u64) -> u64 {
    if beyond == 0 { 0 } else { HIGH }
}

/// One bit for each byte, the first byte's the lowest.
struct Looked {
    /// A run of plain bytes ends here: a quote, a backslash, a control character.
    ends: u64,
    /// Not ASCII.
    beyond: u64,
}

#[inline(always)]
fn look<S: Simd>(simd: S, block: &[u8; BLOCK]) -> Looked {
    let bytes = u8x64::simd_from(simd, *block);
    let ends = bytes.simd_eq(b'"') | bytes.simd_eq(b'\\') | bytes.simd_lt(0x20);
    Looked { ends: ends.to_bitmask(), beyond: bytes.simd_ge(0x80).to_bitmask() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::skip::{ScannedText, short_string, string};

    /// Where `find` ends and whether all of it was ASCII, or where it could not go on.
    fn said(
        bytes: &[u8],
        find: impl Fn(&ScannedText<'_>, usize) -> super::Walk,
    ) -> Result<(usize, bool), usize> {
        let text = ScannedText::new(bytes);
        let end = find(&text, 0).map_err(|broken| broken.0)?;
        Ok((end, text.is_ascii()))
    }

    proptest! {
        #[test]
        fn blocks_and_bytes_lead_to_the_same_place(
            parts in proptest::collection::vec(
                prop_oneof![
                    8 => "[ -!#-\\[\\]-~]{0,90}".prop_map(String::into_bytes),
                    4 => Just(br"\n".to_vec()),
                    2 => Just(br"\u00e9".to_vec()),
                    1 => Just(br"\\".to_vec()),
                    1 => Just(br"\x".to_vec()),
                    1 => Just("é".as_bytes().to_vec()),
                    1 => Just(b"\n".to_vec()),
                    1 => Just(b"\"".to_vec()),
                ],
                0..40,
            ),
        ) {
            let bytes = parts.concat();
            prop_assert_eq!(said(&bytes, super::rest_of_string), said(&bytes, short_string));
            let quoted = [&b"\""[..], &bytes].concat();
            let behind = |text: &ScannedText<'_>, at| short_string(text, at + 1);
            prop_assert_eq!(said(&quoted, string), said(&quoted, behind));
        }
    }
}
