//! Words → pieces of the model's vocabulary: `WordPiece`, greedy, the longest first.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use crate::alias;
use crate::words::{self, Word};

/// Longer texts are cut: a description says what the tool does in its first sentences.
const MOST_PIECES: usize = 256;

/// The vocabulary. What continues a word is marked with `##` there.
#[derive(Debug)]
pub(crate) struct Pieces<'a> {
    ids: HashMap<&'a str, u32, FixedState>,
    longest: usize,
}

impl<'a> Pieces<'a> {
    pub(crate) fn new(vocabulary: &[&'a str]) -> Self {
        let ids = vocabulary.iter().copied().zip(0..).collect();
        let longest = vocabulary.iter().map(|piece| piece.len()).max().unwrap_or(0);
        Self { ids, longest }
    }

    pub(crate) fn of_text(&self, text: &str) -> Vec<u32> {
        let mut found = Vec::new();
        for word in words::words(text) {
            self.of_word(&word, &mut found);
            if found.len() >= MOST_PIECES {
                found.truncate(MOST_PIECES);
                break;
            }
        }
        found
    }

    fn of_word(&self, word: &Word, found: &mut Vec<u32>) {
        // `GitHub` is known as one thing; `createIssue` only by its parts.
        if let Some(id) = word.joined().and_then(|whole| self.ids.get(whole.as_str())) {
            found.push(*id);
            return;
        }
        for part in word.parts() {
            match alias::long_form(part) {
                Some(long) => long.split(' ').for_each(|word| self.split(word, found)),
                None => self.split(part, found),
            }
        }
    }

    /// A word that cannot be spelt with the vocabulary says nothing: it leaves `found` as it was.
    fn split(&self, word: &str, found: &mut Vec<u32>) {
        let before = found.len();
        let mut rest = word;
        let mut spelt = String::new();
        while !rest.is_empty() {
            let Some((id, length)) = self.longest_start(rest, found.len() > before, &mut spelt)
            else {
                found.truncate(before);
                return;
            };
            found.push(id);
            rest = rest.get(length..).unwrap_or_default();
        }
    }

    fn longest_start(&self, rest: &str, inside: bool, spelt: &mut String) -> Option<(u32, usize)> {
        spelt.clear();
        spelt.push_str(if inside { "##" } else { "" });
        let mark = spelt.len();
        let within = rest.len().min(self.longest);
        let within = (0..=within).rev().find(|&at| rest.is_char_boundary(at))?;
        spelt.push_str(rest.get(..within)?);
        while spelt.len() > mark {
            if let Some(id) = self.ids.get(spelt.as_str()) {
                return Some((*id, spelt.len() - mark));
            }
            spelt.pop();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const VOCABULARY: &[&str] = &[
        "create", "issue", "##s", "github", "git", "hub", "pull", "request", "a", "##b", "é", "搜",
    ];

    fn shown(text: &str) -> String {
        let pieces = Pieces::new(VOCABULARY);
        let names: Vec<&str> =
            pieces.of_text(text).iter().map(|&id| VOCABULARY[id as usize]).collect();
        names.join(" ")
    }

    #[test]
    fn a_word_falls_into_the_longest_pieces() {
        let cases = [
            ("createIssue", "create issue"),
            ("issues", "issue ##s"),
            ("GitHub", "github"),
            ("git hub", "git hub"),
            ("gitHubs", "git hub ##s"),
            ("open a PR", "a pull request"),
            ("abb abc", "a ##b ##b"),
            ("搜索", "搜"),
            ("unknown", ""),
            ("", ""),
        ];
        for (text, expected) in cases {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn a_long_text_is_cut() {
        assert_eq!(Pieces::new(VOCABULARY).of_text(&"git ".repeat(1000)).len(), MOST_PIECES);
    }

    proptest! {
        #[test]
        fn any_text_has_pieces_of_the_vocabulary(text in any::<String>()) {
            let pieces = Pieces::new(VOCABULARY);
            for id in pieces.of_text(&text) {
                prop_assert!((id as usize) < VOCABULARY.len());
            }
        }
    }
}
