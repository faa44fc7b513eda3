//! Servers that run only when they are needed: started by the first request that needs them, stopped when
//! nothing uses them, started again by the next one. Nothing of it is seen in the lists.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, SystemTime};

use kit::client::Client;
use kit::mcp::Speak as _;
use kit::modern::Modern;
use kit::platform::{SERVERS, id_of};
use kit::room::{CACHE, Room};
use kit::{LIMIT, bin, ledger, process, say};
use serde_json::{Value, json};

const CHANGED: &str = "notifications/tools/list_changed";
const PATIENT: [&str; 2] = ["--start-timeout", "25"];

fn command(room: &Room) -> Command {
    let mut command = room.trunkline(&PATIENT);
    command.env(CACHE, room.path("memory"));
    command
}

fn start(command: Command) -> Client {
    let client = Client::spawn(command);
    client.initialize("2025-11-25");
    client
}

fn remembered(room: &Room) -> usize {
    std::fs::read_dir(room.path("memory/listings")).map_or(0, Iterator::count)
}

/// Runs every server once, so that `kept` of them are remembered.
fn run_once(room: &Room, kept: usize) {
    let client = start(command(room));
    client.list();
    process::wait_until("they are remembered", LIMIT, || remembered(room) == kept);
    client.close_stdin();
    client.wait_exit(LIMIT);
}

fn entry(room: &Room, name: &str, more: &Value) -> Value {
    let fake = room.fake(name).tool("echo", say::echo()).resource(&format!("{name}:map"), "map");
    let mut entry = fake.prompt(&format!("{name}-trip"), "Plans.").completions().entry();
    for (key, value) in more.as_object().into_iter().flatten() {
        entry[key] = value.clone();
    }
    entry
}

fn starts(room: &Room, name: &str) -> usize {
    ledger::started(&room.ledger(name)).len()
}

fn last_process(room: &Room, name: &str) -> i32 {
    *ledger::started(&room.ledger(name)).last().expect("it was started")
}

fn assert_untold(client: &Client) {
    client.ask("ping", "{}").result();
    let told = client.try_wait_for(Duration::ZERO, |line| line.is_notification(CHANGED));
    assert_eq!(told, None, "the list is the same all the time");
}

