//! A server that fails again and again is tried ever less often, whatever else happens, and those who
//! call it meanwhile hear so at once.

use kit::mcp::Speak;
use kit::platform::{ADMIN, Platform, id_of};
use kit::room::Room;
use kit::service::Wire;
use kit::{LIMIT, process};
use serde_json::{Value, json};

use super::echoing;

/// One that ends as soon as it is started, and one that nobody listens for.
fn hopeless() -> [(&'static str, Value); 2] {
    let command = json!({ "command": "/bin/false" });
    let address = json!({ "url": "http://127.0.0.1:1/mcp" });
    [("STDIO", command), ("HTTP", address)].map(|(kind, config)| {
        (kind, json!({ "name": "a", "transport_type": kind, "connection_config": config }))
    })
}

/// Is a caller told that it has failed too often?
fn is_open(platform: &Platform) -> bool {
    loop {
        let problem = platform.call("a.echo", &json!({})).problem(503, "server-unavailable");
        let detail = problem["detail"].as_str().unwrap_or_default();
        // At this very moment it is being tried: what comes of that is known in a moment.
        if !detail.contains("still starting") {
            return detail.contains("times in a row and is tried again in");
        }
    }
}

fn tries(platform: &Platform) -> String {
    let text = platform.admin().get("/metrics").response.text();
    let is_it =
        |line: &&str| line.starts_with("trunkline_restarts_total") && line.contains("\"a\"");
    let line = text.lines().find(is_it);
    line.unwrap_or_else(|| panic!("no restarts of `a`: {text}")).to_owned()
}

#[test]
fn nfr_r2_five_failures_in_a_row_open_the_circuit_and_no_other_change_closes_it() {
    for (kind, body) in hopeless() {
        let room = Room::new();
        let platform = room.platform(&["--allow-stdio-registration"]);
        platform.register(&body);
        process::wait_until(&format!("{kind}: the circuit opens"), 2 * LIMIT, || {
            is_open(&platform)
        });
        let other = echoing(&room, "b").listen(Wire::Http);
        platform.connected("b", &other);
        assert!(is_open(&platform), "{kind}: closed by a registration");
        let answer = platform.mcp(ADMIN).call("a.echo", "{}");
        let error = String::from_utf8_lossy(answer.error()).into_owned();
        assert!(error.contains("is tried again in"), "{kind}: {error}");
    }
}

#[test]
fn nfr_r2_who_asks_for_a_connection_has_it_tried_at_once() {
    let room = Room::new();
    let platform = room.platform(&["--allow-stdio-registration"]);
    let [(_, body), _] = hopeless();
    let id = id_of(&platform.register(&body));
    process::wait_until("the circuit opens", 2 * LIMIT, || is_open(&platform));
    let before = tries(&platform);
    platform.act(&id, "connect").is(202);
    process::wait_until("it is tried again", LIMIT, || tries(&platform) != before);
}
