//! What callers are shown of a server is made anew: its policy has changed, or somebody has decided on definitions.

use trunkline_catalog::config::OnChange;
use trunkline_catalog::scan::ScanMode;

use crate::pins::PinnedEntry;
use crate::upstream::lifecycle::server::Server;

/// Changes what happens when the definitions of a server do; what it lists is looked at by that.
/// True: it was another one before.
pub(crate) fn set_on_change(server: &Server, on_change: Option<OnChange>) -> bool {
    let is_changed = server.offer.pins.set_policy(on_change);
    if is_changed {
        reconsider_pins(server);
    }
    is_changed
}

/// Is what it says to models held until somebody approves it?
pub(crate) fn holds_texts(server: &Server) -> bool {
    server.offer.pins.on_change().unwrap_or_default() == OnChange::Hold
        || server.definition.scan.mode() == ScanMode::Hold
}

/// Somebody may have decided something about definitions of a server: what callers are shown is made anew.
pub(crate) fn reconsider_pins(server: &Server) {
    match server.connection() {
        // By the task that follows its changes: it alone makes known what a running server lists.
        Some(connection) => connection.changes.mark([]),
        None => server.offer.reconsider_remembered(&server.spec()),
    }
}

/// A server that was given up is going to be tried because a person wants it: what it offered is listed again, and
/// whoever calls it waits. True: the lists have changed.
pub(crate) fn expect_anew(server: &Server) -> bool {
    let room = server.wait_queue.as_ref().filter(|room| room.rules.waits_for_restart);
    let Some(room) = room.filter(|_| server.connection().is_none()) else { return false };
    let Some(offered) = server.offer.given_up.lock().take() else { return false };
    server.offer.kept.lock().get_or_insert(offered);
    // On the thread of its supervisor, so that it does not come back in between.
    if !room.takes_calls() {
        room.open();
    }
    // Somebody may have decided something about its definitions since it was given up.
    reconsider_pins(server);
    true
}

/// What the pins of a server belong to.
pub(crate) fn pinned_entry(server: &Server) -> PinnedEntry {
    server.offer.pins.entry().clone()
}
