//! A text cut into words, addresses, paths and names, with its sentences.

use crate::scan::fold::{fold, is_mixed, latin_twin};

/// What a token is besides its letters: a set of bits.
pub(super) mod shape {
    pub(in crate::scan) const URL: u16 = 1;
    pub(in crate::scan) const EMAIL: u16 = 2;
    pub(in crate::scan) const PATH: u16 = 4;
    /// A name as programs have it: `send_email`, `sendEmail`.
    pub(in crate::scan) const NAME: u16 = 8;
    /// In backticks or quotes.
    pub(in crate::scan) const QUOTED: u16 = 16;
    pub(in crate::scan) const PHONE: u16 = 32;
    /// Mixes Latin letters with look-alikes.
    pub(in crate::scan) const MIXED: u16 = 64;
    /// Bits that the caller adds: own parameters, own tools, tools of others.
    pub(in crate::scan) const PARAM: u16 = 128;
    pub(in crate::scan) const OWN_TOOL: u16 = 256;
    pub(in crate::scan) const OTHER_TOOL: u16 = 512;
    /// A program's name that is none of the server's own.
    pub(in crate::scan) const FOREIGN: u16 = 1024;
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'t> {
    /// Its letters as a reader takes them, in lower case.
    pub(super) text: &'t str,
    pub(super) shape: u16,
    /// Where it begins in the text.
    pub(super) start: usize,
    pub(super) sentence: usize,
}

/// The tokens of one text. Kept between texts for its memory.
#[derive(Debug, Default)]
pub(super) struct TokenBuffer {
    letters: String,
    parts: Vec<WordPart>,
    sentence: usize,
    /// The last chunk ended a sentence.
    ended: bool,
    scratch: String,
}

#[derive(Clone, Copy, Debug)]
struct WordPart {
    from: usize,
    to: usize,
    shape: u16,
    start: usize,
    end: usize,
    sentence: usize,
}

const OPENING: &[char] = &[
    '"', '\'', '`', '(', '[', '{', '<', '*', '“', '„', '«', '「', '‘', '#', '>', '-', '–', '—', '•',
];
const CLOSING: &[char] =
    &['"', '\'', '`', ')', ']', '}', '>', '*', '”', '“', '»', '」', '’', ',', ':', '、', '，'];
const ENDS: &[char] = &['.', '!', '?', ';', '。', '！', '？', '।', '؟', '…', '；'];

impl TokenBuffer {
    /// Cuts the text; what was cut before is forgotten.
    pub(super) fn cut(&mut self, text: &str) {
        self.letters.clear();
        self.parts.clear();
        self.sentence = 0;
        self.ended = false;
        self.more(text);
    }

    /// Words before the text's first, as part of its first sentence: the name of what it describes.
    pub(super) fn cut_named(&mut self, name: &str, text: &str) {
        self.letters.clear();
        self.parts.clear();
        self.sentence = 0;
        self.ended = false;
        for word in name_words(name) {
            self.push(&word, 0, 0, 0);
        }
        self.more(text);
    }

    pub(super) fn len(&self) -> usize {
        self.parts.len()
    }

    pub(super) fn sentences(&self) -> usize {
        self.sentence + 1
    }

