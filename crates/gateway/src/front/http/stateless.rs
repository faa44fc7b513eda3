//! `/mcp` for clients whose requests stand for themselves: revision 2026-07-28.

use std::sync::Arc;

use ring::digest::{SHA256, digest};
use trunkline_catalog::ToolRoute;
use trunkline_http::Headers;
use trunkline_wire::{Id, Kind, MODERN, Message, Revision, decode};

use crate::call::{RequestEra, Stateless};
use crate::era::Era;
use crate::error::CallError;
use crate::front::http::conn::Open;
use crate::front::http::front::Front;
use crate::front::http::mirror::{VERSION, check_params, check_standard, check_version};
use crate::front::http::posted::{Posted, read};
use crate::front::http::refusal::Refusal;
use crate::front::http::reply::Reply;
use crate::front::http::routes::Visit;
use crate::front::http::stateless_reply::StatelessReply;
use crate::front::http::traced_sink::parented;
use crate::gate::{ANYONE, Pass};
use crate::pump::FlushSet;
use crate::registry::Snapshot;
use crate::session::{Session, SessionRequest};

/// Does the head say that its request stands for itself? A revision it names decides.
pub(super) fn is_announced(headers: &Headers<'_>) -> bool {
    let revision = headers.get(VERSION).and_then(|named| std::str::from_utf8(named).ok());
    match revision {
        Some(MODERN) => true,
        Some(named) if Revision::known(named).is_some() => false,
        _ => headers.get("mcp-method").is_some() && headers.get("mcp-session-id").is_none(),
    }
}

/// Does the message say so?
pub(super) fn is_stateless(message: &Message<'_>) -> bool {
    message.params.meta_version.is_some()
}

/// What is posted under such a head.
pub(super) fn post(visit: &Visit<'_, '_>, reply: Reply, touched: &mut FlushSet) {
    read(visit.body, |posted| match posted {
        Posted::Message(message) => take(visit, &message, reply, touched),
        Posted::Batch(_) => refuse(reply, &CallError::InvalidRequest(ONE.to_owned()), touched),
        Posted::Broken(kind, id) if *id == *b"null" => {
            let error = match kind.is_parse_error() {
                true => CallError::Unreadable(kind),
                false => CallError::InvalidRequest(kind.to_string()),
            };
            refuse(reply, &error, touched);
        }
        Posted::Broken(kind, id) => reply.refuse(Refusal::Message(kind), id, touched),
    });
}

const ONE: &str = "there are no batches in this revision; send one message at a time";

/// One message.
pub(super) fn take(
    visit: &Visit<'_, '_>,
    message: &Message<'_>,
    reply: Reply,
    touched: &mut FlushSet,
) {
    let front = visit.front;
    match message.kind {
        Kind::Request if front.is_draining() => {
            reply.refuse(Refusal::ShuttingDown, message.id(), touched);
        }
        Kind::Request => request(visit, message, reply, touched),
        Kind::Notification => {
            let session = visit.stateless();
            let snapshot = session.context.view.snapshot();
            // Nothing is open under this client that it could be about; it may be a server's.
            session.notified(message, &snapshot, touched);
            reply.send(202, &[], b"", touched);
        }
        Kind::Answer | Kind::Refusal => {
            let why = "nothing was asked: answers come with the request that is made again";
            refuse(reply, &CallError::InvalidRequest(why.to_owned()), touched);
        }
    }
}

fn request(visit: &Visit<'_, '_>, message: &Message<'_>, reply: Reply, touched: &mut FlushSet) {
    let session = visit.stateless();
    let snapshot = session.context.view.snapshot();
    match checked(visit, message, &snapshot) {
        Ok(how) => {
            let (place, what) = ((&session, &*snapshot), (message, how));
            begin(visit.front, place, visit.caller, what, reply, touched);
        }
        Err(error) => {
            tracing::debug!("a request is refused: {error}");
            let response = error.response_in(Era::Modern, message.id());
            reply.json(400, &response, touched);
        }
    }
}

