//! Hot reload: the file is watched, only what changed is touched, a broken edit changes nothing.

use std::process::{Command, Stdio};
use std::time::Duration;

use kit::config::Upstream;
use kit::mcp::Speak;
use kit::room::{MARK, Room};
use kit::say;
use kit::scene::{Front, Scene, each_front};
use kit::{LIMIT, ledger, process};
use rustix::process::Signal;
use serde_json::{Value, json};

fn echo(room: &Room, name: &str) -> Value {
    room.fake(name).tool("echo", say::echo()).entry()
}

/// How many processes a server has had.
fn starts(room: &Room, name: &str) -> usize {
    ledger::started(&room.ledger(name)).len()
}

#[track_caller]
fn wait_names(scene: &Scene, expected: &[(&str, &str)]) {
    let expected: Vec<String> =
        expected.iter().map(|(server, tool)| scene.tool(server, tool)).collect();
    scene.wait_list(&format!("{expected:?}"), LIMIT, |names| names == expected);
}

#[test]
fn a_new_server_joins_and_the_others_are_not_touched() {
    each_front(|front| {
        let room = Room::new();
        let a = echo(&room, "a");
        room.config([("a", a.clone())]);
        let scene = room.open_ready(front, &[]);
        room.config([("a", a), ("b", echo(&room, "b"))]);
        scene.notification("notifications/tools/list_changed", LIMIT);
        wait_names(&scene, &[("a", "echo"), ("b", "echo")]);
        scene.assert_echo("b", "echo", "{}");
        scene.assert_echo("a", "echo", "{}");
        assert_eq!(starts(&room, "a"), 1);
    });
}

#[test]
fn a_removed_server_ends_and_its_open_calls_are_settled() {
    each_front(|front| {
        let room = Room::new();
        let wait = say::steps([say::gate(&room, "go"), say::text("fine")]);
        let a = room.fake("a").tool("echo", say::echo()).tool("wait", wait).entry();
        let b = room.fake("b").tool("never", say::never()).entry();
        room.config([("a", a.clone()), ("b", b)]);
        let scene = room.open_ready(front, &[]);
        let (kept, lost) = (
            scene.begin(&scene.tool("a", "wait"), "{}"),
            scene.begin(&scene.tool("b", "never"), "{}"),
        );
        let there = || ledger::calls(&room.ledger("b")).len() == 1;
        process::wait_until("the call is open", LIMIT, there);
        room.config([("a", a)]);
        scene.answer(&lost, LIMIT).error();
        wait_names(&scene, &[("a", "echo"), ("a", "wait")]);
        let [pid] = ledger::started(&room.ledger("b"))[..] else { panic!("one process") };
        process::wait_until("its process ends", LIMIT, || !process::is_alive(pid));
        room.open_gate("go");
        scene.answer(&kept, LIMIT).result();
        assert_eq!(starts(&room, "a"), 1, "the other was not touched");
        scene.call(&scene.tool("b", "never"), "{}").error();
    });
}

#[test]
fn only_the_changed_server_is_started_anew() {
    each_front(|front| {
        let room = Room::new();
        let (a, mut b) = (echo(&room, "a"), echo(&room, "b"));
        room.config([("a", a.clone()), ("b", b.clone())]);
        let scene = room.open_ready(front, &[]);
        b["env"]["CHANGED"] = json!("1");
        room.config([("a", a), ("b", b)]);
        process::wait_until("it is started anew", LIMIT, || starts(&room, "b") == 2);
        wait_names(&scene, &[("a", "echo"), ("b", "echo")]);
        scene.assert_echo("b", "echo", "{}");
        assert_eq!(starts(&room, "a"), 1);
        let first = ledger::started(&room.ledger("b"))[0];
        process::wait_until("the old one is gone", LIMIT, || !process::is_alive(first));
    });
}

#[test]
fn what_says_the_same_touches_nobody() {
    let room = Room::new();
    let (a, b) = (echo(&room, "a"), echo(&room, "b"));
    room.config([("a", a.clone()), ("b", b.clone())]);
    let scene = room.open_ready(Front::Http, &[]);
    let pretty = |servers: Value| {
        let text = serde_json::to_string_pretty(&json!({ "mcpServers": servers })).expect("JSON");
        room.write("mcp.json", format!("// the same again\n{text}\n"));
    };
    pretty(json!({ "a": a, "b": b }));
    // A third server shows that the edit before it has been read.
    pretty(json!({ "a": a, "b": b, "c": echo(&room, "c") }));
    wait_names(&scene, &[("a", "echo"), ("b", "echo"), ("c", "echo")]);
    assert_eq!((starts(&room, "a"), starts(&room, "b")), (1, 1));
}

