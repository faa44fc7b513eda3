//! The figures of the overview, over REST and on the page: they are those of what was done.

use kit::dashboard::Person;
use kit::mcp::Speak;
use kit::platform::{ADMIN, SERVERS};
use kit::process::wait_until;
use kit::room::Room;
use kit::service::Wire;
use kit::{LIMIT, say};
use serde_json::{Value, json};

use super::echoing;

#[test]
fn the_overview_counts_what_was_called_and_who_is_there() {
    let room = Room::new();
    let service = room
        .fake("a")
        .tool("echo", say::echo())
        .tool("fail", say::steps([say::error(r#"{"code":-32000,"message":"no"}"#)]))
        .listen(Wire::Http);
    let platform = room.platform(&[]);
    platform.connected("a", &service);
    let overview = || platform.admin().get("/api/v1/overview").is(200);
    assert_eq!((&overview()["calls"], &overview()["clients"]), (&json!(0), &json!(0)));
    let client = platform.mcp(ADMIN);
    for _ in 0..3 {
        client.assert_echo("a", "echo", "{}");
    }
    platform.call("a.fail", &json!({}));
    // They are heard of a moment after their answers.
    wait_until("four calls", LIMIT, || overview()["calls"] == 4);
    let found = overview();
    assert_eq!((&found["failed_calls"], &found["error_rate"]), (&json!(1), &json!(0.25)));
    assert_eq!(
        (&found["servers"]["connected"], &found["servers"]["total"]),
        (&json!(1), &json!(1))
    );
    assert_eq!((&found["clients"], &found["tools"]), (&json!(1), &json!(2)));
    assert!(found["response_time_ms"]["p50"].as_f64() > Some(0.0), "{found:#}");
    let counted =
        found["series"].as_array().unwrap().iter().map(|it| it["calls"].as_u64().unwrap());
    assert_eq!(counted.sum::<u64>(), 4);
    let hour = found["hour"].as_array().expect("the last hour");
    assert_eq!(hour.iter().filter_map(|it| it["calls"].as_u64()).sum::<u64>(), 4, "{hour:?}");
    for kind in found["context"].as_array().expect("kinds of clients") {
        assert_eq!(kind["tools"], 2, "{kind}");
        let (bytes, tokens) = (kind["bytes"].as_u64().unwrap(), kind["tokens"].as_u64().unwrap());
        assert!(bytes > 50 && tokens == bytes.div_ceil(4), "{kind}");
    }
    let page = Person::signed_in(&platform, ADMIN).page("/");
    for words in ["1 of 1", "25 %", "4 in the last 5 min", "Claude Desktop", "<svg"] {
        assert!(page.contains(words), "{words}: {page}");
    }
    let person = Person::signed_in(&platform, ADMIN);
    let page = person.page("/?span=1h");
    for words in ["an hour ago", "4 calls in the last hour", "Calls in a minute"] {
        assert!(page.contains(words), "{words}: {page}");
    }
    let viewer = platform.rest(Some(&platform.key("viewer"))).get("/api/v1/overview").is(200);
    assert_eq!(viewer["clients"], Value::Null, "who else is there is not for everybody");
}

#[test]
fn clients_are_named_with_what_they_say_and_whose_token_they_show() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let made = platform.make_key(&json!({ "name": "a laptop", "role": "caller" }));
    let _client = platform.mcp(made["key"].as_str().unwrap());
    let listed = platform.admin().get("/api/v1/clients").is(200);
    let client = &listed["clients"][0];
    assert_eq!((&listed["total"], &client["who"]), (&json!(1), &json!("a laptop")));
    assert_eq!((&client["way"], &client["revision"]), (&json!("session"), &json!("2025-11-25")));
    assert!(client["name"].is_string() && client["since"].is_string(), "{client:#}");
    // The moment it came stays what it is, to the millisecond.
    for _ in 0..5 {
        let again = platform.admin().get("/api/v1/clients").is(200);
        assert_eq!(again["clients"][0]["since"], client["since"]);
    }
    let page = Person::signed_in(&platform, ADMIN).page("/clients");
    for words in ["a laptop", "/mcp session", "2025-11-25", client["name"].as_str().unwrap()] {
        assert!(page.contains(words), "{words}: {page}");
    }
    let settings = platform.admin().get("/api/v1/settings").is(200);
    assert_eq!(settings["listen"], platform.serve().address().to_string());
    assert_eq!(
        (&settings["store"], &settings["stdio_registration"]),
        (&json!("sqlite"), &json!("refused"))
    );
    assert!(!settings.to_string().contains(ADMIN));
}

/// What the page says a client will see is what that client sees.
#[test]
fn the_names_for_each_client_are_those_that_it_gets() {
    let room = Room::new();
    let service = echoing(&room, "a").listen(Wire::Http);
    let platform = room.platform(&[]);
    let id = platform.connected("dotted.name", &service);
    let details = platform.admin().get(&format!("{SERVERS}/{id}/details")).is(200);
    assert_eq!(details["names"][0]["name"], "dotted.name.echo");
    assert_eq!(
        (&details["capabilities"][0], &details["process"]["state"]),
        (&json!("tools"), &json!("running"))
    );
    let mut told = 0;
    for other in details["names"][0]["others"].as_array().unwrap() {
        for kind in other["clients"].as_array().unwrap() {
            let bearer = format!("Bearer {ADMIN}");
            let path = format!("/mcp/for/{}", kind.as_str().unwrap());
            let headers = [("Authorization", &bearer[..])];
            let address = platform.serve().address();
            let client = kit::streamable::Streamable::with_headers(address, &path, &headers);
            client.initialize("2025-11-25").result();
            assert_eq!(client.list_names(), [other["name"].as_str().unwrap()], "{kind}");
            told += 1;
        }
    }
    assert!(told > 0, "{details:#}");
    let person = Person::signed_in(&platform, ADMIN);
    let page = person.page(&format!("/servers/{id}?span=1h"));
    for words in ["MCP 2025-11-25 (legacy era)", "?span=5m", "dotted.name.echo"] {
        assert!(page.contains(words), "{words}: {page}");
    }
    assert!(person.page("/servers").contains("legacy era"));
    platform.admin().get(&format!("{SERVERS}/nobody/details")).problem(404, "no-such-server");
}