/// Begins a request that is properly made: where it goes, who makes it, and what it says.
pub(super) fn begin(
    front: &Front,
    (session, snapshot): (&Arc<Session>, &Snapshot),
    caller: Option<&Arc<Pass>>,
    (message, how): (&Message<'_>, Arc<Stateless>),
    mut reply: Reply,
    touched: &mut FlushSet,
) {
    let manner = RequestEra::Stateless(how);
    let id = Id::new(message.id());
    let parent = reply.take_parent();
    let conn = Arc::clone(&reply.conn);
    let once = StatelessReply::new(id.clone(), caller, &front.clock, reply);
    conn.watch(Open::Once(Arc::downgrade(&once)));
    let client = Arc::clone(&once.client);
    let door = parented(once, parent);
    let (door, client, manner) = (&door, &client, &manner);
    session.asked(SessionRequest { message, id, door, snapshot, client, manner }, touched);
}

/// Is it properly made? What is missing in the body comes before what does not fit the head, and
/// that before what it is about.
fn checked(
    visit: &Visit<'_, '_>,
    message: &Message<'_>,
    snapshot: &Snapshot,
) -> Result<Arc<Stateless>, CallError> {
    let headers = &visit.request.headers;
    let version = check_version(headers, message);
    if headers.get(VERSION).is_none() {
        version.clone()?;
    }
    let how = Stateless::read(message, &principal(visit));
    if let Err(missing @ CallError::MissingMeta(_)) = how {
        return Err(missing);
    }
    version?;
    let how = how?;
    check_standard(headers, message)?;
    if snapshot.catalog.mirrors_arguments()
        && *message.method() == *b"tools/call"
        && let Some(name) = decode(message.text(message.params.name))
        && let Some(ToolRoute::Server(route)) = snapshot.catalog.route(&name)
        && let Some(wanted) = &route.headers
    {
        check_params(headers, wanted, message)?;
    }
    Ok(how)
}

thread_local! {
    /// Nothing is known about whoever asks.
    static NOBODY_KNOWN: Arc<[u8]> = ANYONE.into();
}

/// Whoever asks, as far as that is known.
pub(super) fn principal(visit: &Visit<'_, '_>) -> Arc<[u8]> {
    match visit.caller {
        Some(caller) => Arc::clone(&caller.who),
        None => shown(&visit.request.headers),
    }
}

/// Whoever shows this, if nobody says who that is.
fn shown(headers: &Headers<'_>) -> Arc<[u8]> {
    match headers.get("authorization") {
        // However the scheme and the space behind it are written.
        Some(shown) => {
            let token = shown.trim_ascii().rsplit(u8::is_ascii_whitespace).next();
            digest(&SHA256, token.unwrap_or_default()).as_ref().into()
        }
        None => NOBODY_KNOWN.with(Arc::clone),
    }
}

/// Refuses something that has no id.
fn refuse(reply: Reply, error: &CallError, touched: &mut FlushSet) {
    tracing::debug!("a request is refused: {error}");
    let response = error.response_in(Era::Modern, b"null");
    let response = String::from_utf8_lossy(&response).replacen(",\"id\":null", "", 1);
    reply.json(400, response.as_bytes(), touched);
}

#[cfg(test)]
mod tests {
    use trunkline_http::request;

    use super::*;

    #[test]
    fn the_head_tells_the_era() {
        for (fields, expected) in [
            ("", false),
            ("MCP-Protocol-Version: 2026-07-28\r\n", true),
            ("MCP-Protocol-Version: 2026-07-28\r\nMcp-Session-Id: 5\r\n", true),
            ("MCP-Protocol-Version: 2025-11-25\r\n", false),
            ("Mcp-Method: tools/list\r\n", true),
            ("MCP-Protocol-Version: 2025-11-25\r\nMcp-Method: initialize\r\n", false),
            ("MCP-Protocol-Version: 2099-01-01\r\nMcp-Method: tools/list\r\n", true),
            ("Mcp-Method: tools/list\r\nMcp-Session-Id: 5\r\n", false),
            ("Mcp-Session-Id: 5\r\n", false),
        ] {
            let head = format!("POST /mcp HTTP/1.1\r\nHost: a\r\n{fields}\r\n");
            let (request, _) = request(head.as_bytes()).unwrap().unwrap();
            assert_eq!(is_announced(&request.headers), expected, "{fields}");
        }
    }

    #[test]
    fn who_shows_another_token_is_another() {
        let of = |fields: &str| {
            let head = format!("POST /mcp HTTP/1.1\r\nHost: a\r\n{fields}\r\n");
            shown(&request(head.as_bytes()).unwrap().unwrap().0.headers)
        };
        assert_eq!(&*of(""), b"anyone");
        let (one, other) = (of("Authorization: Bearer a\r\n"), of("Authorization: Bearer b\r\n"));
        assert_ne!(one, other);
        assert_eq!(one, of("Authorization: Bearer a\r\n"));
        assert!(!one.windows(8).any(|part| part == b"Bearer a"));
    }
}