#[test]
fn a_broken_edit_keeps_the_old_state_and_says_so() {
    each_front(|front| {
        for (broken, part) in [
            ("{ \"mcpServers\": { ".to_owned(), "invalid_json|JSON|expected"),
            (json!({ "mcpServers": { "a": { "args": 7 } } }).to_string(), "$.mcpServers.a"),
            (
                json!({ "mcpServers": { "a": { "command": "${NO_SUCH_VARIABLE_X}" } } })
                    .to_string(),
                "NO_SUCH_VARIABLE_X",
            ),
            (String::new(), "mcp.json"),
        ] {
            let room = Room::new();
            let a = echo(&room, "a");
            room.config([("a", a.clone())]);
            let scene = room.open_ready(front, &[]);
            let before = scene.process().stderr().len();
            room.write("mcp.json", &broken);
            let said = || {
                let since = scene.process().stderr().split_off(before);
                part.split('|').any(|part| since.contains(part))
            };
            process::wait_until("it says so", LIMIT, said);
            scene.assert_echo("a", "echo", "{}");
            assert_eq!(starts(&room, "a"), 1, "{broken}");
            room.config([("a", a), ("b", echo(&room, "b"))]);
            wait_names(&scene, &[("a", "echo"), ("b", "echo")]);
            assert_eq!(starts(&room, "a"), 1);
        }
    });
}

#[test]
fn filters_and_renames_change_without_a_restart() {
    each_front(|front| {
        let room = Room::new();
        let fake = room.fake("a").tool("one", say::echo()).tool("two", say::echo());
        let mut a = fake.resource("x://a", "A").entry();
        room.config([("a", a.clone())]);
        let scene = room.open_ready(front, &[]);
        a["hiddenTools"] = json!(["two"]);
        room.config([("a", a.clone())]);
        // First: whoever has listed the new state need not be told of it.
        scene.notification("notifications/tools/list_changed", LIMIT);
        wait_names(&scene, &[("a", "one")]);
        assert_eq!(scene.call(&scene.tool("a", "two"), "{}").code(), -32601);
        a["exposedTools"] = json!([{ "original": "one", "exposed": "uno" }]);
        room.config([("a", a.clone())]);
        wait_names(&scene, &[("a", "uno")]);
        scene.call(&scene.tool("a", "uno"), "{}").result();
        let keys = a.as_object_mut().expect("an entry");
        keys.remove("hiddenTools");
        keys.remove("exposedTools");
        room.config([("a", a)]);
        wait_names(&scene, &[("a", "one"), ("a", "two")]);
        assert_eq!(starts(&room, "a"), 1);
        assert_eq!(ledger::with_method(&room.ledger("a"), "initialize").len(), 1);
    });
}

