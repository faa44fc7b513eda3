//! What becomes of a request that was not answered: it is sent again where it cannot have run, or
//! whoever waits for it learns why.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use trunkline_catalog::ListKind;
use trunkline_http::proxy::ChosenProxy;
use trunkline_wire::{member, scan};

use crate::call::Payload;
use crate::limits::{MOST_TRIES, REFUSAL_QUOTED, REOPEN_FIRST, REOPEN_LONGEST};
use crate::pump::FlushSet;
use crate::upstream::calls::pending::{Entry, Waiter};
use crate::upstream::connection::heading;
use crate::upstream::http::pool::{Gate, Listening};
use crate::upstream::http::slot::{Exchange, Purpose, Slot};
use crate::upstream::http::transport::HttpTransport;
use crate::upstream::http::trouble::Trouble;
use crate::upstream::http::verdict::{
    Dialect, Facts, Ruling, Verdict, changed_era, maybe_legacy, maybe_older, pause, redirected,
    rule, seconds,
};
use crate::upstream::lifecycle::supervisor::varied;
use crate::upstream::shown::shown;

/// How the header fields of a call begin.
const CALLS_TOOL: &[u8] = b"Mcp-Method: tools/call\r\n";

/// A request that cannot be sent for reasons of its connection is tried on so many others.
const MOST_UNSENT: u8 = 3;

impl HttpTransport {
    /// The server refuses a request; `body` says why.
    pub(super) fn refused(
        &self,
        slot: &Arc<Slot>,
        facts: &Facts,
        body: &[u8],
        touched: &mut FlushSet,
    ) {
        let in_session = self.connections.pool.lock().session.covers(facts.session);
        let Some(mut exchange) = self.connections.release(slot, facts.keep, touched) else {
            return;
        };
        if facts.status == 407
            && let Some(proxy) = self.forwarder()
        {
            // RFC 9110, 15.5.8: the proxy has said so, and passed on nothing.
            return self.fail(exchange, Trouble::proxy_login(&proxy), false, touched);
        }
        match facts.verdict {
            Verdict::Redirect => {
                let url = self.connections.url();
                match redirected(&url, facts.location.as_deref(), exchange.hops) {
                    Ok(url) => {
                        exchange.hops += 1;
                        // Later requests go there at once. The origin is the same: `redirected`
                        // follows no other.
                        self.connections.pool.lock().session.move_to(url);
                        self.connections.start(exchange, touched);
                    }
                    Err(what) => {
                        let trouble = Trouble::new(what, "set `url` to where it leads");
                        self.fail(exchange, trouble, false, touched);
                    }
                }
            }
            _ if exchange.purpose.is_stream() => {
                self.stream_refused(exchange, facts, body, in_session, touched);
            }
            Verdict::Later => self.busy(exchange, facts, touched),
            // It may only be unwell: that says nothing about its era.
            _ if is_probe(self.dialect, &exchange) && matches!(facts.status, 500 | 501) => {
                exchange.delays += 1;
                self.connections.delay(exchange, REOPEN_FIRST);
            }
            Verdict::Compressed => {
                let what = "answers compressed, which was not asked for";
                self.fail(exchange, Trouble::new(what, ""), true, touched);
            }
            Verdict::WrongType => {
                let content_type = facts.content_type.as_deref().unwrap_or("nothing");
                let what = format!("answers with {content_type} where JSON or events belong");
                let advice = match exchange.purpose {
                    Purpose::Initialize(_) => "check the path in `url`".to_owned(),
                    _ => String::new(),
                };
                let trouble = Trouble { advice, ..self.not_mcp(what, facts, body) };
                self.fail(exchange, trouble, true, touched);
            }
            _ => {
                let ruling = match changed_era(self.dialect, exchange.purpose, facts.status, body) {
                    true => Ruling::OtherEra,
                    false => rule(exchange.purpose, facts.status, in_session, body),
                };
                self.ruled(exchange, ruling, facts, body, touched);
            }
        }
    }

