//! A login at an authorization server nobody here wrote: that of the Python SDK, as FastMCP has it.

use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

use kit::client::Client;
use kit::platform::{Platform, id_of};
use kit::process::wait_until;
use kit::room::{MARK, Room};
use kit::{LIMIT, port};
use serde_json::{Value, json};

use super::{log_in, needs_login, place};
use crate::peers::python;

#[test]
fn fastmcp_grants_a_login_and_renews_it() {
    let room = Room::new();
    let port = port::free();
    let _peer = peer(&room, port);
    let platform = room.platform(&[]);
    let id = id_of(&platform.register(&json!({
        "name": "far",
        "transport_type": "HTTP",
        "connection_config": { "url": format!("http://127.0.0.1:{port}/mcp") },
    })));
    needs_login(&platform, &id);
    let page = log_in(&platform, &id);
    assert_eq!(page.status(), 200, "{page}");
    platform.wait_status(&id, "CONNECTED");
    assert_eq!(known(&platform)["clients"], json!(["client_secret_basic"]), "it offers no `none`");
    wait_until("two renewals", LIMIT, || known(&platform)["renewals"].as_u64() >= Some(2));
    // Its revocation wants the secret in the form as well, whatever was agreed on.
    platform.admin().bare("DELETE", &place(&id)).is(204);
    needs_login(&platform, &id);
    let logout = platform.wait_audit("the logout", |record| record["action"] == "logout");
    assert_eq!(logout["detail"], "the authorization server was told", "{logout:#}");
    assert_eq!(log_in(&platform, &id).status(), 200);
    platform.wait_status(&id, "CONNECTED");
    assert!(known(&platform)["revocations"].as_u64() >= Some(1));
}

#[track_caller]
fn known(platform: &Platform) -> Value {
    platform.call("far.known", &json!({})).is(200)["structuredContent"].clone()
}

#[track_caller]
fn peer(room: &Room, port: u16) -> Client {
    let mut command = Command::new(python());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/fastmcp_login.py");
    command.arg(script).arg(port.to_string()).env("PYTHONDONTWRITEBYTECODE", "1");
    command.env("HOME", room.path("")).env(MARK, room.marker());
    let peer = Client::spawn(command);
    wait_until("the peer listens", LIMIT, || TcpStream::connect(("127.0.0.1", port)).is_ok());
    peer
}
