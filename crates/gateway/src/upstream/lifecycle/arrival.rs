//! How a server comes into sight: the calls that have waited for it go first, in the order in which they came.

use crate::upstream::lifecycle::offer::Live;
use crate::upstream::lifecycle::outdated::OutdatedTools;
use crate::upstream::lifecycle::server::Server;

/// How often it is looked whether further calls have come to wait. Each look sends them all.
// Without an end, clients that call faster than calls are handed on would keep the server out of sight.
const MOST_LOOKS: usize = 100;

/// It is there and lists this. Calls that were made by an older definition of their tool are not sent.
pub(in crate::upstream) fn arrive(server: &Server, live: Live) {
    let outdated = match server.offer.kept() {
        Some(shown) => OutdatedTools::between(&shown, &live.listing),
        None => OutdatedTools::default(),
    };
    if let Some(queue) = &server.wait_queue {
        refuse_outdated(server, &outdated);
        queue.welcome(&live.connection);
    }
    for look in 0..=MOST_LOOKS {
        let mut held = server.offer.live.lock();
        // Looked at under the lock: a client that finds no connection before it is released waits in the queue, and
        // then sends what waits there by itself.
        let waits = server.wait_queue.as_ref().is_some_and(|queue| !queue.may_be_passed());
        if !waits || look == MOST_LOOKS {
            let before = held.replace(live);
            drop(held);
            server.note_before(before);
            break;
        }
        drop(held); // the locks of whole calls are taken next
        refuse_outdated(server, &outdated);
        if let Some(queue) = &server.wait_queue {
            queue.release_now();
        }
    }
    // Only now: what was kept is listed until the server is in sight.
    *server.offer.kept.lock() = None;
    *server.offer.given_up.lock() = None;
}

fn refuse_outdated(server: &Server, outdated: &OutdatedTools) {
    let queue = server.wait_queue.as_ref().filter(|_| !outdated.is_empty());
    if let Some(queue) = queue {
        queue.refuse(|tool| outdated.refusal(&server.key.name(), tool));
    }
}
