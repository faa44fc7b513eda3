//! From a connection to a server in use: the handshake, what it offers made known, and kept known.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::time::{Instant, sleep};
use trunkline_catalog::{ListKind, Listing};

use crate::call::Level;
use crate::era::Era;
use crate::limits::{CHANGE_PAUSE, PINS_RETRY};
use crate::upstream::connection::Connection;
use crate::upstream::lifecycle::arrival::arrive;
use crate::upstream::lifecycle::handshake::{self, HandshakeError, LOOP_ADVICE, ServerHello};
use crate::upstream::lifecycle::offer::Live;
use crate::upstream::lifecycle::pinned::{Admitted, ListedTexts, Offered};
use crate::upstream::lifecycle::probe::{self, Opening};
use crate::upstream::lifecycle::screen::{Screened, screen};
use crate::upstream::lifecycle::server::Server;
use crate::upstream::lifecycle::state::State;
use crate::upstream::lifecycle::supervisor::Supervisor;
use crate::upstream::shown::shown;

/// Opens the conversation and makes the server's offer known.
pub(in crate::upstream) async fn become_ready(
    server: &Server,
    connection: &Arc<Connection>,
    supervisor: &Supervisor,
    opening: Opening<'_>,
    started: Instant,
) -> Result<Arc<ServerHello>, HandshakeError> {
    let capabilities = supervisor.declared.get().await;
    let instance = &supervisor.instance;
    let hello = Arc::new(probe::open(connection, opening, &capabilities, instance).await?);
    connection.facts.told.get_or_init(|| capabilities);
    // Relaxed: clients get the connection behind this, through the lock in `arrive`.
    connection.facts.logs.store(hello.logs, Ordering::Relaxed);
    connection.facts.has_tasks.store(hello.tasks.is_some(), Ordering::Relaxed);
    connection.listens.listen(&connection.link, &hello); // before its lists are read: no change of them is missed
    let listing = handshake::list_all(connection, &hello, supervisor.kinds(), instance).await?;
    // Only now: before the lists are read, an answer without an id may be a greeting or a log line.
    connection.facts.set_opened();
    let started_in = started.elapsed();
    server.update(|status| {
        status.protocol = Some(hello.protocol.clone());
        status.identity.clone_from(&hello.identity);
        status.started_in = Some(started_in);
    });
    let screened = screen(server, &hello, listing).await;
    publish(server, connection, &hello, screened, supervisor).await;
    tracing::info!(
        server = %server.key,
        protocol = %hello.protocol,
        duration_ms = u64::try_from(started_in.as_millis()).unwrap_or(u64::MAX),
        "is running"
    );
    catch_up(server, connection, &hello);
    Ok(hello)
}

async fn publish(
    server: &Server,
    connection: &Arc<Connection>,
    hello: &Arc<ServerHello>,
    screened: Screened,
    supervisor: &Supervisor,
) {
    let was_live = server.live().is_some();
    let Screened { listing: listed, suspected, written } = screened;
    let secrets = &server.definition.secrets;
    for warning in server.offer.new_warnings(&listed.warnings) {
        tracing::warn!(server = %server.key, "{}", shown(&warning, secrets));
    }
    // What the server wants to be sent, it says now.
    connection.link.transport.learn(&listed);
    let pins = &server.offer.pins;
    let listed = ListedTexts { hello, listing: Arc::new(listed), suspected, secrets };
    let admitted = pins.admit(&server.key.name(), listed).await;
    let Admitted { offered: Offered { listing, listed }, hello: told, waiting } = admitted;
    if connection.options.wait_queue.as_ref().is_some_and(|room| room.rules.repeats) {
        connection.repeatable.learn(&listing);
    }
    // As it was written: what is withheld of it has to be known when it is shown again.
    let as_written = written.as_ref().map_or(&*listed, |it| &it.listing);
    server.remember(connection, (hello, as_written), &told);
    let tools = listing.tools().len();
    let running = Arc::clone(connection);
    let live = Live { connection: running, listing, listed, hello: told, written };
    // It may have been taken out of sight while its pins were read, and must not come back into it.
    if was_live && !server.connection().is_some_and(|now| Arc::ptr_eq(&now, connection)) {
        return;
    }
    // The order matters: the connection is there before the lists name it (`bump`).
    arrive(server, live);
    supervisor.offers.bump();
    server.update(|status| {
        status.tools = tools;
        status.waiting = waiting;
        status.state = State::Running;
        status.retry = None;
    });
}

