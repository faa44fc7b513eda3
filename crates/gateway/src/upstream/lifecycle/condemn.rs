//! What people and health checks decide about the life that a server has, and not about the next.

use std::sync::Arc;

use crate::upstream::connection::Connection;
use crate::upstream::lifecycle::server::Server;
use crate::upstream::lifecycle::signals::LifeVerdict;

/// Ends the life that a server has now, for this reason. False: it has none, and is being tried or sleeps.
pub(crate) fn condemn(server: &Server, verdict: LifeVerdict) -> bool {
    let Some(connection) = server.connection() else { return false };
    end(server, &connection, verdict);
    true
}

/// Ends this life of a server. A verdict that comes when the next one is up is dropped.
pub(crate) fn condemn_life(server: &Server, life: u64, verdict: LifeVerdict) {
    match current(server, life) {
        Some(connection) => end(server, &connection, verdict),
        None => {
            tracing::debug!(server = %server.key, "what was decided of an earlier life is dropped");
        }
    }
}

/// Whether this life of a server fails its health checks.
pub(crate) fn set_failing(server: &Server, life: u64, is_failing: bool) {
    if let Some(connection) = current(server, life) {
        connection.health.set_failing(is_failing);
    }
}

/// The connection that a server has, if it is of this life.
fn current(server: &Server, life: u64) -> Option<Arc<Connection>> {
    server.connection().filter(|connection| connection.health.life() == life)
}

fn end(server: &Server, connection: &Connection, verdict: LifeVerdict) {
    connection.health.condemn();
    server.signals.condemn(connection.health.life(), verdict);
}
