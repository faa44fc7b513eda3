//! What the end of a response or of a stream means for the session and its calls.

use std::sync::Arc;

use trunkline_http::{Events, Url};

use crate::error::CallError;
use crate::limits::{LASTING_STREAM, REOPEN_FIRST, REOPEN_SOONEST};
use crate::pump::FlushSet;
use crate::upstream::connection::Connection;
use crate::upstream::http::outcome::backoff;
use crate::upstream::http::pool::{Gate, Listening};
use crate::upstream::http::slot::{Exchange, Purpose, Slot};
use crate::upstream::http::transport::HttpTransport;
use crate::upstream::http::trouble::{Trouble, shown_url};
use crate::upstream::http::verdict::{Dialect, Facts};
use crate::upstream::transport::UpstreamId;

impl HttpTransport {
    /// The message has arrived; nothing more comes back here.
    pub(super) fn accepted(&self, purpose: Purpose, status: u16, touched: &mut FlushSet) {
        match (purpose, self.dialect) {
            (Purpose::Initialized, _) => self.open_gate(touched),
            (Purpose::Goodbye, _) => self.parted.notify_one(),
            (
                Purpose::Initialize(id) | Purpose::Call(id),
                Dialect::Modern | Dialect::Streamable,
            ) => {
                let Some(connection) = self.connection() else { return };
                let what = format!("accepted the request without an answer (HTTP {status})");
                self.fail_call(&connection, id, what, true, touched);
            }
            _ => {}
        }
    }

    /// The handshake is over: everything may be sent.
    pub(super) fn open_gate(&self, touched: &mut FlushSet) {
        let mut pool = self.connections.pool.lock();
        if pool.closed {
            return;
        }
        pool.gate = Gate::Open;
        pool.listening = Listening::No;
        pool.offer_idle(touched);
        if self.dialect == Dialect::Streamable {
            // 2025-11-25, Transports, Listening for Messages from the Server: a GET, which the
            // server may refuse with 405.
            pool.start(Exchange::bare(Purpose::Listen, Vec::new()), touched);
        }
        drop(pool);
        self.connections.attention.notify_one();
    }

    /// An event that is not a message: the older transport says where to post to.
    pub(super) fn named_event(&self, name: &[u8], data: &[u8], touched: &mut FlushSet) {
        let mut pool = self.connections.pool.lock();
        // 2024-11-05, Transports, HTTP with SSE: the first event names the endpoint. A second one
        // is not followed: requests that are under way would be split between two places.
        if self.dialect != Dialect::Older || *name != *b"endpoint" || pool.gate != Gate::Shut {
            tracing::debug!(server = %self.key, "an event of an unknown kind is left alone");
            return;
        }
        match endpoint(&pool.session.address.url, data) {
            Ok(url) => {
                pool.session.move_to(url);
                pool.gate = Gate::Handshake;
                pool.offer_idle(touched);
                drop(pool);
                self.connections.attention.notify_one();
            }
            Err(trouble) => {
                drop(pool);
                self.connections.give_up(trouble);
            }
        }
    }

