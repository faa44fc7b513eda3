//! What happens to the open calls of a server that is replaced by another process: they may end first.

use tokio::time::{Instant, sleep};

use crate::limits::{END_OF_INPUT, LEAVING_LOOK};
use crate::upstream::connection::Connection;
use crate::upstream::lifecycle::server::Server;
use crate::upstream::lifecycle::supervisor::{End, Supervisor};

/// May the calls of a life that ends like this end first? Not those of a server that has failed, nor of one whose
/// clients have gone.
pub(in crate::upstream) fn lets_calls_end(server: &Server, end: &End) -> bool {
    match end {
        End::Restarted => true,
        End::Stopped => server.signals.has_successor(),
        End::Failed(_) | End::OtherWay | End::Idle => false,
    }
}

/// Resolves when no call is open, as many seconds after as a runtime gives them at its end, or when the gateway ends.
pub(in crate::upstream) async fn drained(connection: &Connection, supervisor: &Supervisor) {
    let until = Instant::now() + END_OF_INPUT.drain;
    let over = async {
        // Polled, as in `fleet/retired`: few servers are replaced, and a notification would slow every call.
        while connection.link.open_calls() > 0 && Instant::now() < until {
            sleep(LEAVING_LOOK).await;
        }
    };
    tokio::select! {
        () = over => {}
        _ = supervisor.gateway_ends() => {}
    }
}
