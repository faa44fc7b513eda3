//! One request to the endpoint, and how much may be in it.

use std::time::Duration;

use serde_json::json;
use trunkline_search::Vector;

use super::answer;
use crate::net::{Limits, ModelLine};

/// A few dozen vectors of a few thousand numbers, as text.
const MOST_BODY: usize = 16 * 1024 * 1024;

/// How many texts are asked about in one request, and how much of each, in bytes: what a tool is for
/// stands at the beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BatchLimit {
    pub(super) texts: usize,
    longest: usize,
}

impl BatchLimit {
    /// Some 1,500 tokens a text.
    pub(super) const WHOLE: Self = Self { texts: 64, longest: 6_000 };

    /// What is tried when this one is refused: fewer texts, so that one that a model does not take
    /// does not stand in the way of the others; and then less of that one.
    pub(super) fn smaller(self) -> Option<Self> {
        match self {
            Self { texts: 2.., .. } => Some(Self { texts: self.texts / 4, ..self }),
            Self { longest: 1_000.., .. } => Some(Self { longest: self.longest / 4, ..self }),
            _ => None,
        }
    }

    fn of(self, text: &str) -> &str {
        text.get(..text.floor_char_boundary(self.longest)).unwrap_or(text)
    }
}

/// Why there are no vectors.
#[derive(Debug)]
pub(super) struct EmbeddingError {
    pub(super) why: String,
    pub(super) lies_with: LiesWith,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LiesWith {
    /// It does not take these texts; others it may.
    Texts,
    Endpoint,
    /// Some say so of a text that is too long for them.
    Either,
}

impl From<String> for EmbeddingError {
    fn from(why: String) -> Self {
        Self { why, lies_with: LiesWith::Endpoint }
    }
}

/// Where each of the texts points, and the length of what says so.
pub(super) async fn ask(
    line: &ModelLine,
    texts: &[String],
    portion: BatchLimit,
    deadline: Duration,
) -> Result<(Vec<Vector>, usize), EmbeddingError> {
    let texts: Vec<&str> = texts.iter().map(|text| portion.of(text)).collect();
    let body = json!({ "model": line.model(), "input": texts, "encoding_format": "float" });
    let answer = line.post(&body, Limits { deadline, max_body: MOST_BODY }).await?;
    match answer.status {
        200..300 => Ok(answer::read(&answer.body, texts.len())?),
        status => {
            let lies_with = match status {
                400 | 413 | 422 => LiesWith::Texts,
                500 => LiesWith::Either,
                _ => LiesWith::Endpoint,
            };
            Err(EmbeddingError { why: format!("it answered with HTTP {status}"), lies_with })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_refused_becomes_smaller_until_there_is_little_left() {
        let steps = std::iter::successors(Some(BatchLimit::WHOLE), |portion| portion.smaller());
        let steps: Vec<_> = steps.map(|it| (it.texts, it.longest)).collect();
        let expected = [(64, 6_000), (16, 6_000), (4, 6_000), (1, 6_000), (1, 1_500), (1, 375)];
        assert_eq!(steps, expected);
        let two = BatchLimit { texts: 1, longest: 3 };
        assert_eq!((two.of("äöü"), two.of("ab")), ("ä", "ab"));
    }
}
