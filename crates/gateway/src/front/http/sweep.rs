//! Looks after everything once a second: what is late is closed, what is silent is given a word,
//! what nobody needs any more is forgotten. So no request needs a timer of its own.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};

use crate::front::http::conn::{Conn, Finding, Open};
use crate::front::http::events::COMMENT;
use crate::front::http::front::Front;
use crate::front::http::refusal::Refusal;
use crate::front::http::reply::Reply;
use crate::front::http::revoke::Watch;
use crate::limits::SLOW_ANSWER_SECONDS;
use crate::pump::FlushSet;

const EVERY: Duration = Duration::from_secs(1);
/// Sessions live long: they are looked at less often.
const SESSIONS_EVERY: u32 = 5;

pub(super) async fn sweep(front: Arc<Front>) {
    let mut ticks = interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut next, mut watch) = (0, Watch::default());
    loop {
        front.visited().await;
        ticks.tick().await;
        let now = front.clock.advance();
        let mut touched = FlushSet::default();
        for conn in front.conns() {
            look(&conn, now, &mut touched);
        }
        front.turn_out(&mut watch, &mut touched);
        touched.flush();
        if now >= next {
            next = now + SESSIONS_EVERY;
            front.sessions.expire(now);
            front.contexts.forget(now);
        }
    }
}

fn look(conn: &Arc<Conn>, now: u32, touched: &mut FlushSet) {
    match conn.examine(now) {
        Finding::Fine => {}
        Finding::Close => conn.outbox.close(),
        Finding::Late => Reply::taken(conn).refuse(Refusal::Late, b"null", touched),
        Finding::Open(Open::Nothing, _) => {}
        Finding::Open(Open::Exchange(exchange), since) => {
            if now.saturating_sub(since) >= SLOW_ANSWER_SECONDS
                && let Some(exchange) = exchange.upgrade()
            {
                exchange.open_up(touched);
            }
        }
        Finding::Open(Open::Once(once), since) => {
            if let Some(once) = once.upgrade() {
                once.comment(since, touched);
            }
        }
        Finding::Open(Open::Stream(stream), _) => {
            if let Some(stream) = stream.upgrade() {
                stream.comment(COMMENT, touched);
            }
        }
        Finding::Open(Open::Web(web), _) => {
            if let Some(web) = web.upgrade() {
                web.comment(touched);
            }
        }
        Finding::Open(Open::Sse(client), _) => {
            if let Some(client) = client.upgrade() {
                client.comment(touched);
            }
        }
    }
}
