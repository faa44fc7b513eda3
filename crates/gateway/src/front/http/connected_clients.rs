//! `ConnectedClients`: the clients of the front at this moment, for the control plane.

use std::fmt;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Instant;

use trunkline_wire::{decode, member};

use crate::call::Client;
use crate::front::http::front::Front;

/// A handle that is given to the front before it runs; all clones look at the same front.
#[derive(Clone, Default)]
pub struct ConnectedClients(Arc<OnceLock<Weak<Front>>>);

impl fmt::Debug for ConnectedClients {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ConnectedClients")
    }
}

/// A client. Moments are told to the second.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectedClient {
    pub transport: ClientTransport,
    /// The name and version it gives itself.
    pub name: Option<String>,
    pub version: Option<String>,
    /// The revision that was agreed on; of a session only.
    pub revision: Option<&'static str>,
    /// `Pass::label` of its caller.
    pub label: Option<Arc<str>>,
    /// When it came, where that is known.
    pub since: Option<Instant>,
    /// When it was last heard of.
    pub heard: Instant,
    pub open_calls: usize,
}

/// How a client is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientTransport {
    /// A session of `/mcp`.
    Session,
    /// A stream of `/sse`.
    Sse,
    /// Requests that stand for themselves; it is remembered for a while after the last.
    Stateless,
}

impl ConnectedClients {
    pub(crate) fn watch(&self, front: &Arc<Front>) {
        // An error means that it is set: a handle belongs to one front.
        drop(self.0.set(Arc::downgrade(front)));
    }

    /// All clients, in no order. Empty where nothing is served.
    pub fn all(&self) -> Vec<ConnectedClient> {
        let Some(front) = self.0.get().and_then(Weak::upgrade) else { return Vec::new() };
        let moment = |then: u32| front.clock.moment(then);
        let now = moment(front.clock.now());
        let sessions = front.sessions.all_http().into_iter().map(|session| ConnectedClient {
            revision: Some(session.agreed.as_str()),
            since: Some(moment(session.began)),
            heard: moment(session.last_heard()),
            label: session.owner.pass().map(|pass| Arc::clone(&pass.label)),
            ..described(ClientTransport::Session, &session.session.client, now)
        });
        let streams = front.sessions.all_sse().into_iter().map(|stream| ConnectedClient {
            since: Some(moment(stream.began)),
            label: stream.owner.pass().map(|pass| Arc::clone(&pass.label)),
            ..described(ClientTransport::Sse, &stream.session.client, now)
        });
        let callers = front.contexts.callers().into_iter().map(|(session, seen)| ConnectedClient {
            heard: moment(seen),
            label: session.caller.as_ref().map(|pass| Arc::clone(&pass.label)),
            ..described(ClientTransport::Stateless, &session.client, now)
        });
        sessions.chain(streams).chain(callers).collect()
    }

    /// A number that changes with every arrival and departure.
    pub fn turnover(&self) -> u64 {
        let Some(front) = self.0.get().and_then(Weak::upgrade) else { return 0 };
        front.sessions.turnover().wrapping_add(front.contexts.turnover())
    }
}

fn described(way: ClientTransport, client: &Client, now: Instant) -> ConnectedClient {
    let info = client.info();
    let word = |key: &str| {
        let text = member(&info, key).and_then(decode)?;
        // The client's own text, shown to operators: no control characters, not too long.
        let shown: String = text.chars().filter(|c| !c.is_control()).take(LONGEST_WORD).collect();
        Some(shown).filter(|shown| !shown.is_empty())
    };
    ConnectedClient {
        transport: way,
        name: word("name"),
        version: word("version"),
        revision: None,
        label: None,
        since: None,
        heard: now,
        open_calls: client.open_calls().len(),
    }
}

const LONGEST_WORD: usize = 100;
