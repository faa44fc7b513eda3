//! `Route`: which handler a request goes to, by its method and path.

use std::sync::Arc;

use trunkline_http::{Request, is_field_name};

use crate::front::http::access::HttpRefusal;
use crate::front::http::attached::{
    Attachment, Coding, ReplyWay, WebConnection, WebReply, WebRequest,
};
use crate::front::http::connection::Reply;
use crate::front::http::handlers::{CachedRoute, health, mcp, repeats_argument, sse};
use crate::front::http::request::{HttpRequest, accepts_html};
use crate::front::http::sessions::client_of;
use crate::pump::FlushSet;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HttpRoute {
    Post,
    Listen,
    Leave,
    OpenSse,
    PostSse,
    Health,
    Ready,
    Front,
    /// A CORS preflight, or any `OPTIONS`: the methods of the path.
    Preflight(&'static str),
    /// What another replica passes on.
    Forwarded,
    /// For the attachment, which decides about it.
    Attached,
    AttachedPreflight,
}

impl HttpRoute {
    /// Is it answered without a token?
    pub(crate) fn is_public(self) -> bool {
        matches!(self, Self::Health | Self::Ready | Self::Preflight(_)) || self.is_attached()
    }

    pub(crate) fn is_attached(self) -> bool {
        matches!(self, Self::Attached | Self::AttachedPreflight)
    }
}

/// The methods of one path with their routes, and the value of its `Allow` header.
type Methods = (&'static [(&'static str, HttpRoute)], &'static str);

const MCP: Methods = (
    &[("POST", HttpRoute::Post), ("GET", HttpRoute::Listen), ("DELETE", HttpRoute::Leave)],
    "GET, POST, DELETE, OPTIONS",
);

/// Trunkline's own paths come first; its front page only if the attachment has none.
pub(crate) fn route_of(
    request: &Request<'_>,
    attachment: Option<&Arc<dyn Attachment>>,
) -> Result<HttpRoute, HttpRefusal> {
    let (method, path) = (request.method, request.path());
    let own = route(method, path);
    let free = path == "/" || own == Err(HttpRefusal::NotFound);
    let is_theirs = |attachment: &Arc<dyn Attachment>| {
        let is_page = || matches!(method, "GET" | "HEAD") && accepts_html(request);
        attachment.owns(path) || (attachment.answers_browsers() && is_page())
    };
    if !free || !attachment.is_some_and(is_theirs) {
        return own;
    }
    let asks = request.headers.get("access-control-request-method").is_some();
    Ok(if method == "OPTIONS" && asks { HttpRoute::AttachedPreflight } else { HttpRoute::Attached })
}

fn route(method: &str, path: &str) -> Result<HttpRoute, HttpRefusal> {
    let (methods, allowed): Methods = match path {
        "/mcp" | "/mcp/" => MCP,
        path if client_of(path).is_some() => MCP,
        "/sse" | "/sse/" => (&[("GET", HttpRoute::OpenSse)], "GET, OPTIONS"),
        "/messages" | "/messages/" => (&[("POST", HttpRoute::PostSse)], "POST, OPTIONS"),
        "/healthz" => {
            (&[("GET", HttpRoute::Health), ("HEAD", HttpRoute::Health)], "GET, HEAD, OPTIONS")
        }
        "/readyz" => {
            (&[("GET", HttpRoute::Ready), ("HEAD", HttpRoute::Ready)], "GET, HEAD, OPTIONS")
        }
        "/" => (&[("GET", HttpRoute::Front), ("HEAD", HttpRoute::Front)], "GET, HEAD, OPTIONS"),
        _ => return Err(HttpRefusal::NotFound),
    };
    if method == "OPTIONS" {
        return Ok(HttpRoute::Preflight(allowed));
    }
    let found = methods.iter().find(|(known, _)| *known == method);
    found.map(|(_, route)| *route).ok_or(HttpRefusal::Method(allowed))
}

