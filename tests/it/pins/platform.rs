//! On a platform: pins in the store, decided on over REST, with records of the audit.

use kit::LIMIT;
use kit::database::Database;
use kit::platform::{ADMIN, Platform, id_of, remote};
use kit::process::wait_until;
use kit::room::Room;
use kit::service::{Service, Wire};
use serde_json::{Value, json};

use super::{EVIL, GOOD, growing, tool};

const GROW: &str = r#"{ "name":"grow","inputSchema":{"type":"object"}}"#;
const REVIEWS: &str = "/api/v1/reviews";

fn service(room: &Room) -> Service {
    let (good, evil, new) = (tool("add", GOOD), tool("add", EVIL), tool("new", "n"));
    growing(room, &[GROW, &good], &[GROW, &evil, &new]).listen(Wire::Http)
}

/// Registers the server with this policy, and has it change what it lists.
fn grown(platform: &Platform, service: &Service, policy: Option<&str>) -> String {
    let mut body = remote("rail", service);
    if let Some(policy) = policy {
        body["on_change"] = json!(policy);
    }
    let shown = platform.register(&body);
    assert_eq!(shown["on_change"], policy.unwrap_or("warn"));
    let id = id_of(&shown);
    platform.wait_status(&id, "CONNECTED");
    platform.call("rail.grow", &json!({})).is(200);
    wait_until("the change is noticed", LIMIT, || total(platform) == 2);
    id
}

fn total(platform: &Platform) -> u64 {
    platform.admin().get(REVIEWS).is(200)["total"].as_u64().expect("a number")
}

/// What waits of the only server.
fn waiting(platform: &Platform) -> Vec<Value> {
    let told = platform.admin().get(REVIEWS).is(200);
    told["servers"][0]["waiting"].as_array().expect("a list").clone()
}

fn item(platform: &Platform, name: &str) -> String {
    let all = waiting(platform);
    let one = all.iter().find(|it| it["name"] == name).expect("it waits");
    one["item"].as_str().expect("a text").to_owned()
}

/// The description that callers are shown of the tool `add`, and the names of all.
fn shown(platform: &Platform) -> (String, Vec<String>) {
    let client = platform.mcp(ADMIN);
    let tools = kit::mcp::Speak::list(&client);
    let add = tools.iter().find(|it| it.name == "rail.add").expect("it is listed");
    let raw: Value = serde_json::from_slice(&add.raw).expect("JSON");
    let mut names: Vec<_> = tools.iter().map(|it| it.name.clone()).collect();
    names.sort();
    (raw["description"].as_str().unwrap_or_default().to_owned(), names)
}

fn decide(id: &str, verb: &str) -> String {
    format!("/api/v1/aggregator/servers/{id}/definitions/{verb}")
}

#[test]
fn a_change_is_held_until_an_operator_approves_it() {
    let room = Room::new();
    let service = service(&room);
    let platform = room.platform(&[]);
    let id = grown(&platform, &service, Some("hold"));
    assert_eq!(shown(&platform), (GOOD.to_owned(), vec!["rail.add".into(), "rail.grow".into()]));
    let all = waiting(&platform);
    let add = all.iter().find(|it| it["name"] == "add").expect("it waits");
    assert_eq!((&add["reason"], &add["held"]), (&json!("changed"), &json!(true)));
    assert_eq!(add["diff"][0]["field"], "description");
    let lines = add["diff"][0]["lines"].to_string();
    assert!(lines.contains("id_rsa") && lines.contains("removed"), "{lines}");

    let items = json!({ "items": [item(&platform, "add")] });
    for role in ["viewer", "caller"] {
        let rest = platform.rest(Some(&platform.key(role)));
        rest.get(REVIEWS).problem(403, "forbidden");
        rest.post(&decide(&id, "approve"), &items).problem(403, "forbidden");
    }
    let limited =
        platform.make_key(&json!({ "name": "some", "role": "operator", "tools": ["rail.grow"] }));
    let limited = platform.rest(limited["key"].as_str());
    assert_eq!(limited.get(REVIEWS).is(200)["total"], 0);
    limited.post(&decide(&id, "approve"), &items).problem(403, "forbidden");
    let server = format!("/api/v1/aggregator/servers/{id}");
    limited.patch(&server, &json!({ "on_change": "allow" })).problem(403, "forbidden");
    let rest = platform.rest(Some(&platform.key("operator")));
    let unseen = json!({ "items": ["tool:add@00000000000000000000000000000000"] });
    rest.post(&decide(&id, "approve"), &unseen).problem(409, "changed-again");
    rest.post(&decide(&id, "approve"), &json!({ "items": ["tool:add"] })).problem(422, "invalid");
    // A server can find two texts whose hashes begin alike.
    let seen = items["items"][0].as_str().expect("an item");
    let (name, hash) = seen.rsplit_once('@').expect("a hash");
    let begun = json!({ "items": [format!("{name}@{}", &hash[..16])] });
    rest.post(&decide(&id, "approve"), &begun).problem(422, "invalid");
    let unknown = json!({ "items": ["tool:sub@00000000000000000000000000000000"] });
    rest.post(&decide(&id, "approve"), &unknown).problem(409, "nothing-waits");
    assert_eq!(shown(&platform).0, GOOD, "nothing was approved");

    let told = rest.post(&decide(&id, "approve"), &items).is(200);
    assert_eq!(
        (&told["decision"], &told["decided"][0]["name"]),
        (&json!("approved"), &json!("add"))
    );
    wait_until("it is listed", LIMIT, || shown(&platform).0 == EVIL);
    let new = json!({ "items": [item(&platform, "new")] });
    rest.post(&decide(&id, "reject"), &new).is(200);
    assert_eq!((total(&platform), waiting(&platform).len()), (0, 1));
    assert_eq!(shown(&platform).1, ["rail.add", "rail.grow"]);
}

