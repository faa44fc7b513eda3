//! What is particular to requests that stand for themselves: revision 2026-07-28.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use memchr::memmem;
use trunkline_catalog::{ListKind, ToolRoute};
use trunkline_wire::{Id, Message, decode, elements, find, member, members};

use crate::call::{RequestEra, ResponseSink, Stateless};
use crate::era::Era;
use crate::error::CallError;
use crate::instance;
use crate::pump::FlushSet;
use crate::registry::Snapshot;
use crate::router::{Route, route};
use crate::session::asked::{refuse_in, unknown_method};
use crate::session::{Session, SessionRequest};

/// Where `_meta` says who asks.
const CLIENT_NAME: [&str; 2] = ["io.modelcontextprotocol/clientInfo", "name"];

impl Session {
    /// A request that stands for itself, among others of the same client.
    pub(super) fn take_stateless(
        self: &Arc<Self>,
        message: &Message<'_>,
        door: &ResponseSink,
        snapshot: &Snapshot,
        touched: &mut FlushSet,
    ) {
        let manner = match Stateless::read(message, &self.principal) {
            Ok(how) => RequestEra::Stateless(how),
            Err(error) => return refuse_in(Era::Modern, message.id(), &error, door, touched),
        };
        let (id, client) = (Id::new(message.id()), &self.client);
        self.request_alone(
            SessionRequest { message, id, door, snapshot, client, manner: &manner },
            touched,
        );
    }

