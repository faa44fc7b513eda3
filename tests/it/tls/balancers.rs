//! Debian's haproxy and nginx before the front: they pass TLS on as it is and name the client.

use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::process::Command;

use kit::certificates::Authority;
use kit::client::Client;
use kit::platform::{ADMIN, KEYS};
use kit::process::wait_until;
use kit::rest::Rest;
use kit::room::Room;
use kit::serve::Serve;
use kit::tunnel::{Trust, Tunnel};
use kit::{LIMIT, port};
use serde_json::json;

use super::{BOTH, shown, text};

/// Debian has them where only root looks by default.
pub(super) fn program(name: &str) -> String {
    let place = format!("/usr/sbin/{name}");
    if std::path::Path::new(&place).exists() { place } else { name.to_owned() }
}

fn haproxy(room: &Room, port: u16, to: SocketAddr) -> Command {
    room.write(
        "haproxy.cfg",
        format!(
            "defaults\n mode tcp\n timeout connect 30s\n timeout client 5m\n timeout server 5m\n\
             frontend front\n bind 127.0.0.1:{port}\n default_backend serve\n\
             backend serve\n server serve {to} send-proxy-v2\n"
        ),
    );
    let mut command = Command::new(program("haproxy"));
    command.arg("-db").arg("-f").arg(room.path("haproxy.cfg"));
    command
}

fn nginx(room: &Room, port: u16, to: SocketAddr) -> Command {
    let folder = room.path("");
    room.write(
        "nginx.conf",
        format!(
            "load_module /usr/lib/nginx/modules/ngx_stream_module.so;\n\
             daemon off;\nmaster_process off;\nworker_processes 1;\npid {0}/nginx.pid;\nerror_log stderr;\n\
             events {{}}\n\
             stream {{ server {{ listen 127.0.0.1:{port}; proxy_pass {to}; proxy_protocol on; }} }}\n",
            text(&folder).trim_end_matches('/')
        ),
    );
    let mut command = Command::new(program("nginx"));
    command.arg("-p").arg(&folder).arg("-e").arg("stderr").arg("-c").arg(room.path("nginx.conf"));
    command
}

#[track_caller]
fn passes_on(balancer: fn(&Room, u16, SocketAddr) -> Command) {
    let room = Room::new();
    let authority = Authority::new();
    let files = authority.server().files(&room, "front");
    // The balancer connects from 127.0.0.1, and the test from another address.
    let flags = [&shown(&files)[..], &["--proxy-protocol", "127.0.0.1/32"]].concat();
    let serve = Serve::start(room.platform_command(&flags));
    let port = port::free();
    let process = Client::spawn(balancer(&room, port, serve.address()));
    let there = SocketAddr::from(([127, 0, 0, 1], port));
    wait_until("the balancer listens", LIMIT, || TcpStream::connect(there).is_ok());
    let from = Ipv4Addr::new(127, 0, 0, 9);
    let tunnel = Tunnel::to_from(from, there, Trust::of(&authority, &BOTH));
    let admin = Rest::new(tunnel.address(), Some(ADMIN));
    admin.post(KEYS, &json!({ "name": "through", "role": "viewer" })).is(201);
    wait_until("the audit log has the client's own address", LIMIT, || {
        let records = admin.get("/api/v1/audit?limit=1000").is(200);
        let records = records["records"].as_array().cloned().unwrap_or_default();
        let is_it = |record: &serde_json::Value| {
            record["action"] == "create-key" && record.to_string().contains("\"127.0.0.9\"")
        };
        records.iter().any(is_it)
    });
    assert!(process.is_alive());
    process.signal(rustix::process::Signal::TERM);
}

#[test]
fn haproxy_with_version_2() {
    passes_on(haproxy);
}

#[test]
fn nginx_with_version_1() {
    passes_on(nginx);
}
