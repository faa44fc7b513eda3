//! What `/overview` says about the lists of tools is what clients are served, and nobody waits for it but
//! whoever asks.

use std::time::Duration;

use kit::http::Ask;
use kit::mcp::Speak;
use kit::platform::{ADMIN, KEYS, Platform, SERVERS, id_of, remote};
use kit::room::Room;
use kit::service::Wire;
use kit::streamable::Streamable;
use kit::{LIMIT, say};
use serde_json::{Value, json};

const OVERVIEW: &str = "/api/v1/overview";

/// How many tools `tools/list` has at this path, and how many bytes its result.
fn served(platform: &Platform, path: &str, token: &str) -> (u64, u64) {
    let bearer = format!("Bearer {token}");
    let headers = [("Authorization", &bearer[..])];
    let client = Streamable::with_headers(platform.serve().address(), path, &headers);
    client.initialize("2025-11-25").result();
    let answer = client.ask("tools/list", "{}");
    (client.list_names().len() as u64, answer.result().len() as u64)
}

#[track_caller]
fn assert_true(platform: &Platform, token: &str) -> Vec<Value> {
    let overview = platform.rest(Some(token)).get(OVERVIEW).is(200);
    let kinds = overview["context"].as_array().expect("kinds of clients").clone();
    for kind in &kinds {
        let path = match kind["client"].as_str() {
            Some(client) => format!("/mcp/for/{client}"),
            None => "/mcp".to_owned(),
        };
        let told = (kind["tools"].as_u64().unwrap(), kind["bytes"].as_u64().unwrap());
        assert_eq!(told, served(platform, &path, token), "{kind}");
    }
    kinds
}

/// 81 tools are more than Cursor carries and fewer than VS Code does.
#[test]
fn the_overview_tells_of_the_lists_that_clients_are_served() {
    let room = Room::new();
    let service = room.fake("a").generated(81, 50).tool("*", say::mirror()).listen(Wire::Http);
    let platform = room.platform(&[]);
    platform.connected("a", &service);
    let tools = |kinds: &[Value], client: &str| {
        kinds.iter().find(|kind| kind["client"] == client).unwrap()["tools"].as_u64()
    };
    let kinds = assert_true(&platform, ADMIN);
    assert_eq!((tools(&kinds, "cursor"), tools(&kinds, "vscode")), (Some(4), Some(81)));
    let some = json!({ "name": "some", "role": "caller", "tools": ["a.t1", "a.t2"] });
    let some = platform.make_key(&some)["key"].as_str().expect("a key").to_owned();
    let kinds = assert_true(&platform, &some);
    assert_eq!((tools(&kinds, "cursor"), tools(&kinds, "vscode")), (Some(2), Some(2)));
    // Names can be asked for where the list does not show them.
    let id = platform.admin().get(SERVERS).is(200)["servers"][0]["id"].clone();
    let details = format!("{SERVERS}/{}/details", id.as_str().expect("an id"));
    let details = platform.admin().get(&details).is(200);
    let others = details["names"][0]["others"].as_array().expect("names");
    let of_cursor = others.iter().any(|it| it["clients"].to_string().contains("cursor"));
    assert!(of_cursor, "{details:#}");
}

/// Counting the lists of ten thousand tools for every kind of client takes seconds. It is asked for first,
/// and `/me` is answered before it.
#[test]
fn nobody_waits_for_the_overview_of_ten_thousand_tools() {
    let turn = crate::ONE_AT_A_TIME.lock();
    let room = Room::new();
    let platform = room.platform(&[]);
    let ids: Vec<String> = (0..10)
        .map(|n| {
            let name = format!("s{n}");
            let fake = room.fake(&name).generated(1_000, 100).tool("*", say::echo());
            let service = fake.listen(Wire::Http);
            let id = id_of(&platform.register(&remote(&name, &service)));
            room.keep(service);
            id
        })
        .collect();
    for id in &ids {
        platform.wait_server(id, "all its tools", 4 * LIMIT, |it| it["tools"] == 1_000);
    }
    let some = json!({ "name": "some", "role": "viewer", "tools": ["s1.*", "s2.t1*", "s9.*"] });
    let some = platform.make_key(&some)["key"].as_str().expect("a key").to_owned();
    for (n, token) in [ADMIN, &some, ADMIN].into_iter().enumerate() {
        platform.act(&ids[n], "disconnect").is(200);
        platform.wait_status(&ids[n], "DISCONNECTED");
        let rest = platform.rest(Some(token));
        let mut overview = rest.begin(&Ask::get(OVERVIEW));
        // It is on its way before this one is sent.
        rest.get("/api/v1/me").is(200);
        platform.admin().get(KEYS).is(200);
        let early = overview.try_head(Duration::from_millis(1));
        assert!(early.is_none(), "the overview came first, round {n}");
        let answer = overview.response(4 * LIMIT);
        assert_eq!(answer.status(), 200, "{}", answer.text());
        // What was counted is kept until something changes.
        rest.get(OVERVIEW).is(200);
    }
    drop(turn);
}
