//! What callers are shown of a server is made anew: its policy has changed, or somebody has decided on definitions.

use trunkline_catalog::config::OnChange;

use crate::pins::PinnedEntry;
use crate::upstream::lifecycle::server::Server;

/// Changes what happens when the definitions of a server do; what it lists is looked at by that.
pub(crate) fn set_on_change(server: &Server, on_change: Option<OnChange>) {
    if server.offer.pins.set_policy(on_change) {
        reconsider_pins(server);
    }
}

/// Somebody may have decided something about definitions of a server: what callers are shown is made anew.
pub(crate) fn reconsider_pins(server: &Server) {
    match server.connection() {
        // By the task that follows its changes: it alone makes known what a running server lists.
        Some(connection) => connection.changes.mark([]),
        None => server.offer.reconsider_remembered(&server.spec(), &server.services),
    }
}

/// What the pins of a server belong to.
pub(crate) fn pinned_entry(server: &Server) -> PinnedEntry {
    server.offer.pins.entry().clone()
}
