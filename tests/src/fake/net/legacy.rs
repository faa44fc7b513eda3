//! HTTP+SSE of 2024-11-05: one stream per session, messages by POST.

use std::sync::Arc;

use super::parse::Asked;
use super::reply::Reply;
use crate::fake::outlet::Outlet;
use crate::fake::request::Request;
use crate::fake::{Server, take};

pub(super) fn answer(server: &Arc<Server>, reply: &Arc<Reply>, asked: &Asked) {
    let path = asked.target.split('?').next().unwrap_or_default();
    match (asked.method.as_str(), path) {
        ("GET", "/sse") => {
            let session = server.sessions.open(false);
            let endpoint = server.script["http"]["endpoint"].as_str();
            let endpoint = endpoint.unwrap_or("/messages?sessionId=@SESSION@");
            let endpoint = endpoint.replace("@SESSION@", &session.id);
            let event = super::event(endpoint.as_bytes());
            session.push.event(Some("endpoint"), &event);
            reply.carry(&session.push, None);
            server.sessions.close(&session.id);
        }
        ("POST", "/messages") => post(server, reply, asked),
        _ => reply.plain(404, &[("Content-Type", "text/html")], b"<h1>Not Found</h1>"),
    }
}

fn post(server: &Arc<Server>, reply: &Arc<Reply>, asked: &Asked) {
    let session = asked.query("sessionId").and_then(|id| server.sessions.get(&id));
    let Some(session) = session else {
        server.ledger.lock().expect("no holder panics").turned_away(&asked.body);
        return reply.plain(404, &[], b"no such session");
    };
    let mut request = Request::read(asked.body.clone());
    request.session = session.id.clone();
    if server.spoils_acceptance(&request) {
        request.outlet = Outlet::Reply(Arc::clone(reply));
    } else {
        reply.plain(202, &[], b"Accepted");
        request.outlet = Outlet::Stream(Arc::clone(&session.push));
    }
    take(server, request);
}
