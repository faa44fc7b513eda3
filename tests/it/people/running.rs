//! A `serve` that runs: its state, its log, its servers, and the live view.

use kit::platform::{ADMIN, Platform};
use kit::process::{kill, wait_until};
use kit::room::Room;
use kit::run::{Done, run};
use kit::say;
use kit::service::{Service, Wire};
use kit::terminal::Terminal;
use kit::{LIMIT, inbox::Spoken};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::trunkline;

struct Stage {
    room: Room,
    platform: Platform,
    service: Service,
}

impl Stage {
    #[track_caller]
    fn new() -> Self {
        let room = Room::new();
        let service = room.fake("s").tool("echo", say::echo()).listen(Wire::Http);
        let platform = room.platform(&[]);
        Self { room, platform, service }
    }

    fn command(&self, args: &[&str]) -> std::process::Command {
        let mut command = trunkline(&self.room, args);
        command.args(["--url", &format!("http://{}", self.platform.serve().address())]);
        command.env("TRUNKLINE_ADMIN_TOKEN", ADMIN);
        command
    }

    #[track_caller]
    fn done(&self, args: &[&str]) -> Done {
        run(self.command(args), b"")
    }

    #[track_caller]
    fn json(&self, args: &[&str]) -> Value {
        let done = self.done(&[args, &["--json"]].concat());
        serde_json::from_slice(&done.stdout).unwrap_or_else(|error| panic!("{error}: {done}"))
    }
}

#[test]
fn servers_are_added_shown_and_removed() {
    let stage = Stage::new();
    let added = stage.done(&["servers", "add", "s", "--address", stage.service.url()]);
    assert!(added.text().contains("`s` is registered"), "{added}");
    wait_until("it is connected", LIMIT, || {
        stage.json(&["servers", "list"])["servers"][0]["status"] == "CONNECTED"
    });
    let status = stage.done(&["status"]);
    assert!(status.text().contains("1 of 1 servers up, 1 tool\n"), "{status}");
    assert!(stage.done(&["status", "s"]).text().contains("state       connected"));
    stage.done(&["status", "t"]).bad(1, &["there is no server `t`"]);
    stage.done(&["servers", "disconnect", "s"]).good();
    assert_eq!(stage.json(&["status", "s"])["status"], "DISCONNECTED");
    stage.done(&["servers", "connect", "s"]).good();
    stage.done(&["servers", "remove", "ss"]).bad(1, &["there is no server `ss`"]);
    stage.done(&["servers", "remove", "s"]).good();
    assert_eq!(stage.json(&["servers", "list"])["servers"], json!([]));
}

#[test]
fn who_is_not_there_or_not_let_in_is_told() {
    let stage = Stage::new();
    let mut stranger = trunkline(&stage.room, &["status"]);
    stranger.args(["--url", &format!("http://{}", stage.platform.serve().address())]);
    run(stranger, b"").bad(1, &["a token is needed", "TRUNKLINE_ADMIN_TOKEN", "--data-dir"]);
    let wrong = stage.done(&["status", "--token", "wrong-token-wrong-token"]);
    wrong.bad(1, &["the token is not accepted", "--data-dir"]);
    let away = run(trunkline(&stage.room, &["status", "--url", "http://127.0.0.1:9"]), b"");
    away.bad(1, &["http://127.0.0.1:9 cannot be reached"]);
    let data = stage.room.path("data").display().to_string();
    let no_token = run(trunkline(&stage.room, &["status", "--data-dir", &data]), b"");
    no_token.bad(2, &["admin-token"]);
}

#[test]
fn a_serve_without_a_platform_says_whether_it_is_ready() {
    let room = Room::new();
    room.config([("s", room.fake("s").entry())]);
    let serve = room.serve(&[]);
    let url = format!("http://{}", serve.address());
    wait_until("it is ready", LIMIT, || {
        let told = run(trunkline(&room, &["status", "--url", &url]), b"");
        told.code == Some(0) && String::from_utf8_lossy(&told.stdout).contains("it has no REST API")
    });
}

#[test]
fn the_log_is_read_and_followed() {
    let stage = Stage::new();
    stage.platform.connected("s", &stage.service);
    stage.platform.call("s.echo", &json!({"a": 1})).is(200);
    stage.platform.wait_audit("the call", |record| record["action"] == "call-tool");
    let past = stage.done(&["logs", "--outcome", "ok", "s"]);
    assert!(past.text().contains("call-tool  s echo"), "{past}");
    let one = stage.done(&["logs", "-n", "1", "--json"]);
    assert_eq!(one.text().lines().count(), 1, "{one}");

    let mut command = stage.command(&["logs", "--follow", "-n", "1"]);
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::inherit());
    let mut child = command.spawn().expect("it starts");
    let heard = Spoken::fill_from(child.stdout.take().expect("its output"));
    assert!(heard.wait(LIMIT, |text| !text.is_empty()), "{}", heard.text());
    stage.platform.call("s.echo", &json!({"b": 2})).is(200);
    let twice = |text: &str| text.matches("call-tool").count() >= 2;
    let there = heard.wait(LIMIT, twice);
    assert!(there, "{}", heard.text());
    let server = stage.platform.admin().get("/api/v1/aggregator/servers").json();
    let id = server["servers"][0]["id"].as_str().expect("an id").to_owned();
    stage.platform.act(&id, "disconnect").is(200);
    let there = heard.wait(LIMIT, |text| text.contains("s connected -> disconnected"));
    assert!(there, "{}", heard.text());
    child.kill().expect("it can be ended");
    child.wait().expect("it ends");
}