/// Hands the request to its handler. Returns the route that its head may take again without checks.
pub(crate) fn dispatch(
    route: HttpRoute,
    request: &HttpRequest<'_, '_>,
    reply: Reply,
    touched: &mut FlushSet,
) -> Option<CachedRoute> {
    match route {
        HttpRoute::Post => return mcp::post(request, reply, touched),
        HttpRoute::Listen => mcp::listen(request, reply, touched),
        HttpRoute::Leave => mcp::leave(request, reply, touched),
        HttpRoute::OpenSse => sse::open(request, reply, touched),
        HttpRoute::PostSse => sse::post(request, reply, touched),
        HttpRoute::Health => health::alive(reply, touched),
        HttpRoute::Ready => health::ready(request, reply, touched),
        HttpRoute::Front => health::welcome(request, reply, touched),
        // A page may try a method that the path does not have: the refusal explains more than a
        // failed preflight.
        HttpRoute::Preflight(allowed) => {
            let allowed = (allowed.as_bytes(), METHODS, HEADERS);
            preflight(request.head, allowed, reply, touched);
        }
        HttpRoute::AttachedPreflight => {
            let allowed = (ATTACHED_METHODS, ATTACHED_METHODS, ATTACHED_HEADERS);
            preflight(request.head, allowed, reply, touched);
        }
        HttpRoute::Attached => hand_over(request, reply),
        // Not reached: it was opened on its way in, and goes where the request inside leads.
        HttpRoute::Forwarded => reply.refuse(HttpRefusal::NotFound, b"null", touched),
    }
    None
}

/// Passes a request on to the attachment, on the runtime.
fn hand_over(request: &HttpRequest<'_, '_>, reply: Reply) {
    let front = request.front;
    let Some(attachment) = front.attachment.clone() else { return };
    let connection = WebConnection::new(&reply.conn, &front.context.limiter);
    let hsts = request.peer.is_secure && front.guard.wants_hsts(request.head);
    let way = ReplyWay { coding: Coding::wanted(request.head), hsts };
    let reply = WebReply::new(reply, way, front.shutdown.attached.token());
    let visit = WebRequest::new(request.head, request.body, request.peer);
    let visit = WebRequest { unread: request.unread, connection, ..visit };
    // Not on the pump: an attachment may take its time to look things up.
    let task = async move { attachment.handle(visit, reply) };
    drop(front.context.tasks.spawn_on(task, &front.context.runtime));
}

