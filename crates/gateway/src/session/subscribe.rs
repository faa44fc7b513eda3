//! `resources/subscribe` and `unsubscribe`: who subscribes is recorded here, so that a server is asked
//! once for all its clients.

use std::sync::Arc;

use trunkline_wire::decode;

use crate::era::Era;
use crate::error::CallError;
use crate::pump::FlushSet;
use crate::router::{Forward, ResourceAction};
use crate::session::request::{SessionRequest, absent};
use crate::session::waiting::{confirm_when_asked, retry_when_awake, retry_when_ready};
use crate::upstream::{Connection, State};

/// Records that the client subscribes to a resource, or does so no longer. True: the request needs
/// nothing more; false: it goes on to its server.
pub(super) fn settle(asked: &SessionRequest<'_>, to: &Forward<'_>, touched: &mut FlushSet) -> bool {
    if to.action == ResourceAction::Plain {
        return false;
    }
    let (server, connection) =
        (asked.snapshot.server(to.server), asked.snapshot.connection(to.server));
    if let Some(connection) = connection {
        let Some(uri) = decode(&to.token) else { return false };
        match subscribe(asked, to, connection, &uri) {
            Subscribed::PassOn => return false,
            Subscribed::Done => asked.answer(b"{}", touched),
            Subscribed::ServerAsked => confirm_when_asked(asked, connection, uri.into_owned()),
            Subscribed::Refused(error) => asked.refuse(&error, touched),
        }
        return true;
    }
    let Some(server) = server else { return false };
    // Subscriptions are recorded with the connection, and there is none yet.
    match server.status().state {
        _ if to.action != ResourceAction::Subscribe => asked.refuse(&absent(server), touched),
        State::Idle => retry_when_awake(asked, Arc::clone(server)),
        State::Initializing if asked.session.context.may_wait() => {
            retry_when_ready(asked, Arc::clone(server));
        }
        _ => asked.refuse(&absent(server), touched),
    }
    true
}

/// What is left to do once a subscription is recorded.
enum Subscribed {
    /// The client tells the server itself.
    PassOn,
    /// The server has been asked in its own way; the client may rely on it when it has taken that.
    ServerAsked,
    Done,
    Refused(CallError),
}

/// Records that the client subscribes to a resource, or does so no longer.
fn subscribe(
    asked: &SessionRequest<'_>,
    to: &Forward<'_>,
    connection: &Connection,
    uri: &str,
) -> Subscribed {
    let subscriptions = &connection.subscriptions;
    match to.action {
        ResourceAction::Plain => Subscribed::PassOn,
        ResourceAction::Subscribe => {
            let added = subscriptions.add(uri, asked.client, to.at.of(asked.message.bytes));
            let is_first = match added {
                Ok(is_first) => is_first,
                Err(error) => return Subscribed::Refused(error),
            };
            if connection.link.era() == Era::Legacy {
                return Subscribed::PassOn;
            }
            if is_first {
                drop(connection.listens.follow(&connection.link, uri));
            }
            Subscribed::ServerAsked
        }
        // Another client still subscribes: the server goes on telling.
        ResourceAction::Unsubscribe if !subscriptions.remove(uri, asked.client) => Subscribed::Done,
        ResourceAction::Unsubscribe if connection.link.era() == Era::Legacy => Subscribed::PassOn,
        ResourceAction::Unsubscribe => {
            connection.listens.unfollow(&connection.link, uri);
            Subscribed::Done
        }
    }
}
