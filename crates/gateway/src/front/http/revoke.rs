//! Ends what is open for somebody who may not come in any more.

use std::sync::Arc;
use std::time::SystemTime;

use crate::front::http::front::Front;
use crate::gate::{Gate, Pass};
use crate::pump::FlushSet;
use crate::session::turn_out;

/// What the sweeper knows of the gate.
#[derive(Debug, Default)]
pub(super) struct Watch {
    version: Option<u64>,
    /// How often everything is still looked at.
    rounds: u8,
}

/// Looked at once more than needed: a request that was let in just before a change may open something
/// just after it.
const ROUNDS: u8 = 2;

impl Watch {
    /// Has the gate changed lately?
    fn looks(&mut self, version: u64) -> bool {
        if self.version != Some(version) {
            self.version = Some(version);
            self.rounds = ROUNDS;
        }
        let looks = self.rounds > 0;
        self.rounds = self.rounds.saturating_sub(1);
        looks
    }
}

impl Front {
    /// Once a second: sessions and streams of those whose pass has expired or was taken back.
    pub(super) fn turn_out(&self, watch: &mut Watch, touched: &mut FlushSet) {
        let Some(gate) = &self.gate else { return };
        let changed = watch.looks(gate.version());
        let now = SystemTime::now();
        let out =
            |pass: Option<&Arc<Pass>>| pass.is_some_and(|pass| is_out(gate, pass, now, changed));
        for session in self.sessions.all_http() {
            if out(session.owner.pass().as_ref()) {
                turn_out(&session.session.client, touched);
                self.sessions.end(&session);
            }
        }
        for client in self.sessions.all_sse() {
            if out(client.owner.pass().as_ref()) {
                turn_out(&client.session.client, touched);
                client.close(touched);
                self.sse_left(&client);
            }
        }
        for once in self.conns().iter().filter_map(|conn| conn.once()) {
            if out(once.caller.as_ref()) {
                turn_out(&once.client, touched);
                once.left(touched);
            }
        }
    }
}

fn is_out(gate: &Arc<dyn Gate>, pass: &Pass, now: SystemTime, changed: bool) -> bool {
    pass.is_expired(now) || (changed && !gate.holds(pass))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_looked_at_twice_after_a_change() {
        let mut watch = Watch::default();
        for (version, expected) in [
            (5, true),
            (5, true),
            (5, false),
            (5, false),
            (6, true),
            (7, true),
            (7, true),
            (7, false),
        ] {
            assert_eq!(watch.looks(version), expected, "{version}");
        }
    }
}
