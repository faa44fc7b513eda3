//! The stream that keeps open pages up to date.

use kit::LIMIT;
use kit::dashboard::Person;
use kit::http::{Ask, Connection};
use kit::limit::Limit;
use kit::platform::{ADMIN, KEYS, id_of};
use kit::room::Room;
use kit::service::Wire;
use serde_json::json;

use super::echoing;

#[track_caller]
fn listen(person: &Person) -> Connection {
    let mut events = person.begin(&Ask::get("/ui/live").header("Accept", "text/event-stream"));
    let head = events.head(LIMIT);
    assert_eq!(head.status, 200, "{}", head.raw);
    assert!(head.is_stream(), "{}", head.raw);
    events
}

/// Waits for an event of this name.
#[track_caller]
fn hear(events: &mut Connection, name: &str) {
    let deadline = Limit::from(LIMIT).begin();
    while !deadline.is_over() {
        let Some(event) = events.event(LIMIT) else { break };
        if event.name == name {
            return;
        }
    }
    panic!("no event `{name}`");
}

#[test]
fn an_open_page_hears_of_servers_and_calls() {
    let room = Room::new();
    let service = echoing(&room, "a").listen(Wire::Http);
    let platform = room.platform(&[]);
    let person = Person::signed_in(&platform, ADMIN);
    let mut events = listen(&person);
    platform.connected("a", &service);
    hear(&mut events, "server");
    hear(&mut events, "status");
    platform.call("a.echo", &json!({})).is(200);
    hear(&mut events, "calls");
    let page = person.page("/servers");
    assert!(page.contains("data-topics=\"server status tools calls\""), "{page}");
    assert!(page.contains("id=\"servers\" data-live"), "{page}");
}

#[test]
fn an_open_page_hears_of_clients_that_come_and_go() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let person = Person::signed_in(&platform, ADMIN);
    let mut events = listen(&person);
    let client = platform.mcp(ADMIN);
    hear(&mut events, "clients");
    assert_eq!(client.delete(), 204);
    hear(&mut events, "clients");
    for path in ["/", "/clients"] {
        let page = person.page(path);
        let topics = kit::dashboard::between(&page, "data-topics=\"", "\"").expect("topics");
        assert!(topics.split(' ').any(|topic| topic == "clients"), "{path}: {topics}");
    }
}

#[test]
fn the_stream_ends_with_the_session_and_is_for_nobody_else() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let stranger = Person::stranger(platform.serve().address());
    assert_eq!(stranger.get("/ui/live").status(), 401);
    let made = platform.make_key(&json!({ "name": "x", "role": "viewer" }));
    let person = Person::signed_in(&platform, made["key"].as_str().unwrap());
    let mut events = listen(&person);
    platform.admin().delete(&format!("{KEYS}/{}", id_of(&made)));
    hear(&mut events, "bye");
    assert_eq!(events.event(LIMIT), None, "nothing follows");
    assert!(events.is_free(), "the stream has ended");
}

#[test]
fn whoever_signs_out_in_one_window_is_out_in_all() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let person = Person::signed_in(&platform, ADMIN);
    let mut events = listen(&person);
    person.submit("/", "/sign-out", &[]);
    hear(&mut events, "bye");
}

/// Else a notice would be gone before the person has seen it.
#[test]
fn a_page_that_keeps_itself_up_to_date_takes_no_notice_away() {
    let room = Room::new();
    let service = echoing(&room, "a").listen(Wire::Http);
    let platform = room.platform(&[]);
    let id = platform.connected("a", &service);
    let person = Person::signed_in(&platform, ADMIN);
    let place = format!("/servers/{id}");
    person.submit(&place, &format!("{place}/disconnect"), &[]);
    let live = Ask::get(&place).header("x-trunkline-live", "1");
    assert!(!person.send(&live).text().contains("Disconnected."));
    assert!(person.page(&place).contains("Disconnected."));
}
