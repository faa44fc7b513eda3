//! Words and meaning → one score in [0, 1] that means the same for every request.

use fearless_simd::{Level, dispatch};

/// How a score came about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScoreParts {
    /// How much of what was asked, in words, is there.
    pub lexical: f32,
    /// How near the meanings are.
    pub semantic: f32,
    /// The request is the tool's name.
    pub exact: bool,
}

/// A tool that has two thirds of the words' weight has what was asked.
const LEXICAL_GAIN: f32 = 1.5;
const LEXICAL_SHARE: f32 = 0.5;

impl ScoreParts {
    /// `found` of the words' weight of `most` that a tool could have; the cosine of the meanings.
    #[inline(always)]
    pub(crate) fn new(found: f32, most: f32, cosine: f32) -> Self {
        let lexical = if most > 0.0 { (LEXICAL_GAIN * found / most).clamp(0.0, 1.0) } else { 0.0 };
        Self { lexical, semantic: cosine.clamp(0.0, 1.0), exact: false }
    }

    /// Not relative to the best hit, as fusing by ranks or by the maximum is: nothing that fits is
    /// then a low score and not the best of a bad lot.
    #[must_use]
    #[inline(always)]
    pub fn score(&self) -> f32 {
        if self.exact {
            return 1.0;
        }
        LEXICAL_SHARE * self.lexical + (1.0 - LEXICAL_SHARE) * self.semantic
    }
}

/// The scores of all tools, by slot: how much of `most` each has, and how near it is.
pub(crate) fn scores(words: &[f32], most: f32, cosines: &[f32], scores: &mut Vec<f32>) {
    scores.clear();
    scores.resize(words.len().min(cosines.len()), 0.0);
    dispatch!(Level::new(), _simd => kernel(words, most, cosines, scores));
}

#[inline(always)]
fn kernel(words: &[f32], most: f32, cosines: &[f32], scores: &mut [f32]) {
    for ((score, word), cosine) in scores.iter_mut().zip(words).zip(cosines) {
        *score = ScoreParts::new(*word, most, *cosine).score();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_score_is_half_words_and_half_meaning() {
        let cases = [
            (0.0, 0.0, 0.0, 0.0),
            (2.0, 4.0, 0.0, 0.375),
            (4.0, 4.0, 0.0, 0.5),
            (0.0, 4.0, 0.5, 0.25),
            (4.0, 4.0, 1.0, 1.0),
            (0.0, 4.0, -0.5, 0.0),
        ];
        for (found, most, cosine, expected) in cases {
            let parts = ScoreParts::new(found, most, cosine);
            assert!((parts.score() - expected).abs() < 1e-6, "{found} {most} {cosine}: {parts:?}");
        }
        assert!(
            (ScoreParts { exact: true, ..ScoreParts::new(0.0, 1.0, 0.0) }.score() - 1.0).abs()
                < 1e-6
        );
    }

    proptest! {
        #[test]
        fn a_score_is_between_nothing_and_all(
            found in 0.0f32..1e6, most in 0.0f32..1e6, cosine in -1.0f32..1.0,
        ) {
            prop_assert!((0.0..=1.0).contains(&ScoreParts::new(found, most, cosine).score()));
        }
    }
}
