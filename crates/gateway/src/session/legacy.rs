//! What is particular to the era that opens with `initialize`: revisions 2024-11-05 to 2025-11-25.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use trunkline_catalog::ListKind;
use trunkline_wire::{Message, Revision, decode, member};

use crate::call::Level;
use crate::era::Era;
use crate::error::CallError;
use crate::instance;
use crate::pump::FlushSet;
use crate::router::{Route, route};
use crate::session::Session;
use crate::session::asked::{SessionRequest, unknown_method};
use crate::session::forward::absent;
use crate::session::unknown::Way;
use crate::upstream::passed_on;

impl Session {
    /// A request made in a session.
    pub(super) fn request(self: &Arc<Self>, asked: SessionRequest<'_>, touched: &mut FlushSet) {
        let SessionRequest { message, snapshot, .. } = asked;
        if !self.has_joined() {
            match self.context.face.simple {
                true => self.join(), // it knows one era, and takes everything
                false if may_come_first(message) => {}
                false => return asked.refuse(&CallError::NoEra, touched),
            }
        }
        let route = match route(message, &snapshot.catalog) {
            Ok(route) => route,
            Err(error) => return asked.refuse(&self.explained(error, message), touched),
        };
        if let Route::Call(owner) = route {
            return self.call(asked, owner, touched);
        }
        if !matches!(route, Route::Initialize | Route::Ping) {
            // Whoever asks without having said what it can do can do nothing.
            self.context.declared.settle(b"{}");
        }
        if asked.client.is_open(&asked.id) {
            return asked.refuse(&CallError::duplicate_id(), touched);
        }
        match route {
            Route::Initialize => self.initialize(&asked, touched),
            Route::Ping => asked.answer(b"{}", touched),
            Route::List(ListKind::Tools) => self.list(&asked, ListKind::Tools, touched),
            Route::UnknownTool(name) => self.call_unknown(&asked, &name, Way::Directly, touched),
            _ if self.context.face.simple => asked.refuse(&unknown_method(message), touched),
            Route::List(kind) => self.list(&asked, kind, touched),
            Route::SetLevel(level) => self.set_level(&asked, level, touched),
            route => self.carry_out(asked, route, touched),
        }
    }

    /// What goes on to a server, whatever era its client is of.
    pub(super) fn carry_out(
        self: &Arc<Self>,
        asked: SessionRequest<'_>,
        route: Route<'_>,
        touched: &mut FlushSet,
    ) {
        match route {
            Route::Call(owner) => self.call(asked, owner, touched),
            Route::UnknownTool(name) => self.call_unknown(&asked, &name, Way::Directly, touched),
            Route::UnknownBehind(name) => self.call_unknown(&asked, &name, Way::Through, touched),
            Route::Seek(seek) => self.seek(&asked, seek),
            Route::Mistaken { about, why } => {
                self.mistaken(&asked, about.as_deref(), why, touched);
            }
            Route::Subtool(subtool) => self.call_subtool(asked, &subtool, touched),
            Route::Forward(to) => self.forward(asked, &to, touched),
            Route::Missing(error) => self.miss(&asked, &error, touched),
            Route::Other => self.unknown(asked, touched),
            // Answered here, each in its own era.
            Route::Initialize | Route::Ping | Route::List(_) | Route::SetLevel(_) => {
                asked.refuse(&unknown_method(asked.message), touched);
            }
        }
    }

    /// What is wrong with a request, as far as this session knows.
    pub(super) fn explained(&self, error: CallError, message: &Message<'_>) -> CallError {
        let servers = self.context.registry.servers();
        match &error {
            CallError::ServerAbsent { server, .. } => {
                let server = servers.iter().find(|known| known.key.is_called(server));
                server.map_or(error, |server| absent(server))
            }
            // Of methods the simple product does not have, nothing can be wrong.
            CallError::InvalidParams(_) if self.context.face.simple => match &*message.method() {
                b"tools/call" | b"tools/list" | b"initialize" => error,
                _ => unknown_method(message),
            },
            _ => error,
        }
    }

