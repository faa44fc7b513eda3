//! Resources and templates that are withheld are not there, however their URIs are spelt.

use kit::client::Client;
use kit::mcp::{self, Speak as _};
use kit::process::wait_until;
use kit::room::Room;
use kit::scene::{Front, each_of};
use kit::{LIMIT, ledger, say};
use serde_json::json;

use super::{EVIL, end, review, start, wait_waiting};

const FRONTS: [Front; 5] =
    [Front::Stdio, Front::Http, Front::Sse, Front::ModernStdio, Front::ModernHttp];

/// What belongs to something that is withheld.
const SHUT: [&str; 5] =
    ["x://shut", "X://shut/", "x://sh%75t", "x://vault/7", "trunkline://rail/x://shut"];

/// A server with a resource and a template that the scanner withholds, and one beside it.
fn house(room: &Room) {
    let entry = |member: &str, uri: &str, description: &str| {
        format!(r#"{{"{member}":"{uri}","name":"r","description":"{description}"}}"#)
    };
    let resources = [entry("uri", "x://open", "Fine."), entry("uri", "x://shut", EVIL)];
    let templates = [
        entry("uriTemplate", "x://open/{id}", "Fine."),
        entry("uriTemplate", "x://vault/{id}", EVIL),
    ];
    let rail = room.fake("rail").list("resources", json!(resources));
    let rail = rail.list("templates", json!(templates)).read("*", say::content()).completions();
    let mut rail = rail.entry();
    rail["scan"] = json!("hold");
    let other = room.fake("other").resource("y://other", "Other").entry();
    room.config([("rail", rail), ("other", other)]);
}

fn reads(room: &Room) -> usize {
    ledger::with_method(&room.ledger("rail"), "resources/read").len()
}

#[test]
fn what_is_withheld_is_neither_read_nor_watched_nor_completed() {
    each_of(FRONTS, |front| {
        let room = Room::new();
        house(&room);
        let scene = room.open_ready(front, &[]);
        let listed = |method: &str, member: &str, key: &str| {
            let answer = scene.ask(method, "{}");
            mcp::entries(&answer, member, key).into_iter().map(|it| it.name).collect::<Vec<_>>()
        };
        assert_eq!(listed("resources/list", "resources", "uri"), ["x://open", "y://other"]);
        let templates = listed("resources/templates/list", "resourceTemplates", "uriTemplate");
        assert_eq!(templates, ["x://open/{id}"]);
        // What nobody has: the same words, but for the URI.
        let refused = |method: &str, uri: &str| {
            let answer = scene.ask(method, &format!(r#"{{"uri":"{uri}"}}"#));
            assert!(answer.try_error().is_some(), "{method} {uri}: {answer}");
            (answer.code(), answer.message().replace(uri, "URI"))
        };
        let methods = ["resources/read", "resources/subscribe"];
        let methods = if front.is_modern() { &methods[..1] } else { &methods[..] };
        for method in methods {
            let nowhere = refused(method, "z://nowhere");
            for uri in SHUT {
                assert_eq!(refused(method, uri), nowhere, "{method} {uri}");
            }
        }
        if front.is_modern() {
            let wanted: Vec<&str> = SHUT.into_iter().chain(["x://open"]).collect();
            let filter = json!({ "resourceSubscriptions": wanted }).to_string();
            let honoured = scene.modern().listen(&filter).honoured;
            assert!(honoured.contains("[\"x://open\"]"), "only what is shown: {honoured}");
        } else {
            scene.ask("resources/subscribe", r#"{"uri":"x://open"}"#).result();
        }
        let completed = |uri: &str| {
            let params = format!(
                r#"{{"ref":{{"type":"ref/resource","uri":"{uri}"}},"argument":{{"name":"id","value":""}}}}"#
            );
            scene.ask("completion/complete", &params)
        };
        completed("x://open/{id}").result();
        assert_eq!(completed("x://vault/{id}").code(), completed("z://{id}").code());
        assert_eq!(reads(&room), 0, "its server has heard nothing of it");
        for uri in ["x://open", "x://open/7", "x://else"] {
            scene.ask("resources/read", &format!(r#"{{"uri":"{uri}"}}"#)).result();
        }
        assert_eq!(reads(&room), 3);
    });
}

#[test]
fn what_is_withheld_stays_so_while_a_server_is_remembered() {
    let room = Room::new();
    house(&room);
    let first = start(&room);
    first.ask("resources/list", "{}").result();
    end(&first);
    // Read before its server can have listed anything again.
    let second = start(&room);
    for uri in SHUT {
        let answer = second.ask("resources/read", &format!(r#"{{"uri":"{uri}"}}"#));
        assert!(answer.try_error().is_some(), "{uri}: {answer}");
    }
    assert_eq!(reads(&room), 0);
    end(&second);
}

#[test]
fn a_template_that_a_pin_holds_back_opens_no_uri() {
    let room = Room::new();
    let rail = |templates: &[&str]| {
        let entry = |it: &&str| format!(r#"{{"uriTemplate":"{it}","name":"t"}}"#);
        let templates: Vec<String> = templates.iter().map(entry).collect();
        let rail = room.fake("rail").list("templates", json!(templates));
        let mut rail = rail.read("*", say::content()).entry();
        rail["onChange"] = json!("hold");
        rail
    };
    let read = |client: &Client, uri: &str| {
        client.ask("resources/read", &format!(r#"{{"uri":"{uri}"}}"#)).try_result().is_some()
    };
    room.config([("rail", rail(&["x://open/{id}"]))]);
    let client = start(&room);
    assert!(read(&client, "x://open/7") && read(&client, "x://new/7"));
    end(&client);
    room.config([("rail", rail(&["x://open/{id}", "x://new/{id}"]))]);
    let client = start(&room);
    // It is started for this, and lists what it has now.
    assert!(read(&client, "x://open/7"));
    wait_waiting(&room, 1);
    assert!(read(&client, "x://open/7") && !read(&client, "x://new/7"), "it waits for a person");
    review(&room, &["approve", "rail"]).good();
    wait_until("it can be read", LIMIT, || read(&client, "x://new/7"));
    end(&client);
}
