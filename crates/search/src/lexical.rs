//! The words of all tools, inverted: which tools have a term, and how much of it (BM25F).
//!
//! Everything counted is a whole number, so that an index that changed step by step says exactly
//! what one that was built at once says.

use std::collections::HashMap;
use std::sync::OnceLock;

use foldhash::fast::FixedState;

use crate::document::{self, Server, Tool};
use crate::nearby;
use crate::terms::Terms;

// The usual values of BM25.
const K1: f32 = 1.2;
const B: f32 = 0.75;
/// Saying a word three times does not make it three times as wanted.
const MOST_TIMES: u8 = 2;

/// A request that is a whole document says what it is about in its first words, and looking for
/// each further one among those before it would take the square of its length.
const MOST_TERMS: usize = 256;

/// Each word that is guessed is compared with every word there is.
const MOST_GUESSED: usize = 16;

type Map<K, V> = HashMap<K, V, FixedState>;

#[derive(Debug)]
pub(crate) struct Lexical {
    terms: Terms,
    lists: Map<Box<str>, Vec<Posting>>,
    /// By slot, in tenths of a word; 0 where there is no tool.
    lengths: Vec<u32>,
    total: u64,
    count: u32,
    /// What each slot's length does to a weight, by slot; made anew when anything has changed.
    norms: OnceLock<Box<[f32]>>,
}

#[derive(Debug, Clone, Copy)]
struct Posting {
    slot: u32,
    /// A whole number of tenths, as words.
    weight: f32,
}

impl Lexical {
    pub(crate) fn new() -> Self {
        let lists = Map::default();
        let (lengths, norms) = (Vec::new(), OnceLock::new());
        Self { terms: Terms::new(), lists, lengths, total: 0, count: 0, norms }
    }

    pub(crate) fn insert(&mut self, slot: u32, server: &Server<'_>, tool: &Tool<'_>) {
        let mut weights: Map<Box<str>, u32> = Map::default();
        for (text, weight) in document::fields(server, tool) {
            self.terms.of_text(text, |term| match weights.get_mut(term) {
                Some(known) => *known += weight,
                None => drop(weights.insert(term.into(), weight)),
            });
        }
        let mut length = 0;
        for (term, weight) in weights {
            length += weight;
            self.lists.entry(term).or_default().push(Posting { slot, weight: tenths(weight) });
        }
        let at = index(slot);
        if self.lengths.len() <= at {
            self.lengths.resize(at + 1, 0);
        }
        if let Some(known) = self.lengths.get_mut(at) {
            *known = length;
        }
        self.total += u64::from(length);
        self.count += 1;
        self.norms.take();
    }

    /// One pass over all lists: servers change seldom, and a list of terms for each tool would cost
    /// as much memory as the lists.
    pub(crate) fn remove(&mut self, slots: &[u32]) {
        let gone: std::collections::HashSet<u32, FixedState> = slots.iter().copied().collect();
        self.lists.retain(|_, list| {
            list.retain(|posting| !gone.contains(&posting.slot));
            !list.is_empty()
        });
        for &slot in slots {
            if let Some(length) = self.lengths.get_mut(index(slot)) {
                self.total -= u64::from(*length);
                *length = 0;
            }
        }
        self.count -= u32::try_from(gone.len()).unwrap_or(self.count);
        self.norms.take();
    }

    /// How much of what was asked each slot has; and what a tool that has everything would have.
    pub(crate) fn search(&self, text: &str, scores: &mut Vec<f32>) -> f32 {
        scores.clear();
        scores.resize(self.lengths.len(), 0.0);
        let norms = self.norms.get_or_init(|| self.norms());
        let mut most = 0.0;
        for (list, times) in self.wanted(text) {
            let worth = self.rarity(list.len()) * f32::from(times) * (K1 + 1.0);
            most += worth;
            for Posting { slot, weight } in list {
                let at = index(*slot);
                if let (Some(score), Some(norm)) = (scores.get_mut(at), norms.get(at)) {
                    *score += worth * weight / (weight + norm);
                }
            }
        }
        most
    }

    fn norms(&self) -> Box<[f32]> {
        let average = self.average();
        let norm = |length: &u32| K1 * (1.0 - B + B * tenths(*length) / average);
        self.lengths.iter().map(norm).collect()
    }