    fn ruled(
        &self,
        exchange: Exchange,
        ruling: Ruling,
        facts: &Facts,
        body: &[u8],
        touched: &mut FlushSet,
    ) {
        let status = facts.status;
        match ruling {
            Ruling::Deliver if is_mismatch(&exchange, body) => self.list_first(exchange, body),
            Ruling::Deliver => {
                self.answered(exchange.purpose, Payload::Borrowed(body.trim_ascii()), touched);
            }
            Ruling::SessionLost => self.lost_session(exchange, touched),
            Ruling::OtherEra => {
                let trouble = Trouble::new("does not speak as it did before", "");
                self.connections.give_up(Trouble { not_this_way: true, ..trouble.clone() });
                self.fail(exchange, trouble, false, touched);
            }
            Ruling::Unauthorized => {
                let Some(exchange) = self.introduce(exchange, facts, touched) else { return };
                let what = format!("needs authorization (HTTP {status}){}", self.by_way());
                let advice = "set `headers` in its config, for example `Authorization`; if they \
                              are set, check the token";
                self.fail(exchange, Trouble::new(what, advice), false, touched);
            }
            Ruling::Nothing => {
                let what = format!("has no MCP endpoint at this address (HTTP {status})");
                let advice = "check the path in `url`".to_owned();
                let trouble = Trouble { advice, ..self.not_mcp(what, facts, body) };
                self.fail(exchange, trouble, false, touched);
            }
            Ruling::Other => {
                let (by_way, said) = (self.by_way(), self.quoted(body));
                let what = format!("refused the request with HTTP {status}{by_way}{said}");
                let trouble = self.not_mcp(what, facts, body);
                self.fail(exchange, trouble, true, touched);
            }
        }
    }

    /// Its tools are listed again before the call is made once more.
    fn list_first(&self, mut exchange: Exchange, refusal: &[u8]) {
        let Some(connection) = self.connection() else { return };
        exchange.renewals += 1;
        self.mismatched.lock().push((exchange, refusal.to_vec()));
        connection.changes.mark([ListKind::Tools]);
    }

    /// The tools were listed: what waited for that is sent, unless it would be the same again.
    pub(super) fn listed(&self, touched: &mut FlushSet) {
        // Not in the head of the loop: the lock would be held until its end.
        let mismatched = std::mem::take(&mut *self.mismatched.lock());
        for (mut exchange, refusal) in mismatched {
            let before = std::mem::take(&mut exchange.fields);
            if let Ok(message) = scan(exchange.body.bytes()) {
                exchange.fields = self.fields(&heading(&message, &[]), message.bytes, Vec::new());
            }
            if self.is_unwanted(&exchange) {
                self.connections.pool.lock().recycle(exchange);
            } else if exchange.fields == before {
                self.answered(exchange.purpose, Payload::Borrowed(refusal.trim_ascii()), touched);
            } else {
                self.connections.start(exchange, touched);
            }
        }
    }

    /// It may speak in another way.
    fn not_mcp(&self, what: String, facts: &Facts, body: &[u8]) -> Trouble {
        let content_type = facts.content_type.as_deref().map(str::as_bytes);
        let not_this_way = match (self.dialect, facts.purpose) {
            (Dialect::Modern, Purpose::Initialize(_)) => maybe_legacy(facts.status),
            (Dialect::Streamable, Purpose::Initialize(_)) => {
                maybe_older(facts.status, content_type, body)
            }
            (Dialect::Older, Purpose::Listen) => true,
            _ => false,
        };
        Trouble { not_this_way, ..Trouble::new(what, "") }
    }

    /// The session is gone, and with it nothing that this request has done. Once a new one is
    /// there, it is sent again.
    fn lost_session(&self, mut exchange: Exchange, touched: &mut FlushSet) {
        let mut pool = self.connections.pool.lock();
        if pool.closed {
            return;
        }
        // Many requests learn it at about the same time: the first opens the new session, the
        // others wait for it.
        if exchange.session == pool.session.number && pool.gate == Gate::Open {
            tracing::info!(server = %self.key, "has forgotten the session; a new one is opened");
            pool.forget_session();
            self.session_lost.notify_one();
        }
        // 2025-11-25, Transports, Session Management: 404 means that the session is over, so the
        // request did not run. Once only: a server may forget every session at once.
        let again = exchange.renewals == 0 && matches!(exchange.purpose, Purpose::Call(_));
        if again {
            exchange.renewals += 1;
            pool.wait_in_front(exchange);
            drop(pool);
            return self.connections.attention.notify_one();
        }
        drop(pool);
        let what = "does not keep its sessions";
        self.fail(exchange, Trouble::new(what, ""), false, touched);
    }

    /// The server wants to be left alone for a while.
    fn busy(&self, mut exchange: Exchange, facts: &Facts, touched: &mut FlushSet) {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let retry_after = facts.retry_after.as_deref();
        let waits = !matches!(exchange.purpose, Purpose::Tell | Purpose::Goodbye);
        match pause(retry_after, exchange.delays, now.as_secs()).filter(|_| waits) {
            Some(pause) => {
                exchange.delays += 1;
                tracing::debug!(server = %self.key, "is busy; a request waits {} s", pause.as_secs());
                self.connections.delay(exchange, pause);
            }
            None => {
                let asked = retry_after.and_then(|text| seconds(text, now.as_secs()));
                let asked = asked.map(|seconds| format!(" and asks to wait {seconds} s"));
                let status = facts.status;
                let by_way = self.by_way();
                let what = format!("is busy (HTTP {status}){}{by_way}", asked.unwrap_or_default());
                self.fail(exchange, Trouble::new(what, "try again later"), false, touched);
            }
        }
    }