/// `Allow` of the path, and the methods and headers that a page may use.
type Allowed = (&'static [u8], &'static [u8], &'static [u8]);

/// Answers a preflight. The Origin was checked before; `Reply` repeats it in the head.
fn preflight(request: &Request<'_>, allowed: Allowed, reply: Reply, touched: &mut FlushSet) {
    let (allowed, methods, headers) = allowed;
    let wanted = request.headers.tokens("access-control-request-headers");
    let mut headers = headers.to_vec();
    for name in wanted.filter(|name| is_param(name)) {
        headers.extend_from_slice(b", ");
        headers.extend_from_slice(name);
    }
    let fields: [(&str, &[u8]); 4] = [
        ("Allow", allowed),
        ("Access-Control-Allow-Methods", methods),
        ("Access-Control-Allow-Headers", &headers),
        ("Access-Control-Max-Age", b"600"),
    ];
    reply.send(204, &fields, b"", touched);
}

fn is_param(name: &[u8]) -> bool {
    std::str::from_utf8(name).is_ok_and(|name| repeats_argument(name) && is_field_name(name))
}

const METHODS: &[u8] = b"GET, POST, DELETE, OPTIONS";
const HEADERS: &[u8] =
    b"Accept, Authorization, Content-Type, Last-Event-ID, Mcp-Session-Id, MCP-Protocol-Version, \
      Mcp-Method, Mcp-Name";
const ATTACHED_METHODS: &[u8] = b"GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";
const ATTACHED_HEADERS: &[u8] =
    b"Accept, Authorization, Content-Type, If-Match, If-None-Match, Last-Event-ID";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_arguments_are_known_by_their_beginning() {
        for (name, expected) in [
            ("mcp-param-region", true),
            ("Mcp-Param-X", true),
            ("mcp-param", false),
            ("x-mcp-param-a", false),
            ("mcp-param-a b", false),
        ] {
            assert_eq!(is_param(name.as_bytes()), expected, "{name}");
        }
    }

    #[derive(Debug)]
    struct Api;

    impl Attachment for Api {
        fn owns(&self, path: &str) -> bool {
            path == "/" || path.starts_with("/api/") || path == "/mcp" || path == "/healthz"
        }
        fn handle(&self, _: WebRequest, _: WebReply) {}
    }

    #[test]
    fn what_is_not_our_own_may_be_somebody_elses() {
        let api: Arc<dyn Attachment> = Arc::new(Api);
        for (method, path, fields, expected, alone) in [
            ("PATCH", "/api/x", "", Ok(HttpRoute::Attached), Err(HttpRefusal::NotFound)),
            ("OPTIONS", "/api/x", "", Ok(HttpRoute::Attached), Err(HttpRefusal::NotFound)),
            (
                "OPTIONS",
                "/api/x",
                "Access-Control-Request-Method: PATCH\r\n",
                Ok(HttpRoute::AttachedPreflight),
                Err(HttpRefusal::NotFound),
            ),
            ("GET", "/", "", Ok(HttpRoute::Attached), Ok(HttpRoute::Front)),
            ("GET", "/mcp", "", Ok(HttpRoute::Listen), Ok(HttpRoute::Listen)),
            ("GET", "/healthz", "", Ok(HttpRoute::Health), Ok(HttpRoute::Health)),
            ("GET", "/api", "", Err(HttpRefusal::NotFound), Err(HttpRefusal::NotFound)),
        ] {
            let text = format!("{method} {path} HTTP/1.1\r\nHost: a\r\n{fields}\r\n");
            let (request, _) = trunkline_http::request(text.as_bytes()).unwrap().unwrap();
            assert_eq!(route_of(&request, Some(&api)), expected, "{method} {path} {fields}");
            assert_eq!(route_of(&request, None), alone, "{method} {path} {fields}");
        }
    }

    #[test]
    fn ways() {
        for (method, path, expected) in [
            ("POST", "/mcp", Ok(HttpRoute::Post)),
            ("POST", "/mcp/", Ok(HttpRoute::Post)),
            ("GET", "/mcp", Ok(HttpRoute::Listen)),
            ("DELETE", "/mcp", Ok(HttpRoute::Leave)),
            ("PUT", "/mcp", Err(HttpRefusal::Method("GET, POST, DELETE, OPTIONS"))),
            ("get", "/mcp", Err(HttpRefusal::Method("GET, POST, DELETE, OPTIONS"))),
            ("HEAD", "/mcp", Err(HttpRefusal::Method("GET, POST, DELETE, OPTIONS"))),
            ("OPTIONS", "/mcp", Ok(HttpRoute::Preflight("GET, POST, DELETE, OPTIONS"))),
            ("OPTIONS", "/healthz", Ok(HttpRoute::Preflight("GET, HEAD, OPTIONS"))),
            ("GET", "/sse", Ok(HttpRoute::OpenSse)),
            // A client that tries the new transport first learns here that it is not this one.
            ("POST", "/sse", Err(HttpRefusal::Method("GET, OPTIONS"))),
            ("POST", "/messages", Ok(HttpRoute::PostSse)),
            ("GET", "/messages", Err(HttpRefusal::Method("POST, OPTIONS"))),
            ("GET", "/healthz", Ok(HttpRoute::Health)),
            ("HEAD", "/readyz", Ok(HttpRoute::Ready)),
            ("GET", "/", Ok(HttpRoute::Front)),
            ("GET", "/mcp/for/cursor", Ok(HttpRoute::Listen)),
            ("POST", "/mcp/for/nobody", Err(HttpRefusal::NotFound)),
            ("GET", "/MCP", Err(HttpRefusal::NotFound)),
            ("GET", "/mcp//", Err(HttpRefusal::NotFound)),
            ("GET", "/%6dcp", Err(HttpRefusal::NotFound)),
            ("OPTIONS", "/nothing", Err(HttpRefusal::NotFound)),
        ] {
            assert_eq!(route(method, path), expected, "{method} {path}");
        }
    }
}
