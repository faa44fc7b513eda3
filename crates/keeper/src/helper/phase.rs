//! Decides how a tree ends: what happened in which phase leads to which phase and which signal.

use std::time::{Duration, Instant};

use crate::limits;
use crate::message::OwnerOrder;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TreePhase {
    Serving,
    /// Was asked to end, by the end of its stdin; `term` is for the phase after.
    Leaving {
        until: Instant,
        term: Duration,
    },
    /// Was sent SIGTERM.
    Terminating {
        until: Instant,
    },
    /// Is sent SIGKILL again and again; next time at `until`, and `pause` after that.
    Killing {
        until: Instant,
        pause: Duration,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PhaseEvent {
    Ordered(OwnerOrder),
    /// The control socket closed: the owner died or dropped the tree.
    Orphaned,
    /// The main process ended, others are left.
    ServerEnded,
    /// The phase's `until` has come.
    TimeUp,
}

/// To be sent to all descendants, now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Blow {
    Terminate,
    Kill,
}

impl TreePhase {
    pub(super) fn until(self) -> Option<Instant> {
        match self {
            TreePhase::Serving => None,
            TreePhase::Leaving { until, .. }
            | TreePhase::Terminating { until }
            | TreePhase::Killing { until, .. } => Some(until),
        }
    }

    pub(super) fn after(self, event: PhaseEvent, now: Instant) -> (TreePhase, Option<Blow>) {
        match (self, event) {
            (TreePhase::Killing { pause, .. }, PhaseEvent::TimeUp) => {
                let pause = pause.min(limits::LAST_KILL_PAUSE);
                (TreePhase::Killing { until: now + pause, pause: pause * 2 }, Some(Blow::Kill))
            }
            // From killing there is no way back: an order to stop gently comes too late.
            (TreePhase::Killing { .. }, _) => (self, None),
            (_, PhaseEvent::Ordered(OwnerOrder::Kill))
            | (TreePhase::Terminating { .. }, PhaseEvent::TimeUp) => {
                let pause = limits::FIRST_KILL_PAUSE;
                (TreePhase::Killing { until: now + pause, pause: pause * 2 }, Some(Blow::Kill))
            }
            (TreePhase::Terminating { until }, PhaseEvent::Orphaned | PhaseEvent::ServerEnded) => {
                // Only ever shortened: the owner's own grace may be less than that for leftovers.
                (TreePhase::Terminating { until: until.min(now + limits::LEFTOVER_GRACE) }, None)
            }
            (TreePhase::Terminating { .. }, PhaseEvent::Ordered(OwnerOrder::Stop { .. })) => {
                // A second stop does not start the grace anew, or repeated orders would keep a
                // server alive.
                (self, None)
            }
            (TreePhase::Leaving { term, .. }, PhaseEvent::TimeUp) => terminating(now + term),
            (
                TreePhase::Serving | TreePhase::Leaving { .. },
                PhaseEvent::Ordered(OwnerOrder::Stop { wait, term }),
                // Stop during `Leaving` replaces the times: the owner may have become impatient.
            ) => (TreePhase::Leaving { until: now + wait, term }, None),
            (
                TreePhase::Serving | TreePhase::Leaving { .. },
                PhaseEvent::Orphaned | PhaseEvent::ServerEnded,
            ) => terminating(now + limits::LEFTOVER_GRACE),
            (TreePhase::Serving, PhaseEvent::TimeUp) => (self, None),
        }
    }
}

fn terminating(until: Instant) -> (TreePhase, Option<Blow>) {
    (TreePhase::Terminating { until }, Some(Blow::Terminate))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{Blow, PhaseEvent, TreePhase};
    use crate::limits;
    use crate::message::OwnerOrder;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    const STOP: PhaseEvent =
        PhaseEvent::Ordered(OwnerOrder::Stop { wait: ms(2000), term: ms(3000) });
    const KILL: PhaseEvent = PhaseEvent::Ordered(OwnerOrder::Kill);

    /// What happens, as (milliseconds since the last, event), and what is sent when.
    type Case = (&'static str, &'static [(u64, PhaseEvent)], &'static [(u128, Blow)]);

    fn blows(script: &[(u64, PhaseEvent)]) -> Vec<(u128, Blow)> {
        let start = Instant::now();
        let (mut now, mut phase, mut sent) = (start, TreePhase::Serving, Vec::new());
        let mut happen = |phase: &mut TreePhase, event, now: Instant| {
            let (next, blow) = phase.after(event, now);
            *phase = next;
            sent.extend(blow.map(|blow| ((now - start).as_millis(), blow)));
        };
        for &(after, event) in script {
            let at = now + ms(after);
            while let Some(until) = phase.until().filter(|&until| until < at) {
                happen(&mut phase, PhaseEvent::TimeUp, until);
            }
            now = at;
            happen(&mut phase, event, now);
        }
        for _ in 0..3 {
            if let Some(until) = phase.until() {
                happen(&mut phase, PhaseEvent::TimeUp, until);
            }
        }
        sent.dedup_by_key(|&mut (_, blow)| blow);
        sent
    }

    #[test]
    fn a_tree_ends_as_asked() {
        use Blow::{Kill, Terminate};
        let cases: [Case; 9] = [
            ("nothing happens", &[], &[]),
            ("stop", &[(0, STOP)], &[(2000, Terminate), (5000, Kill)]),
            ("kill", &[(7, KILL)], &[(7, Kill)]),
            ("kill while leaving", &[(0, STOP), (9, KILL)], &[(9, Kill)]),
            ("the owner dies", &[(5, PhaseEvent::Orphaned)], &[(5, Terminate), (305, Kill)]),
            ("the server ends", &[(5, PhaseEvent::ServerEnded)], &[(5, Terminate), (305, Kill)]),
            (
                "the owner dies while the server is leaving",
                &[(0, STOP), (100, PhaseEvent::Orphaned)],
                &[(100, Terminate), (400, Kill)],
            ),
            (
                "the owner dies while the server is terminating",
                &[(0, STOP), (2100, PhaseEvent::Orphaned)],
                &[(2000, Terminate), (2400, Kill)],
            ),
            (
                "nothing prolongs what has begun",
                &[(0, PhaseEvent::Orphaned), (200, PhaseEvent::ServerEnded), (10, STOP)],
                &[(0, Terminate), (300, Kill)],
            ),
        ];
        for (what, script, expected) in cases {
            assert_eq!(blows(script), expected, "{what}");
        }
    }

    #[test]
    fn killing_never_ends_but_slows_down() {
        let now = Instant::now();
        let (mut phase, _) = TreePhase::Serving.after(KILL, now);
        for _ in 0..20 {
            let until = phase.until().expect("killing goes on");
            let (next, blow) = phase.after(PhaseEvent::TimeUp, until);
            assert_eq!(blow, Some(Blow::Kill));
            assert!(next.until().is_some_and(|next| next - until <= limits::LAST_KILL_PAUSE));
            phase = next;
        }
    }
}
