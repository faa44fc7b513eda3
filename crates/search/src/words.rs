//! Text → words: identifiers fall into their parts, case and accents go, each CJK sign is a word.
//!
//! `search/train/text.py` does the same; the fixture of `pieces` holds both to it.

use unicode_normalization::UnicodeNormalization;

/// One word: `createIssue` has the parts `create` and `issue`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    parts: Vec<String>,
}

impl Word {
    pub(crate) fn parts(&self) -> &[String] {
        &self.parts
    }

    /// `GitHub` is looked for as `github`, too: names are written in both ways.
    pub(crate) fn joined(&self) -> Option<String> {
        (self.parts.len() > 1).then(|| self.parts.concat())
    }
}

pub(crate) fn words(text: &str) -> Vec<Word> {
    let mut found = Vec::new();
    let mut run = Vec::new();
    for char in text.chars() {
        match kind(char) {
            CharKind::Letter => run.push(char),
            CharKind::Mark => {}
            CharKind::Between => close(&mut found, &mut run),
            CharKind::Sign => {
                close(&mut found, &mut run);
                found.push(Word { parts: vec![char.to_string()] });
            }
        }
    }
    close(&mut found, &mut run);
    found
}

#[derive(Debug, PartialEq, Eq)]
enum CharKind {
    Letter,
    /// A word of its own.
    Sign,
    /// An accent that stands alone: dropped, and does not end the word.
    Mark,
    Between,
}

/// Ranges rather than Unicode's categories: the training side must agree to the letter.
fn kind(char: char) -> CharKind {
    match u32::from(char) {
        0..0x80 if char.is_ascii_alphanumeric() => CharKind::Letter,
        0x300..=0x36F => CharKind::Mark,
        0xD7 | 0xF7 => CharKind::Between,
        0xC0..=0x24F | 0x370..=0x10FF | 0x1E00..=0x1FFF | 0xAC00..=0xD7AF => CharKind::Letter,
        0x2E80..=0x30FF | 0x3400..=0x9FFF | 0xF900..=0xFAFF | 0x2_0000..=0x3_FFFF => CharKind::Sign,
        _ => CharKind::Between,
    }
}

fn close(found: &mut Vec<Word>, run: &mut Vec<char>) {
    if run.is_empty() {
        return;
    }
    let mut parts = vec![String::new()];
    for (at, &char) in run.iter().enumerate() {
        if breaks(run, at) {
            parts.push(String::new());
        }
        if let Some(part) = parts.last_mut() {
            fold(char, part);
        }
    }
    run.clear();
    found.push(Word { parts });
}

/// Does a new part begin here? `createIssue`, `HTTPServer`; but `URLs` is one word.
fn breaks(run: &[char], at: usize) -> bool {
    let around = |offset: usize| run.get(offset).copied();
    let Some(before) = at.checked_sub(1).and_then(around) else {
        return false;
    };
    if !around(at).is_some_and(char::is_uppercase) {
        return false;
    }
    if !before.is_uppercase() {
        return true;
    }
    let plural = around(at + 1) == Some('s') && around(at + 2).is_none();
    !plural && around(at + 1).is_some_and(char::is_lowercase)
}

fn fold(char: char, into: &mut String) {
    if char.is_ascii() {
        into.push(char.to_ascii_lowercase());
    } else if u32::from(char) >= 0x2000 {
        into.extend(char.to_lowercase());
    } else {
        into.extend(char.to_lowercase().nfd().filter(|&c| kind(c) != CharKind::Mark));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(text: &str) -> String {
        let words: Vec<String> = words(text).iter().map(|word| word.parts.join("+")).collect();
        words.join(" ")
    }

    #[test]
    fn words_are_what_people_and_programs_mean() {
        let cases = [
            ("create_issue", "create issue"),
            ("createIssue", "create+issue"),
            ("GitHub", "git+hub"),
            ("HTTPServer2Go", "http+server2+go"),
            ("URLs, IDs and PRs", "urls ids and prs"),
            ("listPRs", "list+prs"),
            ("web-search.v2/run", "web search v2 run"),
            ("k8s S3 gpt4", "k8s s3 gpt4"),
            ("Café NAÏVE Straße", "cafe naive straße"),
            ("Cafe\u{301}", "cafe"),
            ("搜索web结果", "搜 索 web 结 果"),
            ("", ""),
            (" \n\t_-…", ""),
            ("İstanbul", "istanbul"),
        ];
        for (text, expected) in cases {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_has_words_and_none_is_empty(text in any::<String>()) {
            for word in words(&text) {
                prop_assert!(!word.parts.is_empty());
            }
        }

        #[test]
        fn words_of_words_are_the_same(text in "[a-zA-Z_ .]{0,40}") {
            let once: Vec<String> = words(&text).iter().flat_map(|w| w.parts.clone()).collect();
            let twice: Vec<String> = words(&once.join(" ")).iter().flat_map(|w| w.parts.clone()).collect();
            prop_assert_eq!(once, twice);
        }
    }
}
