//! What is particular to requests that stand for themselves: revision 2026-07-28.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use trunkline_catalog::ListKind;
use trunkline_wire::{Id, Message, decode, find};

use crate::call::{Door, Manner, Payload, Stateless};
use crate::era::Era;
use crate::error::CallError;
use crate::instance;
use crate::pump::Touched;
use crate::registry::Snapshot;
use crate::router::{Route, route};
use crate::session::asked::unknown_method;
use crate::session::{Asked, Session};

/// Where `_meta` says who asks.
const CLIENT_NAME: [&str; 2] = ["io.modelcontextprotocol/clientInfo", "name"];

impl Session {
    /// A request that stands for itself, among others of the same client.
    pub(super) fn take_stateless(
        self: &Arc<Self>,
        message: &Message<'_>,
        door: &Door,
        snapshot: &Snapshot,
        touched: &mut Touched,
    ) {
        let manner = match Stateless::read(message, &self.principal) {
            Ok(how) => Manner::Stateless(how),
            Err(error) => {
                let response = Payload::Owned(error.response_in(Era::Modern, message.id()));
                let code = i64::from(error.code_in(Era::Modern));
                door.refuse(code, response, &trunkline_wire::Edits::new(), touched);
                return;
            }
        };
        let (id, client) = (Id::new(message.id()), &self.client);
        self.request_alone(
            Asked { message, id, door, snapshot, client, manner: &manner },
            touched,
        );
    }

    pub(super) fn request_alone(self: &Arc<Self>, asked: Asked<'_>, touched: &mut Touched) {
        let Asked { message, snapshot, .. } = asked;
        if !self.declared.swap(true, Ordering::Relaxed) {
            self.context.declared.settle(message.text(message.params.meta_capabilities));
        }
        let method = message.method();
        if is_removed(&method) {
            return asked.refuse(&unknown_method(message), touched);
        }
        if asked.client.is_open(&asked.id) {
            return asked.refuse(&CallError::duplicate_id(), touched);
        }
        match &*method {
            b"server/discover" => return self.discover(&asked, touched),
            b"subscriptions/listen" => return self.listen(&asked, touched),
            _ => {}
        }
        match route(message, &snapshot.catalog) {
            Ok(Route::List(kind)) => self.list_alone(kind, &asked, touched),
            Ok(route) => self.carry_out(asked, route, touched),
            Err(error) => asked.refuse(&self.explained(error, message), touched),
        }
    }

    /// Which revisions are spoken here, and what can be had.
    fn discover(self: &Arc<Self>, asked: &Asked<'_>, touched: &mut Touched) {
        let message = asked.message;
        let name = message.params.meta.and_then(|meta| find(message.bytes, meta, &CLIENT_NAME));
        let name = name.and_then(|at| decode(at.of(message.bytes)));
        tracing::debug!(client = ?name, "a client asks who this is");
        self.advise(name.as_deref());
        // Gateways that wait for each other would wait until one gives up.
        let at_once = instance::is_asked_for(message) || self.context.registry.is_settled();
        if at_once || !self.may_wait() {
            self.introduce(asked, touched);
        } else {
            self.introduce_when_ready(asked);
        }
    }

    /// The answer to `server/discover`.
    pub(super) fn introduce(&self, asked: &Asked<'_>, touched: &mut Touched) {
        let context = &self.context;
        let instructions = context.view.instructions();
        let extensions = context.registry.extensions();
        let meta = self.own_meta(asked);
        asked.answer(&context.face.discover_result(&instructions, &extensions, &meta), touched);
    }

    /// What stands in `_meta` of our own results.
    fn own_meta(&self, asked: &Asked<'_>) -> Vec<u8> {
        let instances = match instance::is_asked_for(asked.message) {
            true => self.context.registry.instances(),
            false => Vec::new(),
        };
        self.context.face.meta(&instances)
    }

    fn list_alone(self: &Arc<Self>, kind: ListKind, asked: &Asked<'_>, touched: &mut Touched) {
        if self.may_wait() && !self.context.registry.is_settled() {
            self.list_when_ready(kind, asked);
        } else {
            self.send_list_alone(kind, asked, touched);
        }
    }

    /// Sends the list of this moment, with what is to be known about it.
    pub(super) fn send_list_alone(&self, kind: ListKind, asked: &Asked<'_>, touched: &mut Touched) {
        let snapshot = self.context.view.snapshot();
        let list = snapshot.catalog.list(kind);
        self.given.lock().set(kind, list);
        let hint = snapshot.catalog.cache(kind);
        // Servers that are not there yet will change it.
        let lasts = if self.context.registry.is_settled() { hint.ttl_ms } else { 0 };
        let scope = if hint.private { "private" } else { "public" };
        let head = [
            br#"{"jsonrpc":"2.0","id":"#,
            asked.message.id(),
            br#","result":{"resultType":"complete","#,
            format!(r#""ttlMs":{lasts},"cacheScope":"{scope}","_meta":"#).as_bytes(),
            &self.own_meta(asked),
            b",",
        ]
        .concat();
        // Its opening brace stands in the head already.
        if !asked.door.answer_shared(&head, &list.slice(1.min(list.len())..), b"}", touched) {
            tracing::debug!("a list found its client gone");
        }
    }
}

/// What earlier revisions have and this one does not. No server is asked for it.
fn is_removed(method: &[u8]) -> bool {
    let removed: [&[u8]; 5] = [
        b"initialize",
        b"ping",
        b"logging/setLevel",
        b"resources/subscribe",
        b"resources/unsubscribe",
    ];
    removed.contains(&method) || method.starts_with(b"notifications/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_gone_is_nobodys() {
        for (method, expected) in [
            ("initialize", true),
            ("ping", true),
            ("logging/setLevel", true),
            ("resources/subscribe", true),
            ("resources/unsubscribe", true),
            ("notifications/initialized", true),
            ("tools/call", false),
            ("resources/read", false),
            ("server/discover", false),
            ("subscriptions/listen", false),
            ("unknown/method", false),
        ] {
            assert_eq!(is_removed(method.as_bytes()), expected, "{method}");
        }
    }
}
