//! `serve` with TLS of its own: what works without it works with it, and those who mean harm harm only themselves.

mod balancers;
mod calls;
mod certificates;
mod compression;
mod curl;
mod hostile;
mod http2;
mod proxy_protocol;
mod redirect;
mod renewal;
mod start;

use std::net::SocketAddr;
use std::path::Path;

use kit::certificates::{Authority, PairFiles};
use kit::room::Room;
use kit::say;
use kit::serve::Serve;
use kit::tls::{TLS12, TLS13, Version};
use kit::tunnel::{Trust, Tunnel};

const BOTH: [&Version; 2] = [&TLS12, &TLS13];

/// A gateway that speaks TLS, with one server `a`.
struct Encrypted {
    room: Room,
    serve: Serve,
    authority: Authority,
    files: PairFiles,
}

impl Encrypted {
    #[track_caller]
    fn start(flags: &[&str]) -> Self {
        Self::start_in(Room::new(), flags)
    }

    #[track_caller]
    fn start_in(room: Room, flags: &[&str]) -> Self {
        furnish(&room);
        let authority = Authority::new();
        let files = authority.server().files(&room, "front");
        let serve = room.serve(&[&shown(&files)[..], flags].concat());
        Self { room, serve, authority, files }
    }

    fn address(&self) -> SocketAddr {
        self.serve.address()
    }

    /// A plain address in front of it.
    fn tunnel(&self) -> Tunnel {
        Tunnel::to(self.address(), Trust::of(&self.authority, &BOTH))
    }

    /// A session through the tunnel.
    #[track_caller]
    fn client(&self, tunnel: &Tunnel) -> kit::streamable::Streamable {
        use kit::mcp::Speak as _;
        let client = kit::streamable::Streamable::new(tunnel.address(), "/mcp");
        client.initialize_with("2025-11-25", "{}").result();
        client
    }
}

fn furnish(room: &Room) {
    let wait = say::steps([say::gate(room, "go"), say::result("@ARGS@")]);
    let a = room.fake("a").tool("echo", say::echo()).tool("mirror", say::mirror());
    room.config([("a", a.tool("wait", wait).entry())]);
}

/// The flags that name a pair.
fn shown(files: &PairFiles) -> [&str; 4] {
    ["--tls-cert", text(&files.certificate), "--tls-key", text(&files.key)]
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path of the tests is text")
}
