//! What is listed, what is found, and what is told about it.

use kit::config::Upstream;
use kit::mcp::Speak;
use kit::room::Room;
use kit::scene::{Front, each_of};
use kit::{LIMIT, process, say, scan};
use serde_json::json;

use super::{OWN, RAIN, READ, SEARCH, found, fronts, house, mistake, names};

#[test]
fn the_list_is_short_and_what_is_hidden_is_found_described_and_called() {
    each_of(fronts(), |front| {
        let room = Room::new();
        house(&room, Upstream::Stdio);
        let scene = room.open(front, &SEARCH);
        assert_eq!(scene.list_names(), OWN);
        let (read, rain) = (scene.tool("files", "read_file"), scene.tool("weather", "forecast"));
        let answer = found(&scene.client, "search_tools", r#"{"query":"will it rain tomorrow?"}"#);
        assert_eq!(names(&answer)[0], rain, "{answer:#}");
        assert_eq!(answer["searched"], 3);
        let answer = found(&scene.client, "search_tools", r#"{"query":"show me a file"}"#);
        let best = &answer["tools"][0];
        assert_eq!(best["name"], read.as_str(), "{answer:#}");
        assert_eq!(best["server"], "files");
        assert_eq!(best["arguments"], "path, head?");
        assert_eq!(best["read_only"], true);
        assert!(best["score"].as_f64().is_some_and(|score| score > 0.2), "{answer:#}");
        let names_of = format!(r#"{{"names":["{rain}","{read}"]}}"#);
        let (text, _) = super::said(&scene.call("describe_tools", &names_of));
        let described = |definition: &str, name: &str| {
            let name = scan::quote(name);
            let raw = scan::replace(definition.as_bytes(), "name", name.as_bytes());
            String::from_utf8(raw.expect("a name")).expect("text")
        };
        let expected =
            format!(r#"{{"tools":[{},{}]}}"#, described(RAIN, &rain), described(READ, &read));
        assert_eq!(text, expected, "as they would be listed, byte for byte");
        // Hidden ones are called by their names as ever.
        let answer = scene.call(&rain, r#"{"city":"\u0041"}"#);
        assert_eq!(scan::get(answer.result(), "city"), Some(&br#""\u0041""#[..]), "{answer}");
        scene.assert_only_protocol();
    });
}

#[test]
fn a_search_can_be_limited_to_a_server_and_to_a_number() {
    let room = Room::new();
    house(&room, Upstream::Stdio);
    let scene = room.open_ready(Front::Stdio, &SEARCH);
    let answer =
        found(&scene.client, "search_tools", r#"{"query":"file","limit":1,"server":"files"}"#);
    assert_eq!(names(&answer).len(), 1);
    let of_weather = r#"{"query":"read a file","server":"weather"}"#;
    let answer = found(&scene.client, "search_tools", of_weather);
    assert!(names(&answer).iter().all(|name| name == "weather:forecast"), "{answer:#}");
    assert_eq!(answer["searched"], 1);
    let why = mistake(&scene.client, "search_tools", r#"{"query":"x","server":"wether"}"#);
    assert_eq!(why, "there is no server `wether`; there are `files`, `weather`");
    let wrong = ["{}", r#"{"query":5}"#, r#"{"query":" \n"}"#, r#"{"query":"x","limit":51}"#];
    for wrong in wrong.into_iter().chain([r#"{"query":"x","limit":0}"#]) {
        mistake(&scene.client, "search_tools", wrong);
    }
}

#[test]
fn pinned_tools_and_custom_ones_stay_in_the_list() {
    let room = Room::new();
    let server = |name: &str| room.fake(name).tool("one", say::echo()).tool("two", say::echo());
    let mut a = server("a").entry();
    a["pinnedTools"] = json!(["t*"]);
    let config = json!({
        "mcpServers": { "a": a, "b": server("b").entry() },
        "tools": { "pick": {
            "description": "picks one",
            "subtools": { "b": { "tools": [{ "name": "one" }] } },
        } },
    });
    room.write("mcp.json", config.to_string());
    let scene = room.open(Front::Stdio, &SEARCH);
    let mut expected = vec!["a:two"];
    expected.extend(OWN);
    expected.insert(4, "pick");
    assert_eq!(scene.list_names(), expected);
    let answer = found(&scene.client, "search_tools", r#"{"query":"pick"}"#);
    assert_eq!(names(&answer)[0], "pick", "{answer:#}");
    let call = r#"{"name":"pick","arguments":{"server":"b","tool":"one","args":{"n":1.0}}}"#;
    scene.call("call_tool", call).result();
    let calls = kit::ledger::calls(&room.ledger("b"));
    assert_eq!(scan::path(&calls[0], &["params", "arguments"]), Some(&br#"{"n":1.0}"#[..]));
}

#[test]
fn names_of_servers_tools_go_before_ours() {
    let room = Room::new();
    let tool = |name: &str| say::definition(name);
    let config = json!({
        "mcpServers": { "a": room.fake("a").definitions(&[&tool("x")]).entry() },
        "tools": { "call_tool": {
            "description": "calls", "subtools": { "a": { "tools": [{ "name": "x" }] } },
        } },
    });
    room.write("mcp.json", config.to_string());
    let scene = room.open(Front::Stdio, &SEARCH);
    let mut expected = vec!["call_tool".to_owned()];
    expected.extend(OWN.iter().map(|name| format!("trunkline_{name}")));
    assert_eq!(scene.list_names(), expected);
    let answer = found(&scene.client, "trunkline_search_tools", r#"{"query":"x"}"#);
    assert!(names(&answer).contains(&"a:x".to_owned()), "{answer:#}");
}

#[test]
fn a_list_that_does_not_show_everything_does_not_change_and_what_is_found_does() {
    let room = Room::new();
    let fresh = r#"{"name":"sing","description":"Sings a song","inputSchema":{"type":"object"}}"#;
    let change = say::steps([say::change_tools(&[fresh]), say::changed("tools"), say::text("ok")]);
    let a = room.fake("a").tool("change", change).tool("sing", say::echo());
    room.config([("a", a.entry())]);
    let scene = room.open(Front::Stdio, &SEARCH);
    assert_eq!(scene.list_names(), OWN);
    let looked = || found(&scene.client, "search_tools", r#"{"query":"sing a song"}"#);
    assert_eq!(looked()["searched"], 2);
    scene.call("a:change", "{}").result();
    process::wait_until("the new list", LIMIT, || looked()["searched"] == 1);
    assert_eq!(names(&looked()), ["a:sing"]);
    let told = scene.try_wait_for(std::time::Duration::ZERO, |line| {
        line.method().as_deref() == Some("notifications/tools/list_changed")
    });
    assert_eq!(told, None, "what the client was given is what there is");
    assert_eq!(scene.list_names(), OWN);
}

#[test]
fn what_models_are_told_says_how_tools_are_found() {
    for (flags, expected) in [(&SEARCH[..], true), (&[], false)] {
        let room = Room::new();
        house(&room, Upstream::Stdio);
        let client = kit::client::Client::spawn(room.trunkline(flags));
        let answer = client.initialize("2025-11-25");
        let told = scan::get(answer.result(), "instructions").and_then(scan::text);
        let told = told.expect("instructions");
        assert_eq!(told.contains("find them with search_tools"), expected, "{told}");
        assert!(told.contains("- weather"), "{told}");
    }
}

#[test]
fn our_own_tools_are_described_like_any() {
    let room = Room::new();
    house(&room, Upstream::Stdio);
    let scene = room.open_ready(Front::Stdio, &SEARCH);
    let answer =
        found(&scene.client, "describe_tools", r#"{"names":["search_tools","files:read_file"]}"#);
    assert_eq!(names(&answer), ["search_tools", "files:read_file"], "{answer:#}");
    assert!(answer["tools"][0]["inputSchema"]["properties"]["query"].is_object(), "{answer:#}");
}