#[test]
fn custom_tools_change_without_a_restart() {
    let room = Room::new();
    let a = echo(&room, "a");
    let custom = |name: &str| {
        let subtools = json!({ "a": { "tools": [{ "name": "echo", "description": "e" }] } });
        let mut tools = json!({});
        tools[name] = json!({ "description": "d", "subtools": subtools });
        tools
    };
    room.config_with([("a", a.clone())], custom("First"));
    let scene = room.open_ready(Front::Http, &[]);
    assert_eq!(scene.list_names(), ["First", "a.echo"]);
    room.config_with([("a", a)], custom("Second"));
    scene.wait_list("the new tool", LIMIT, |names| names == ["Second", "a.echo"]);
    scene.call("Second", r#"{"server":"a","tool":"echo","args":{}}"#).result();
    scene.call("First", r#"{"server":"a","tool":"echo","args":{}}"#).error();
    assert_eq!(starts(&room, "a"), 1);
}

#[test]
fn a_file_that_is_replaced_or_gone_for_a_moment_is_followed() {
    let room = Room::new();
    let a = echo(&room, "a");
    room.config([("a", a.clone())]);
    let scene = room.open_ready(Front::Http, &[]);
    for name in ["b", "c", "d"] {
        let servers = json!({ "a": a, name: echo(&room, name) });
        let text = json!({ "mcpServers": servers }).to_string();
        match name {
            // As editors do it: a new file takes the name of the old one.
            "b" => {
                let new = room.write("mcp.json.new", text);
                std::fs::rename(new, room.path("mcp.json")).expect("a rename");
            }
            "c" => {
                std::fs::remove_file(room.path("mcp.json")).expect("a removal");
                std::thread::sleep(Duration::from_millis(400));
                scene.assert_echo("a", "echo", "{}");
                room.write("mcp.json", text);
            }
            _ => {
                let real = room.write("real.json", text);
                std::fs::remove_file(room.path("mcp.json")).expect("a removal");
                std::os::unix::fs::symlink(real, room.path("mcp.json")).expect("a link");
            }
        }
        wait_names(&scene, &[("a", "echo"), (name, "echo")]);
        scene.assert_echo(name, "echo", "{}");
    }
    let servers = json!({ "a": a, "e": echo(&room, "e") });
    room.write("real.json", json!({ "mcpServers": servers }).to_string());
    wait_names(&scene, &[("a", "echo"), ("e", "echo")]);
    assert_eq!(starts(&room, "a"), 1);
}

#[test]
fn a_server_can_be_disabled_enabled_and_moved_to_another_transport() {
    let room = Room::new();
    let mut a = echo(&room, "a");
    room.config([("a", a.clone()), ("b", echo(&room, "b"))]);
    let scene = room.open_ready(Front::Http, &[]);
    a["disabled"] = json!(true);
    room.config([("a", a.clone()), ("b", echo(&room, "b"))]);
    wait_names(&scene, &[("b", "echo")]);
    a["disabled"] = json!(false);
    room.config([("a", a), ("b", echo(&room, "b"))]);
    wait_names(&scene, &[("a", "echo"), ("b", "echo")]);
    let remote = room.fake("r").tool("far", say::echo()).over(Upstream::Http);
    room.config([("a", remote), ("b", echo(&room, "b"))]);
    wait_names(&scene, &[("a", "far"), ("b", "echo")]);
    assert_eq!(starts(&room, "b"), 1);
}

#[test]
fn many_edits_in_a_row_end_with_the_last() {
    let room = Room::new();
    let a = echo(&room, "a");
    room.config([("a", a.clone())]);
    let scene = room.open_ready(Front::Http, &[]);
    for number in 0..30 {
        let mut b = room.fake("b").tool(&format!("t{number}"), say::echo()).entry();
        b["env"]["N"] = json!(number.to_string());
        room.config([("a", a.clone()), ("b", b)]);
    }
    wait_names(&scene, &[("a", "echo"), ("b", "t29")]);
    assert_eq!(starts(&room, "a"), 1);
    assert!(starts(&room, "b") <= 10, "{} starts for 30 edits at once", starts(&room, "b"));
}

#[test]
fn simple_does_not_watch_its_file() {
    let room = Room::new();
    let a = echo(&room, "a");
    room.config([("a", a.clone())]);
    let scene = room.open_ready(Front::Stdio, &["--simple"]);
    room.config([("a", a), ("b", echo(&room, "b"))]);
    // Several times as long as a reload takes.
    std::thread::sleep(Duration::from_millis(1_500));
    assert_eq!(scene.list_names(), ["a:echo"]);
    assert_eq!(starts(&room, "b"), 0);
}

#[test]
fn what_clients_subscribed_to_is_taken_over_by_the_new_process() {
    each_front(|front| {
        let room = Room::new();
        let touch = say::steps([say::updated("x://a"), say::text("done")]);
        let mut a = room.fake("a").resource("x://a", "A").tool("touch", touch).entry();
        room.config([("a", a.clone())]);
        let scene = room.open_ready(front, &[]);
        scene.ask("resources/subscribe", r#"{"uri":"x://a"}"#).result();
        a["env"]["CHANGED"] = json!("1");
        room.config([("a", a)]);
        let subscribed = || ledger::with_method(&room.ledger("a"), "resources/subscribe").len();
        process::wait_until("the new process is asked, too", LIMIT, || subscribed() == 2);
        scene.wait_list("it is there", LIMIT, |names| names.len() == 1);
        scene.call(&scene.tool("a", "touch"), "{}").result();
        scene.notification("notifications/resources/updated", LIMIT);
    });
}

#[test]
fn sighup_reads_the_config_again_and_serve_goes_on() {
    let room = Room::new();
    let a = echo(&room, "a");
    room.config([("a", a.clone())]);
    let serve = room.serve(&["--debug"]);
    let client = serve.http();
    client.assert_echo("a", "echo", "{}");
    serve.process().signal(Signal::HUP);
    serve.process().wait_stderr(&["SIGHUP: the config is read again"], LIMIT);
    serve.process().wait_stderr(&["no server had to be started or stopped"], LIMIT);
    client.assert_echo("a", "echo", "{}");
    assert_eq!(starts(&room, "a"), 1, "what has not changed is not touched");

    // A broken file is told, and everything stays as it was.
    room.write("mcp.json", "{");
    serve.process().signal(Signal::HUP);
    serve.process().wait_stderr(&["the edited config is not valid"], LIMIT);
    client.assert_echo("a", "echo", "{}");

    serve.process().signal(Signal::TERM);
    assert_eq!(serve.process().wait_exit(LIMIT).code(), Some(0));
}

#[test]
fn a_platform_without_a_config_file_survives_sighup() {
    let room = Room::new();
    let platform = room.platform(&[]);
    platform.serve().process().signal(Signal::HUP);
    platform.serve().process().wait_stderr(&["SIGHUP", "--config"], LIMIT);
    assert!(platform.serve().process().is_alive());
}

#[test]
fn serve_ends_with_the_terminal_it_was_started_in() {
    let room = Room::new();
    room.config([("a", echo(&room, "a"))]);
    // `script` holds the terminal; when it is killed, the kernel hangs up.
    let serve = room.serve_command(&[]);
    let line = std::iter::once(serve.get_program()).chain(serve.get_args());
    let line: Vec<_> = line.map(|word| format!("'{}'", word.to_string_lossy())).collect();
    let mut script = Command::new("script");
    script.args(["-q", "-c", &format!("exec {}", line.join(" ")), "/dev/null"]);
    script.env(MARK, room.marker()).stdin(Stdio::null()).stdout(Stdio::null());
    let mut script = script.spawn().expect("`script` is installed");
    process::wait_until("serve has started its server", LIMIT, || starts(&room, "a") == 1);
    script.kill().expect("a child can be killed");
    script.wait().expect("a child can be waited for");
    process::wait_gone(room.marker(), LIMIT).expect("serve ends with its terminal");
}
