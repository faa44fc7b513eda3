//! `GET /events`: who listens hears of every change, and misses none.

use std::time::Duration;

use kit::LIMIT;
use kit::http::{Ask, Connection, Event};
use kit::platform::{ADMIN, KEYS, Platform, SERVERS, id_of, remote};
use kit::process::wait_until;
use kit::room::Room;
use kit::service::Wire;
use serde_json::{Value, json};

use super::echoing;

/// For one look.
const MOMENT: Duration = Duration::from_millis(50);

#[track_caller]
fn listen(platform: &Platform, token: &str, last: Option<&str>) -> Connection {
    let mut ask = Ask::get("/api/v1/events").header("Accept", "text/event-stream");
    if let Some(last) = last {
        ask = ask.header("Last-Event-ID", last);
    }
    let mut events = platform.rest(Some(token)).begin(&ask);
    let head = events.head(LIMIT);
    assert_eq!(head.status, 200, "{}", head.raw);
    assert!(head.is_stream(), "{}", head.raw);
    events
}

fn data(event: &Event) -> Value {
    serde_json::from_slice(&event.data).unwrap_or_else(|error| panic!("{error}: {event:?}"))
}

/// Everything up to the event whose data holds all of these.
#[track_caller]
fn until(events: &mut Connection, parts: &[&str]) -> Vec<Event> {
    let mut heard = Vec::new();
    loop {
        let Some(event) = events.event(LIMIT) else {
            let heard: Vec<_> = heard.iter().map(data).collect();
            panic!("no event with {parts:?}: {heard:?}");
        };
        let text = String::from_utf8_lossy(&event.data).into_owned();
        heard.push(event);
        if parts.iter().all(|part| text.contains(part)) {
            return heard;
        }
    }
}

#[test]
fn whoever_listens_hears_of_every_change_of_a_server() {
    let room = Room::new();
    let service = echoing(&room, "a").listen(Wire::Http);
    let platform = room.platform(&[]);
    let mut events = listen(&platform, ADMIN, None);
    let id = platform.connected("a", &service);
    until(&mut events, &[&id, "registered"]);
    until(&mut events, &[&id, "CONNECTED"]);
    platform.act(&id, "disconnect").is(200);
    until(&mut events, &[&id, "DISCONNECTED"]);
    assert_eq!(platform.admin().delete(&format!("{SERVERS}/{id}")).status(), 204);
    until(&mut events, &[&id, "removed"]);
}

#[test]
fn who_comes_back_gets_what_it_missed() {
    let room = Room::new();
    let services = ["a", "b", "c"].map(|name| echoing(&room, name).listen(Wire::Http));
    let platform = room.platform(&[]);
    let mut events = listen(&platform, ADMIN, None);
    let first = id_of(&platform.register(&remote("a", &services[0])));
    let heard = until(&mut events, &[&first, "registered"]);
    let last = heard.last().and_then(|event| event.id.clone()).expect("each has a number");
    events.close();
    let missed = id_of(&platform.register(&remote("b", &services[1])));
    let mut events = listen(&platform, ADMIN, Some(&last));
    let heard = until(&mut events, &[&missed, "registered"]);
    let again = heard.iter().filter(|event| event.id.as_deref() == Some(&last)).count();
    assert_eq!(again, 0, "nothing comes twice");
}

#[test]
fn a_key_that_is_made_meanwhile_costs_no_listener_an_event() {
    let room = Room::new();
    let service = echoing(&room, "a").listen(Wire::Http);
    let platform = room.platform(&[]);
    let mut events = listen(&platform, &platform.key("viewer"), None);
    platform.key("caller");
    let id = id_of(&platform.register(&remote("a", &service)));
    until(&mut events, &[&id, "registered"]);
}

/// Nothing happens that it could be told of: it ends all the same.
#[test]
fn who_may_not_listen_any_more_hears_the_end_at_once() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let [kept, gone] =
        ["kept", "gone"].map(|name| platform.make_key(&json!({ "name": name, "role": "viewer" })));
    let key = |made: &Value| made["key"].as_str().expect("a key").to_owned();
    let mut stays = listen(&platform, &key(&kept), None);
    let mut ends = listen(&platform, &key(&gone), None);
    assert_eq!(platform.admin().delete(&format!("{KEYS}/{}", id_of(&gone))).status(), 204);
    wait_until("its stream is at its end", LIMIT, || {
        assert_eq!(ends.event(MOMENT), None);
        ends.is_free() || ends.is_closed_within(MOMENT)
    });
    let service = echoing(&room, "a").listen(Wire::Http);
    let id = id_of(&platform.register(&remote("a", &service)));
    until(&mut stays, &[&id, "registered"]);
}

/// As in the list of servers: who runs them is told of all, whatever its key may call.
#[test]
fn an_operator_whose_key_has_few_tools_hears_of_every_server() {
    let room = Room::new();
    let services = ["a", "b"].map(|name| echoing(&room, name).listen(Wire::Http));
    let platform = room.platform(&[]);
    let key = |role: &str| {
        let made = platform.make_key(&json!({ "name": role, "role": role, "tools": ["b.*"] }));
        made["key"].as_str().expect("a key").to_owned()
    };
    let mut runs = listen(&platform, &key("operator"), None);
    let mut uses = listen(&platform, &key("caller"), None);
    let a = platform.connected("a", &services[0]);
    let b = platform.connected("b", &services[1]);
    until(&mut runs, &[&a, "registered"]);
    let heard = until(&mut uses, &[&b, "registered"]);
    assert!(heard.iter().all(|event| data(event)["id"] != a.as_str()), "{heard:?}");
}

#[test]
fn whom_a_policy_shuts_out_hears_the_end() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let policies = "/api/v1/policies";
    let put = |id: &str, text: &str| {
        let body = json!({ "text": text }).to_string();
        platform.admin().with_body("PUT", &format!("{policies}/{id}"), body.as_bytes()).is(201);
    };
    put("all", "permit(principal, action, resource);");
    let made = platform.make_key(&json!({ "name": "gone", "role": "viewer" }));
    let mut ends = listen(&platform, made["key"].as_str().expect("a key"), None);
    let who = id_of(&made);
    put("out", &format!("forbid(principal == Trunkline::Key::\"{who}\", action, resource);"));
    wait_until("its stream is at its end", LIMIT, || {
        assert_eq!(ends.event(MOMENT), None);
        ends.is_free() || ends.is_closed_within(MOMENT)
    });
}
