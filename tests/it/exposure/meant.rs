//! "Did you mean": a name that nobody has is answered with those that are near.

use kit::config::Upstream;
use kit::mcp::Speak;
use kit::room::Room;
use kit::say;
use kit::scene::{Front, each_of};

use super::{SEARCH, found, fronts, house, mistake};

#[test]
fn a_name_that_nobody_has_is_answered_with_those_that_are_near() {
    each_of(fronts(), |front| {
        let room = Room::new();
        house(&room, Upstream::Stdio);
        let scene = room.open_ready(front, &[]);
        let read = scene.tool("files", "read_file");
        for said in [scene.tool("files", "raed_file"), "files__ReadFile".to_owned()] {
            let answer = scene.call(&said, "{}");
            let expected = format!("Tool not found: {said} (did you mean `{read}`?)");
            assert_eq!(answer.message(), expected);
        }
        let answer = scene.call("read_file", "{}");
        let expected = format!(
            "Tool name must be prefixed with server key: read_file (did you mean `{read}`?)"
        );
        assert_eq!(answer.message(), expected);
        let far = scene.tool("files", "sing");
        assert_eq!(scene.call(&far, "{}").message(), format!("Tool not found: {far}"));
    });
}

#[test]
fn among_a_thousand_names_it_is_told_as_well_and_others_are_served_meanwhile() {
    let room = Room::new();
    let many: Vec<String> =
        (0..1000).map(|n| say::definition(&format!("tool_number_{n}"))).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let a = room.fake("a").definitions(&many).tool("*", say::mirror());
    room.config([("a", a.entry())]);
    let scene = room.open_ready(Front::Stdio, &[]);
    let unknown: Vec<_> = (0..50).map(|_| scene.begin("a:tool_numbre_777", "{}")).collect();
    scene.call("a:tool_number_7", "{}").result();
    for id in unknown {
        let answer = scene.answer(&id, kit::LIMIT);
        let message = answer.message();
        assert!(message.contains("(did you mean `a:tool_number_777`"), "{message}");
    }
}

#[test]
fn what_cannot_be_described_is_named_with_what_was_meant() {
    let room = Room::new();
    house(&room, Upstream::Stdio);
    let scene = room.open_ready(Front::Stdio, &SEARCH);
    let both = r#"{"names":["weather:forecast","files:read_fle"]}"#;
    let answer = found(&scene.client, "describe_tools", both);
    assert_eq!(answer["tools"][0]["name"], "weather:forecast");
    assert_eq!(answer["unknown"][0]["name"], "files:read_fle");
    assert_eq!(answer["unknown"][0]["did_you_mean"][0], "files:read_file");
    let why = mistake(&scene.client, "describe_tools", r#"{"names":["files:read_fle"]}"#);
    assert!(why.contains("did you mean `files:read_file`?"), "{why}");
    mistake(&scene.client, "describe_tools", r#"{"names":[]}"#);
}
