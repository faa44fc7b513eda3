//! The sweeper looks after every connection and session once a second: it closes what is late, comments
//! on silent streams, forgets what no client needs, and ends what belongs to a revoked pass. So no
//! request needs a timer of its own.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::time::{MissedTickBehavior, interval};

use crate::front::http::access::HttpRefusal;
use crate::front::http::connection::{Conn, Reply, SweepAction};
use crate::front::http::front::{CROWDED_IDLE_SECONDS, Front};
use crate::gate::{Gate, Pass};
use crate::pump::FlushSet;
use crate::session;

// Ages are whole seconds (`Clock`): a finer sweep would see nothing new.
const EVERY: Duration = Duration::from_secs(1);
/// Sessions live long: they are swept less often.
const SESSIONS_EVERY: u32 = 5;

pub(crate) async fn sweep(front: Arc<Front>) {
    let mut ticks = interval(EVERY);
    // After a suspended laptop wakes, missed seconds must not be swept one by one.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut next, mut watch) = (0, GateWatch::default());
    loop {
        // Without clients the process sleeps: no timer wakes it.
        front.wait_for_work().await;
        ticks.tick().await;
        let now = front.clock.advance();
        let mut touched = FlushSet::default();
        let is_crowded = front.is_crowded();
        for conn in front.conns() {
            if is_crowded && conn.is_idle_of_stranger(now, CROWDED_IDLE_SECONDS) {
                conn.outbox.close();
            }
            sweep_conn(&conn, now, &mut touched);
        }
        end_revoked(&front, &mut watch, &mut touched);
        touched.flush();
        if now >= next {
            next = now + SESSIONS_EVERY;
            front.sessions.expire(now);
            front.contexts.forget(now);
        }
    }
}

fn sweep_conn(conn: &Arc<Conn>, now: u32, touched: &mut FlushSet) {
    match conn.take_overdue(now) {
        SweepAction::Nothing => {}
        SweepAction::Close => conn.outbox.close(),
        SweepAction::RefuseLate => Reply::taken(conn).refuse(HttpRefusal::Late, b"null", touched),
        SweepAction::Tick(open, since) => open.tick(since, touched),
    }
}

/// The gate's version as the sweeper knows it.
#[derive(Debug, Default)]
pub(crate) struct GateWatch {
    version: Option<u64>,
    /// How often every pass is still checked.
    rounds: u8,
}

/// Every pass is checked twice after a change: a request that was admitted just before it may open a
/// session just after the first check.
const ROUNDS: u8 = 2;

impl GateWatch {
    /// True if the gate has changed so lately that every pass must be checked.
    fn count_round(&mut self, version: u64) -> bool {
        if self.version != Some(version) {
            self.version = Some(version);
            self.rounds = ROUNDS;
        }
        let looks = self.rounds > 0;
        self.rounds = self.rounds.saturating_sub(1);
        looks
    }
}

/// Ends the sessions, streams and calls of callers whose pass has expired or was revoked.
fn end_revoked(front: &Front, watch: &mut GateWatch, touched: &mut FlushSet) {
    let Some(gate) = &front.gate else { return };
    let changed = watch.count_round(gate.version());
    let now = SystemTime::now();
    let is_out =
        |pass: Option<&Arc<Pass>>| pass.is_some_and(|pass| is_out(gate, pass, now, changed));
    for session in front.sessions.all_http() {
        if is_out(session.owner.pass().as_ref()) {
            session::revoke_calls(&session.session.client, touched);
            front.sessions.end(&session);
        }
    }
    for client in front.sessions.all_sse() {
        if is_out(client.owner.pass().as_ref()) {
            session::revoke_calls(&client.session.client, touched);
            // The error must be on the stream before the stream ends.
            client.close(touched);
            front.sessions.remove_sse(&client);
        }
    }
    for open in front.conns().iter().filter_map(|conn| conn.open_reply()) {
        if let Some(call) = open.stateless_call().filter(|call| is_out(call.caller.as_ref())) {
            session::revoke_calls(&call.client, touched);
            session::leave(&call.client, &call.id, touched);
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
        let mut watch = GateWatch::default();
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
            assert_eq!(watch.count_round(version), expected, "{version}");
        }
    }
}
