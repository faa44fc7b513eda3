//! `Rounds`: what the server of a call was told in answer to its questions, so that it is told each answer once.

use std::collections::VecDeque;

use super::bounds::ROUNDS_KEPT;

/// Digests, the oldest first; none in the first round.
#[derive(Clone, Debug, Default)]
pub(super) struct Rounds(VecDeque<String>);

impl Rounds {
    /// Was the server told this? The first call is in all: it begins once.
    pub(super) fn contain(&self, round: &str) -> bool {
        round.is_empty() || self.0.iter().any(|told| told == round)
    }

    pub(super) fn push(&mut self, round: &str) {
        if round.is_empty() {
            return;
        }
        if self.0.len() >= ROUNDS_KEPT {
            self.0.pop_front();
        }
        self.0.push_back(round.to_owned());
    }

    /// The call could not go on: its server was not told the last.
    pub(super) fn take_back(&mut self) {
        self.0.pop_back();
    }

    pub(super) fn last(&self) -> String {
        self.0.back().cloned().unwrap_or_default()
    }
}
