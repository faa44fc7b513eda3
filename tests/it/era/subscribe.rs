//! Sessions before servers of the stateless era: subscriptions and changes reach them as ever.

use std::time::Duration;

use kit::config::Upstream;
use kit::mcp::Speak;
use kit::room::Room;
use kit::scene::{Front, Scene, each_legacy_to_modern, each_pair};
use kit::{LIMIT, ledger, process, say, scan};

const UPDATED: &str = "notifications/resources/updated";
const LISTEN: &str = "subscriptions/listen";

fn house(room: &Room, upstream: Upstream) {
    let touch = say::steps([say::updated("x://1"), say::updated("x://2"), say::text("done")]);
    let change = say::steps([
        say::change_list("tools", &[&say::definition("fresh")]),
        say::change_list("resources", &[&say::resource("x://fresh", "Fresh")]),
        say::changed("tools"),
        say::changed("resources"),
        say::text("done"),
    ]);
    let a = room.fake("a").tool("touch", touch).tool("change", change).tool("*", say::echo());
    let a = a.resource("x://1", "1").resource("x://2", "2");
    room.config([("a", a.over(upstream))]);
}

/// The requests to listen that hold.
fn listens(room: &Room) -> Vec<String> {
    let all = ledger::settled(&room.ledger("a"), LISTEN);
    all.iter().map(|line| String::from_utf8_lossy(line).into_owned()).collect()
}

#[test]
fn a_session_subscribes_to_a_resource_of_a_server_of_the_stateless_era() {
    each_legacy_to_modern(|front, upstream| {
        let room = Room::new();
        house(&room, upstream);
        let scene = room.open_ready(front, &[]);
        let touch = scene.tool("a", "touch");
        scene.call(&touch, "{}").result();
        let params = r#"{"uri":"x://1"}"#;
        assert_eq!(scene.ask("resources/subscribe", params).payload(), b"{}");
        // Answered: from now on nothing is missed.
        scene.call(&touch, "{}").result();
        let update = scene.notification(UPDATED, LIMIT);
        let uri = scan::path(&update.0, &["params", "uri"]).and_then(scan::text);
        assert_eq!(uri.as_deref(), Some("x://1"));
        assert_eq!(scan::path(&update.0, &["params", "_meta"]), None, "no tag: {update}");
        // The subscription has taken the place of what was listened to before it.
        let ended = || match upstream {
            Upstream::ModernHttp => ledger::closed(&room.ledger("a")).len(),
            _ => ledger::with_method(&room.ledger("a"), "notifications/cancelled").len(),
        };
        let before = ended();
        assert_eq!(scene.ask("resources/unsubscribe", params).payload(), b"{}");
        process::wait_until("the server is told that it is over", LIMIT, || ended() > before);
        scene.call(&touch, "{}").result();
        scene.call(&touch, "{}").result();
        let more = scene.try_wait_for(Duration::ZERO, |line| line.is_notification(UPDATED));
        assert_eq!(more, None, "one update for one subscription");
        for method in ["resources/subscribe", "resources/unsubscribe"] {
            assert!(ledger::with_method(&room.ledger("a"), method).is_empty(), "{method}");
        }
    });
}

#[test]
fn a_sessions_lists_follow_those_of_a_server_of_the_stateless_era() {
    each_legacy_to_modern(|front, upstream| {
        let room = Room::new();
        house(&room, upstream);
        let scene = room.open_ready(front, &[]);
        let asked = || listens(&room).iter().any(|line| line.contains("ListChanged\":true"));
        process::wait_until("the server is asked to tell", LIMIT, asked);
        scene.call(&scene.tool("a", "change"), "{}").result();
        for kind in ["tools", "resources"] {
            let line = scene.notification(&format!("notifications/{kind}/list_changed"), LIMIT);
            assert_eq!(scan::path(&line.0, &["params", "_meta"]), None, "no tag: {line}");
        }
        let fresh = scene.tool("a", "fresh");
        scene.wait_list("the new tools", LIMIT, |names| names == [fresh.clone()]);
    });
}

#[test]
fn two_sessions_that_watch_the_same_are_one_to_the_server() {
    each_pair(&Front::NETWORK, &Upstream::MODERN, |front, upstream| {
        let room = Room::new();
        house(&room, upstream);
        let scene = room.open_ready(front, &[]);
        let other = scene.serve().talk(front, "{}");
        for client in [&scene.client, &other] {
            client.ask("resources/subscribe", r#"{"uri":"x://1"}"#).result();
        }
        let watched = || listens(&room).iter().any(|line| line.contains("\"x://1\""));
        process::wait_until("the server is asked", LIMIT, watched);
        let count = listens(&room).iter().filter(|line| line.contains("\"x://1\"")).count();
        assert_eq!(count, 1, "one subscription for both");
        scene.ask("resources/unsubscribe", r#"{"uri":"x://1"}"#).result();
        scene.call(&scene.tool("a", "touch"), "{}").result();
        other.notification(UPDATED, LIMIT);
        assert_eq!(scene.try_wait_for(Duration::ZERO, |line| line.is_notification(UPDATED)), None);
        let count = listens(&room).iter().filter(|line| line.contains("\"x://1\"")).count();
        assert_eq!(count, 1, "nothing has changed for the server");
    });
}

#[test]
fn a_session_that_adds_a_uri_loses_no_update_of_the_others() {
    each_pair(&Front::NETWORK, &Upstream::MODERN, |front, upstream| {
        let room = Room::new();
        house(&room, upstream);
        let scene = room.open_ready(front, &[]);
        for uri in ["x://1", "x://2"] {
            scene.ask("resources/subscribe", &format!(r#"{{"uri":"{uri}"}}"#)).result();
        }
        let both = |line: &String| line.contains("\"x://1\"") && line.contains("\"x://2\"");
        let asked = || ledger::with_method(&room.ledger("a"), LISTEN);
        let is_asked = || asked().iter().any(|line| both(&String::from_utf8_lossy(line).into()));
        process::wait_until("the server is asked for both", LIMIT, is_asked);
        // Whichever of the two requests holds by now, the older or both.
        scene.call(&scene.tool("a", "touch"), "{}").result();
        wait_updated(&scene, "x://1");
        process::wait_until("the server tells of both", LIMIT, || listens(&room).iter().any(both));
        scene.call(&scene.tool("a", "touch"), "{}").result();
        wait_updated(&scene, "x://1");
        wait_updated(&scene, "x://2");
    });
}

#[track_caller]
fn wait_updated(scene: &Scene, uri: &str) {
    let uri = scan::quote(uri);
    scene.wait_for(&format!("an update of {uri}"), LIMIT, |line| {
        line.is_notification(UPDATED)
            && scan::path(&line.0, &["params", "uri"]) == Some(uri.as_bytes())
    });
}
