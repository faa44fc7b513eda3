//! What is said in the sentences of one text, and which rules hold of them.

use crate::scan::phrases::ConceptSet;
use crate::scan::rules::{FieldRole, RuleScope, RuleTest};

/// What was said in one text.
#[derive(Debug)]
pub(super) struct SentenceMarks<'s> {
    pub(super) role: FieldRole,
    /// By sentences.
    pub(super) sentences: &'s [ConceptSet],
}

/// The first sentence of which the rule holds.
pub(super) fn holds(test: &RuleTest, said: &SentenceMarks<'_>) -> Option<usize> {
    let RuleTest::Says { scope, places, all, none } = test else { return None };
    if places & said.role as u8 == 0 {
        return None;
    }
    let at = |place: usize| said.sentences.get(place).copied().unwrap_or_default();
    let last = said.sentences.len();
    (0..last).find(|place| {
        let here = at(*place);
        let around = match scope {
            RuleScope::Sentence => here,
            RuleScope::Near => {
                let before = place.checked_sub(1).map(at).unwrap_or_default();
                before | here | at(place + 1)
            }
        };
        // The sentence itself has to say one of them: else its neighbour is the one to name.
        let own = all.iter().any(|set| here & set != 0);
        own && all.iter().all(|set| around & set != 0) && around & none == 0
    })
}
