//! `era` in a server's entry: it is spoken to as the file says, and not asked.

use kit::client::Client;
use kit::config::Upstream;
use kit::mcp::Speak;
use kit::room::Room;
use kit::scene::{Front, Scene, each_pair};
use kit::{LIMIT, ledger, process, say};

fn received(room: &Room, method: &str) -> usize {
    ledger::with_method(&room.ledger("a"), method).len()
}

/// A server of both eras, with this era in its entry.
fn house(upstream: Upstream, era: &str) -> Room {
    let room = Room::new();
    let mut entry = room.fake("a").dual().tool("echo", say::echo()).over(upstream);
    entry["era"] = era.into();
    room.config([("a", entry)]);
    room
}

#[track_caller]
fn assert_works(scene: &Scene) {
    scene.wait_list("its tools", LIMIT, |names| names == [scene.tool("a", "echo")]);
    scene.assert_echo("a", "echo", r#"{"n":1.0}"#);
}

#[test]
fn a_server_of_both_eras_is_spoken_to_in_the_one_the_file_names() {
    let fronts = [Front::Stdio, Front::ModernHttp];
    each_pair(&fronts, &[Upstream::Stdio, Upstream::Http], |front, upstream| {
        for (era, asked, opened) in
            [("legacy", false, true), ("modern", true, false), ("auto", true, false)]
        {
            let room = house(upstream, era);
            assert_works(&room.open(front, &[]));
            assert_eq!(received(&room, "server/discover") > 0, asked, "{era}");
            assert_eq!(received(&room, "initialize") > 0, opened, "{era}");
        }
    });
}

#[test]
fn a_server_that_is_not_of_the_era_the_file_names_fails_and_says_so() {
    for upstream in [Upstream::Stdio, Upstream::Http] {
        let room = Room::new();
        let mut entry = room.fake("a").tool("echo", say::echo()).over(upstream);
        entry["era"] = "modern".into();
        let b = room.fake("b").tool("echo", say::echo()).entry();
        room.config([("a", entry), ("b", b)]);
        let scene = room.open(Front::Stdio, &[]);
        scene.process().wait_stderr(&["2026-07-28"], LIMIT);
        scene.assert_echo("b", "echo", "{}");
        assert_eq!(received(&room, "initialize"), 0, "nothing else is tried");
    }
}

#[test]
fn an_era_nobody_knows_is_a_config_error() {
    let room = house(Upstream::Stdio, "stone");
    let end = Client::run(room.serve_command(&[]));
    assert_eq!(end.code, Some(2), "{end:?}");
    assert!(end.stderr.contains("$.mcpServers.a.era"), "{end:?}");
}

#[test]
fn another_era_in_the_file_connects_anew() {
    let room = house(Upstream::Stdio, "legacy");
    let scene = room.open(Front::ModernHttp, &[]);
    assert_works(&scene);
    let mut entry = room.fake("a").dual().tool("echo", say::echo()).entry();
    entry["era"] = "modern".into();
    room.config([("a", entry)]);
    let asked = || received(&room, "server/discover") > 0;
    process::wait_until("it is asked in the other era", LIMIT, asked);
    assert_works(&scene);
}