    /// A stream cannot be had.
    fn stream_refused(
        &self,
        exchange: Exchange,
        facts: &Facts,
        body: &[u8],
        in_session: bool,
        touched: &mut FlushSet,
    ) {
        let status = facts.status;
        if self.dialect == Dialect::Older {
            let what = match rule(exchange.purpose, status, false, body) {
                ruling @ (Ruling::Unauthorized | Ruling::Nothing) => {
                    return self.ruled(exchange, ruling, facts, body, touched);
                }
                _ => {
                    format!("did not open a stream of events (HTTP {status}{})", self.quoted(body))
                }
            };
            let advice = "check the path in `url`".to_owned();
            return self.connections.give_up(Trouble { advice, ..self.not_mcp(what, facts, body) });
        }
        let Some(mut exchange) = self.introduce(exchange, facts, touched) else { return };
        let heard = self.connections.pool.lock().listening == Listening::Yes;
        let later = facts.verdict == Verdict::Later || matches!(status, 408 | 500..=599);
        match exchange.purpose {
            Purpose::Listen if heard && in_session && status == 404 => {
                self.lost_session(exchange, touched);
            }
            Purpose::Listen if later || (heard && status == 409) => {
                exchange.tries = exchange.tries.saturating_add(1);
                let pause = backoff(exchange.tries);
                self.connections.delay(exchange, pause);
            }
            Purpose::Listen => {
                tracing::debug!(server = %self.key, status, "has no stream for its own messages");
                self.connections.pool.lock().listening = Listening::No;
            }
            _ if later => self.retry_stream(exchange, touched),
            _ => {
                let what = format!("lost the stream that answers the call (HTTP {status})");
                self.fail(exchange, Trouble::new(what, ""), true, touched);
            }
        }
    }

    /// Is it the stream of a session that is no more?
    pub(super) fn is_outdated(&self, exchange: &Exchange) -> bool {
        let is_listen = exchange.purpose == Purpose::Listen;
        is_listen && exchange.session != self.connections.pool.lock().session.number
    }

    /// A stream could not be opened: again, after a pause; for a call's answer a few times.
    pub(super) fn retry_stream(&self, mut exchange: Exchange, touched: &mut FlushSet) {
        exchange.tries = exchange.tries.saturating_add(1);
        if exchange.purpose != Purpose::Listen && exchange.tries >= MOST_TRIES {
            let what = "broke off before it answered, and could not be asked for the rest";
            return self.fail(exchange, Trouble::new(what, ""), true, touched);
        }
        let pause = backoff(exchange.tries);
        self.connections.delay(exchange, pause);
    }

    /// The connection ended before any answer, and the server may have seen the request.
    pub(super) fn unanswered(&self, mut exchange: Exchange, touched: &mut FlushSet) {
        match exchange.purpose {
            _ if self.is_unwanted(&exchange) => self.connections.pool.lock().recycle(exchange),
            Purpose::Listen | Purpose::Resume(_) if self.dialect == Dialect::Streamable => {
                if !self.is_outdated(&exchange) {
                    self.retry_stream(exchange, touched);
                }
            }
            purpose if self.can_be_repeated(purpose) && exchange.tries < MOST_UNSENT => {
                exchange.tries += 1;
                let mut pool = self.connections.pool.lock();
                if !pool.closed {
                    pool.wait_in_front(exchange); // for a new connection
                    drop(pool);
                    self.connections.attention.notify_one();
                }
            }
            _ => self.broke_off(exchange, "closed the connection before it answered", touched),
        }
    }

    /// Is it a request whose answer nobody waits for any more?
    fn is_unwanted(&self, exchange: &Exchange) -> bool {
        let Some(id) = exchange.purpose.id() else { return false };
        self.connection().is_none_or(|connection| !connection.link.is_open(id))
    }

    /// The server may just have closed an unused connection. What Trunkline asks for itself (lists
    /// and the handshake) can be said twice; a client's call cannot.
    fn can_be_repeated(&self, purpose: Purpose) -> bool {
        match purpose {
            Purpose::Initialize(_) | Purpose::Initialized => true,
            Purpose::Call(id) => self.connection().is_some_and(|connection| {
                let pending = connection.link.pending.lock();
                matches!(pending.get(id), Some(Entry { waiter: Waiter::Own(_), .. }))
            }),
            _ => false,
        }
    }

