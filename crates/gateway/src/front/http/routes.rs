//! Where a request goes. A handler gets the head, the body and a `Reply`, which it may give at once
//! or hand to a task on the runtime.

use std::sync::Arc;

use trunkline_http::{Request, accepts, is_field_name};

use crate::front::http::front::{Front, client_of};
use crate::front::http::refusal::Refusal;
use crate::front::http::reply::{Manner, Reply};
use crate::front::http::sessions::HttpSession;
use crate::front::http::{health, mcp, sse};
use crate::pump::Touched;

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
    /// A browser asks what a page may do.
    Preflight,
}

/// A request that has come in whole.
#[derive(Debug)]
pub(super) struct Visit<'a, 'b> {
    pub(super) front: &'b Arc<Front>,
    pub(super) request: &'b Request<'a>,
    pub(super) body: &'b [u8],
}

/// What is known of a request once its head is: the page it comes from, and its way or why it has
/// none.
pub(super) struct Admission<'a> {
    pub(super) origin: Option<&'a str>,
    pub(super) route: Result<Route, Refusal>,
}

impl Admission<'_> {
    pub(super) fn manner(&self, request: &Request<'_>) -> Manner {
        Manner::of(request, self.origin)
    }
}

/// May it come in, and where does it go?
pub(super) fn admit<'a>(front: &Front, request: &Request<'a>) -> Admission<'a> {
    let origin = match front.guard.check(request) {
        Ok(origin) => origin,
        Err(why) => return Admission { origin: None, route: Err(why) },
    };
    let route = route(request.method, request.path());
    let open = matches!(route, Ok(Route::Health | Route::Ready | Route::Preflight));
    if !open && !front.guard.admits(request) {
        return Admission { origin, route: Err(Refusal::Token) };
    }
    Admission { origin, route }
}

/// The ways of one path, and what else to say about it.
type Ways = (&'static [(&'static str, Route)], &'static str);

const MCP: Ways = (
    &[("POST", Route::Post), ("GET", Route::Listen), ("DELETE", Route::Leave)],
    "GET, POST, DELETE, OPTIONS",
);

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
        return Ok(Route::Preflight);
    }
    let way = ways.iter().find(|(known, _)| *known == method);
    way.map(|(_, route)| *route).ok_or(Refusal::Method(allowed))
}

/// Returns the session a message was posted in, if the head was good for that.
pub(super) fn follow(
    route: Route,
    visit: &Visit<'_, '_>,
    reply: Reply,
    touched: &mut Touched,
) -> Option<Arc<HttpSession>> {
    match route {
        Route::Post => return mcp::post(visit, reply, touched),
        Route::Listen => mcp::listen(visit, reply, touched),
        Route::Leave => mcp::leave(visit, reply, touched),
        Route::OpenSse => {
            let willing = accepts(visit.request.headers.all("accept"), mcp::EVENTS);
            sse::open(visit.front, willing, reply, touched);
        }
        Route::PostSse => sse::post(visit, reply, touched),
        Route::Health => health::alive(reply, touched),
        Route::Ready => health::ready(visit, reply, touched),
        Route::Front => health::welcome(reply, touched),
        Route::Preflight => preflight(visit.request, reply, touched),
    }
    None
}

/// The Origin was checked, and is repeated in the head.
fn preflight(request: &Request<'_>, reply: Reply, touched: &mut Touched) {
    let wanted = request.headers.tokens("access-control-request-headers");
    let mut headers = HEADERS.to_vec();
    for name in wanted.filter(|name| is_param(name)) {
        headers.extend_from_slice(b", ");
        headers.extend_from_slice(name);
    }
    let fields: [(&str, &[u8]); 4] = [
        ("Allow", METHODS),
        ("Access-Control-Allow-Methods", METHODS),
        ("Access-Control-Allow-Headers", &headers),
        ("Access-Control-Max-Age", b"600"),
    ];
    reply.send(204, &fields, b"", touched);
}

/// A header that repeats an argument: which there are, the tools say.
fn is_param(name: &[u8]) -> bool {
    let prefix = name.get(..PARAM.len()).unwrap_or_default();
    let name = std::str::from_utf8(name);
    prefix.eq_ignore_ascii_case(PARAM) && name.is_ok_and(is_field_name)
}

const PARAM: &[u8] = b"mcp-param-";
const METHODS: &[u8] = b"GET, POST, DELETE, OPTIONS";
const HEADERS: &[u8] =
    b"Accept, Authorization, Content-Type, Last-Event-ID, Mcp-Session-Id, MCP-Protocol-Version, \
      Mcp-Method, Mcp-Name";

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
            ("OPTIONS", "/mcp", Ok(Route::Preflight)),
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
