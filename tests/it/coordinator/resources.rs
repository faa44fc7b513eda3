//! CO-1: resources of all servers, read and watched at their owner.

use std::time::Duration;

use kit::config::Upstream;
use kit::mcp::Speak;
use kit::room::Room;
use kit::scene::{Front, each, each_front};
use kit::{LIMIT, ledger, process, say, scan};
use serde_json::json;

use super::{read, reader, resources, said, uris};

const UPDATED: &str = "notifications/resources/updated";

/// `files` and `notes`, each with a resource of its own and one of the same URI.
fn house(room: &Room, upstream: Upstream) {
    let files = room
        .fake("files")
        .resource("x://alpha", "Alpha")
        .resource("both://same", "Same")
        .tool("touch", say::steps([say::updated("x://alpha"), say::text("done")]))
        .tool("touch_same", say::steps([say::updated("both://same"), say::text("done")]));
    let notes = room
        .fake("notes")
        .resource("both://same", "Same")
        .resource("x://beta", "Beta")
        .tool("touch", say::steps([say::updated("both://same"), say::text("done")]));
    room.config([("files", files.over(upstream)), ("notes", notes.over(upstream))]);
}

#[test]
fn co_1_resources_of_all_servers_are_listed_with_their_server_and_read_at_their_owner() {
    each(|front, upstream| {
        let room = Room::new();
        house(&room, upstream);
        let scene = room.open_ready(front, &[]);
        let all = resources(&scene.client);
        let mut uris: Vec<&str> = all.iter().map(|resource| resource.name.as_str()).collect();
        assert!(uris.is_sorted(), "{uris:?}");
        uris.retain(|uri| !uri.starts_with("trunkline:"));
        assert_eq!(uris, ["both://same", "x://alpha", "x://beta"], "URIs are unchanged");
        for (uri, name) in [
            ("x://alpha", "[files] Alpha"),
            ("x://beta", "[notes] Beta"),
            ("both://same", "[files] Same"),
        ] {
            let entry = all.iter().find(|resource| resource.name == uri).expect("listed");
            assert_eq!(said(entry, "name").as_deref(), Some(name));
            let plain = name.split("] ").nth(1).unwrap_or_default();
            let definition = say::resource(uri, plain);
            let expected =
                scan::replace(definition.as_bytes(), "name", scan::quote(name).as_bytes());
            assert_eq!(Some(&entry.raw), expected.as_ref(), "only the name is changed");
        }
        assert_eq!(reader(&scene.client, "x://alpha"), "files");
        assert_eq!(reader(&scene.client, "x://beta"), "notes");
        scene.assert_only_protocol();
    });
}