#[test]
fn a_server_that_is_remembered_is_started_by_the_first_request_that_needs_it() {
    let asks: [(&str, &str); 5] = [
        ("tools/call", r#"{"name":"lazy:echo","arguments":{}}"#),
        ("resources/read", r#"{"uri":"lazy:map"}"#),
        ("prompts/get", r#"{"name":"lazy-trip"}"#),
        (
            "completion/complete",
            r#"{"ref":{"type":"ref/prompt","name":"lazy-trip"},"argument":{"name":"a","value":""}}"#,
        ),
        ("resources/subscribe", r#"{"uri":"lazy:map"}"#),
    ];
    let room = Room::new();
    let eager = entry(&room, "eager", &json!({ "start": "eager" }));
    let fake = room.fake("lazy").tool("echo", say::echo()).resource("lazy:map", "map");
    let fake = fake.prompt("lazy-trip", "Plans.").completions();
    let lists = r#"{"tools":{},"resources":{"subscribe":true},"prompts":{},"completions":{}}"#;
    let lazy = fake.capabilities(lists).on("resources/subscribe", say::steps([say::result("{}")]));
    room.config([("lazy", lazy.entry()), ("eager", eager)]);
    run_once(&room, 2);
    for (number, (method, params)) in asks.into_iter().enumerate() {
        let before = number + 1;
        let client = start(command(&room));
        assert_eq!(client.list_names(), ["eager:echo", "lazy:echo"]);
        client.assert_echo("eager", "echo", "{}"); // started at the same moment as the other would be
        assert_eq!(starts(&room, "lazy"), before, "{method}: nobody needed it so far");
        client.ask(method, params).result();
        assert_eq!(starts(&room, "lazy"), before + 1, "{method}");
        assert_untold(&client);
        client.close_stdin();
        client.wait_exit(LIMIT);
    }
}

/// It is tried as often as the breaker allows; then the caller learns what the server said.
/// Its server knows the tool by another name than the client, who is asked and makes the call again.
#[test]
fn a_stateless_call_that_has_waited_for_its_server_is_known_when_it_comes_again() {
    const ABLE: &str = r#"{"elicitation":{"form":{}}}"#;
    const CALL: &str = r#"{"name":"a:ask","arguments":{"n":1.0}}"#;
    for server in ["legacy", "modern"] {
        let room = Room::new();
        let question = r#"{"message":"who?","requestedSchema":{"type":"object","properties":{}}}"#;
        let (method, heard) = ("elicitation/create", || say::text("heard"));
        let fake = match server {
            "modern" => {
                let asks =
                    say::modern::input_required(&[("q", method, question)], Some(r#""1:x""#));
                let rounds = [say::steps([asks]), say::steps([heard()])];
                room.fake("a").modern().tool("ask", say::modern::rounds(rounds))
            }
            _ => room.fake("a").tool("ask", say::steps([say::ask(method, question), heard()])),
        };
        room.config([("a", fake.entry())]);
        for run in 0..2 {
            let client = Modern::stdio(Client::spawn(command(&room)), ABLE);
            client.ask("tools/list", "{}").result();
            process::wait_until("it is remembered", LIMIT, || remembered(&room) == 1);
            assert_eq!(
                starts(&room, "a"),
                1,
                "{server}: in run {run} it is started by its first call"
            );
            let round = client.ask("tools/call", CALL).round();
            let again = round.answered(CALL, |_| r#"{"action":"accept","content":{}}"#.into());
            let answer = client.ask("tools/call", &again);
            let result = String::from_utf8_lossy(answer.result()).into_owned();
            assert!(result.contains("heard"), "{server}, run {run}: {result}");
            assert_eq!(starts(&room, "a"), run + 1);
            let process = client.process().expect("a process");
            process.close_stdin();
            process.wait_exit(LIMIT);
        }
    }
}

#[test]
fn a_call_to_a_server_that_does_not_start_any_more_says_why() {
    let room = Room::new();
    room.config([("lazy", entry(&room, "lazy", &json!({})))]);
    run_once(&room, 1);
    let broken = say::steps([say::stderr("the key of the railway is missing\n"), say::exit(3)]);
    room.fake("lazy").at_start(broken).entry(); // the same entry, and another script
    let client = start(command(&room));
    assert_eq!(client.list_names(), ["lazy:echo"]);
    let answer = client.call("lazy:echo", "{}");
    for part in ["the key of the railway is missing", "did not run"] {
        assert!(answer.message().contains(part), "{part}: {answer}");
    }
    client.wait_list("its tools have left", LIMIT, <[String]>::is_empty);
}

#[test]
fn on_its_first_start_ever_a_server_is_started_and_the_list_waits_for_it() {
    let room = Room::new();
    room.config([("lazy", entry(&room, "lazy", &json!({ "start": "lazy" })))]);
    let client = start(command(&room));
    assert_eq!(client.list_names(), ["lazy:echo"]);
    assert_eq!(starts(&room, "lazy"), 1);
}

#[test]
fn a_default_in_the_file_holds_for_servers_that_say_nothing() {
    let room = Room::new();
    let servers = json!({
        "plain": entry(&room, "plain", &json!({})),
        "lazy": entry(&room, "lazy", &json!({ "start": "lazy" })),
    });
    room.write("mcp.json", json!({ "start": "eager", "mcpServers": servers }).to_string());
    run_once(&room, 2);
    let client = start(command(&room));
    client.list();
    process::wait_until("the eager one is started", LIMIT, || starts(&room, "plain") == 2);
    client.assert_echo("plain", "echo", "{}");
    assert_eq!(starts(&room, "lazy"), 1);
}

/// What was remembered may be of other settings: it is listed, and the server is asked again.
#[test]
fn after_an_edit_of_the_config_a_server_is_asked_again_behind_the_list() {
    let room = Room::new();
    room.config([("lazy", entry(&room, "lazy", &json!({})))]);
    run_once(&room, 1);
    let file =
        std::fs::File::options().write(true).open(room.path("mcp.json")).expect("the config");
    file.set_modified(SystemTime::now() + Duration::from_secs(60)).expect("the time can be set");
    let client = start(command(&room));
    assert_eq!(client.list_names(), ["lazy:echo"]);
    process::wait_until("it is started", LIMIT, || starts(&room, "lazy") == 2);
    assert_untold(&client);
}

#[test]
fn a_server_that_nothing_uses_is_stopped_and_comes_back_when_it_is_needed() {
    let room = Room::new();
    let idle = json!({ "idleStop": 1 });
    room.config([("a", entry(&room, "a", &idle)), ("b", entry(&room, "b", &json!({})))]);
    let client = start(command(&room));
    client.list();
    // Where the other server took longer to start than this one may be idle, it was stopped before the first call.
    let mut before = starts(&room, "a") - 1;
    for round in 0..3 {
        client.assert_echo("a", "echo", "{}");
        let now = starts(&room, "a");
        assert!(now == before + 1 || round == 0, "round {round}: {now} starts");
        before = now;
        let pid = last_process(&room, "a");
        process::wait_until("it is stopped", LIMIT, || !process::is_alive(pid));
        assert_eq!(client.list_names(), ["a:echo", "b:echo"], "it stays in the list");
    }
    client.assert_echo("a", "echo", "{}");
    client.assert_echo("b", "echo", "{}");
    assert_eq!((starts(&room, "a"), starts(&room, "b")), (before + 1, 1));
    assert_untold(&client);
    client.close_stdin();
    client.wait_exit(LIMIT);
    process::wait_gone(room.marker(), LIMIT).expect("nothing is left");
}

/// Calls that are made while a server is being stopped and started are answered once each.
#[test]
fn no_call_is_lost_while_a_server_is_stopped_and_started_again() {
    let room = Room::new();
    room.config([("a", entry(&room, "a", &json!({ "idleStop": 1 })))]);
    let client = start(command(&room));
    client.list();
    let mut asked = 0;
    while starts(&room, "a") < 4 {
        // Somewhat longer than it may be idle: some calls meet it while it goes.
        std::thread::sleep(Duration::from_millis(1000 + 37 * (asked % 11)));
        for _ in 0..3 {
            client.assert_echo("a", "echo", &format!(r#"{{"n":{asked}}}"#));
            asked += 1;
        }
    }
    assert_eq!(ledger::calls(&room.ledger("a")).len() as u64, asked, "each once");
}

#[test]
fn what_a_client_could_miss_keeps_a_server_running() {
    let room = Room::new();
    let open = room.fake("open").tool("wait", say::steps([say::gate(&room, "go"), say::text("x")]));
    let lists = r#"{"tools":{},"resources":{"subscribe":true}}"#;
    let heard = room.fake("heard").resource("heard:map", "map").capabilities(lists);
    let heard = heard.on("resources/subscribe", say::steps([say::result("{}")]));
    let with_idle = |mut entry: Value| {
        entry["idleStop"] = json!(1);
        entry
    };
    let free = entry(&room, "free", &json!({ "idleStop": 1 }));
    room.config([
        ("open", with_idle(open.entry())),
        ("heard", with_idle(heard.entry())),
        ("free", free),
    ]);
    let client = start(command(&room));
    client.list();
    client.ask("resources/subscribe", r#"{"uri":"heard:map"}"#).result();
    let call = client.begin("open:wait", "{}");
    // Twice as long as the others would have lasted.
    for _ in 0..2 {
        client.assert_echo("free", "echo", "{}");
        let pid = last_process(&room, "free");
        process::wait_until("the free one is stopped", LIMIT, || !process::is_alive(pid));
    }
    for name in ["open", "heard"] {
        assert!(process::is_alive(last_process(&room, name)) && starts(&room, name) == 1, "{name}");
    }
    room.open_gate("go");
    client.answer(&call, LIMIT).result();
}

/// Without a word in its entry, a server is stopped only if nothing says that it holds something.
#[test]
fn by_default_a_server_that_may_hold_state_is_not_stopped() {
    let room = Room::new();
    let tool = |hint: bool| {
        format!(
            r#"{{"name":"act","inputSchema":{{"type":"object"}},"annotations":{{"readOnlyHint":{hint}}}}}"#
        )
    };
    let server = |name: &str, hint| {
        room.fake(name).tool("act", say::echo()).definitions(&[&tool(hint)]).entry()
    };
    room.config([("reads", server("reads", true)), ("writes", server("writes", false))]);
    let mut program = command(&room);
    program.env("TRUNKLINE_TEST_WAIT_DIVISOR", "900"); // a quarter of an hour becomes a second
    let client = start(program);
    client.list();
    client.call("writes:act", "{}").result();
    for _ in 0..2 {
        client.call("reads:act", "{}").result();
        let pid = last_process(&room, "reads");
        process::wait_until("the reader is stopped", LIMIT, || !process::is_alive(pid));
    }
    assert!(process::is_alive(last_process(&room, "writes")) && starts(&room, "writes") == 1);
}

#[test]
fn the_server_that_is_called_starts_before_those_that_nobody_needs() {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let (places, all) = ((2 * cores).max(4), (2 * cores).max(4) + 3);
    let room = Room::new();
    let names: Vec<String> = (0..all).map(|number| format!("s{number}")).collect();
    let servers = names.iter().map(|name| {
        let wait = say::steps([say::gate(&room, "go"), say::usual()]);
        let fake = room.fake(name).on("initialize", wait).tool("echo", say::echo());
        let mut entry = fake.entry();
        entry["start"] = json!("eager");
        entry["era"] = json!("legacy"); // nothing is asked before `initialize`
        (name.clone(), entry)
    });
    room.config_of(servers.collect());
    room.open_gate("go");
    run_once(&room, all);
    std::fs::remove_file(room.path("go")).expect("the gate is a file");
    let client = start(command(&room));
    assert_eq!(client.list_names().len(), all);
    let started = || names.iter().filter(|name| starts(&room, name) == 2).count();
    process::wait_until("every place is taken", LIMIT, || started() == places);
    let waiting: Vec<&String> = names.iter().filter(|name| starts(&room, name) == 1).collect();
    let last = waiting.last().expect("some wait");
    let call = client.begin(&format!("{last}:echo"), "{}");
    process::wait_until("the called one is started", LIMIT, || starts(&room, last) == 2);
    assert_eq!(started(), places + 1, "and no other");
    room.open_gate("go");
    client.answer(&call, LIMIT).result();
    process::wait_until("the others follow", LIMIT, || started() == all);
}

#[test]
fn wrong_words_are_named_with_what_to_write() {
    for (key, value, help) in [
        ("start", json!("sometimes"), "write \"eager\" or \"lazy\""),
        ("start", json!(true), "write \"eager\" or \"lazy\""),
        ("idleStop", json!("soon"), "\"15m\""),
        ("idleStop", json!(0), "\"15m\""),
        ("idleStop", json!([]), "\"15m\""),
    ] {
        let room = Room::new();
        let mut more = json!({});
        more[key] = value.clone();
        room.config([("a", entry(&room, "a", &more))]);
        let mut check = Command::new(bin::trunkline());
        check.arg("check").arg("--config").arg(room.path("mcp.json"));
        let end = Client::run(check);
        assert_eq!(end.code, Some(2), "{key} {value}: {end:?}");
        assert!(end.stderr.contains(key) && end.stderr.contains(help), "{key} {value}: {end:?}");
    }
}

/// `serve` keeps its servers running unless their entries say otherwise; one that sleeps is well.
#[test]
fn a_platform_shows_a_server_that_sleeps_and_its_checks_do_not_wake_it() {
    let room = Room::new();
    let a = entry(&room, "a", &json!({ "idleStop": 1 }));
    room.config([("a", a), ("b", entry(&room, "b", &json!({})))]);
    let config = room.path("mcp.json");
    let config: PathBuf = config.canonicalize().expect("it is there");
    let flags = ["--health-interval", "1s", "--config", config.to_str().expect("UTF-8")];
    let platform = room.platform(&flags);
    let all = platform.admin().get(SERVERS).is(200);
    let servers = all["servers"].as_array().cloned().unwrap_or_default();
    let of = |name: &str| servers.iter().find(|server| server["name"] == name).map(id_of);
    let (a, b) = (of("a").expect("a"), of("b").expect("b"));
    platform.wait_status(&b, "CONNECTED");
    let shown = platform.wait_status(&a, "IDLE");
    assert_eq!(shown["tools"], 1, "{shown:#}");
    let before = starts(&room, "a");
    // Some checks of the other one: none of them, nor the status, has woken this one.
    let checks = || {
        let report = platform.admin().get(&format!("{SERVERS}/{b}/health")).is(200);
        report["samples"].as_array().map_or(0, Vec::len)
    };
    process::wait_until("several checks", LIMIT, || checks() >= 3);
    assert_eq!(starts(&room, "a"), before);
    platform.call("a.echo", &json!({})).is(200);
    assert_eq!(starts(&room, "a"), before + 1);
    platform.wait_status(&a, "IDLE");
}
