//! Streamable HTTP: what a well-behaved server does with POST, GET and DELETE.

use std::sync::Arc;

use super::parse::Asked;
use super::reply::Reply;
use super::session::Session;
use crate::fake::outlet::Outlet;
use crate::fake::request::Request;
use crate::fake::{Server, take};

pub(super) fn answer(server: &Arc<Server>, reply: &Arc<Reply>, asked: &Asked) {
    match asked.method.as_str() {
        "POST" => post(server, reply, asked),
        "GET" => get(server, reply, asked),
        "DELETE" => match session(server, asked) {
            Ok(Some(session)) => {
                server.sessions.close(&session.id);
                reply.plain(200, &[], b"");
            }
            Ok(None) => reply.plain(405, &[], b""),
            Err(status) => reply.plain(status, &[], b""),
        },
        _ => reply.plain(405, &[("Allow", "GET, POST, DELETE")], b""),
    }
}

fn post(server: &Arc<Server>, reply: &Arc<Reply>, asked: &Asked) {
    let mut request = Request::read(asked.body.clone());
    let known = match request.method.as_str() {
        "initialize" if stateless(server) => Ok(None),
        _ if server.is_scripted_discovery(&request) => Ok(None),
        "initialize" => {
            let session = server.sessions.open(server.script["http"]["events"] == true);
            reply.belongs_to(&session, true);
            Ok(Some(session))
        }
        _ => session(server, asked).inspect(|session| {
            if let Some(session) = session {
                reply.belongs_to(session, false);
            }
        }),
    };
    let session = match known {
        Ok(session) => session,
        Err(status) => {
            server.ledger.lock().expect("no holder panics").turned_away(&asked.body);
            return refuse(server, reply, status);
        }
    };
    request.session = session.map(|session| session.id.clone()).unwrap_or_default();
    let is_request = !request.id.is_empty() && !request.method.is_empty();
    // A notification has no answer of its own, but a behaviour may still want to spoil the 202.
    let spoils = !is_request && server.spoils_acceptance(&request);
    request.outlet = match is_request || spoils {
        true => Outlet::Reply(Arc::clone(reply)),
        false => Outlet::Nowhere,
    };
    if !is_request && !spoils {
        reply.plain(202, &[], b"");
    }
    take(server, request);
}

fn get(server: &Arc<Server>, reply: &Arc<Reply>, asked: &Asked) {
    if server.script["http"]["get"] == false || stateless(server) {
        return reply.plain(405, &[("Allow", "POST, DELETE")], b"");
    }
    let session = match session(server, asked) {
        Ok(Some(session)) => session,
        Ok(None) => return reply.plain(400, &[], b""),
        Err(status) => return refuse(server, reply, status),
    };
    match asked.header("last-event-id").and_then(|id| session.behind(&id)) {
        Some((stream, after)) => reply.carry(&stream, Some(after)),
        None => reply.carry(&session.push, None),
    }
}

fn stateless(server: &Server) -> bool {
    server.script["http"]["sessions"] == false
}

/// The session the request names; 400 without one, 404 for an unknown one.
fn session(server: &Server, asked: &Asked) -> Result<Option<Arc<Session>>, u16> {
    if stateless(server) {
        return Ok(None);
    }
    let id = asked.header("mcp-session-id").ok_or(400_u16)?;
    server.sessions.get(&id).map(Some).ok_or(404)
}

fn refuse(server: &Server, reply: &Reply, status: u16) {
    let usual =
        r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"no such session"},"id":null}"#;
    let body = server.script["http"]["refusal"].as_str().unwrap_or(usual);
    reply.plain(status, &[("Content-Type", "application/json")], body.as_bytes());
}
