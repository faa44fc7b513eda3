//! When a server runs: which one sleeps until it is needed, and which one is stopped when nothing uses it.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use trunkline_catalog::config::{IdleStop, Share, Start, Transport};

use crate::call::CallOwner;
use crate::era::Era;
use crate::limits::{LEAVING_LOOK, LONGEST_IDLE_LOOK, WAITING_TIME};
use crate::upstream::connection::Connection;
use crate::upstream::lifecycle::handshake::ServerHello;
use crate::upstream::lifecycle::remembered::Remembered;
use crate::upstream::lifecycle::server::Server;
use crate::upstream::lifecycle::state::State;
use crate::upstream::lifecycle::supervisor::Supervisor;

/// Does it sleep until it is needed, from the beginning? Only one whose lists are known can, and only where
/// calls wait for it.
pub(in crate::upstream) fn starts_lazily(server: &Server) -> bool {
    let is_remote = matches!(server.definition.transport, Transport::Remote { .. });
    let default = if is_remote { Start::Eager } else { server.services.run.start };
    server.definition.run.start.unwrap_or(default) == Start::Lazy
        && server.listing().is_some()
        && server.offer.memory().is_some_and(Remembered::is_fresh)
        && !server.offer.was_handed_over()
}

/// Resolves when nothing has used this connection for as long as its server may be idle.
pub(in crate::upstream) async fn idled(
    server: &Server,
    connection: &Arc<Connection>,
    hello: &ServerHello,
) {
    let Some(limit) = idle_limit(server) else { return std::future::pending().await };
    // Looked at now and then: a clock for each call would slow every call.
    let look = (limit / 8).min(LONGEST_IDLE_LOOK);
    let mut used_at = Instant::now();
    loop {
        sleep(look).await;
        if connection.health.take_use() || is_in_use(server, connection, hello) {
            used_at = Instant::now();
        } else if used_at.elapsed() >= limit {
            return;
        }
    }
}

/// How long it may be idle; `None`: for ever.
fn idle_limit(server: &Server) -> Option<Duration> {
    // Where calls do not wait for a server, one that is stopped would lose them.
    server.wait_queue.as_ref().filter(|room| room.rules.waits_for_restart)?;
    match (server.definition.run.idle_stop, &server.definition.transport) {
        (Some(IdleStop::Off), _) => None,
        (Some(IdleStop::After(limit)), _) => Some(limit),
        (None, Transport::Stdio { .. }) => server.services.run.idle_stop,
        // Nothing runs here for a server in the network.
        (None, Transport::Remote { .. }) => None,
    }
}

/// Would a client miss something if it were stopped now?
fn is_in_use(server: &Server, connection: &Arc<Connection>, hello: &ServerHello) -> bool {
    let owner: Arc<dyn CallOwner> = Arc::clone(connection) as Arc<dyn CallOwner>;
    !connection.link.is_free()
        || server.audience.all().iter().any(|client| client.has_question_of(&owner))
        || server.waiting_calls() > 0
        || !connection.subscriptions.uris().is_empty()
        || (server.definition.run.idle_stop.is_none() && may_be_missed(server, hello))
}

/// May it keep something, besides what can be seen, that a client counts on? Not asked where its entry says
/// when it is stopped.
fn may_be_missed(server: &Server, hello: &ServerHello) -> bool {
    let is_listened_to =
        hello.era == Era::Legacy && hello.logs && server.audience.level().is_some();
    server.definition.share == Share::PerSession
        || hello.has_tasks()
        || is_listened_to
        || server.demand.may_hold_state()
}

/// It goes to sleep: what it offers stays listed, and calls wait until it is awake again. Resolves when the
/// last call that was made at this moment has ended.
pub(in crate::upstream) async fn fall_asleep(
    server: &Server,
    connection: &Connection,
    supervisor: &Supervisor,
) {
    server.demand.begin_anew();
    server.expect_back();
    server.set_gone();
    supervisor.offers.bump();
    // A client may have seen the connection just before: its call is on the way, and is answered. One that
    // never is must not keep the server for ever.
    let until = Instant::now() + WAITING_TIME;
    let free = async {
        loop {
            sleep(LEAVING_LOOK).await;
            if connection.link.is_free() || Instant::now() > until {
                return;
            }
        }
    };
    tokio::select! {
        () = free => {}
        _ = supervisor.ending(server) => {}
    }
}

/// It sleeps, and is known by what it said before.
pub(in crate::upstream) fn note_asleep(server: &Server) {
    let (hello, listing) = (server.hello(), server.listing());
    server.update(|status| {
        status.state = State::Idle;
        status.retry = None;
        status.tools = listing.map_or(0, |listing| listing.tools().len());
        if let Some(hello) = hello {
            status.protocol = Some(hello.protocol.clone());
            status.identity.clone_from(&hello.identity);
        }
    });
}