#[test]
fn co_1_of_two_servers_with_one_uri_the_first_wins_and_both_stay_reachable() {
    each_front(|front| {
        let room = Room::new();
        house(&room, Upstream::Stdio);
        let scene = room.open_ready(front, &[]);
        let alias = "trunkline://notes/both://same";
        assert!(uris(&scene.client).contains(&alias.to_owned()));
        assert_eq!(reader(&scene.client, "both://same"), "files", "the first in the config");
        assert_eq!(reader(&scene.client, alias), "notes");
        assert_eq!(reader(&scene.client, "trunkline://files/both://same"), "files");
        assert_eq!(reader(&scene.client, "trunkline://files/x://alpha"), "files");
        let asked = ledger::with_method(&room.ledger("notes"), "resources/read");
        let uri = scan::path(&asked[0], &["params", "uri"]);
        assert_eq!(uri, Some(&br#""both://same""#[..]), "the owner knows only its own URI");
        scene.process().wait_stderr(&["both://same", "notes"], LIMIT);
        let stderr = scene.process().stderr();
        let warnings = stderr.lines().filter(|line| line.contains("both://same")).count();
        assert_eq!(warnings, 1, "warned once: {stderr}");
    });
}

#[test]
fn co_1_a_read_and_its_result_travel_byte_for_byte() {
    each(|front, upstream| {
        let room = Room::new();
        let result = r#"{ "contents":[ {"uri":"x://a","blob":"AA==","n":1.0,"n":1e400} ],"_meta":{"\u0061":"\/"} }"#;
        let files = room
            .fake("files")
            .resource("x://a", "A")
            .read("x://a", say::steps([say::result(result)]))
            .over(upstream);
        room.config([("files", files)]);
        let scene = room.open_ready(front, &[]);
        let params = r#"{ "_meta":{"k":-0.0}, "uri" : "x:\/\/a" ,"more":[1.10]}"#;
        let answer = scene.ask("resources/read", params);
        assert_eq!(String::from_utf8_lossy(answer.result()), result);
        let asked = ledger::with_method(&room.ledger("files"), "resources/read");
        let arrived = scan::get(&asked[0], "params").expect("params");
        let expected =
            scan::replace(params.as_bytes(), "uri", scan::get(arrived, "uri").expect("a URI"));
        assert_eq!(Some(arrived.to_vec()), expected, "only the URI may be spelled anew");
    });
}

#[test]
fn co_1_a_resource_nobody_has_is_not_found_and_a_servers_error_comes_through() {
    each_front(|front| {
        let room = Room::new();
        let error = r#"{ "code":-32002,"message":"Resource not found","data":{"uri":"x://alpha","n":1.0} }"#;
        let files = room
            .fake("files")
            .resource("x://alpha", "Alpha")
            .read("x://alpha", say::steps([say::error(error)]));
        let notes = room.fake("notes").resource("y://beta", "Beta");
        room.config([("files", files.entry()), ("notes", notes.entry())]);
        let scene = room.open_ready(front, &[]);
        let answer = read(&scene.client, "x://alpha");
        assert_eq!(String::from_utf8_lossy(answer.error()), error);
        let answer = read(&scene.client, "nowhere://at/all");
        assert_eq!(answer.code(), -32002, "{answer}");
        assert!(answer.message().contains("nowhere://at/all"), "{answer}");
        for params in ["{}", r#"{"uri":7}"#, "[]"] {
            assert_eq!(scene.ask("resources/read", params).code(), -32602, "{params}");
        }
    });
}

#[test]
fn co_1_a_subscription_goes_to_the_owner_and_ends_there() {
    each(|front, upstream| {
        let room = Room::new();
        house(&room, upstream);
        let scene = room.open_ready(front, &[]);
        let touch = scene.tool("files", "touch");
        scene.call(&touch, "{}").result();
        assert_eq!(scene.ask("resources/subscribe", r#"{"uri":"x://alpha"}"#).result(), b"{}");
        scene.call(&touch, "{}").result();
        let update = scene.notification(UPDATED, LIMIT);
        let uri = scan::path(&update.0, &["params", "uri"]).and_then(scan::text);
        assert_eq!(uri.as_deref(), Some("x://alpha"));
        scene.ask("resources/unsubscribe", r#"{"uri":"x://alpha"}"#).result();
        let told = ledger::with_method(&room.ledger("files"), "resources/unsubscribe");
        assert_eq!(told.len(), 1);
        scene.call(&touch, "{}").result();
        scene.call(&touch, "{}").result();
        let more = scene.try_wait_for(Duration::ZERO, |line| line.is_notification(UPDATED));
        assert_eq!(more, None, "one update for one subscription");
        assert!(ledger::with_method(&room.ledger("notes"), "resources/subscribe").is_empty());
    });
}

#[test]
fn co_1_updates_of_one_uri_on_two_servers_are_told_apart() {
    each_front(|front| {
        let room = Room::new();
        house(&room, Upstream::Stdio);
        let scene = room.open_ready(front, &[]);
        let alias = "trunkline://notes/both://same";
        scene.ask("resources/subscribe", &format!(r#"{{"uri":"{alias}"}}"#)).result();
        scene.call(&scene.tool("files", "touch_same"), "{}").result();
        scene.call(&scene.tool("notes", "touch"), "{}").result();
        let update = scene.notification(UPDATED, LIMIT);
        let uri = scan::path(&update.0, &["params", "uri"]).and_then(scan::text);
        assert_eq!(uri.as_deref(), Some(alias), "under the name the client knows");
        scene.ask("resources/subscribe", r#"{"uri":"both://same"}"#).result();
        scene.call(&scene.tool("files", "touch_same"), "{}").result();
        let update = scene.notification(UPDATED, LIMIT);
        let uri = scan::path(&update.0, &["params", "uri"]).and_then(scan::text);
        assert_eq!(uri.as_deref(), Some("both://same"));
    });
}

#[test]
fn co_1_the_list_is_complete_sorted_and_the_same_bytes_each_time() {
    each_front(|front| {
        let room = Room::new();
        let item = |n: usize| say::resource(&format!("x://{n:03}"), &format!("R{n}"));
        let pages = json!([
            { "at": null, "items": (50..75).map(item).collect::<Vec<_>>(), "next": "" },
            { "at": "", "items": (0..50).map(item).collect::<Vec<_>>(), "next": "c" },
            { "at": "c", "items": (75..100).map(item).collect::<Vec<_>>() },
        ]);
        let many = room.fake("many").list("resources", pages);
        let late = room.fake("late").resource("a://first", "First");
        let wait = say::steps([say::pause(50), say::usual()]);
        let late = late.on("initialize", wait).entry();
        room.config([("many", many.entry()), ("late", late), ("none", room.fake("none").entry())]);
        let scene = room.open_ready(front, &[]);
        let uris = uris(&scene.client);
        assert_eq!(uris.len(), 101);
        assert!(uris.is_sorted(), "{uris:?}");
        let one = scene.ask("resources/list", "{}");
        let two = scene.ask("resources/list", "{}");
        assert_eq!(one.result(), two.result());
        let asked = ledger::with_method(&room.ledger("many"), "resources/list");
        assert_eq!(asked.len(), 3, "a list wakes no server");
        assert!(
            ledger::with_method(&room.ledger("none"), "resources/list").is_empty(),
            "a server without the capability is not asked"
        );
    });
}

#[test]
fn co_1_the_resources_of_a_dead_server_leave_the_list() {
    each_front(|front| {
        let room = Room::new();
        house(&room, Upstream::Stdio);
        let scene = room.open_ready(front, &[]);
        let [pid] = ledger::started(&room.ledger("notes"))[..] else { panic!("one process") };
        // It stays down: a server that cannot start again shows what is left without it.
        std::fs::write(room.path("notes.script.json"), "gone").expect("the room can be written");
        process::kill(pid, rustix::process::Signal::KILL);
        let gone = || !uris(&scene.client).contains(&"x://beta".to_owned());
        // Where servers come back they stay in the lists until it is clear that this one does not.
        process::wait_until("the dead server's resources leave", LIMIT, gone);
        assert_eq!(uris(&scene.client), ["both://same", "x://alpha"]);
        read(&scene.client, "trunkline://notes/both://same").error();
    });
}

#[test]
fn co_1_without_resources_there_is_no_such_capability() {
    let room = Room::new();
    room.config([("a", room.fake("a").tool("echo", say::echo()).entry())]);
    let scene = room.open_ready(Front::Stdio, &[]);
    let list = scene.ask("resources/list", "{}");
    let empty = list.try_result().and_then(|result| scan::get(result, "resources"));
    assert!(empty == Some(b"[]") || list.try_error().is_some(), "{list}");
}
