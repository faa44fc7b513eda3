//! Clients of `/sse` that go: with a word, with a reset, or without a word because their machine has gone.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use kit::limit::Limit;
use kit::room::Room;
use kit::{LIMIT, SOON, ledger, process};

use super::furnished;

/// A client of `/sse` with one call. After a line on its input it goes: it closes its stream, resets it, or drops every
/// packet that comes for it, so that the other side hears nothing any more, not even an acknowledgement.
const CLIENT: &str = r#"
import ctypes, socket, struct, sys
host, way = sys.argv[1:]
address = host.rsplit(":", 1)
def connect():
    return socket.create_connection((address[0], int(address[1])))
def read_until(connection, end):
    seen = b""
    while end not in seen:
        seen += connection.recv(4096)
    return seen
stream, posts = connect(), connect()
head = f"GET /sse HTTP/1.1\r\nHost: {host}\r\nAccept: text/event-stream\r\n\r\n"
stream.sendall(head.encode())
seen = read_until(stream, b"\n\n\r\n")
target = seen[seen.index(b"/messages"):].split(b"\n")[0].strip().decode()
def post(body):
    head = f"POST {target} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
    posts.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
    assert b" 202 " in read_until(posts, b"Accepted")
post('{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}')
post('{"jsonrpc":"2.0","method":"notifications/initialized"}')
post('{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a.wait","arguments":{}}}')
print("called", flush=True)
sys.stdin.readline()
if way == "closes":
    stream.close()
elif way == "resets":
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    stream.close()
else:
    nothing = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0), 8)
    program = struct.pack("HL", 1, ctypes.addressof(nothing))
    SO_ATTACH_FILTER = 26
    stream.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, program)
    posts.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, program)
print("gone", flush=True)
sys.stdin.readline()
"#;

#[test]
fn the_calls_of_a_client_that_goes_are_cancelled_however_it_goes() {
    let ways = [("closes", SOON), ("resets", SOON), ("vanishes", Limit::from(LIMIT))];
    for (way, limit) in ways {
        let room = furnished(Room::hurried());
        let serve = room.serve(&[]);
        let mut client = Command::new("python3");
        client.args(["-c", CLIENT, &serve.address().to_string(), way]);
        client.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut client = client.spawn().expect("python3");
        let mut input = client.stdin.take().expect("a pipe");
        let mut output = BufReader::new(client.stdout.take().expect("a pipe")).lines();
        let mut heard = || output.next().expect("a word").expect("a line");
        assert_eq!(heard(), "called", "{way}");
        let calls = || ledger::calls(&room.ledger("a")).len();
        process::wait_until("the call is there", LIMIT, || calls() == 1);
        let cancelled =
            || ledger::with_method(&room.ledger("a"), "notifications/cancelled").len() == 1;
        assert!(!cancelled());
        writeln!(input, "go").expect("it reads");
        assert_eq!(heard(), "gone", "{way}");
        process::wait_until(&format!("the call of one that {way} is cancelled"), limit, cancelled);
        writeln!(input, "end").expect("it reads");
        assert!(client.wait().expect("it ends").success());
    }
}
