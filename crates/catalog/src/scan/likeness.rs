//! How much the words of a text are like those of texts that lie: a linear score over hashed words and pairs
//! of words. One weak sign among others, never one alone. `search/scan/train.py` makes the weights.

/// One signed byte for each bucket.
static WEIGHTS: &[u8] = include_bytes!("weights.bin");

/// A text is judged in windows of so many words: a long honest text must not dilute what it hides.
const WINDOW: usize = 64;
// Half a window: what the end of one cuts in two is whole in the next.
const STRIDE: usize = 32;
/// Less says nothing.
const LEAST: usize = 4;

/// Of less, a few common words decide: the score says only that the text is somewhat like a lie.
const SURE: usize = 7;

/// How much a text is like a lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Likeness {
    /// In hundredths.
    pub(super) score: i32,
    /// Are there enough words to be sure of a high score?
    pub(super) is_sure: bool,
}

/// `None`: the text is too short to be judged. `has_lead`: its first sentence says what the tool does, and is left
/// out.
pub(super) fn likeness(text: &str, has_lead: bool, bias: i32) -> Option<Likeness> {
    let text = if has_lead { behind_first(text) } else { text };
    let mut words: Vec<u32> = Vec::new();
    let mut pairs: Vec<u32> = Vec::new();
    let mut before: Option<u32> = None;
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let hash = word.chars().flat_map(char::to_lowercase).fold(START, add);
        // The hash of "a b" goes on where that of "a" ends.
        pairs.extend(
            before
                .map(|first| word.chars().flat_map(char::to_lowercase).fold(add(first, ' '), add)),
        );
        words.push(hash);
        before = Some(hash);
    }
    let starts = (0..words.len().max(1)).step_by(STRIDE);
    let last = words.len().saturating_sub(WINDOW);
    let starts = starts.take_while(|start| *start < last + STRIDE);
    let score = starts.filter_map(|start| window(&words, &pairs, start, bias)).max()?;
    Some(Likeness { score, is_sure: words.len() >= SURE })
}

fn window(words: &[u32], pairs: &[u32], start: usize, bias: i32) -> Option<i32> {
    let end = (start + WINDOW).min(words.len());
    let words = words.get(start..end).filter(|words| words.len() >= LEAST)?;
    let pairs = pairs.get(start..end.saturating_sub(1)).unwrap_or_default();
    let mut buckets: Vec<usize> =
        words.iter().chain(pairs).map(|hash| *hash as usize % WEIGHTS.len()).collect();
    buckets.sort_unstable();
    buckets.dedup();
    let weights = buckets.iter().filter_map(|bucket| WEIGHTS.get(*bucket));
    let sum: i32 = weights.map(|weight| i32::from(weight.cast_signed())).sum();
    // In whole numbers, so that every machine says the same: the root of the count, in hundredths.
    let count = i32::try_from(buckets.len()).ok()? + 1;
    let root = (count * 10_000).isqrt().max(1);
    Some(bias + sum * 10_000 / root)
}

fn behind_first(text: &str) -> &str {
    let mut ended = false;
    for (at, c) in text.char_indices() {
        if c == '\n' || ended && c.is_whitespace() {
            return text.get(at..).unwrap_or_default();
        }
        ended = matches!(c, '.' | '!' | '?' | ';' | ':');
    }
    ""
}

/// FNV-1a.
const START: u32 = 0x811c_9dc5;

fn add(hash: u32, c: char) -> u32 {
    let mut bytes = [0; 4];
    let bytes = c.encode_utf8(&mut bytes).bytes();
    bytes.fold(hash, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}
