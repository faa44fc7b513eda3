//! `/mcp` without sessions: requests of revision 2026-07-28, each of which stands for itself.

use std::sync::Arc;

use ring::digest::{SHA256, digest};
use trunkline_catalog::ToolRoute;
use trunkline_http::Headers;
use trunkline_wire::{Id, Kind, MODERN, Message, Revision, decode};

use super::mirror::{VERSION, check_params, check_standard, check_version};
use super::post::{PostKind, PostReply, PostedBody, read_body};
use crate::call::{Client, ResponseSink, Stateless};
use crate::era::{Era, ReplicaId};
use crate::error::CallError;
use crate::front::http::access::HttpRefusal;
use crate::front::http::connection::{Reply, StatelessCall};
use crate::front::http::replicas::{ForwardedMatter, forward, forward_to_task};
use crate::front::http::request::HttpRequest;
use crate::gate::{ANYONE, Pass};
use crate::pump::FlushSet;
use crate::registry::Snapshot;
use crate::session::{Session, notify, take_stateless};

/// Does the head announce a stateless request? A revision that it names decides.
pub(crate) fn is_announced(headers: &Headers<'_>) -> bool {
    let revision = headers.get(VERSION).and_then(|named| std::str::from_utf8(named).ok());
    match revision {
        Some(MODERN) => true,
        Some(named) if Revision::known(named).is_some() => false,
        _ => headers.get("mcp-method").is_some() && headers.get("mcp-session-id").is_none(),
    }
}

/// Takes what is posted under such a head.
pub(crate) fn post(request: &HttpRequest<'_, '_>, reply: Reply, touched: &mut FlushSet) {
    read_body(request.body, |posted| match posted {
        PostedBody::Message(message) => take(request, &message, reply, touched),
        PostedBody::Batch(_) => refuse(reply, &CallError::InvalidRequest(ONE.to_owned()), touched),
        PostedBody::Broken(kind, id) if *id == *b"null" => {
            let error = match kind.is_parse_error() {
                true => CallError::Unreadable(kind),
                false => CallError::InvalidRequest(kind.to_string()),
            };
            refuse(reply, &error, touched);
        }
        PostedBody::Broken(kind, id) => reply.refuse(HttpRefusal::Message(kind), id, touched),
    });
}

const ONE: &str = "there are no batches in this revision; send one message at a time";

/// One message.
pub(crate) fn take(
    request: &HttpRequest<'_, '_>,
    message: &Message<'_>,
    reply: Reply,
    touched: &mut FlushSet,
) {
    let front = request.front;
    match message.kind {
        Kind::Request if front.is_draining() => {
            reply.refuse(HttpRefusal::ShuttingDown, message.id(), touched);
        }
        Kind::Request => take_request(request, message, reply, touched),
        Kind::Notification => {
            let session = request.stateless_session();
            let snapshot = session.context.view.snapshot();
            // It can concern no open call: each request has a client of its own. A server may
            // know it.
            notify(&session, message, &snapshot, touched);
            reply.send(202, &[], b"", touched);
        }
        Kind::Answer | Kind::Refusal => {
            let why = "nothing was asked: answers come with the request that is made again";
            refuse(reply, &CallError::InvalidRequest(why.to_owned()), touched);
        }
    }
}

fn take_request(
    request: &HttpRequest<'_, '_>,
    message: &Message<'_>,
    reply: Reply,
    touched: &mut FlushSet,
) {
    let session = request.stateless_session();
    let snapshot = session.context.view.snapshot();
    match checked(request, message, &snapshot) {
        Ok(how) if let Some(holder) = parked_elsewhere(request, message, &how) => {
            forward(request, (holder, ForwardedMatter::ParkedCall), reply, touched);
        }
        Ok(how) if let Some(task) = task_elsewhere(request, message, &how) => {
            forward_to_task(request, task, reply, touched);
        }
        Ok(how) => {
            let (place, what) = ((&session, &*snapshot), (message, how));
            begin(place, request.caller, what, reply, touched);
        }
        Err(error) => {
            tracing::debug!("a request is refused: {error}");
            let response = error.response_in(Era::Modern, message.id());
            reply.json(400, &response, touched);
        }
    }
}

