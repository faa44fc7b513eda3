//! The network by allowed hosts: through the proxy to what is named, and nowhere else.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::thread;

use kit::LIMIT;
use serde_json::json;

use super::Stage;

/// Says `pong` to `ping`, and answers any request. Its thread ends with the program.
pub(super) fn host() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            thread::spawn(move || {
                let mut said = [0; 1024];
                let read = stream.read(&mut said).unwrap_or(0);
                let answer: &[u8] = match said.get(..read) {
                    Some(b"ping") => b"pong",
                    _ => b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
                };
                let _ = stream.write_all(answer);
            });
        }
    });
    address
}

#[test]
fn only_the_named_hosts_are_reached_and_only_through_the_proxy() {
    let (allowed, other) = (host().to_string(), host().to_string());
    let stage = Stage::new(Some(json!({ "net": { "hosts": [allowed, "example.com:443"] } })), &[]);
    for (what, place, expected) in [
        ("through-proxy", allowed.as_str(), "done"),
        ("through-proxy-in-time", &allowed, "done"),
        ("plain-request", &allowed, "done"),
        ("through-proxy", &other, "EACCES"),
        ("through-proxy", "example.org:443", "EACCES"),
        ("through-proxy", "example.com:22", "EACCES"),
        ("direct", &allowed, "EACCES"),
        ("direct", &other, "EACCES"),
        ("fast-open", &other, "EPERM"),
        ("fine-udp", "", "EACCES"),
        ("listen", "", "EPERM"),
        ("bind-our-port", "", "EACCES"),
        ("connect-socket", "", "EACCES"),
        ("fine-child", "", "done"),
    ] {
        assert_eq!(stage.attempt_at(what, place), expected, "{what} {place}");
    }
    let words = format!(
        r#"sandbox standard refused a connection to {other}; allow it with "sandbox": {{"net": {{"hosts": ["{other}"]}}}}"#
    );
    stage.platform.serve().process().wait_stderr(&[&words], LIMIT);
}

#[test]
fn a_name_that_leads_to_this_machine_is_refused_unless_that_is_named() {
    let address = host();
    let port = address.port();
    let named = format!("localhost:{port}");
    let stage = Stage::new(Some(json!({ "net": { "hosts": [named] } })), &[]);
    assert_eq!(stage.attempt_at("through-proxy", &named), "done");
    assert_eq!(stage.attempt_at("through-proxy", &address.to_string()), "EACCES");
    let wild = Stage::new(
        Some(json!({ "net": { "hosts": [format!("*.localhost.localdomain:{port}")] } })),
        &[],
    );
    assert_eq!(wild.attempt_at("through-proxy", &named), "EACCES");
}

#[test]
fn hosts_work_under_strict_as_well() {
    let allowed = host().to_string();
    let stage =
        Stage::new(Some(json!({ "profile": "strict", "net": { "hosts": [allowed] } })), &[]);
    assert_eq!(stage.attempt_at("through-proxy", &allowed), "done");
    assert_eq!(stage.attempt_at("direct", &allowed), "EACCES");
}
