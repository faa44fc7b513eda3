//! CO-2: resource templates of all servers, and reads of what they expand to.

use kit::mcp::Speak;
use kit::room::Room;
use kit::scene::{each, each_front};
use kit::{LIMIT, ledger, say, scan};

use super::{reader, said};

#[test]
fn co_2_templates_are_listed_and_an_expanded_uri_finds_its_server() {
    each(|front, upstream| {
        let room = Room::new();
        let files = room.fake("files").template("file:///{+path}", "File");
        let cities = room.fake("cities").template("city://{country}/{name}{?lang}", "City");
        let cities = cities.resource("city://fr/paris", "Paris");
        let fixed = room.fake("fixed").resource("file:///etc/motd", "Motd");
        room.config([
            ("files", files.over(upstream)),
            ("cities", cities.over(upstream)),
            ("fixed", fixed.over(upstream)),
        ]);
        let scene = room.open_ready(front, &[]);
        let all = scene.list_of("resources/templates/list", "resourceTemplates", "uriTemplate");
        let shown: Vec<(&str, Option<String>)> =
            all.iter().map(|entry| (entry.name.as_str(), said(entry, "name"))).collect();
        assert_eq!(
            shown,
            [
                ("city://{country}/{name}{?lang}", Some("[cities] City".to_owned())),
                ("file:///{+path}", Some("[files] File".to_owned())),
            ]
        );
        for (uri, server) in [
            ("file:///a/b/c.txt", "files"),
            ("city://de/berlin", "cities"),
            ("city://de/berlin?lang=de", "cities"),
            ("city://fr/paris", "cities"),
            ("file:///etc/motd", "fixed"),
        ] {
            assert_eq!(reader(&scene.client, uri), server, "{uri}");
        }
        let asked = ledger::with_method(&room.ledger("files"), "resources/read");
        let uri = scan::path(&asked[0], &["params", "uri"]);
        assert_eq!(uri, Some(&br#""file:///a/b/c.txt""#[..]));
    });
}

#[test]
fn co_2_one_template_on_two_servers_stays_reachable_on_both() {
    each_front(|front| {
        let room = Room::new();
        room.config([
            ("one", room.fake("one").template("x://{id}", "X").entry()),
            ("two", room.fake("two").template("x://{id}", "X").entry()),
        ]);
        let scene = room.open_ready(front, &[]);
        let all = scene.list_of("resources/templates/list", "resourceTemplates", "uriTemplate");
        let names: Vec<&str> = all.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(names, ["trunkline://two/x://{id}", "x://{id}"]);
        assert_eq!(reader(&scene.client, "x://7"), "one");
        assert_eq!(reader(&scene.client, "trunkline://two/x://7"), "two");
        let asked = ledger::with_method(&room.ledger("two"), "resources/read");
        assert_eq!(scan::path(&asked[0], &["params", "uri"]), Some(&br#""x://7""#[..]));
        scene.process().wait_stderr(&["x://{id}", "two"], LIMIT);
    });
}

#[test]
fn co_2_a_hostile_template_costs_nobody_time() {
    each_front(|front| {
        let room = Room::new();
        let bomb = "x://".to_owned() + &"{a}{b}{c}{d}".repeat(200) + "/end";
        let evil = room.fake("evil").template(&bomb, "Bomb").template("{", "Broken");
        room.config([
            ("evil", evil.entry()),
            ("clean", room.fake("clean").resource("y://a", "A").tool("echo", say::echo()).entry()),
        ]);
        let scene = room.open_ready(front, &[]);
        let long = format!("x://{}", "a".repeat(4_000));
        let id = scene.start("resources/read", &format!(r#"{{"uri":"{long}"}}"#));
        scene.assert_echo("clean", "echo", "{}");
        scene.answer(&id, kit::SOON);
        assert_eq!(reader(&scene.client, "y://a"), "clean");
    });
}
