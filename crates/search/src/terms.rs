//! Text → terms: words without endings, short forms with their long ones, the smallest words left out.

use std::borrow::Cow;

use rust_stemmers::{Algorithm, Stemmer};

use crate::alias;
use crate::words;

/// Words that are in every request and say nothing about what is wanted. Sorted.
const STOP: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "by", "can", "could", "do", "does", "for", "from",
    "has", "have", "how", "i", "in", "is", "it", "its", "me", "my", "need", "of", "on", "or",
    "please", "so", "that", "the", "their", "them", "this", "to", "want", "was", "we", "were",
    "what", "which", "will", "with", "would", "you", "your",
];

pub(crate) struct Terms {
    stemmer: Stemmer,
}

impl std::fmt::Debug for Terms {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Terms")
    }
}

impl Terms {
    pub(crate) fn new() -> Self {
        Self { stemmer: Stemmer::create(Algorithm::English) }
    }

    /// Calls `each` with every term of the text, as often as it is there.
    pub(crate) fn of_text(&self, text: &str, mut each: impl FnMut(&str)) {
        for word in words::words(text) {
            let joined = word.joined();
            for part in word.parts().iter().chain(&joined) {
                self.of_part(part, &mut each);
            }
        }
    }

    fn of_part(&self, part: &str, each: &mut impl FnMut(&str)) {
        if STOP.binary_search(&part).is_ok() {
            return;
        }
        each(&self.stem(part));
        for long in alias::long_form(part).into_iter().flat_map(|long| long.split(' ')) {
            each(&self.stem(long));
        }
    }

    fn stem<'a>(&self, word: &'a str) -> Cow<'a, str> {
        // The endings are English ones; other scripts are left as they are.
        if word.is_ascii() { self.stemmer.stem(word) } else { Cow::Borrowed(word) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(text: &str) -> String {
        let mut found = Vec::new();
        Terms::new().of_text(text, |term| found.push(term.to_owned()));
        found.join(" ")
    }

    #[test]
    fn terms_are_what_two_texts_about_the_same_share() {
        let cases = [
            ("creates, created, creating", "creat creat creat"),
            ("please list the repositories I can see", "list repositori see"),
            ("repo", "repo repositori"),
            ("open a PR", "open pr pull request"),
            ("createIssue", "creat issu createissu"),
            ("GitHub", "git hub github"),
            ("搜索", "搜 索"),
            ("the of a", ""),
        ];
        for (text, expected) in cases {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn the_small_words_are_sorted() {
        assert!(STOP.is_sorted());
    }

    proptest! {
        #[test]
        fn any_text_has_terms_and_none_is_empty(text in any::<String>()) {
            Terms::new().of_text(&text, |term| assert!(!term.is_empty()));
        }
    }
}
