//! Phrases of the rules, compiled, and where they occur among the tokens of a text. One pass; the work at each
//! token is bounded by the rules, not by the text.

use std::collections::HashMap;

use crate::scan::tokens::{Token, TokenBuffer, shape};

/// A set of concepts, one bit each.
pub(super) type ConceptSet = u128;

/// Most tokens that `..` skips.
const GAP: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Symbol {
    Word(u32),
    /// A word that begins so.
    Prefix(u32),
    Shape(u16),
}

#[derive(Debug)]
enum PhraseStep {
    One {
        any: Vec<Symbol>,
        optional: bool,
    },
    /// Up to so many tokens of any kind.
    Gap(usize),
}

#[derive(Debug)]
struct Phrase {
    concept: u32,
    rest: Vec<PhraseStep>,
}

/// What a concept asks of the place where it is said.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ConceptPlace {
    /// Not in the first sentence of a description: there a verb says what the tool does.
    pub(super) not_first: bool,
}

#[derive(Debug, Default)]
pub(super) struct Phrases {
    words: HashMap<String, u32, foldhash::fast::RandomState>,
    prefixes: HashMap<String, u32, foldhash::fast::RandomState>,
    /// The lengths that prefixes have, in bytes.
    prefix_lengths: Vec<usize>,
    by_first: HashMap<Symbol, Vec<Phrase>, foldhash::fast::RandomState>,
    places: Vec<ConceptPlace>,
}

/// The most symbols that one token has.
type Symbols = ([Symbol; 8], usize);

impl Phrases {
    /// A new concept; its number is its bit.
    pub(super) fn concept(&mut self, place: ConceptPlace) -> u32 {
        self.places.push(place);
        u32::try_from(self.places.len() - 1).unwrap_or(u32::MAX)
    }

    /// Adds a phrase to a concept. Between blanks: a word, `a/b` for one of several, `word~` for what begins
    /// so, `word?` for what may be missing, `..` for up to three tokens of any kind, `@url` and the like for a
    /// kind of token.
    pub(super) fn add(&mut self, concept: u32, phrase: &str) {
        let mut steps = Vec::new();
        let mut buffer = TokenBuffer::default();
        for piece in phrase.split(' ').filter(|piece| !piece.is_empty()) {
            if piece == ".." {
                steps.push(PhraseStep::Gap(GAP));
                continue;
            }
            if piece == "..." {
                steps.push(PhraseStep::Gap(GAP * 3));
                continue;
            }
            let (piece, optional) = match piece.strip_suffix('?') {
                Some(piece) => (piece, true),
                None => (piece, false),
            };
            self.piece(piece, optional, &mut buffer, &mut steps);
        }
        let mut steps = steps.into_iter();
        let Some(PhraseStep::One { any, optional: false }) = steps.next() else { return };
        let rest: Vec<PhraseStep> = steps.collect();
        for first in any {
            let rest = rest.iter().map(PhraseStep::copy).collect();
            self.by_first.entry(first).or_default().push(Phrase { concept, rest });
        }
    }

    fn piece(
        &mut self,
        piece: &str,
        optional: bool,
        buffer: &mut TokenBuffer,
        steps: &mut Vec<PhraseStep>,
    ) {
        let shapes = |name: &str| match name {
            "@url" => shape::URL,
            "@email" => shape::EMAIL,
            "@path" => shape::PATH,
            "@phone" => shape::PHONE,
            "@name" => shape::NAME,
            "@param" => shape::PARAM,
            "@own" => shape::OWN_TOOL,
            "@other" => shape::OTHER_TOOL,
            "@foreign" => shape::FOREIGN,
            _ => shape::QUOTED,
        };
        let is_plain = !piece.contains('/') && !piece.ends_with('~') && !piece.starts_with('@');
        if is_plain {
            // Scripts without blanks: each character is a token.
            buffer.cut(piece);
            for at in 0..buffer.len() {
                let Some(token) = buffer.get(at) else { continue };
                let any = vec![self.word(token.text)];
                steps.push(PhraseStep::One { any, optional });
            }
            return;
        }
        let mut any = Vec::new();
        for one in piece.split('/') {
            if one.starts_with('@') {
                any.push(Symbol::Shape(shapes(one)));
            } else if let Some(prefix) = one.strip_suffix('~') {
                any.push(self.prefix(&prefix.replace('-', "")));
            } else {
                any.push(self.word(&one.replace('-', "")));
            }
        }
        steps.push(PhraseStep::One { any, optional });
    }

