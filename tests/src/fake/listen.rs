//! Open `subscriptions/listen` requests of the scripted server, and what is told on them.

use super::Server;
use super::outlet::Outlet;
use super::request::Request;
use crate::modern::stamp::SUBSCRIPTION;
use crate::scan;

#[derive(Debug, Clone)]
pub(super) struct Listener {
    /// The raw id of its request.
    id: Vec<u8>,
    /// The raw filter.
    filter: Vec<u8>,
    outlet: Outlet,
}

impl Listener {
    fn wants(&self, message: &[u8]) -> bool {
        let method = scan::get(message, "method").and_then(scan::text).unwrap_or_default();
        let asked = |key: &str| scan::get(&self.filter, key) == Some(b"true");
        match method.as_str() {
            "notifications/tools/list_changed" => asked("toolsListChanged"),
            "notifications/prompts/list_changed" => asked("promptsListChanged"),
            "notifications/resources/list_changed" => asked("resourcesListChanged"),
            "notifications/resources/updated" => {
                let uris =
                    scan::get(&self.filter, "resourceSubscriptions").and_then(scan::elements);
                let uri = scan::path(message, &["params", "uri"]).and_then(scan::text);
                uris.into_iter().flatten().any(|wanted| scan::text(wanted) == uri)
            }
            _ => false,
        }
    }

    /// The message with this subscription's id.
    fn tagged(&self, message: &[u8]) -> Vec<u8> {
        let id = String::from_utf8_lossy(&self.id);
        let meta = format!(r#""_meta":{{"{SUBSCRIPTION}":{id}}}"#);
        match scan::get(message, "params") {
            Some(params) => {
                let params = scan::with_first(params, &meta);
                scan::replace(message, "params", &params).unwrap_or_default()
            }
            None => scan::with_last(message, &format!(r#""params":{{{meta}}}"#)),
        }
    }
}

/// Acknowledges a request to listen; it stays open. Nothing is told in between: who reads the
/// acknowledgement is listening.
pub(super) fn open(server: &Server, request: &Request) {
    let filter = scan::get(&request.params, "notifications").unwrap_or(b"{}").to_vec();
    let listener = Listener { id: request.id.clone(), filter, outlet: request.outlet.clone() };
    let ack = [
        br#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":"#,
        &listener.filter[..],
        b"}}",
    ];
    let mut listeners = server.listeners.lock().expect("no holder panics");
    listener.outlet.message([&listener.tagged(&ack.concat())[..]]);
    listeners.push(listener);
    drop(listeners);
    server.ledger.lock().expect("no holder panics").settled(&request.line);
}

/// The client listens no longer.
pub(super) fn close(server: &Server, id: &[u8]) {
    server.listeners.lock().expect("no holder panics").retain(|listener| listener.id != id);
}

/// Tells everybody who wants to know.
pub(super) fn tell(server: &Server, message: &[u8]) {
    let listeners = server.listeners.lock().expect("no holder panics").clone();
    for listener in listeners.iter().filter(|listener| listener.wants(message)) {
        listener.outlet.message([&listener.tagged(message)[..]]);
    }
}

/// Ends every subscription, with a result or without a word.
pub(super) fn end_all(server: &Server, gracefully: bool) {
    for listener in server.listeners.lock().expect("no holder panics").drain(..) {
        if gracefully {
            let id = String::from_utf8_lossy(&listener.id);
            let line = format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","_meta":{{"{SUBSCRIPTION}":{id}}}}}}}"#
            );
            listener.outlet.message([line.as_bytes()]);
        } else if let Some(reply) = listener.outlet.reply() {
            reply.hang_up();
        }
    }
}