    /// The connection ended before any of the request was written.
    pub(super) fn unsent(&self, mut exchange: Exchange, touched: &mut FlushSet) {
        if self.is_unwanted(&exchange) {
            return self.connections.pool.lock().recycle(exchange);
        }
        exchange.tries = exchange.tries.saturating_add(1);
        if exchange.tries > MOST_UNSENT {
            let what = "closes its connections before anything can be sent";
            return self.fail(exchange, Trouble::new(what, ""), false, touched);
        }
        let mut pool = self.connections.pool.lock();
        if !pool.closed {
            pool.wait_in_front(exchange);
            pool.offer_idle(touched);
            drop(pool);
            self.connections.attention.notify_one();
        }
    }

    /// The answer cannot be had, and the request may have run.
    pub(super) fn broke_off(&self, exchange: Exchange, what: &str, touched: &mut FlushSet) {
        let (Purpose::Call(id), Some(connection)) = (exchange.purpose, self.connection()) else {
            return self.fail(exchange, Trouble::new(what, ""), true, touched);
        };
        // A server that went has taken its other connections with it: what is made again needs a new one.
        self.connections.pool.lock().drop_idle();
        connection.lose_call(id, &self.gone(what.to_owned(), true), touched);
        self.connections.pool.lock().recycle(exchange);
    }

    pub(super) fn fail(
        &self,
        exchange: Exchange,
        trouble: Trouble,
        may_have_run: bool,
        touched: &mut FlushSet,
    ) {
        let Trouble { what, advice, .. } = &trouble;
        match exchange.purpose {
            Purpose::Initialize(_) => self.connections.give_up(trouble),
            Purpose::Initialized => {
                let what = shown(what, &self.secrets);
                tracing::warn!(server = %self.key, "{what} when it was told `initialized`");
                self.open_gate(touched);
            }
            Purpose::Listen if self.dialect == Dialect::Older => self.connections.give_up(trouble),
            Purpose::Call(id) | Purpose::Resume(id) => {
                let advice = if advice.is_empty() { String::new() } else { format!(" ({advice})") };
                let what = shown(&format!("{what}{advice}"), &self.secrets);
                if let Some(connection) = self.connection() {
                    self.fail_call(&connection, id, what, may_have_run, touched);
                }
            }
            Purpose::Goodbye => self.parted.notify_one(),
            Purpose::Tell | Purpose::Listen => {
                let what = shown(what, &self.secrets);
                tracing::debug!(server = %self.key, "a message was lost: {what}");
                self.told.notify_one();
            }
        }
        self.connections.pool.lock().recycle(exchange);
    }

    /// The proxy that reads our requests, and may answer them itself.
    fn forwarder(&self) -> Option<Arc<ChosenProxy>> {
        self.connections.pool.lock().session.address.forwarder.clone()
    }

    /// Who else may have given an answer.
    pub(super) fn by_way(&self) -> String {
        let by = |proxy: Arc<ChosenProxy>| format!(", said by it or by its proxy {}", proxy.proxy);
        self.forwarder().map(by).unwrap_or_default()
    }

    /// How the text begins, fit to be shown.
    fn quoted(&self, body: &[u8]) -> String {
        let start = body.trim_ascii();
        let start = start.get(..REFUSAL_QUOTED).unwrap_or(start);
        if start.is_empty() {
            return String::new();
        }
        let text = String::from_utf8_lossy(start);
        format!(": {}", shown(&self.without_token(&text), &self.secrets))
    }
}

/// How long to wait before a stream is opened again.
pub(super) fn backoff(tries: u8) -> Duration {
    // The shift must not overflow; `REOPEN_LONGEST` is reached long before.
    let doublings = u32::from(tries).min(16);
    varied(REOPEN_FIRST.saturating_mul(1 << doublings).min(REOPEN_LONGEST))
}

/// Is it the question for the era, asked for the first time?
fn is_probe(dialect: Dialect, exchange: &Exchange) -> bool {
    let asks = matches!(exchange.purpose, Purpose::Initialize(_));
    asks && dialect == Dialect::Modern && exchange.delays == 0
}

/// Does the server find fault with the headers of a call? It may want others than its list said.
fn is_mismatch(exchange: &Exchange, body: &[u8]) -> bool {
    exchange.renewals == 0
        && exchange.fields.starts_with(CALLS_TOOL)
        && scan(body)
            .is_ok_and(|message| member(message.text(message.error), "code") == Some(b"-32020"))
}