/// A server that comes again is told what its predecessor knew.
fn catch_up(server: &Server, connection: &Arc<Connection>, hello: &ServerHello) {
    if let Some(before) = server.take_subscriptions() {
        connection.subscriptions.inherit(&before.subscriptions);
    }
    remind(connection, hello);
}

/// Tells a server that knows nothing of its clients the log level, and what they have subscribed
/// to. Its refusals concern nobody.
pub(in crate::upstream) fn remind(connection: &Connection, hello: &ServerHello) {
    let level = connection.audience.level().filter(|_| hello.logs && hello.era == Era::Legacy);
    // Relaxed: only `raise_level` reads it, whose `fetch_min` decides alone.
    connection.facts.told_level.store(level.map_or(u8::MAX, Level::number), Ordering::Relaxed);
    if let Some(level) = level {
        let params = format!("{{\"level\":\"{}\"}}", level.name());
        connection.link.mention("logging/setLevel", params.as_bytes());
    }
    for uri in connection.subscriptions.uris() {
        drop(connection.listens.follow(&connection.link, &uri));
    }
}

/// Lists again whatever the server says has changed.
pub(in crate::upstream) async fn follow_changes(
    server: Arc<Server>,
    connection: Arc<Connection>,
    hello: Arc<ServerHello>,
    supervisor: Supervisor,
) {
    loop {
        let has_changed = tokio::select! {
            has_changed = connection.changes.taken() => has_changed,
            () = undecided(&server) => {
                connection.changes.mark([]);
                continue;
            }
        };
        let Some(live) = server.live() else { return };
        let mut listing = Listing::clone(live.as_written().0);
        let known = supervisor.kinds().iter().copied();
        for kind in known.filter(|kind| has_changed(*kind)) {
            let instance = &supervisor.instance;
            match handshake::list(&connection, &hello, kind, instance).await {
                Ok(fresh) => listing.replace(kind, fresh),
                Err(error) => not_listed(&server, kind, &error),
            }
        }
        if connection.link.is_closed() {
            return; // it went while it was listing
        }
        let screened = screen(&server, &hello, listing).await;
        publish(&server, &connection, &hello, screened, &supervisor).await;
        if let Some(room) = server.wait_queue.clone() {
            room.let_in().await;
        }
        // A server that announces changes all the time is listed once a pause, not once a change.
        sleep(CHANGE_PAUSE).await;
    }
}

/// Resolves when it is time to try again to read what is pinned; never if that could be read.
async fn undecided(server: &Server) {
    match server.offer.pins.is_undecided() {
        true => sleep(PINS_RETRY).await,
        false => std::future::pending().await,
    }
}

fn not_listed(server: &Server, kind: ListKind, error: &HandshakeError) {
    match error {
        // Servers with resources and no templates often do not know the question.
        HandshakeError::Refused { .. } if kind == ListKind::Templates => {}
        HandshakeError::Silent(_) => {} // it has ended, and that is said elsewhere
        HandshakeError::Loop => {
            tracing::error!(server = %server.key, "{error}; it is left out; {LOOP_ADVICE}");
            server.signals.dismissed.cancel();
        }
        _ => {
            let why = shown(&error.to_string(), &server.definition.secrets);
            tracing::warn!(server = %server.key, "{} not read again: {why}", kind.member());
        }
    }
}