/// The digest of the task that a request is about, if this replica does not know it.
fn task_elsewhere(
    request: &HttpRequest<'_, '_>,
    message: &Message<'_>,
    how: &Stateless,
) -> Option<String> {
    let front = request.front;
    if request.peer.is_forwarded || front.replicas.is_none() || request.caller.is_none() {
        return None;
    }
    let tasks = &front.context.registry.parking.tasks;
    tasks.unknown(message, &how.principal)
}

/// The other replica at which the call waits that a request comes again for.
fn parked_elsewhere(
    request: &HttpRequest<'_, '_>,
    message: &Message<'_>,
    how: &Stateless,
) -> Option<ReplicaId> {
    let front = request.front;
    if request.peer.is_forwarded || front.replicas.is_none() {
        return None;
    }
    front.context.registry.parking.holder_elsewhere(message, how)
}

/// Begins a request that was checked: where it goes, its caller, and what it says.
pub(crate) fn begin(
    (session, snapshot): (&Arc<Session>, &Snapshot),
    caller: Option<&Arc<Pass>>,
    (message, how): (&Message<'_>, Arc<Stateless>),
    reply: Reply,
    touched: &mut FlushSet,
) {
    // A client of its own: ids are unique within one request only.
    let client = Arc::<Client>::default();
    if let Some(caller) = caller {
        client.belongs_to(caller);
    }
    let id = Id::new(message.id());
    let call = StatelessCall {
        client: Arc::clone(&client),
        caller: caller.cloned(),
        id,
        outlives_client: message.params.meta.idempotency_key.is_some()
            && *message.method() == *b"tools/call",
    };
    let sink: ResponseSink = PostReply::new(PostKind::Stateless(call), reply);
    take_stateless(session, &client, (message, how), &sink, snapshot, touched);
}

/// Checks a request. A member that the body lacks is reported before a header that does not fit,
/// and that before what the request is about.
fn checked(
    request: &HttpRequest<'_, '_>,
    message: &Message<'_>,
    snapshot: &Snapshot,
) -> Result<Arc<Stateless>, CallError> {
    let headers = &request.head.headers;
    let version = check_version(headers, message);
    if headers.get(VERSION).is_none() {
        version.clone()?;
    }
    let how = Stateless::read(message, &principal(request));
    if let Err(missing @ CallError::MissingMeta(_)) = how {
        return Err(missing);
    }
    version?;
    let how = how?;
    check_standard(headers, message)?;
    // Few catalogs have tools with mirrored arguments: the others skip the look-up.
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
    /// The principal of all requests without a token.
    static ANONYMOUS: Arc<[u8]> = ANYONE.into();
}

/// Who makes the request: the authenticated caller, else the holder of the token it shows.
pub(crate) fn principal(request: &HttpRequest<'_, '_>) -> Arc<[u8]> {
    match request.caller {
        Some(caller) => Arc::clone(&caller.who),
        None => token_holder(&request.head.headers),
    }
}

/// Identifies the holder of a token by its digest, where no gate says who that is.
fn token_holder(headers: &Headers<'_>) -> Arc<[u8]> {
    match headers.get("authorization") {
        // However the scheme and the space behind it are written.
        Some(shown) => {
            let token = shown.trim_ascii().rsplit(u8::is_ascii_whitespace).next();
            digest(&SHA256, token.unwrap_or_default()).as_ref().into()
        }
        None => ANONYMOUS.with(Arc::clone),
    }
}

/// Refuses a message that has no id.
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
            token_holder(&request(head.as_bytes()).unwrap().unwrap().0.headers)
        };
        assert_eq!(&*of(""), b"anyone");
        let (one, other) = (of("Authorization: Bearer a\r\n"), of("Authorization: Bearer b\r\n"));
        assert_ne!(one, other);
        assert_eq!(one, of("Authorization: Bearer a\r\n"));
        assert!(!one.windows(8).any(|part| part == b"Bearer a"));
    }
}