    /// A stream of events has ended, or broke off.
    pub(super) fn stream_ended(
        &self,
        slot: &Arc<Slot>,
        facts: &Facts,
        events: &Events,
        touched: &mut FlushSet,
    ) {
        let Some(exchange) = self.connections.release(slot, facts.keep, touched) else { return };
        let (after, retry) = (events.last_id().to_vec(), events.retry());
        match exchange.purpose {
            Purpose::Listen if self.dialect == Dialect::Older => {
                self.connections.give_up(Trouble::new("closed its stream of events", ""));
            }
            Purpose::Listen if self.is_outdated(&exchange) => {}
            Purpose::Listen => {
                let after = if after.is_empty() { exchange.after } else { after };
                // A server that ends every stream at once is asked ever more rarely.
                let lasted = exchange.sent.is_some_and(|sent| sent.elapsed() >= LASTING_STREAM);
                let tries = if lasted { 0 } else { exchange.tries.saturating_add(1) };
                let listen = Exchange { tries, ..Exchange::bare(Purpose::Listen, after) };
                let pause = backoff(tries.saturating_sub(1));
                self.connections
                    // 2025-11-25, Transports: a client MUST respect `retry`; but a server that says
                    // 0 would be asked without a pause.
                    .delay(listen, retry.map_or(pause, |retry| retry.max(REOPEN_SOONEST)));
            }
            Purpose::Call(id) | Purpose::Resume(id) => {
                let Some(connection) = self.connection() else { return };
                if !connection.link.is_open(id) {
                    return;
                }
                let after = if after.is_empty() { exchange.after } else { after };
                // In the stateless era the rest cannot be asked for.
                if after.is_empty() || self.dialect == Dialect::Modern {
                    let what = "ended its stream of events before the answer".to_owned();
                    return connection.lose_call(id, &self.gone(what, true), touched);
                }
                let resume = Exchange::bare(Purpose::Resume(id), after);
                self.connections
                    .delay(resume, retry.map_or(REOPEN_FIRST, |retry| retry.max(REOPEN_SOONEST)));
            }
            Purpose::Initialize(id) => {
                if self.connection().is_some_and(|connection| connection.link.is_open(id)) {
                    let what = "ended its stream of events before it answered the handshake";
                    let not_this_way = self.dialect == Dialect::Modern;
                    self.connections.give_up(Trouble { not_this_way, ..Trouble::new(what, "") });
                }
            }
            Purpose::Initialized | Purpose::Tell | Purpose::Goodbye => {}
        }
    }

    /// An event is over the limit. On a stream of many, how it starts may tell whose it is.
    pub(super) fn event_too_large(&self, purpose: Purpose, head: &[u8], touched: &mut FlushSet) {
        match (purpose.id(), self.connection()) {
            (None, Some(connection)) => {
                connection.broken.oversize_line(&connection.link, head);
                connection.broken.oversize_end(&connection.link, b"");
            }
            _ => self.too_large(purpose, touched),
        }
    }

    /// What comes is over the limit.
    pub(super) fn too_large(&self, purpose: Purpose, touched: &mut FlushSet) {
        let limit = self.limits.message;
        let error = CallError::TooLarge { server: self.key.to_string(), limit };
        match (purpose.id(), self.connection()) {
            (Some(id), Some(connection)) => {
                connection.link.fail_into(id, &error, touched);
            }
            _ => tracing::warn!(server = %self.key, "an event over {limit} bytes is left out"),
        }
    }

    pub(super) fn fail_call(
        &self,
        connection: &Connection,
        id: UpstreamId,
        what: String,
        may_have_run: bool,
        touched: &mut FlushSet,
    ) {
        connection.link.fail_into(id, &self.gone(what, may_have_run), touched);
    }

    pub(super) fn gone(&self, what: String, may_have_run: bool) -> CallError {
        let server = self.key.to_string();
        CallError::ServerGone { server, what: what.into(), may_have_run, stderr: Vec::new() }
    }
}

/// Where the older transport posts to: at the same server, or credentials would leave for another.
fn endpoint(base: &Url, data: &[u8]) -> Result<Url, Trouble> {
    let text = std::str::from_utf8(data).unwrap_or_default().trim();
    let Ok(url) = base.join(text) else {
        return Err(Trouble::new("names an endpoint that is no URL", ""));
    };
    if url.origin() != base.origin() {
        let what = format!("names an endpoint of another server, {}", shown_url(&url));
        return Err(Trouble::new(what, "it is not used; set `url` to the server itself"));
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_endpoint_is_at_the_same_server() {
        let base = Url::parse("http://h:1/sse").unwrap();
        for (data, expected) in [
            ("/messages?session_id=1", Some("http://h:1/messages?session_id=1")),
            ("http://h:1/m", Some("http://h:1/m")),
            ("messages/ ", Some("http://h:1/messages/")),
            ("http://h:2/m", None),
            ("https://h:1/m", None),
            ("//evil/m", None),
            ("a b", None),
        ] {
            let url = endpoint(&base, data.as_bytes()).ok().map(|url| url.to_string());
            assert_eq!(url.as_deref(), expected, "{data}");
        }
    }
}