    /// The lists of what was asked, in the order it was said, each with how often.
    fn wanted(&self, text: &str) -> Vec<(&[Posting], u8)> {
        let mut terms: Vec<(Box<str>, u8)> = Vec::new();
        self.terms.of_text(text, |term| {
            let room = terms.len() < MOST_TERMS;
            match terms.iter_mut().find(|(known, _)| **known == *term) {
                Some((_, times)) => *times = MOST_TIMES.min(*times + 1),
                None if room => terms.push((term.into(), 1)),
                None => {}
            }
        });
        let list = |term: &str| self.lists.get(term).map(Vec::as_slice);
        let known: Vec<_> =
            terms.iter().filter_map(|(term, times)| Some((list(term)?, *times))).collect();
        if !known.is_empty() {
            return known;
        }
        // Nothing of it is known: a beginning, or a slip of the finger.
        let nearest = |term: &str| nearby::nearest(term, self.lists.keys().map(|key| &**key));
        let guessed = terms.iter().take(MOST_GUESSED);
        guessed.filter_map(|(term, times)| Some((list(nearest(term)?)?, *times))).collect()
    }

    #[expect(clippy::cast_precision_loss, reason = "a mean length is no place for the last digit")]
    fn average(&self) -> f32 {
        (self.total as f32 / 10.0 / self.count.max(1) as f32).max(0.1)
    }

    #[expect(clippy::cast_precision_loss, reason = "far fewer tools than 2^24")]
    fn rarity(&self, having: usize) -> f32 {
        let (all, having) = (self.count as f32, having as f32);
        (1.0 + (all - having + 0.5).max(0.0) / (having + 0.5)).ln()
    }
}

#[expect(clippy::cast_precision_loss, reason = "a text of two million words would lose a tenth")]
fn tenths(weight: u32) -> f32 {
    weight as f32 / 10.0
}

fn index(slot: u32) -> usize {
    usize::try_from(slot).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOLS: &[(&str, &str)] = &[
        ("create_issue", "Create a new issue in a repository"),
        ("get_weather", "Current weather for a city"),
        ("search_code", "Search code in all repositories"),
    ];

    fn filled() -> Lexical {
        let mut lexical = Lexical::new();
        for (slot, (name, description)) in (0..).zip(TOOLS) {
            let tool = Tool { name, description, ..Tool::default() };
            lexical.insert(slot, &Server::default(), &tool);
        }
        lexical
    }

    fn best(lexical: &Lexical, text: &str) -> Option<usize> {
        let mut scores = Vec::new();
        lexical.search(text, &mut scores);
        let scores = scores.iter().enumerate().filter(|(_, score)| **score > 0.0);
        scores.max_by(|a, b| a.1.total_cmp(b.1)).map(|(at, _)| at)
    }

    #[test]
    fn the_tool_whose_words_are_asked_for_is_found() {
        let cases = [
            ("creating issues", Some(0)),
            ("what is the weather", Some(1)),
            ("repo code search", Some(2)),
            ("wether", Some(1)),
            ("weath", Some(1)),
            ("send money", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(best(&filled(), text), expected, "{text}");
        }
    }

    #[test]
    fn no_tool_has_more_than_all() {
        for text in ["create a new issue", "weather weather weather", "code"] {
            let mut scores = Vec::new();
            let most = filled().search(text, &mut scores);
            assert!(scores.iter().all(|score| *score <= most), "{text}");
        }
    }

    #[test]
    fn a_whole_document_is_read_as_far_as_its_first_words() {
        let long: String = (0..5000).map(|at| format!("word{at} ")).collect();
        assert_eq!(best(&filled(), &format!("weather {long}")), Some(1));
        assert_eq!(best(&filled(), &format!("{long} weather")), None);
    }

    #[test]
    fn what_was_removed_leaves_nothing_behind() {
        let mut lexical = filled();
        lexical.remove(&[0, 1, 2]);
        assert_eq!((lexical.lists.len(), lexical.total, lexical.count), (0, 0, 0));
        assert_eq!(best(&lexical, "issue"), None);
    }
}
