//! `Steps`: in which portions the calls are sent that have waited for a server to come back. Pure.

use crate::limits::{LAST_STEP, LEAST_LET_IN, PARTS, STEPS_TO_ONE_MORE};

#[derive(Debug, Default)]
pub(super) struct Steps {
    /// The next step; `None`: there are none.
    next: Option<u32>,
    /// Somebody takes them.
    are_taken: bool,
}

impl Steps {
    pub(super) fn begin(&mut self) {
        self.next = Some(0);
    }

    /// Is nobody to send calls but who takes the steps?
    pub(super) fn are_taken(&self) -> bool {
        self.next.is_some()
    }

    /// True: the caller is to take them.
    pub(super) fn take(&mut self) -> bool {
        let is_first = self.next.is_some() && !self.are_taken;
        self.are_taken |= is_first;
        is_first
    }

    /// How many calls are sent in the next step; `None`: none waits, or the last step is done.
    pub(super) fn next(&mut self, waiting: usize) -> Option<usize> {
        let step = self.next.filter(|step| waiting > 0 && *step <= LAST_STEP)?;
        self.next = Some(step + 1);
        Some(portion(step, waiting))
    }
}

/// How many waiting calls are sent in this step. More with each step: if new calls came as fast as these are
/// sent, the queue would never become empty.
fn portion(step: u32, waiting: usize) -> usize {
    let more = usize::try_from(step / STEPS_TO_ONE_MORE).unwrap_or(usize::MAX);
    let most = LEAST_LET_IN.saturating_add(more).max(waiting / PARTS);
    if step < LAST_STEP { most.min(waiting) } else { waiting }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crowd_is_let_in_in_small_parts_and_has_an_end() {
        for (step, waiting, expected) in [
            (0, 0, 0),
            (0, 1, 1),
            (0, 64, 2),
            (15, 64, 2),
            (16, 64, 3),
            (0, 4096, 64),
            (160, 640, 12),
            (LAST_STEP - 1, 640, 64),
            (LAST_STEP, 64_000, 64_000),
        ] {
            assert_eq!(portion(step, waiting), expected, "{step} {waiting}");
        }
        // However many wait, and come meanwhile at each step: so many steps at most.
        for (waiting, arriving, most) in [(64, 0, 28), (4096, 0, 250), (200, 5, 160), (64, 20, 700)]
        {
            let mut steps = Steps::default();
            steps.begin();
            let (mut left, mut taken) = (waiting, 0);
            while let Some(sent) = steps.next(left) {
                left -= sent;
                taken += 1;
                if left > 0 {
                    left += arriving;
                }
            }
            assert!(left == 0 && taken <= most, "{waiting} with {arriving} each time took {taken}");
        }
    }

    #[test]
    fn one_at_a_time_takes_the_steps() {
        let mut steps = Steps::default();
        assert!(!steps.take(), "there are none");
        steps.begin();
        assert!(steps.take() && !steps.take() && steps.are_taken());
        assert_eq!((steps.next(1), steps.next(0)), (Some(1), None));
        steps = Steps { next: Some(LAST_STEP), are_taken: true };
        assert_eq!((steps.next(9), steps.next(9)), (Some(9), None), "the last one");
    }
}