    fn word(&mut self, word: &str) -> Symbol {
        let next = u32::try_from(self.words.len()).unwrap_or(u32::MAX);
        Symbol::Word(*self.words.entry(word.to_owned()).or_insert(next))
    }

    fn prefix(&mut self, prefix: &str) -> Symbol {
        if !self.prefix_lengths.contains(&prefix.len()) {
            self.prefix_lengths.push(prefix.len());
        }
        let next = u32::try_from(self.prefixes.len()).unwrap_or(u32::MAX);
        Symbol::Prefix(*self.prefixes.entry(prefix.to_owned()).or_insert(next))
    }

    /// The concepts of each sentence. `has_lead`: the first sentence says what the tool does.
    pub(super) fn mark(&self, tokens: &TokenBuffer, has_lead: bool, out: &mut Vec<ConceptSet>) {
        out.clear();
        out.resize(tokens.sentences(), 0);
        let symbols: Vec<Symbols> = (0..tokens.len())
            .map(|at| {
                tokens.get(at).map_or(([Symbol::Shape(0); 8], 0), |token| self.symbols(&token))
            })
            .collect();
        for (at, (all, used)) in symbols.iter().enumerate() {
            let Some(token) = tokens.get(at) else { continue };
            for symbol in all.iter().take(*used) {
                for phrase in self.by_first.get(symbol).into_iter().flatten() {
                    let bit = 1_u128.checked_shl(phrase.concept).unwrap_or_default();
                    let mask = out.get(token.sentence).copied().unwrap_or_default();
                    let place = self.places.get(phrase.concept as usize).copied();
                    let is_lead = has_lead && token.sentence == 0;
                    if mask & bit != 0 || is_lead && place.unwrap_or_default().not_first {
                        continue;
                    }
                    if fits(&phrase.rest, &symbols, tokens, at + 1, token.sentence)
                        && let Some(mask) = out.get_mut(token.sentence)
                    {
                        *mask |= bit;
                    }
                }
            }
        }
    }

    fn symbols(&self, token: &Token<'_>) -> Symbols {
        let mut all = [Symbol::Shape(0); 8];
        let mut used = 0;
        let mut put = |symbol| {
            if let Some(slot) = all.get_mut(used) {
                *slot = symbol;
                used += 1;
            }
        };
        if let Some(word) = self.words.get(token.text) {
            put(Symbol::Word(*word));
        }
        for length in &self.prefix_lengths {
            let found = token.text.get(..*length).and_then(|prefix| self.prefixes.get(prefix));
            if let Some(prefix) = found {
                put(Symbol::Prefix(*prefix));
            }
        }
        for bit in 0..16 {
            if token.shape & (1 << bit) != 0 {
                put(Symbol::Shape(1 << bit));
            }
        }
        (all, used)
    }
}

impl PhraseStep {
    fn copy(&self) -> Self {
        match self {
            Self::One { any, optional } => Self::One { any: any.clone(), optional: *optional },
            Self::Gap(most) => Self::Gap(*most),
        }
    }
}

/// Do the steps lead on from the token `at`, within the sentence?
fn fits(
    steps: &[PhraseStep],
    symbols: &[Symbols],
    tokens: &TokenBuffer,
    at: usize,
    sentence: usize,
) -> bool {
    let Some((step, rest)) = steps.split_first() else { return true };
    match step {
        PhraseStep::Gap(most) => {
            (0..=*most).any(|skip| fits(rest, symbols, tokens, at + skip, sentence))
        }
        PhraseStep::One { any, optional } => {
            let here = tokens.get(at).filter(|token| token.sentence == sentence);
            let is_there = here.is_some()
                && symbols.get(at).is_some_and(|(all, used)| {
                    all.iter().take(*used).any(|symbol| any.contains(symbol))
                });
            is_there && fits(rest, symbols, tokens, at + 1, sentence)
                || *optional && fits(rest, symbols, tokens, at, sentence)
        }
    }
}