#[test]
fn what_is_noticed_and_decided_is_recorded_without_its_text() {
    let room = Room::new();
    let service = service(&room);
    let platform = room.platform(&[]);
    let id = grown(&platform, &service, None);
    assert_eq!(shown(&platform).0, EVIL, "it is shown, and waits");
    let items = json!({ "items": [item(&platform, "add")] });
    platform.admin().post(&decide(&id, "reject"), &items).is(200);
    wait_until("it is withheld", LIMIT, || shown(&platform).0 == GOOD);
    platform.admin().post(&decide(&id, "approve"), &items).is(200);
    let all = waiting(&platform);
    assert_eq!(all.len(), 1);
    for (action, principal, outcome) in [
        ("notice-definitions", "trunkline", "shown"),
        ("reject-definitions", "admin", "ok"),
        ("approve-definitions", "admin", "ok"),
    ] {
        let record = platform.wait_audit(action, |record| record["action"] == action);
        assert_eq!(
            (&record["principal"], &record["outcome"]),
            (&json!(principal), &json!(outcome))
        );
        assert_eq!(record["server_name"], "rail");
        let detail = record["detail"].as_str().expect("a detail");
        assert!(detail.contains("tool add") && detail.contains(" → "), "{detail}");
        assert!(
            detail.split_whitespace().any(|word| word.trim_end_matches(';').len() == 64),
            "{detail}"
        );
        assert!(!detail.contains("numbers"), "never the text: {detail}");
    }
}

#[test]
fn pins_outlive_a_restart_and_an_edit_changes_the_policy() {
    let room = Room::new();
    let service = service(&room);
    let platform = room.platform(&[]);
    let id = grown(&platform, &service, Some("hold"));
    drop(platform);
    let platform = room.platform(&[]);
    platform.wait_status(&id, "CONNECTED");
    assert_eq!(shown(&platform).0, GOOD, "it lists the new one since its start, and that is held");
    assert_eq!(total(&platform), 2);
    let path = format!("{}/{id}", kit::platform::SERVERS);
    let patched = platform.admin().patch(&path, &json!({ "on_change": "warn" })).is(200);
    assert_eq!(patched["on_change"], "warn");
    wait_until("it is shown", LIMIT, || shown(&platform).0 == EVIL);
    assert_eq!(total(&platform), 2, "and waits still");
    platform.admin().patch(&path, &json!({ "on_change": "ask" })).problem(422, "invalid");
}

#[test]
fn of_two_replicas_each_obeys_a_decision_at_the_other() {
    let database = Database::new();
    let room = Room::new();
    let service = service(&room);
    let url = database.direct_url();
    let one = room.platform(&["--store", &url]);
    let id = grown(&one, &service, Some("hold"));
    let other = room.platform(&["--store", &url]);
    other.wait_status(&id, "CONNECTED");
    assert_eq!((shown(&other).0, total(&other)), (GOOD.to_owned(), 2));
    let items = json!({ "items": [item(&one, "add")] });
    one.admin().post(&decide(&id, "approve"), &items).is(200);
    wait_until("both list it", LIMIT, || [&one, &other].iter().all(|it| shown(it).0 == EVIL));
    assert_eq!(total(&other), 1);
}

/// What is listed from the store, before the server is up, is what was approved.
#[test]
fn what_is_held_stays_held_when_a_platform_starts_and_its_server_is_away() {
    let room = Room::new();
    let service = service(&room);
    {
        let platform = room.platform(&[]);
        grown(&platform, &service, Some("hold"));
        platform.serve().process().signal(rustix::process::Signal::TERM);
        platform.serve().process().wait_exit(LIMIT);
    }
    service.kill();
    let platform = room.platform(&[]);
    assert_eq!(shown(&platform), (GOOD.to_owned(), vec!["rail.add".into(), "rail.grow".into()]));
    assert_eq!(total(&platform), 2);
}
