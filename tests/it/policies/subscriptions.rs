//! Subscriptions follow policies: what may not be read any more is not told of any more, and its server is told so.

use std::time::Duration;

use kit::mcp::Speak;
use kit::process::wait_until;
use kit::room::Room;
use kit::scene::{Front, each_of};
use kit::service::Wire;
use kit::{LIMIT, ledger, say, scan};
use serde_json::json;

use super::ALL;

const UPDATED: &str = "notifications/resources/updated";
/// What may be seen and not read, and what is not there.
const RULES: [&str; 2] = [
    "@id(\"unread\") forbid(principal, action == Trunkline::Action::\"read\", resource == Trunkline::Resource::\"a.x://1\");",
    "@id(\"hidden\") forbid(principal, action, resource is Trunkline::Resource) when { resource.uri like \"X://1*\" || resource.uri like \"x://1*\" };",
];

/// Server `a` tells of two resources at a call.
fn config(room: &Room) {
    let touch = say::steps([say::updated("x://1"), say::updated("x://2"), say::text("done")]);
    let a = room.fake("a").tool("touch", touch).resource("x://1", "1").resource("x://2", "2");
    room.write("one.cedar", ALL);
    let config = json!({ "mcpServers": { "a": a.entry() }, "policies": "one.cedar" });
    room.write("mcp.json", config.to_string());
}

fn unsubscribed(room: &Room) -> Vec<String> {
    let all = ledger::with_method(&room.ledger("a"), "resources/unsubscribe");
    let uri = |line: &Vec<u8>| scan::path(line, &["params", "uri"]).and_then(scan::text);
    all.iter().filter_map(uri).map(|uri| uri.to_string()).collect()
}

/// The resources that the client is told of, up to the update of `last`.
#[track_caller]
fn heard(client: &impl Speak, last: &str) -> Vec<String> {
    let mut all = Vec::new();
    while all.last().is_none_or(|uri| uri != last) {
        let update = client.notification(UPDATED, LIMIT);
        let uri = scan::path(&update.0, &["params", "uri"]).and_then(scan::text);
        all.push(uri.expect("a URI").to_string());
    }
    all
}

#[test]
fn policies_that_change_end_subscriptions_of_sessions() {
    each_of([Front::Stdio, Front::Http, Front::Sse], |front| {
        for rule in RULES {
            let room = Room::new();
            config(&room);
            let scene = room.open_ready(front, &[]);
            let touch = scene.tool("a", "touch");
            let ask = |method: &str, uri: &str| {
                scene.ask(&format!("resources/{method}"), &format!(r#"{{"uri":"{uri}"}}"#))
            };
            ask("subscribe", "x://1").result();
            ask("subscribe", "x://2").result();
            scene.call(&touch, "{}").result();
            assert_eq!(heard(&scene.client, "x://2"), ["x://1", "x://2"]);
            room.write("one.cedar", format!("{ALL}{rule}"));
            wait_until("its server need not tell any more", LIMIT, || {
                unsubscribed(&room) == ["x://1"]
            });
            assert!(ask("subscribe", "x://1").try_error().is_some());
            scene.call(&touch, "{}").result();
            assert_eq!(heard(&scene.client, "x://2"), ["x://2"]);
            // Allowed again, it is subscribed to again.
            room.write("one.cedar", ALL);
            wait_until("it is allowed", LIMIT, || ask("subscribe", "x://1").try_result().is_some());
            scene.call(&touch, "{}").result();
            assert_eq!(heard(&scene.client, "x://2"), ["x://1", "x://2"]);
        }
    });
}

#[test]
fn policies_that_change_end_what_stateless_clients_listen_for() {
    each_of([Front::ModernStdio, Front::ModernHttp], |front| {
        for rule in RULES {
            let room = Room::new();
            config(&room);
            let scene = room.open_ready(front, &[]);
            let client = scene.modern();
            let listen = client.listen(r#"{"resourceSubscriptions":["x://1","x://2"]}"#);
            room.write("one.cedar", format!("{ALL}{rule}"));
            wait_until("its server need not tell any more", LIMIT, || {
                unsubscribed(&room) == ["x://1"]
            });
            scene.call(&scene.tool("a", "touch"), "{}").result();
            let update = client.event(&listen.id, UPDATED, LIMIT);
            let uri = scan::path(&update.0, &["params", "uri"]).and_then(scan::text);
            assert_eq!(uri.as_deref(), Some("x://2"));
        }
    });
}

/// One who may not read it any more does not take it from one who may.
#[test]
fn policies_that_end_the_subscription_of_one_key_leave_that_of_another() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let touch = say::steps([say::updated("x://1"), say::text("done")]);
    let fake = room.fake("a").tool("touch", touch).resource("x://1", "1");
    let service = fake.listen(Wire::Http);
    platform.connected("a", &service);
    let put = |text: String| {
        let body = json!({ "text": text }).to_string();
        let answer = platform.admin().with_body("PUT", "/api/v1/policies/p", body.as_bytes());
        assert!([200, 201].contains(&answer.status()), "{answer}");
    };
    put(ALL.to_owned());
    let keys =
        ["one", "two"].map(|name| platform.make_key(&json!({ "name": name, "role": "caller" })));
    let ids = keys.each_ref().map(|key| kit::platform::id_of(key));
    let sessions = keys.each_ref().map(|key| platform.mcp(key["key"].as_str().expect("a key")));
    for session in &sessions {
        assert_eq!(session.listen(), 200);
        session.ask("resources/subscribe", r#"{"uri":"x://1"}"#).result();
    }
    let [one, two] = &sessions;
    let forbid = |id: &str| {
        format!(
            "forbid(principal == Trunkline::Key::\"{id}\", action == Trunkline::Action::\"read\", resource);\n"
        )
    };
    put(format!("{ALL}{}", forbid(&ids[0])));
    // At once: the answer to the change came before this call.
    two.call("a.touch", "{}").result();
    two.notification(UPDATED, LIMIT);
    one.call("a.touch", "{}").result();
    two.notification(UPDATED, LIMIT);
    assert!(one.try_wait_for(Duration::ZERO, |line| line.is_notification(UPDATED)).is_none());
    assert!(unsubscribed(&room).is_empty(), "another still wants it");
    put(format!("{ALL}{}{}", forbid(&ids[0]), forbid(&ids[1])));
    wait_until("nobody wants it any more", LIMIT, || unsubscribed(&room) == ["x://1"]);
}

/// Updates may be of what is below a resource: that may be forbidden by itself.
#[test]
fn policies_about_what_is_below_a_resource_hold_for_its_updates() {
    let room = Room::new();
    let updated = |uri: &str| {
        let params = json!({ "uri": uri });
        say::push(&json!({ "jsonrpc": "2.0", "method": UPDATED, "params": params }).to_string())
    };
    let touch = say::steps([updated("x://2/secret"), updated("x://2/open"), say::text("done")]);
    let a = room.fake("a").tool("touch", touch).resource("x://2", "2");
    let rule = "forbid(principal, action, resource == Trunkline::Resource::\"a.x://2/secret\");";
    room.write("one.cedar", format!("{ALL}{rule}"));
    let config = json!({ "mcpServers": { "a": a.entry() }, "policies": "one.cedar" });
    room.write("mcp.json", config.to_string());
    let scene = room.open_ready(Front::Http, &[]);
    scene.ask("resources/subscribe", r#"{"uri":"x://2"}"#).result();
    scene.call(&scene.tool("a", "touch"), "{}").result();
    assert_eq!(heard(&scene.client, "x://2/open"), ["x://2/open"]);
}
