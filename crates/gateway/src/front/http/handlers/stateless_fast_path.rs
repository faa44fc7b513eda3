//! `StatelessFastPath`: stateless tool calls under a head that was checked before. It takes those of
//! the usual form; any other goes to `stateless`, which checks everything.

use std::sync::Arc;
use std::time::SystemTime;

use memchr::memchr2;
use trunkline_catalog::ToolRoute;
use trunkline_http::Headers;
use trunkline_wire::{Kind, MODERN, Message, scan};

use super::mirror::{METHOD, NAME, VERSION, repeats_argument};
use super::stateless::{begin, principal};
use crate::call::Stateless;
use crate::front::http::connection::{Conn, Reply, ReplyMode};
use crate::front::http::front::Front;
use crate::front::http::request::HttpRequest;
use crate::gate::Pass;
use crate::pump::FlushSet;
use crate::registry::Snapshot;

const CALL: &[u8] = b"tools/call";

/// What is known of the caller that repeats the head.
#[derive(Debug)]
pub(crate) struct StatelessFastPath {
    path: Box<str>,
    caller: Option<Arc<Pass>>,
    principal: Arc<[u8]>,
}

impl StatelessFastPath {
    /// `None`: the head is of a kind that is checked each time.
    pub(crate) fn of(request: &HttpRequest<'_, '_>) -> Option<Self> {
        announces_call(&request.head.headers).then(|| Self {
            path: request.head.path().into(),
            caller: request.caller.cloned(),
            principal: principal(request),
        })
    }

    /// Has the caller's pass expired?
    pub(crate) fn is_expired(&self) -> bool {
        let expires = self.caller.as_ref().filter(|caller| caller.expires.is_some());
        expires.is_some_and(|caller| caller.is_expired(SystemTime::now()))
    }

    /// Takes a call of the tool that the head names. `None`: the message is another one or needs
    /// further checks, and nothing was done.
    pub(crate) fn take(
        &self,
        (front, conn): (&Front, &Arc<Conn>),
        name: &[u8],
        body: &[u8],
        touched: &mut FlushSet,
    ) -> Option<()> {
        let scanned = scan(body);
        let message = scanned.as_ref().ok().filter(|message| is_usual(message, name))?;
        // What comes again may be another replica's.
        if front.replicas.is_some() && message.params.request_state.is_some() {
            return None;
        }
        let caller = self.caller.as_ref();
        let session = front.contexts.stateless(&self.path, caller, front.clock.now());
        let snapshot = session.context.view.snapshot();
        if front.is_draining() || wants_more(&snapshot, name) {
            return None;
        }
        let how = Stateless::read(message, &self.principal).ok()?;
        // Only from here on is the connection busy: before, another path may take the request.
        let reply = Reply::new(conn, ReplyMode::PLAIN);
        begin((&session, &snapshot), caller, (message, how), reply, touched);
        Some(())
    }
}

/// Does the head announce the call of a tool, and repeat nothing of its arguments?
fn announces_call(headers: &Headers<'_>) -> bool {
    let is_one = |name, value: &[u8]| matches!(headers.once(name), Ok(Some(said)) if said == value);
    is_one(VERSION, MODERN.as_bytes())
        && is_one(METHOD, CALL)
        && matches!(headers.once(NAME), Ok(Some(_)))
        && !headers.iter().any(|(name, _)| repeats_argument(name))
}

/// Is it a call of this tool, whose name needs no decoding, as it is passed on: in one line?
fn is_usual(message: &Message<'_>, name: &[u8]) -> bool {
    let quoted = message.text(message.params.name);
    let plain = quoted.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\""));
    message.kind == Kind::Request
        && *message.method() == *CALL
        && plain == Some(name)
        && memchr2(b'\n', b'\r', message.bytes).is_none()
}

/// Does the tool want some of its arguments in the head, too?
fn wants_more(snapshot: &Snapshot, name: &[u8]) -> bool {
    let catalog = &snapshot.catalog;
    if !catalog.mirrors_arguments() {
        return false;
    }
    let route = std::str::from_utf8(name).ok().and_then(|name| catalog.route(name));
    matches!(route, Some(ToolRoute::Server(route)) if route.headers.is_some())
}

#[cfg(test)]
mod tests {
    use trunkline_http::request;

    use super::*;

    #[test]
    fn heads_that_announce_a_call_and_nothing_that_differs() {
        let usual = "mcp-protocol-version: 2026-07-28\r\nMCP-Method: tools/call\r\nMcp-Name: a\r\n";
        for (fields, expected) in [
            (usual.to_owned(), true),
            (usual.replace("2026-07-28", "2025-11-25"), false),
            (usual.replace("tools/call", "tools/list"), false),
            (usual.replace("Mcp-Name: a\r\n", ""), false),
            (usual.replace("mcp-protocol-version: 2026-07-28\r\n", ""), false),
            (format!("{usual}mcp-name: a\r\n"), false),
            (format!("{usual}mcp-method: tools/call\r\n"), false),
            (format!("{usual}MCP-Param-Region: eu\r\n"), false),
            (format!("{usual}X-Mcp-Param: eu\r\n"), true),
        ] {
            let text = format!("POST /mcp HTTP/1.1\r\nHost: a\r\n{fields}\r\n");
            let (request, _) = request(text.as_bytes()).unwrap().unwrap();
            assert_eq!(announces_call(&request.headers), expected, "{fields}");
        }
    }

    #[test]
    fn calls_as_nearly_all_are_made() {
        let usual = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s.t"}}"#;
        for (text, expected) in [
            (usual.to_owned(), true),
            (usual.replace(",\"id\":1", ""), false),
            (usual.replace("tools/call", "prompts/get"), false),
            (usual.replace("tools/call", "tools\\/call"), true),
            (usual.replace("s.t", "s.u"), false),
            (usual.replace("s.t", "s\\u002et"), false),
            (usual.replace("\"s.t\"", "1"), false),
            (usual.replace("\"name\":\"s.t\"", ""), false),
            (usual.replace("{\"name", "{\n\"name"), false),
        ] {
            assert_eq!(is_usual(&scan(text.as_bytes()).unwrap(), b"s.t"), expected, "{text}");
        }
    }
}