    pub(super) fn get(&self, at: usize) -> Option<Token<'_>> {
        let WordPart { from, to, shape, start, sentence, .. } = *self.parts.get(at)?;
        Some(Token { text: self.letters.get(from..to)?, shape, start, sentence })
    }

    pub(super) fn add_shape(&mut self, at: usize, shape: u16) {
        if let Some(part) = self.parts.get_mut(at) {
            part.shape |= shape;
        }
    }

    /// Where the sentence stands in the text.
    pub(super) fn span_of(&self, sentence: usize) -> (usize, usize) {
        let inside = |part: &&WordPart| part.sentence == sentence && part.end > 0;
        let start = self.parts.iter().find(inside).map_or(0, |part| part.start);
        let end = self.parts.iter().rev().find(inside).map_or(0, |part| part.end);
        (start, end)
    }

    fn more(&mut self, text: &str) {
        let mut begun: Option<usize> = None;
        let mut lines = 0_usize;
        for (at, c) in text.char_indices() {
            let is_blank = c.is_whitespace() || c == '\u{a0}';
            match (begun, is_blank) {
                (Some(start), true) => {
                    self.chunk(text, start, at);
                    begun = None;
                }
                (None, false) => {
                    // A line that begins like a sentence ends the one before; a paragraph does.
                    if lines > 1 || (lines == 1 && !c.is_lowercase()) {
                        self.ended = true;
                    }
                    lines = 0;
                    begun = Some(at);
                }
                _ => {}
            }
            if c == '\n' {
                lines += 1;
            }
        }
        if let Some(start) = begun {
            self.chunk(text, start, text.len());
        }
    }

    /// What stands between two blanks.
    fn chunk(&mut self, text: &str, start: usize, end: usize) {
        let Some(chunk) = text.get(start..end) else { return };
        if self.ended && !self.parts.is_empty() {
            self.sentence += 1;
        }
        self.ended = false;
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        scratch.extend(chunk.chars().filter_map(fold));
        let trimmed_left = scratch.trim_start_matches(OPENING);
        let quoted =
            scratch.len() > trimmed_left.len() && scratch.starts_with(['`', '"', '\'', '“', '‘']);
        let core = trimmed_left.trim_end_matches(|c| CLOSING.contains(&c) || ENDS.contains(&c));
        let tail = trimmed_left.get(core.len()..).unwrap_or_default();
        let ends = tail.contains(ENDS);
        self.classify(core, chunk, quoted, start, end);
        self.ended = ends;
        self.scratch = scratch;
    }

    fn classify(&mut self, core: &str, raw: &str, quoted: bool, start: usize, end: usize) {
        let quote = if quoted { shape::QUOTED } else { 0 };
        if core.is_empty() {
            return;
        }
        if core.contains("://") {
            return self.push(core, shape::URL | quote, start, end);
        }
        if is_email(core) {
            return self.push(core, shape::EMAIL | quote, start, end);
        }
        if is_path(core) {
            return self.push(core, shape::PATH | quote, start, end);
        }
        if is_phone(core) {
            return self.push(core, shape::PHONE | quote, start, end);
        }
        self.words(core, raw, quote, start, end);
    }

    fn words(&mut self, core: &str, raw: &str, quote: u16, start: usize, end: usize) {
        let mut word = String::new();
        for c in core.chars() {
            if is_ideograph(c) {
                self.word(&std::mem::take(&mut word), raw, quote, start, end);
                let mut one = [0; 4];
                self.push(c.encode_utf8(&mut one), 0, start, end);
            } else if ENDS.contains(&c) && c != '.' {
                self.word(&std::mem::take(&mut word), raw, quote, start, end);
                self.sentence += 1;
            } else if c == '-' {
                // "e-mail" and "email" are one word.
            } else if c.is_alphanumeric()
                || matches!(c, '_' | '\'')
                || !c.is_ascii() && !CLOSING.contains(&c) && !OPENING.contains(&c)
            {
                word.push(c);
            } else if !word.is_empty() {
                self.word(&std::mem::take(&mut word), raw, quote, start, end);
            }
        }
        self.word(&word, raw, quote, start, end);
    }

    fn word(&mut self, word: &str, raw: &str, quote: u16, start: usize, end: usize) {
        let word = word.trim_matches('\'');
        if word.is_empty() {
            return;
        }
        let mut shape = quote;
        if word.contains('_') || has_inner_capital(raw) {
            shape |= shape::NAME;
        }
        if !word.is_ascii() && is_mixed(word) {
            shape |= shape::MIXED;
            let twin: String = word.chars().map(|c| latin_twin(c).unwrap_or(c)).collect();
            return self.push(&twin, shape, start, end);
        }
        self.push(word, shape, start, end);
    }

    fn push(&mut self, text: &str, shape: u16, start: usize, end: usize) {
        let from = self.letters.len();
        self.letters.push_str(text);
        let to = self.letters.len();
        self.parts.push(WordPart { from, to, shape, start, end, sentence: self.sentence });
    }
}

/// `content_from_reading` and `contentFromReading` as words.
pub(super) fn name_words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_small = false;
    for c in name.chars() {
        let cuts = !c.is_alphanumeric() || (c.is_uppercase() && was_small);
        if cuts {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(fold(c));
        }
        was_small = c.is_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

fn is_email(core: &str) -> bool {
    let Some((name, host)) = core.split_once('@') else { return false };
    !name.is_empty() && host.contains('.') && !host.ends_with('.') && !host.contains('@')
}

fn is_path(core: &str) -> bool {
    let starts = ["~", "/", "./", "../", "$home", "%userprofile%"].iter();
    if starts.clone().any(|start| core.starts_with(start)) && core.len() > 1 {
        return true;
    }
    let Some((stem, ending)) = core.rsplit_once('.') else { return false };
    let is_ending = (1..=6).contains(&ending.len())
        && ending.bytes().all(|byte| byte.is_ascii_lowercase())
        && !matches!(ending, "g" | "e" | "com" | "org" | "net");
    // `.env`, `*.pem`, `secrets/*.yaml`, `mcp.json`; not `e.g`, not a version.
    is_ending
        && !stem.ends_with('.')
        && stem.chars().all(|c| c.is_alphanumeric() || "*_-/.".contains(c))
}

fn is_phone(core: &str) -> bool {
    let digits = core.bytes().filter(u8::is_ascii_digit).count();
    core.starts_with('+') && digits >= 5
        || digits >= 6
            && core.contains('-')
            && core.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
}

fn has_inner_capital(raw: &str) -> bool {
    let mut was_small = false;
    for c in raw.chars() {
        if c.is_uppercase() && was_small {
            return true;
        }
        was_small = c.is_lowercase();
    }
    false
}

/// Scripts without blanks between words: each character is a token.
fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}')
}