#[test]
fn who_wants_nothing_of_the_past_gets_only_what_is_new() {
    let stage = Stage::new();
    stage.platform.connected("s", &stage.service);
    stage.platform.call("s.echo", &json!({"a": 1})).is(200);
    stage.platform.wait_audit("the call", |record| record["action"] == "call-tool");
    let seq = |text: &str| {
        let record: Value = serde_json::from_str(text.lines().next().unwrap_or_default()).ok()?;
        record["seq"].as_u64()
    };
    let newest = seq(stage.done(&["logs", "-n", "1", "--json"]).text()).expect("a number");

    let mut command = stage.command(&["logs", "-f", "-n", "0", "--json"]);
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::inherit());
    let mut child = command.spawn().expect("it starts");
    let heard = Spoken::fill_from(child.stdout.take().expect("its output"));
    wait_until("something is told", LIMIT, || {
        stage.platform.call("s.echo", &json!({"b": 2})).is(200);
        !heard.text().is_empty()
    });
    assert!(seq(&heard.text()) > Some(newest), "{}", heard.text());
    child.kill().expect("it can be ended");
    child.wait().expect("it ends");
}

#[test]
fn top_is_a_screen_or_lines() {
    let stage = Stage::new();
    stage.platform.connected("s", &stage.service);
    let lines = stage.done(&["top", "-n", "2", "--interval", "200ms"]);
    assert_eq!(lines.text().matches("1 of 1 servers up").count(), 2, "{lines}");
    let json = stage.done(&["top", "-n", "1", "--json"]);
    assert!(json.text().contains("\"calls_per_minute\""), "{json}");

    let mut terminal = Terminal::spawn(&stage.command(&["top", "--interval", "200ms"]));
    terminal.wait("\u{1b}[?1049h");
    terminal.wait("1 of 1 servers up");
    terminal.write("s");
    terminal.wait("by state");
    terminal.write("q");
    assert_eq!(terminal.finish(), Some(0), "{}", terminal.shown());
    assert!(terminal.shown().ends_with("\u{1b}[?1049l"), "{:?}", terminal.shown());

    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let mut terminal = Terminal::spawn(&stage.command(&["top"]));
        terminal.wait("1 of 1 servers up");
        kill(terminal.pid(), signal);
        assert_eq!(terminal.finish(), Some(0), "{signal:?}: {}", terminal.shown());
        assert!(terminal.shown().ends_with("\u{1b}[?1049l"), "{:?}", terminal.shown());
    }
}

/// What cannot be found is told with what is near, and is no success.
#[test]
fn a_log_of_nobody_or_of_no_outcome_is_refused() {
    let stage = Stage::new();
    stage.platform.connected("files", &stage.service);
    stage.done(&["logs", "filez"]).bad(1, &["there is no server `filez`", "did you mean `files`?"]);
    stage.done(&["logs", "nobody", "--json"]).bad(1, &["there is no server `nobody`"]);
    stage.done(&["logs", "files"]).good();
    stage.done(&["logs", "--outcome", "fine"]).bad(2, &["'fine'", "tool-error", "timeout"]);
    stage.done(&["logs", "--outcome", "timeou"]).bad(2, &["'timeout'"]);
    stage.done(&["logs", "-n", "abc"]).bad(2, &["'abc'", "must be a whole number"]);
    // A server that is gone has its records still.
    stage.done(&["servers", "remove", "files"]).good();
    let past = stage.done(&["logs", "files"]);
    assert!(past.text().contains("delete-server"), "{past}");
}

/// How often a server is called is known before one has looked twice.
#[test]
fn calls_a_minute_are_said_at_the_first_look() {
    let stage = Stage::new();
    stage.platform.connected("s", &stage.service);
    for _ in 0..50 {
        stage.platform.call("s.echo", &json!({})).is(200);
    }
    // Fifty in five minutes. What came of calls is gathered for a moment before it is counted.
    let is_counted = || {
        let shown = stage.json(&["top", "-n", "1"]);
        shown["calls_per_minute"] == json!(10.0)
    };
    wait_until("every call is counted", LIMIT, is_counted);
    for command in [&["servers", "list"][..], &["status"], &["top", "-n", "1"]] {
        let shown = stage.done(command);
        let row = shown.text().lines().find(|line| line.starts_with("s  ")).expect("a row");
        assert_eq!(row.split_whitespace().nth(5), Some("10"), "{command:?}: {shown}");
    }
    let top = stage.json(&["top", "-n", "1"]);
    assert_eq!(
        (&top["calls_per_minute"], &top["servers"][0]["calls_per_minute"]),
        (&json!(10.0), &json!(10.0))
    );
}

#[test]
fn a_server_without_a_way_to_it_is_told_of_both_ways() {
    let stage = Stage::new();
    stage.done(&["servers", "add", "x"]).bad(2, &["--address", "COMMAND"]);
}