    pub(super) fn request_alone(
        self: &Arc<Self>,
        asked: SessionRequest<'_>,
        touched: &mut FlushSet,
    ) {
        let SessionRequest { message, snapshot, .. } = asked;
        let is_first = !self.declared.load(Ordering::Relaxed);
        if is_first && !self.declared.swap(true, Ordering::Relaxed) {
            self.context.declared.settle(message.text(message.params.meta_capabilities));
        }
        if let Some(at) = message.params.input_responses
            && !at.of(message.bytes).starts_with(b"{")
        {
            let why = "`inputResponses` is no object".to_owned();
            return asked.refuse(&CallError::InvalidParams(why), touched);
        }
        if let (Some(_), RequestEra::Stateless(how)) = (message.params.request_state, asked.manner)
            && !asked.client.is_open(&asked.id)
            && let Some(error) = self.context.registry.parking.failed(message, how)
        {
            return asked.refuse(&error, touched);
        }
        let method = message.method();
        if *method == *b"tools/call"
            && let Ok(Route::Call(owner)) = route(message, &snapshot.catalog)
        {
            return self.call(asked, owner, touched);
        }
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

    /// Which revisions are spoken here, and what can be had. It waits for no server: clients that hear nothing
    /// for three seconds take us for one of the older era, and some remember that for days.
    fn discover(&self, asked: &SessionRequest<'_>, touched: &mut FlushSet) {
        let message = asked.message;
        let name = message.params.meta.and_then(|meta| find(message.bytes, meta, &CLIENT_NAME));
        let name = name.and_then(|at| decode(at.of(message.bytes)));
        tracing::debug!(client = ?name, "a client asks who this is");
        self.advise(name.as_deref());
        let context = &self.context;
        let instructions = context.view.instructions();
        let extensions = context.view.extensions();
        let meta = self.own_meta(asked, true);
        asked.answer(&context.face.discover_result(&instructions, &extensions, &meta), touched);
    }

    /// What stands in `_meta` of our own results. `tells`: one of our kind learns here who can be
    /// reached.
    pub(super) fn own_meta(&self, asked: &SessionRequest<'_>, tells: bool) -> Vec<u8> {
        let instances = match tells && instance::is_asked_for(asked.message) {
            true => self.context.registry.instances(),
            false => Vec::new(),
        };
        self.context.face.meta(&instances)
    }

    fn list_alone(
        self: &Arc<Self>,
        kind: ListKind,
        asked: &SessionRequest<'_>,
        touched: &mut FlushSet,
    ) {
        if self.may_wait() && !self.context.registry.is_settled() {
            self.list_when_ready(kind, asked);
        } else {
            self.send_list_alone(kind, asked, touched);
        }
    }

    /// Sends the list of this moment, with what is to be known about it.
    pub(super) fn send_list_alone(
        &self,
        kind: ListKind,
        asked: &SessionRequest<'_>,
        touched: &mut FlushSet,
    ) {
        let snapshot = self.context.view.snapshot();
        let list = snapshot.catalog.list(kind);
        self.given.lock().set(kind, list);
        self.prepare_search(&snapshot);
        let shown = shown(list, |tool| needs_old_task(tool, &snapshot));
        let hint = snapshot.catalog.cache(kind);
        // Servers that are not there yet will change it.
        let lasts = if self.context.registry.is_settled() { hint.ttl_ms } else { 0 };
        let private = hint.private || self.context.private;
        let scope = if private { "private" } else { "public" };
        let head = [
            br#"{"jsonrpc":"2.0","id":"#,
            asked.message.id(),
            br#","result":{"resultType":"complete","#,
            format!(r#""ttlMs":{lasts},"cacheScope":"{scope}","_meta":"#).as_bytes(),
            &self.own_meta(asked, kind == ListKind::Tools),
            b",",
        ]
        .concat();
        // Its opening brace stands in the head already.
        if !asked.door.answer_shared(&head, &shown.slice(1.min(shown.len())..), b"}", touched) {
            tracing::debug!("a list found its client gone");
        }
    }
}

/// Word of a tool that it can only be called as a task, in its definition.
const TASKS: [&str; 2] = ["execution", "taskSupport"];

/// The list without the entries that `hidden` names. Few lists have any.
fn shown(list: &Bytes, hidden: impl Fn(&[u8]) -> bool) -> Bytes {
    let [_, key] = TASKS;
    if memmem::find(list, key.as_bytes()).is_none() {
        return list.clone();
    }
    let Some((_, at)) = members(list).next() else { return list.clone() };
    let entries = at.of(list);
    let kept: Vec<&[u8]> =
        elements(entries).map(|at| at.of(entries)).filter(|entry| !hidden(entry)).collect();
    let before = list.get(..at.start()).unwrap_or_default();
    let after = list.get(at.end()..).unwrap_or_default();
    [before, b"[", &kept.join(&b","[..]), b"]", after].concat().into()
}

/// Can this tool only be called in a way that the revision before had? Tasks are an extension since,
/// and another one.
fn needs_old_task(tool: &[u8], snapshot: &Snapshot) -> bool {
    let [execution, support] = TASKS;
    let support = member(tool, execution).and_then(|execution| member(execution, support));
    if support.and_then(decode).as_deref() != Some("required") {
        return false;
    }
    let name = member(tool, "name").and_then(decode).unwrap_or_default();
    let Some(ToolRoute::Server(owner)) = snapshot.catalog.route(&name) else { return false };
    let connection = snapshot.connection(owner.server);
    connection.is_some_and(|connection| connection.link.era() == Era::Legacy)
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
    fn what_cannot_be_called_is_not_shown() {
        for (list, expected) in [
            (r#"{"tools":[]}"#, r#"{"tools":[]}"#),
            (r#"{"tools":[{"n":"x"}, {"n":1.0}]}"#, r#"{"tools":[{"n":"x"}, {"n":1.0}]}"#),
            (
                r#"{"tools":[{"taskSupport":1},{"n":"x"},{ "n":1.0 }]}"#,
                r#"{"tools":[{"taskSupport":1},{ "n":1.0 }]}"#,
            ),
            (r#"{"tools":[{"n":"x","taskSupport":1}]}"#, r#"{"tools":[]}"#),
        ] {
            let list = Bytes::from_static(list.as_bytes());
            let got = shown(&list, |entry| member(entry, "n") == Some(b"\"x\""));
            assert_eq!(String::from_utf8(got.to_vec()).unwrap(), expected);
        }
    }

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
