//! Where a request goes. A handler gets the head, the body and a `Reply`, which it may give at once
//! or hand to a task on the runtime.

use std::net::SocketAddr;
use std::sync::Arc;

use trunkline_http::{Request, is_field_name};

use crate::front::http::attach::{Attachment, hand_over};
use crate::front::http::contexts::client_of;
use crate::front::http::entry::asking;
use crate::front::http::front::Front;
use crate::front::http::head_cache::Cached;
use crate::front::http::mirror::repeats_argument;
use crate::front::http::refusal::Refusal;
use crate::front::http::reply::Reply;
use crate::front::http::{health, mcp, sse};
use crate::gate::{Admission, Pass};
use crate::pump::FlushSet;
use crate::session::Session;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route {
    Post,
    Listen,
    Leave,
    OpenSse,
    PostSse,
    Health,
    Ready,
    Front,
    /// A browser asks what a page may do, or anybody which methods there are: these.
    Preflight(&'static str),
    /// For somebody else, who decides about it; and the same question about that.
    Attached,
    AttachedPreflight,
}

impl Route {
    /// Whoever asks may have it.
    pub(super) fn is_open(self) -> bool {
        matches!(self, Self::Health | Self::Ready | Self::Preflight(_)) || self.is_attached()
    }

    pub(super) fn is_attached(self) -> bool {
        matches!(self, Self::Attached | Self::AttachedPreflight)
    }
}

/// A request that has come in whole.
#[derive(Debug)]
pub(super) struct Visit<'a, 'b> {
    pub(super) front: &'b Arc<Front>,
    pub(super) request: &'b Request<'a>,
    pub(super) body: &'b [u8],
    pub(super) peer: SocketAddr,
    /// Who makes it, where that has to be said.
    pub(super) caller: Option<&'b Arc<Pass>>,
}

impl Visit<'_, '_> {
    /// Where a request that stands for itself goes.
    pub(super) fn stateless(&self) -> Arc<Session> {
        let (front, path) = (self.front, self.request.path());
        front.contexts.stateless(path, self.caller, front.clock.now())
    }

    /// Would it be let in wherever it went?
    pub(super) fn is_known(&self) -> bool {
        match &self.front.gate {
            Some(gate) => {
                let admission = gate.admit(&asking(self.request, self.peer));
                matches!(admission, Admission::Now(Ok(_)))
            }
            None => self.front.guard.admits(self.request),
        }
    }
}

/// The ways of one path, and what else to say about it.
type Ways = (&'static [(&'static str, Route)], &'static str);

const MCP: Ways = (
    &[("POST", Route::Post), ("GET", Route::Listen), ("DELETE", Route::Leave)],
    "GET, POST, DELETE, OPTIONS",
);

/// Trunkline's own paths first; its front page only if nobody else has one.
pub(super) fn route_of(
    request: &Request<'_>,
    attachment: Option<&Arc<dyn Attachment>>,
) -> Result<Route, Refusal> {
    let (method, path) = (request.method, request.path());
    let own = route(method, path);
    let free = path == "/" || own == Err(Refusal::NotFound);
    let is_theirs = |attachment: &Arc<dyn Attachment>| {
        let is_page = || matches!(method, "GET" | "HEAD") && accepts_html(request);
        attachment.owns(path) || (attachment.answers_browsers() && is_page())
    };
    if !free || !attachment.is_some_and(is_theirs) {
        return own;
    }
    let asks = request.headers.get("access-control-request-method").is_some();
    Ok(if method == "OPTIONS" && asks { Route::AttachedPreflight } else { Route::Attached })
}

/// Would whoever asks rather have a page than JSON? Browsers say so, programs do not.
pub(super) fn accepts_html(request: &Request<'_>) -> bool {
    const HTML: &[u8] = b"text/html";
    let is_html = |value: &[u8]| value.windows(HTML.len()).any(|it| it.eq_ignore_ascii_case(HTML));
    request.headers.all("accept").any(is_html)
}

fn route(method: &str, path: &str) -> Result<Route, Refusal> {
    let (ways, allowed): Ways = match path {
        "/mcp" | "/mcp/" => MCP,
        path if client_of(path).is_some() => MCP,
        "/sse" | "/sse/" => (&[("GET", Route::OpenSse)], "GET, OPTIONS"),
        "/messages" | "/messages/" => (&[("POST", Route::PostSse)], "POST, OPTIONS"),
        "/healthz" => (&[("GET", Route::Health), ("HEAD", Route::Health)], "GET, HEAD, OPTIONS"),
        "/readyz" => (&[("GET", Route::Ready), ("HEAD", Route::Ready)], "GET, HEAD, OPTIONS"),
        "/" => (&[("GET", Route::Front), ("HEAD", Route::Front)], "GET, HEAD, OPTIONS"),
        _ => return Err(Refusal::NotFound),
    };
    if method == "OPTIONS" {
        return Ok(Route::Preflight(allowed));
    }
    let way = ways.iter().find(|(known, _)| *known == method);
    way.map(|(_, route)| *route).ok_or(Refusal::Method(allowed))
}

