//! What is known already: where tools point, by what they say; and where the last questions did.

use std::collections::{HashMap, HashSet, VecDeque};

use ring::digest::{SHA256, digest};
use trunkline_search::Vector;

/// A text, whatever its length.
pub(super) type Print = [u8; 32];

pub(super) fn print(text: &str) -> Print {
    digest(&SHA256, text.as_bytes()).as_ref().try_into().unwrap_or_default()
}

/// Twice the most tools of the largest house; a vector of 1,536 dimensions takes as many bytes.
const MOST_KNOWN: usize = 200_000;

/// Where tools point, and which of them are still to be asked about. The endpoint and its model are
/// the same for as long as this lasts.
#[derive(Debug, Default)]
pub(super) struct Tools {
    known: HashMap<Print, Vector>,
    waiting: VecDeque<String>,
    queued: HashSet<Print>,
}

impl Tools {
    /// What is not known is waited for.
    pub(super) fn get(&mut self, text: &str) -> Option<Vector> {
        let print = print(text);
        let known = self.known.get(&print).cloned();
        if known.is_none() && self.queued.len() < MOST_KNOWN && self.queued.insert(print) {
            self.waiting.push_back(text.to_owned());
        }
        known
    }

    /// The next few to be asked about: they stay here until they are known.
    pub(super) fn next(&self, most: usize) -> Vec<String> {
        self.waiting.iter().take(most).cloned().collect()
    }

    /// Where these point that waited first.
    pub(super) fn learn(&mut self, texts: &[String], vectors: Vec<Vector>) {
        if self.known.len() + vectors.len() > MOST_KNOWN {
            self.known.clear(); // those that are still wanted are asked about again
        }
        for (text, vector) in texts.iter().zip(vectors) {
            let print = print(text);
            self.waiting.pop_front();
            self.queued.remove(&print);
            self.known.insert(print, vector);
        }
    }

    pub(super) fn count(&self) -> (usize, usize) {
        (self.known.len(), self.waiting.len())
    }
}

/// People and agents ask the same again.
const MOST_QUESTIONS: usize = 256;

/// The last ones, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Questions(VecDeque<(Print, Vector)>);

impl Questions {
    pub(super) fn get(&mut self, text: &str) -> Option<Vector> {
        let print = print(text);
        let place = self.0.iter().position(|(known, _)| *known == print)?;
        let held = self.0.remove(place)?;
        let vector = held.1.clone();
        self.0.push_back(held);
        Some(vector)
    }

    pub(super) fn put(&mut self, text: &str, vector: Vector) {
        if self.0.len() >= MOST_QUESTIONS {
            self.0.pop_front();
        }
        self.0.push_back((print(text), vector));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector() -> Vector {
        Vector::new(&[1.0, 0.0]).unwrap()
    }

    #[test]
    fn a_text_is_asked_about_once() {
        let mut tools = Tools::default();
        for text in ["a", "b", "a"] {
            assert_eq!(tools.get(text), None);
        }
        assert_eq!(tools.next(9), ["a", "b"]);
        let first = tools.next(1);
        tools.learn(&first, vec![vector()]);
        assert_eq!((tools.next(9), tools.count()), (vec!["b".to_owned()], (1, 1)));
        assert!(tools.get("a").is_some() && tools.get("b").is_none());
        assert_eq!(tools.next(9), ["b"]);
    }

    #[test]
    fn the_last_questions_are_remembered() {
        let mut questions = Questions::default();
        questions.put("first", vector());
        for n in 0..MOST_QUESTIONS - 1 {
            questions.put(&n.to_string(), vector());
        }
        assert!(questions.get("first").is_some());
        questions.put("one more", vector());
        assert!(questions.get("first").is_some() && questions.get("0").is_none());
    }
}
