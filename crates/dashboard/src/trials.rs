//! `Trials`: what tools answered when people tried them, kept for a while so that a result has an address
//! and reloading its page calls nothing again.

use std::collections::VecDeque;

use maud::{Markup, PreEscaped};
use parking_lot::Mutex;
use trunkline_control::access::random;

use crate::form::Form;

/// Of all people together; then the oldest go.
const MOST: usize = 256;
// A result may have megabytes: the number alone would not bound the memory.
const MOST_BYTES: usize = 32 * 1024 * 1024;

#[derive(Debug, Default)]
pub(crate) struct Trials {
    // A leaf lock. A trial is copied out, so that no page is rendered under it.
    kept: Mutex<VecDeque<StoredTrial>>,
}

#[derive(Debug)]
struct StoredTrial {
    id: String,
    /// The session and the tool that it belongs to: nobody else is shown it.
    of: (String, String),
    trial: Trial,
}

/// A call that was made, and how it is shown.
#[derive(Debug, Clone)]
pub(crate) struct Trial {
    pub(crate) form: Form,
    pub(crate) result: Markup,
}

impl Trials {
    /// Under which id it is found again. `None`: it is too large to be kept.
    pub(crate) fn keep(&self, session: &str, tool: &str, trial: Trial) -> Option<String> {
        // Random and not counted: the address of a result must not be guessed from another.
        let id: String = random::<16>().ok()?.iter().map(|byte| format!("{byte:02x}")).collect();
        if trial.size() > MOST_BYTES {
            return None;
        }
        let mut kept = self.kept.lock();
        let of = (session.to_owned(), tool.to_owned());
        kept.push_back(StoredTrial { id: id.clone(), of, trial });
        // Summed anew each time: there are at most a few hundred, and a running sum could drift.
        let size =
            |kept: &VecDeque<StoredTrial>| kept.iter().map(|it| it.trial.size()).sum::<usize>();
        while kept.len() > MOST || size(&kept) > MOST_BYTES {
            kept.pop_front();
        }
        Some(id)
    }

    pub(crate) fn find(&self, session: &str, tool: &str, id: &str) -> Option<Trial> {
        let kept = self.kept.lock();
        // The session is compared as well: an address that was copied shows nothing to others.
        let is = |it: &&StoredTrial| it.id == id && it.of.0 == session && it.of.1 == tool;
        kept.iter().find(is).map(|it| it.trial.clone())
    }
}

impl Trial {
    fn size(&self) -> usize {
        let PreEscaped(html) = &self.result;
        html.len() + self.form.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(size: usize) -> Trial {
        Trial { form: Form::default(), result: PreEscaped("x".repeat(size)) }
    }

    #[test]
    fn a_trial_is_found_by_who_made_it_until_there_are_too_many() {
        let trials = Trials::default();
        let id = trials.keep("me", "a/b", trial(10)).unwrap();
        assert!(trials.find("me", "a/b", &id).is_some());
        for (session, tool, id) in [("you", "a/b", &*id), ("me", "a/c", &id), ("me", "a/b", "x")] {
            assert!(trials.find(session, tool, id).is_none(), "{session} {tool} {id}");
        }
        assert!(trials.keep("me", "a/b", trial(MOST_BYTES + 1)).is_none(), "too large");
        let large = trials.keep("me", "a/b", trial(MOST_BYTES)).unwrap();
        assert!(trials.find("me", "a/b", &id).is_none(), "the oldest goes");
        for _ in 0..MOST {
            trials.keep("me", "a/b", trial(1)).unwrap();
        }
        assert!(trials.find("me", "a/b", &large).is_none());
        assert_eq!(trials.kept.lock().len(), MOST);
    }
}
