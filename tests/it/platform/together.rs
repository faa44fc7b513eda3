//! Several who change the same server at once: nobody is told of a mistake that nobody made.

use std::thread;

use kit::platform::{Platform, SERVERS, id_of};
use kit::room::Room;
use serde_json::{Value, json};

fn registration(name: &str) -> Value {
    json!({
        "name": name,
        "transport_type": "HTTP",
        "connection_config": { "url": "https://example.com/mcp", "headers": { "X": "first" } },
        "auto_connect": false,
    })
}

fn patch(platform: &Platform, id: &str, body: &Value) -> u16 {
    platform.admin().patch(&format!("{SERVERS}/{id}"), body).status()
}

#[test]
fn changes_without_if_match_all_go_on() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let id = id_of(&platform.register(&registration("a")));
    let header = |n: usize| json!({ "connection_config": { "headers": { "X": format!("{n}") } } });
    let description = |n: usize| json!({ "description": format!("{n}") });
    let timeout = |n: usize| json!({ "call_timeout": n + 1 });
    thread::scope(|scope| {
        let changes: [&(dyn Fn(usize) -> Value + Sync); 3] = [&header, &description, &timeout];
        for change in changes {
            let (platform, id) = (&platform, &id);
            scope.spawn(move || {
                for n in 0..15 {
                    assert_eq!(patch(platform, id, &change(n)), 200);
                }
            });
        }
    });
    let server = platform.server(&id);
    assert_eq!((&server["description"], &server["call_timeout"]), (&json!("14"), &json!(15)));
    assert_eq!(server["revision"], 1 + 3 * 15, "none has undone another's");
}

/// What one has changed the other may not have heard of yet.
#[test]
fn changes_at_two_replicas_follow_each_other() {
    let room = Room::new();
    let replicas = [(); 2].map(|()| room.platform(&[]));
    let id = id_of(&replicas[0].register(&registration("a")));
    kit::process::wait_until("the other one knows it", kit::LIMIT, || {
        replicas[1].admin().get(&format!("{SERVERS}/{id}")).status() == 200
    });
    for n in 0..10 {
        let replica = &replicas[n % 2];
        assert_eq!(patch(replica, &id, &json!({ "description": format!("{n}") })), 200, "{n}");
    }
    // A version that is the newest, though it was made elsewhere; and one that is not.
    let path = format!("{SERVERS}/{id}");
    let tag = |replica: &Platform| {
        let answer = replica.admin().patch(&path, &json!({ "description": "x" }));
        answer.header("etag").expect("a tag").to_owned()
    };
    let [old, new] = [tag(&replicas[0]), tag(&replicas[0])];
    for (tag, status) in [(old, 412), (new, 200)] {
        let body = r#"{"description":"y"}"#;
        let ask = kit::http::Ask::new("PATCH", &path)
            .header("Content-Type", "application/json")
            .header("If-Match", &tag)
            .body(body);
        let answer = replicas[1].admin().send(&ask);
        assert_eq!(answer.status(), status, "{answer}");
    }
}

#[test]
fn a_server_that_is_removed_while_it_is_changed_is_not_there() {
    let room = Room::new();
    let platform = room.platform(&[]);
    for n in 0..15 {
        let id = id_of(&platform.register(&registration(&format!("s{n}"))));
        let statuses = thread::scope(|scope| {
            let changing = scope.spawn(|| -> Vec<u16> {
                let body =
                    |n| json!({ "connection_config": { "headers": { "X": format!("{n}") } } });
                (0..5).map(|n| patch(&platform, &id, &body(n))).collect()
            });
            let removed = platform.admin().delete(&format!("{SERVERS}/{id}"));
            assert_eq!(removed.status(), 204, "{removed}");
            changing.join().expect("it does not panic")
        });
        assert!(statuses.iter().all(|status| [200, 404].contains(status)), "{statuses:?}");
    }
}