    fn list(self: &Arc<Self>, asked: &SessionRequest<'_>, kind: ListKind, touched: &mut FlushSet) {
        if self.may_wait() && !self.context.registry.is_settled() {
            self.list_when_ready(kind, asked);
        } else {
            self.send_list(kind, asked, touched);
        }
    }

    /// Sends the list of this moment and remembers that the client knows it.
    pub(super) fn send_list(
        &self,
        kind: ListKind,
        asked: &SessionRequest<'_>,
        touched: &mut FlushSet,
    ) {
        let snapshot = self.context.view.snapshot();
        let list = snapshot.catalog.list(kind);
        self.told.lock().set(kind, list);
        self.prepare_search(&snapshot);
        let id = asked.message.id();
        let mut head = [br#"{"jsonrpc":"2.0","id":"#, id, br#","result":"#].concat();
        let mut body = list.clone();
        if kind == ListKind::Tools && self.kin.load(Ordering::Relaxed) && !list.is_empty() {
            head.extend_from_slice(br#"{"_meta":{"trunkline/instances":"#);
            head.extend_from_slice(&self.context.registry.instances());
            head.extend_from_slice(b"},");
            body = list.slice(1.min(list.len())..); // its opening brace stands in the head already
        }
        if !asked.door.answer_shared(&head, &body, b"}", touched) {
            tracing::debug!("a list found its client gone");
        }
    }

    fn initialize(self: &Arc<Self>, asked: &SessionRequest<'_>, touched: &mut FlushSet) {
        let message = asked.message;
        let params = message.text(message.params.span);
        let Some(revision) = member(params, "protocolVersion").and_then(decode) else {
            let why = "initialize needs `protocolVersion`, a string".to_owned();
            return asked.refuse(&CallError::InvalidParams(why), touched);
        };
        let agreed = Revision::negotiate(&revision);
        self.join();
        self.batches.store(agreed.allows_batches(), Ordering::Relaxed);
        let capabilities = member(params, "capabilities").unwrap_or_default();
        let info = member(params, "clientInfo").unwrap_or_default();
        self.client.declares(capabilities);
        self.client.introduces_itself(info, &passed_on(capabilities));
        self.context.declared.settle(capabilities);
        let name = member(info, "name").and_then(decode);
        let version = member(info, "version").and_then(decode).unwrap_or_default();
        tracing::debug!(client = ?name, %version, revision = agreed.as_str(), "a client says hello");
        self.advise(name.as_deref());
        let kin = !self.context.face.simple && instance::is_asked_for(message);
        self.kin.store(kin, Ordering::Relaxed);
        self.welcome(agreed, asked, touched);
    }

    /// The answer to `initialize`. It waits for no server: clients give up on one that is slow to answer, and
    /// what servers say of themselves is remembered.
    fn welcome(&self, agreed: Revision, asked: &SessionRequest<'_>, touched: &mut FlushSet) {
        let instances = match self.kin.load(Ordering::Relaxed) {
            true => self.context.registry.instances(),
            false => Vec::new(),
        };
        let instructions = match self.context.face.simple {
            true => String::new(),
            false => self.context.view.instructions(),
        };
        let face = &self.context.face;
        asked.answer(&face.initialize_result(agreed, &instructions, &instances), touched);
    }

    /// The client wants to hear what servers log from this level on.
    fn set_level(&self, asked: &SessionRequest<'_>, level: Level, touched: &mut FlushSet) {
        let audience = &self.context.registry.audience;
        let before = audience.level();
        self.client.set_level(level);
        let now = audience.level();
        if let Some(now) = now.filter(|_| now != before) {
            let params = format!("{{\"level\":\"{}\"}}", now.name());
            for live in self.context.registry.servers().iter().filter_map(|server| server.live()) {
                if live.hello.logs && live.connection.link.era() == Era::Legacy {
                    live.connection.link.mention("logging/setLevel", params.as_bytes());
                }
            }
        }
        asked.answer(b"{}", touched);
    }
}

/// May this request come without `_meta` before a session is open? Only `initialize` and `ping` may
/// (2025-11-25, Lifecycle, Initialization); in revision 2026-07-28 a request without its version in `_meta`
/// is malformed (Overview, General fields).
fn may_come_first(message: &Message<'_>) -> bool {
    matches!(&*message.method(), b"initialize" | b"ping")
}