/// Returns what the head was good for, if that may come again.
pub(super) fn follow(
    route: Route,
    visit: &Visit<'_, '_>,
    reply: Reply,
    touched: &mut FlushSet,
) -> Option<Cached> {
    match route {
        Route::Post => return mcp::post(visit, reply, touched),
        Route::Listen => mcp::listen(visit, reply, touched),
        Route::Leave => mcp::leave(visit, reply, touched),
        Route::OpenSse => sse::open(visit, reply, touched),
        Route::PostSse => sse::post(visit, reply, touched),
        Route::Health => health::alive(reply, touched),
        Route::Ready => health::ready(visit, reply, touched),
        Route::Front => health::welcome(visit, reply, touched),
        // Pages may try a method that is not there: the refusal tells them more than their browser.
        Route::Preflight(allowed) => {
            let ways = (allowed.as_bytes(), METHODS, HEADERS);
            preflight(visit.request, ways, reply, touched);
        }
        Route::AttachedPreflight => {
            let ways = (ATTACHED_METHODS, ATTACHED_METHODS, ATTACHED_HEADERS);
            preflight(visit.request, ways, reply, touched);
        }
        Route::Attached => hand_over(visit, reply),
    }
    None
}

/// The methods of the path, and the methods and headers that a page may use.
type Allowed = (&'static [u8], &'static [u8], &'static [u8]);

/// The Origin was checked, and is repeated in the head.
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
        fn visit(&self, _: crate::front::http::WebVisit, _: crate::front::http::WebReply) {}
    }

    #[test]
    fn what_is_not_our_own_may_be_somebody_elses() {
        let api: Arc<dyn Attachment> = Arc::new(Api);
        for (method, path, fields, expected, alone) in [
            ("PATCH", "/api/x", "", Ok(Route::Attached), Err(Refusal::NotFound)),
            ("OPTIONS", "/api/x", "", Ok(Route::Attached), Err(Refusal::NotFound)),
            (
                "OPTIONS",
                "/api/x",
                "Access-Control-Request-Method: PATCH\r\n",
                Ok(Route::AttachedPreflight),
                Err(Refusal::NotFound),
            ),
            ("GET", "/", "", Ok(Route::Attached), Ok(Route::Front)),
            ("GET", "/mcp", "", Ok(Route::Listen), Ok(Route::Listen)),
            ("GET", "/healthz", "", Ok(Route::Health), Ok(Route::Health)),
            ("GET", "/api", "", Err(Refusal::NotFound), Err(Refusal::NotFound)),
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
            ("POST", "/mcp", Ok(Route::Post)),
            ("POST", "/mcp/", Ok(Route::Post)),
            ("GET", "/mcp", Ok(Route::Listen)),
            ("DELETE", "/mcp", Ok(Route::Leave)),
            ("PUT", "/mcp", Err(Refusal::Method("GET, POST, DELETE, OPTIONS"))),
            ("get", "/mcp", Err(Refusal::Method("GET, POST, DELETE, OPTIONS"))),
            ("HEAD", "/mcp", Err(Refusal::Method("GET, POST, DELETE, OPTIONS"))),
            ("OPTIONS", "/mcp", Ok(Route::Preflight("GET, POST, DELETE, OPTIONS"))),
            ("OPTIONS", "/healthz", Ok(Route::Preflight("GET, HEAD, OPTIONS"))),
            ("GET", "/sse", Ok(Route::OpenSse)),
            // A client that tries the new transport first learns here that it is not this one.
            ("POST", "/sse", Err(Refusal::Method("GET, OPTIONS"))),
            ("POST", "/messages", Ok(Route::PostSse)),
            ("GET", "/messages", Err(Refusal::Method("POST, OPTIONS"))),
            ("GET", "/healthz", Ok(Route::Health)),
            ("HEAD", "/readyz", Ok(Route::Ready)),
            ("GET", "/", Ok(Route::Front)),
            ("GET", "/mcp/for/cursor", Ok(Route::Listen)),
            ("POST", "/mcp/for/nobody", Err(Refusal::NotFound)),
            ("GET", "/MCP", Err(Refusal::NotFound)),
            ("GET", "/mcp//", Err(Refusal::NotFound)),
            ("GET", "/%6dcp", Err(Refusal::NotFound)),
            ("OPTIONS", "/nothing", Err(Refusal::NotFound)),
        ] {
            assert_eq!(route(method, path), expected, "{method} {path}");
        }
    }
}
