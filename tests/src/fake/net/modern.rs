//! Streamable HTTP in the stateless era: POST alone, with headers that mirror the body.

use std::net::TcpStream;
use std::sync::Arc;

use super::parse::Asked;
use super::reply::Reply;
use crate::fake::outlet::Outlet;
use crate::fake::request::Request;
use crate::fake::{Server, modern, take};
use crate::modern::header;
use crate::modern::stamp::VERSION;
use crate::scan;

/// Is the request one of this era?
pub(super) fn concerns(server: &Server, asked: &Asked) -> bool {
    match server.script["era"].as_str() {
        Some("modern") => true,
        Some(_) => asked.header("mcp-method").is_some() && asked.header("mcp-session-id").is_none(),
        None => false,
    }
}

pub(super) fn answer(server: &Arc<Server>, reply: &Arc<Reply>, asked: &Asked, stream: &TcpStream) {
    if asked.method != "POST" {
        return reply.plain(405, &[("Allow", "POST")], b"");
    }
    let request =
        Request { outlet: Outlet::Reply(Arc::clone(reply)), ..Request::read(asked.body.clone()) };
    if request.id.is_empty() {
        reply.plain(202, &[], b"");
        return take(server, Request { outlet: Outlet::Nowhere, ..request });
    }
    if let Some(fault) = mismatch(asked, &request) {
        return modern::refuse(&request, -32020, &fault, "");
    }
    watch(server, reply, stream, &request);
    take(server, request);
}

/// What is wrong with the headers, if anything.
fn mismatch(asked: &Asked, request: &Request) -> Option<String> {
    let version = scan::path(&request.params, &["_meta", VERSION]).and_then(scan::text);
    let expected = [
        ("MCP-Protocol-Version", version),
        ("Mcp-Method", Some(request.method.clone())),
        ("Mcp-Name", header::name_of(&request.method, &request.line)),
    ];
    expected.into_iter().find_map(|(name, body)| {
        let body = body?;
        let said = asked.header(name).and_then(|value| header::decode(&value));
        let wrong = said.as_deref() != Some(&body);
        wrong.then(|| format!("{name} is {said:?}, the body says {body:?}"))
    })
}

/// A client that closes the connection before the answer has cancelled its request.
fn watch(server: &Arc<Server>, reply: &Arc<Reply>, stream: &TcpStream, request: &Request) {
    let Ok(stream) = stream.try_clone() else { return };
    let (server, reply, id) = (Arc::clone(server), Arc::clone(reply), request.id.clone());
    std::thread::spawn(move || {
        let has_more = matches!(stream.peek(&mut [0]), Ok(1..));
        if !has_more && reply.abandon() {
            server.abandoned(&id);
        }
    });
}
