//! Which era a server on a pipe speaks, found out without being caught by how servers behave.

use kit::mcp::Speak;
use kit::modern::stamp::VERSION;
use kit::room::Room;
use kit::scene::{Front, Scene, each_of};
use kit::{LIMIT, ledger, process, say, scan};
use serde_json::Value;

/// One client of each era finds the server.
const FRONTS: [Front; 4] = [Front::Stdio, Front::Http, Front::ModernStdio, Front::ModernHttp];

fn received(room: &Room, method: &str) -> usize {
    ledger::with_method(&room.ledger("a"), method).len()
}

/// The server works, was opened with `initialize`, and has heard nothing else of the other era.
#[track_caller]
fn assert_legacy(room: &Room, scene: &Scene) {
    scene.wait_list("its tools", LIMIT, |names| names == [scene.tool("a", "echo")]);
    scene.assert_echo("a", "echo", r#"{"n":1.0}"#);
    assert!(received(room, "initialize") >= 1);
    assert!(received(room, "notifications/initialized") >= 1);
    for line in ledger::received(&room.ledger("a")) {
        let is_probe = scan::get(&line, "method") == Some(b"\"server/discover\"");
        let stamped = scan::path(&line, &["params", "_meta", VERSION]).is_some();
        assert!(is_probe || !stamped, "{}", String::from_utf8_lossy(&line));
    }
}

/// The server works, and every request to it was of the stateless era.
#[track_caller]
fn assert_modern(room: &Room, scene: &Scene) {
    scene.wait_list("its tools", LIMIT, |names| names == [scene.tool("a", "echo")]);
    scene.assert_echo("a", "echo", r#"{"n":1.0}"#);
    assert_eq!(received(room, "notifications/initialized"), 0);
    for line in ledger::received(&room.ledger("a")) {
        let is_request = scan::get(&line, "id").is_some();
        let excused = scan::get(&line, "method") == Some(b"\"initialize\"") || !is_request;
        let stamped = scan::path(&line, &["params", "_meta", VERSION]).is_some();
        assert!(excused || stamped, "{}", String::from_utf8_lossy(&line));
    }
}

fn starts(room: &Room) -> usize {
    ledger::started(&room.ledger("a")).len()
}

fn error(code: i64, data: &str) -> Value {
    let data = if data.is_empty() { String::new() } else { format!(r#","data":{data}"#) };
    say::steps([say::error(&format!(r#"{{"code":{code},"message":"no"{data}}}"#))])
}

#[test]
fn a_server_of_the_stateless_era_is_never_sent_a_handshake() {
    each_of(FRONTS, |front| {
        let room = Room::new();
        room.config([("a", room.fake("a").modern().tool("echo", say::echo()).entry())]);
        let scene = room.open(front, &[]);
        assert_modern(&room, &scene);
        assert_eq!((received(&room, "initialize"), starts(&room)), (0, 1));
    });
}

#[test]
fn a_server_that_stays_with_the_era_it_was_opened_in_is_opened_in_the_newer() {
    each_of(FRONTS, |front| {
        let room = Room::new();
        room.config([("a", room.fake("a").dual().tool("echo", say::echo()).entry())]);
        let scene = room.open(front, &[]);
        assert_modern(&room, &scene);
        assert_eq!((received(&room, "initialize"), starts(&room)), (0, 1));
    });
}

#[test]
fn whatever_error_answers_the_question_sends_us_back_to_the_handshake() {
    let codes = [-32601, -32602, -32600, -32603, -32700, -32000, -32001, -32002, -1, 404];
    for code in codes {
        let room = Room::new();
        let a = room.fake("a").tool("echo", say::echo()).on("server/discover", error(code, ""));
        room.config([("a", a.entry())]);
        let scene = room.open(Front::ModernHttp, &[]);
        assert_legacy(&room, &scene);
        assert_eq!(starts(&room), 1, "{code}: on the same pipe");
    }
}

#[test]
fn a_server_that_refuses_the_question_and_ends_is_started_again_without_it() {
    each_of(FRONTS, |front| {
        let room = Room::new();
        let refusal = say::error(r#"{"code":-32600,"message":"initialize first"}"#);
        let a = room.fake("a").tool("echo", say::echo());
        let a = a.on("server/discover", say::steps([refusal, say::exit(1)]));
        room.config([("a", a.entry())]);
        let scene = room.open(front, &[]);
        assert_legacy(&room, &scene);
        assert_eq!((received(&room, "server/discover"), starts(&room)), (1, 2));
    });
}

#[test]
fn results_and_errors_that_name_only_older_revisions_mean_the_older_era() {
    let versions = r#"["2025-11-25","2025-06-18"]"#;
    let found = format!(
        r#"{{"resultType":"complete","supportedVersions":{versions},"capabilities":{{}}}}"#
    );
    let cases = [
        ("a result", say::steps([say::result(&found)])),
        (
            "-32022",
            error(-32022, &format!(r#"{{"supported":{versions},"requested":"2026-07-28"}}"#)),
        ),
        ("a result without versions", say::steps([say::result("{}")])),
        ("versions that are none", say::steps([say::result(r#"{"supportedVersions":7}"#)])),
        ("a result that is none", say::steps([say::result("null")])),
    ];
    for (what, answer) in cases {
        println!("---- {what}");
        let room = Room::new();
        let a = room.fake("a").tool("echo", say::echo()).on("server/discover", answer);
        room.config([("a", a.entry())]);
        let scene = room.open(Front::ModernStdio, &[]);
        assert_legacy(&room, &scene);
        assert_eq!(starts(&room), 1, "{what}");
    }
}

#[test]
fn a_server_that_supports_both_says_so_and_is_spoken_to_in_the_newer() {
    let room = Room::new();
    let a = room.fake("a").modern().tool("echo", say::echo());
    let a = a.versions(r#"["2025-11-25","2026-07-28","2025-06-18"]"#);
    room.config([("a", a.entry())]);
    let scene = room.open(Front::Stdio, &[]);
    assert_modern(&room, &scene);
    assert_eq!(received(&room, "initialize"), 0);
}

#[test]
fn an_error_of_the_stateless_era_is_an_answer_of_that_era() {
    for (what, refusal) in [
        ("-32022", error(-32022, r#"{"supported":["2026-07-28"],"requested":"2026-07-28"}"#)),
        ("-32021", error(-32021, r#"{"requiredCapabilities":{}}"#)),
        ("-32020", error(-32020, "")),
    ] {
        println!("---- {what}");
        let room = Room::new();
        let a = room.fake("a").modern().tool("echo", say::echo());
        let a = a.on("server/discover", say::first_only(1, &refusal));
        room.config([("a", a.entry())]);
        let scene = room.open(Front::Stdio, &[]);
        assert_modern(&room, &scene);
        assert_eq!(received(&room, "initialize"), 0, "{what}");
    }
}

#[test]
fn a_server_that_does_not_answer_the_question_gets_its_handshake() {
    each_of(FRONTS, |front| {
        let room = Room::new();
        let a = room.fake("a").tool("echo", say::echo()).on("server/discover", say::never());
        room.config([("a", a.entry())]);
        let scene = room.open(front, &[]);
        assert_legacy(&room, &scene);
        assert_eq!(starts(&room), 1);
    });
}

#[test]
fn a_server_whose_answer_comes_after_the_handshake_was_tried_is_of_the_stateless_era() {
    each_of(FRONTS, |front| {
        let room = Room::new();
        let late = say::steps([say::modern::until_method("initialize"), say::usual()]);
        let a = room.fake("a").modern().tool("echo", say::echo()).on("server/discover", late);
        room.config([("a", a.entry())]);
        let scene = room.open(front, &[]);
        assert_modern(&room, &scene);
        assert_eq!(starts(&room), 1);
    });
}

#[test]
fn a_late_refusal_of_the_question_does_not_disturb_the_handshake() {
    let room = Room::new();
    let late = say::steps([
        say::modern::until_method("tools/list"),
        say::error(r#"{"code":-32601,"message":"late"}"#),
    ]);
    let a = room.fake("a").tool("echo", say::echo()).on("server/discover", late);
    room.config([("a", a.entry())]);
    let scene = room.open(Front::ModernStdio, &[]);
    assert_legacy(&room, &scene);
}

#[test]
fn a_server_that_dies_of_the_question_is_started_again_and_not_asked_a_second_time() {
    each_of(FRONTS, |front| {
        let room = Room::new();
        let dies = say::steps([say::stderr("what is that?\n"), say::exit(3)]);
        let a = room.fake("a").tool("echo", say::echo()).on("server/discover", dies);
        room.config([("a", a.entry())]);
        let scene = room.open(front, &[]);
        assert_legacy(&room, &scene);
        assert_eq!(starts(&room), 2);
        assert_eq!(received(&room, "server/discover"), 1);
    });
}

#[test]
fn what_was_found_out_is_remembered_when_the_server_is_started_again() {
    for (era, dies) in [("old", true), ("old", false), ("new", false)] {
        println!("---- {era} {dies}");
        let room = Room::new();
        let a = room.fake("a").tool("echo", say::echo());
        let a = match (era, dies) {
            ("new", _) => a.modern(),
            (_, true) => a.on("server/discover", say::steps([say::exit(3)])),
            _ => a.on("server/discover", say::never()),
        };
        room.config([("a", a.entry())]);
        let serve = room.serve(&[]);
        let client = serve.modern("{}");
        client.wait_list("its tools", LIMIT, |names| names == ["a.echo"]);
        let before = (received(&room, "server/discover"), received(&room, "initialize"));
        let pid = *ledger::started(&room.ledger("a")).last().expect("a process");
        process::kill(pid, rustix::process::Signal::KILL);
        process::wait_until("it is gone", LIMIT, || !process::is_alive(pid));
        let back = || client.call("a.echo", "{}").try_result().is_some();
        process::wait_until("a new process answers", LIMIT, back);
        let after = (received(&room, "server/discover"), received(&room, "initialize"));
        match era {
            "new" => assert_eq!(after.1, before.1, "no handshake"),
            _ => assert_eq!(after, (before.0, before.1 + 1), "no second question"),
        }
    }
}

#[test]
fn a_server_that_changes_its_era_is_found_out() {
    for to_modern in [true, false] {
        println!("---- {to_modern}");
        let room = Room::new();
        let fake = |modern: bool| {
            let a = room.fake("a").tool("echo", say::echo());
            if modern { a.modern() } else { a }
        };
        room.config([("a", fake(!to_modern).entry())]);
        let serve = room.serve(&[]);
        let client = serve.modern("{}");
        client.wait_list("its tools", LIMIT, |names| names == ["a.echo"]);
        // The same command, another program behind it: as after an update.
        fake(to_modern).entry();
        let pid = *ledger::started(&room.ledger("a")).last().expect("a process");
        process::kill(pid, rustix::process::Signal::KILL);
        process::wait_until("it is gone", LIMIT, || !process::is_alive(pid));
        let back = || client.call("a.echo", "{}").try_result().is_some();
        process::wait_until("it answers in its new era", LIMIT, back);
    }
}

#[test]
fn a_server_that_answers_without_a_handshake_gets_one_all_the_same() {
    each_of(FRONTS, |front| {
        let room = Room::new();
        // The scripted server of the older era lists its tools for whoever asks.
        room.config([("a", room.fake("a").tool("echo", say::echo()).entry())]);
        let scene = room.open(front, &[]);
        assert_legacy(&room, &scene);
        let all = ledger::received(&room.ledger("a"));
        let methods: Vec<_> =
            all.iter().filter_map(|line| scan::get(line, "method").and_then(scan::text)).collect();
        assert_eq!(&methods[..2], ["server/discover", "initialize"]);
    });
}

#[test]
fn a_server_that_speaks_before_it_is_asked_is_understood() {
    for modern in [false, true] {
        let room = Room::new();
        let noise = say::steps([
            say::raw("Starting server…\n"),
            say::raw(
                "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":1}}\n",
            ),
        ]);
        let a = room.fake("a").tool("echo", say::echo()).at_start(noise);
        let a = if modern { a.modern() } else { a };
        room.config([("a", a.entry())]);
        let scene = room.open(Front::ModernStdio, &[]);
        if modern { assert_modern(&room, &scene) } else { assert_legacy(&room, &scene) }
    }
}

#[test]
fn check_tells_the_revision_each_server_is_spoken_to_in() {
    let room = Room::new();
    room.config([
        ("old", room.fake("old").tool("echo", say::echo()).entry()),
        ("new", room.fake("new").modern().tool("echo", say::echo()).entry()),
    ]);
    let mut command = std::process::Command::new(kit::bin::trunkline());
    command.args(["check", "--json", "--config"]).arg(room.path("mcp.json"));
    let end = kit::client::Client::run(command);
    let report: Value = serde_json::from_str(&end.stdout).expect("one JSON object");
    let servers = report["servers"].as_array().expect("servers");
    let said: Vec<_> = servers.iter().map(|server| &server["protocol"]).collect();
    assert_eq!(said, ["2025-11-25", "2026-07-28"], "{report}");
}
