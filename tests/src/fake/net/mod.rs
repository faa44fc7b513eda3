//! The scripted server over the network: one thread per connection, HTTP/1.1 by hand.

mod answer;
mod legacy;
mod modern;
mod parse;
pub(super) mod reply;
pub(super) mod session;
pub(super) mod stream;
mod streamable;

use std::io::Write;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;

use super::Server;
use super::outlet::Outlet;
use super::request::Request;
use crate::pace::{Pace, Paced};
use parse::Asked;
use reply::Reply;

/// Which transport is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wire {
    /// Streamable HTTP, at every path.
    Streamable,
    /// HTTP+SSE of 2024-11-05: `/sse` and `/messages`.
    Legacy,
}

/// Listens, says where on stderr, and serves until it is killed.
pub(super) fn serve(server: &Arc<Server>, address: &str, wire: Wire) {
    let listener = TcpListener::bind(address).expect("the address is free");
    let address = listener.local_addr().expect("a bound socket has an address");
    let path = if wire == Wire::Legacy { "sse" } else { "mcp" };
    eprintln!("listening http://{address}/{path}");
    for (number, stream) in (1..).zip(listener.incoming().flatten()) {
        let server = Arc::clone(server);
        std::thread::spawn(move || converse(&server, number, stream, wire));
    }
}

/// The life of one connection.
fn converse(server: &Arc<Server>, number: u64, stream: TcpStream, wire: Wire) {
    drop(stream.set_nodelay(true));
    let mut buffer = Vec::new();
    let pace = Pace::from_script(&server.script["read"]);
    if let Some(pace) = pace {
        pace.limit(&stream);
    }
    loop {
        let Ok(reading) = stream.try_clone() else { return };
        let mut reading = Paced::new(reading, pace);
        let Some(asked) = parse::read(&mut reading, &mut buffer) else { break };
        server.ledger.lock().expect("no holder panics").asked(number, &asked.head, &asked.body);
        let reply = Arc::new(Reply::new(server, &stream, &asked));
        if !overridden(server, &reply, &asked) {
            match wire {
                Wire::Streamable if modern::concerns(server, &asked) => {
                    modern::answer(server, &reply, &asked, &stream);
                }
                Wire::Streamable => streamable::answer(server, &reply, &asked),
                Wire::Legacy => legacy::answer(server, &reply, &asked),
            }
        }
        if !reply.wait_over() {
            break;
        }
    }
    drop(stream.shutdown(Shutdown::Both));
}

/// Does the script say something about this HTTP method (`"on": {"GET": …}`)?
fn overridden(server: &Arc<Server>, reply: &Arc<Reply>, asked: &Asked) -> bool {
    let Some(steps) = server.behaviour("on", &asked.method) else { return false };
    let mut request = Request::read(asked.body.clone());
    request.outlet = Outlet::Reply(Arc::clone(reply));
    super::act::perform(server, steps, &request);
    true
}

/// A message as a server-sent event without an id; a message of several lines takes several.
pub(super) fn event(message: &[u8]) -> Vec<u8> {
    let mut event = Vec::with_capacity(message.len() + 16);
    for line in message.split(|&byte| byte == b'\n') {
        event.extend_from_slice(b"data: ");
        event.extend_from_slice(line);
        event.push(b'\n');
    }
    event.push(b'\n');
    event
}

fn send(mut stream: &TcpStream, bytes: &[u8]) -> bool {
    stream.write_all(bytes).is_ok()
}
