//! The demo as a newcomer meets it.

use std::os::unix::fs::PermissionsExt as _;

use kit::client::Client;
use kit::mcp::Speak;
use kit::process::{comes_true, marked, wait_gone};
use kit::rest::Rest;
use kit::room::Room;
use kit::run::run;
use kit::{LIMIT, scan};
use rustix::process::Signal;
use serde_json::json;

use super::{Demo, SERVERS, called, program};

#[test]
fn one_command_shows_every_server_tool_resource_and_prompt() {
    let room = Room::new();
    let demo = Demo::start(&room, &[]);
    let client = demo.serve.http();
    let names = client.list_names();
    for tool in
        ["clock.now", "flaky.slow", "notes.add", "tables.reserve", "weather.forecast", "desk"]
    {
        assert!(names.iter().any(|name| name == tool), "no {tool} in {names:?}");
    }
    let forecast = called(&client, "weather.forecast", r#"{"city":"Rome","from":"2026-11-16"}"#);
    assert_eq!(forecast["structuredContent"]["days"].as_array().map(Vec::len), Some(3));
    let chart = called(&client, "weather.chart", r#"{"city":"Rome"}"#);
    assert_eq!(chart["content"][1]["mimeType"], "image/png");
    let data = chart["content"][1]["data"].as_str().unwrap_or_default();
    assert!(data.starts_with("iVBORw0KGgo"), "a PNG in base64 begins otherwise: {data:.20}");
    let desk = r#"{"server":"clock","tool":"now","args":{"offset":"+01:00"}}"#;
    assert_eq!(called(&client, "desk", desk)["structuredContent"]["offset"], "+01:00");
    let added = called(&client, "notes.add", r#"{"title":"T","text":"from a test"}"#);
    assert_eq!(added["structuredContent"]["uri"], "note://3");
    let read = client.ask("resources/read", r#"{"uri":"note://3"}"#);
    assert!(String::from_utf8_lossy(read.result()).contains("from a test"), "{read}");
    let uris = client.list_of("resources/list", "resources", "uri");
    assert!(uris.iter().any(|resource| resource.name == "note://1"), "{uris:?}");
    let prompt = client.ask("prompts/get", r#"{"name":"packing","arguments":{"city":"Oslo"}}"#);
    assert!(String::from_utf8_lossy(prompt.result()).contains("Oslo"), "{prompt}");
    let begun =
        r#"{"ref":{"type":"ref/prompt","name":"packing"},"argument":{"name":"city","value":"k"}}"#;
    let completed = client.ask("completion/complete", begun);
    let values = scan::path(completed.result(), &["completion", "values"]).unwrap_or_default();
    assert_eq!(values, br#"["Kyoto"]"#, "{completed}");
}

#[test]
fn the_admin_token_opens_the_api() {
    let room = Room::new();
    let demo = Demo::start(&room, &[]);
    // The first list waits for servers that are still starting; a call over REST does not.
    demo.serve.http().list();
    let stderr = demo.serve.process().stderr();
    let file = stderr.lines().find_map(|line| Some(line.split_once("it is in ")?.1));
    let token = std::fs::read_to_string(file.expect("where the token is")).expect("a token");
    let rest = Rest::new(demo.serve.address(), Some(token.trim()));
    let listed = rest.get("/api/v1/aggregator/servers").is(200);
    let mut names: Vec<&str> = listed["servers"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|server| server["name"].as_str())
        .collect();
    names.sort_unstable();
    assert_eq!(names, SERVERS, "{listed:#}");
    let call =
        json!({ "name": "clock.add_days", "arguments": { "date": "2026-02-27", "days": 3 } });
    let answer = rest.post("/api/v1/tools/call", &call).is(200);
    assert!(answer.to_string().contains("2026-03-02"), "{answer:#}");
    Rest::new(demo.serve.address(), None)
        .get("/api/v1/aggregator/servers")
        .problem(401, "unauthenticated");
}

#[test]
fn it_ends_with_everything_it_made() {
    for signal in [Signal::INT, Signal::TERM] {
        let room = Room::new();
        let demo = Demo::start(&room, &[]);
        demo.serve.http().list();
        assert_eq!(demo.left().len(), 1, "{:?}", demo.left());
        assert!(marked(room.marker()).len() > SERVERS.len(), "its servers run");
        demo.serve.process().wait_stderr(&["Ctrl-C ends it.", "/mcp", "/api/v1/docs"], LIMIT);
        demo.serve.process().signal(signal);
        let finished = demo.serve.process().finish(LIMIT);
        assert_eq!(finished.code, Some(0), "{}", finished.stderr);
        assert!(demo.left().is_empty(), "{:?}", demo.left());
        assert!(wait_gone(room.marker(), LIMIT).is_ok(), "a process is left");
    }
}

/// Its folder is the first thing it makes, long before it says that it listens.
#[test]
fn it_ends_with_everything_it_made_however_early_it_is_told() {
    for early in ["its folder is there", "it listens"] {
        let room = Room::new();
        let temporary = room.path("temporary");
        std::fs::create_dir_all(&temporary).expect("the room can be written");
        let mut command = program(&room, &["serve", "--demo", "--listen", "127.0.0.1:0"]);
        command.env("TMPDIR", &temporary);
        let demo = Client::spawn(command);
        let made = || std::fs::read_dir(&temporary).expect("it is there").count();
        match early {
            "it listens" => demo.wait_stderr(&["listening on"], LIMIT),
            _ => assert!(comes_true(LIMIT, || made() > 0), "{early}"),
        }
        demo.signal(Signal::TERM);
        let finished = demo.finish(LIMIT);
        assert_eq!(finished.code, Some(0), "{early}: {}", finished.stderr);
        assert_eq!(made(), 0, "{early}");
        assert!(wait_gone(room.marker(), LIMIT).is_ok(), "{early}: a process is left");
    }
}

#[test]
fn what_a_killed_demo_has_left_is_removed_by_the_next_one_and_what_runs_is_not() {
    let room = Room::new();
    let killed = Demo::start(&room, &[]);
    killed.serve.http().list();
    let running = Demo::start(&room, &[]);
    assert_eq!(running.left().len(), 2, "each has a folder: {:?}", running.left());
    killed.serve.process().signal(Signal::KILL);
    killed.serve.process().wait_exit(LIMIT);
    // Its keeper goes with it, and then nobody holds its folder.
    assert!(
        comes_true(LIMIT, || {
            let next = Demo::start(&room, &[]);
            let left = next.left().len();
            next.serve.process().signal(Signal::TERM);
            next.serve.process().finish(LIMIT);
            left == 2
        }),
        "{:?}",
        running.left()
    );
    called(&running.serve.http(), "clock.now", "{}");
    running.serve.process().signal(Signal::TERM);
    running.serve.process().finish(LIMIT);
    assert!(running.left().is_empty(), "{:?}", running.left());
}

/// What only looks like a demo's is somebody's work.
#[test]
fn directories_that_no_demo_has_made_are_left_alone() {
    let room = Room::new();
    let temporary = room.path("temporary");
    let make = |name: &str, mode: u32, files: &[&str]| {
        let dir = temporary.join(name);
        std::fs::create_dir_all(dir.join("data")).expect("the room can be written");
        for file in files {
            std::fs::write(dir.join(file), "mine").expect("the room can be written");
        }
        std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(mode)).expect("it is ours");
        dir
    };
    let all = ["demo.lock", "demo.json", "data/trunkline.db", "data/key"];
    let [with_work, work_below] =
        [["thesis.txt"], ["data/thesis.txt"]].map(|more| [&all[..], &more].concat());
    let other_name = make("trunkline-demo-mynotes", 0o700, &all);
    let long_name = make("trunkline-demo-00123456789abcdef", 0o700, &all);
    let kept = [
        make("trunkline-demo-0123456789abcdef", 0o700, &["thesis.txt"]),
        make("trunkline-demo-1123456789abcdef", 0o700, &with_work),
        make("trunkline-demo-2123456789abcdef", 0o700, &work_below),
        make("trunkline-demo-3123456789abcdef", 0o755, &all),
    ];
    let abandoned = make("trunkline-demo-4123456789abcdef", 0o700, &all);
    let demo = Demo::start(&room, &[]);
    for dir in kept.iter().chain([&other_name, &long_name]) {
        assert!(dir.join("data").exists(), "{} is removed", dir.display());
    }
    assert!(!abandoned.exists(), "what a demo has left is removed");
    let stderr = demo.serve.process().stderr();
    for dir in &kept {
        let named = stderr.lines().filter(|line| line.contains(&*dir.to_string_lossy()));
        assert_eq!(named.count(), 1, "{}: {stderr}", dir.display());
    }
}

#[test]
fn a_crash_is_seen_and_recovered_from_while_others_go_on() {
    let room = Room::new();
    let demo = Demo::start(&room, &[]);
    let client = demo.serve.http();
    client.list();
    let lost = client.call("flaky.crash", "{}");
    assert!(lost.try_error().is_some(), "{lost}");
    called(&client, "clock.now", "{}");
    let works = || {
        let answer = client.call("flaky.sometimes", "{}");
        answer.try_result().is_some()
    };
    assert!(comes_true(LIMIT, works), "{}", client.describe());
}

#[test]
fn a_config_or_a_place_to_keep_things_beside_a_demo_is_refused() {
    let room = Room::new();
    let refused = run(program(&room, &["serve", "--demo", "--config", "mcp.json"]), b"");
    refused.bad(2, &["--demo", "--config"]);
    // A demo keeps nothing: whoever names a place to keep things in wants something else.
    let kept = room.path("kept");
    for flag in ["--data-dir", "--store", "--key-file"] {
        let value = match flag {
            "--store" => format!("sqlite:{}", kept.join("a.db").display()),
            _ => kept.display().to_string(),
        };
        let refused = run(program(&room, &["serve", "--demo", flag, &value]), b"");
        refused.bad(2, &["--demo", flag]);
        assert!(!kept.exists(), "{flag}");
    }
}
