//! What servers listed when they last ran is listed at once, before they run again; a call waits for its
//! server only; what differs is told; what is gone or takes other arguments is not called.

use std::os::unix::fs::symlink;

use kit::client::{Client, Finished};
use kit::line::Line;
use kit::mcp::Speak as _;
use kit::modern::Modern;
use kit::room::Room;
use kit::serve::Serve;
use kit::{LIMIT, bin, ledger, process, say, scan};
use serde_json::{Value, json};

use super::remembered::{cache, command, files, records};

const LISTS: [&str; 4] =
    ["tools/list", "resources/list", "resources/templates/list", "prompts/list"];
const CHANGED: &str = "notifications/tools/list_changed";
const PATIENT: [&str; 2] = ["--start-timeout", "25"];

/// A server that says nothing while there is no file `go`.
fn rail(room: &Room, tools: &[&str]) -> Value {
    let wait = say::steps([say::gate(room, "go"), say::usual()]);
    let fake = room.fake("rail").on("initialize", wait.clone()).on("server/discover", wait);
    let fake = fake.tool("*", say::echo()).definitions(tools);
    let fake = fake.resource("rail:map", "map").template("rail:{line}", "line");
    let mut entry = fake.prompt("trip", "Plans a trip.").entry();
    entry["start"] = json!("eager");
    entry
}

fn tool(name: &str) -> String {
    format!(r#"{{"name" : "{name}","inputSchema":{{"type":"object"}}, "n":1.0}}"#)
}

/// Runs until `kept` servers are remembered.
fn run_once(room: &Room, kept: usize) -> Vec<Line> {
    room.open_gate("go");
    let client = Client::spawn(command(room, &PATIENT));
    client.initialize("2025-11-25");
    let lists = LISTS.map(|method| client.ask(method, "{}"));
    process::wait_until("it is remembered", LIMIT, || records(&cache(room)) == kept);
    client.close_stdin();
    client.wait_exit(LIMIT);
    std::fs::remove_file(room.path("go")).expect("the gate is a file");
    lists.into()
}

fn result_of(line: &Line) -> String {
    String::from_utf8_lossy(line.result()).into_owned()
}

#[test]
fn every_list_is_there_before_the_server_has_said_a_word_and_a_call_waits_for_it() {
    let room = Room::new();
    room.config([("rail", rail(&room, &[&tool("go"), &tool("stop")]))]);
    let first = run_once(&room, 1);
    let client = Client::spawn(command(&room, &PATIENT));
    client.initialize("2025-11-25");
    // No file `go` yet: the server cannot have listed anything.
    for (method, first) in LISTS.iter().zip(&first) {
        assert_eq!(result_of(&client.ask(method, "{}")), result_of(first), "{method}");
    }
    assert_eq!(client.list_names(), ["rail:go", "rail:stop"]);
    let call = client.begin("rail:stop", r#"{"x":1.0}"#);
    let read = client.fresh_id();
    client.send_line(format!(
        r#"{{"jsonrpc":"2.0","id":{read},"method":"resources/read","params":{{"uri":"rail:map"}}}}"#
    ));
    client.ask("ping", "{}").result(); // by now both were taken
    assert!(ledger::calls(&room.ledger("rail")).is_empty());
    room.open_gate("go");
    let answer = client.answer(&call, LIMIT);
    assert!(result_of(&answer).contains(r#""arguments":{"x":1.0}"#), "{answer}");
    client.answer(read.as_bytes(), LIMIT).result();
    // The list is the same to the byte: there is nothing to tell.
    client.ask("tools/list", "{}").result();
    assert_eq!(
        client.try_wait_for(std::time::Duration::ZERO, |line| line.is_notification(CHANGED)),
        None
    );
}

#[test]
fn a_stateless_client_is_listed_everything_at_once_as_well() {
    let room = Room::new();
    room.config([("rail", rail(&room, &[&tool("go")]))]);
    run_once(&room, 1);
    let modern = Modern::stdio(Client::spawn(command(&room, &PATIENT)), "{}");
    modern.discover().result();
    let list = modern.ask("tools/list", "{}");
    assert!(result_of(&list).contains(&tool("go").replace(r#""go""#, r#""rail:go""#)), "{list}");
    assert!(
        result_of(&list).contains(r#""ttlMs":0"#),
        "it may change when the server is up: {list}"
    );
}

/// A server may list other tools to a client that can do something else.
#[test]
fn what_was_listed_to_a_client_that_can_do_less_is_not_listed_to_one_that_can_do_more() {
    for start in ["eager", "lazy"] {
        let room = Room::new();
        let mut entry = rail(&room, &[&tool("go")]);
        entry["start"] = json!(start);
        room.config([("rail", entry)]);
        run_once(&room, 1);
        let client = Client::spawn(command(&room, &PATIENT));
        client.initialize_with("2025-11-25", r#"{"elicitation":{"form":{}}}"#);
        let list = client.fresh_id();
        client.send_line(format!(r#"{{"jsonrpc":"2.0","id":{list},"method":"tools/list"}}"#));
        client.ask("ping", "{}").result();
        let is_answer = |line: &Line| line.id() == Some(list.as_bytes());
        let early = client.try_wait_for(std::time::Duration::ZERO, is_answer);
        assert_eq!(early, None, "{start}: the server has listed nothing to this client");
        room.open_gate("go");
        let answer = client.answer(list.as_bytes(), LIMIT);
        assert!(result_of(&answer).contains("rail:go"), "{start}: {answer}");
        client.close_stdin();
        client.wait_exit(LIMIT);
    }
}

#[test]
fn over_http_every_list_is_there_at_once_and_a_call_waits_as_well() {
    let room = Room::new();
    room.config([("rail", rail(&room, &[&tool("go")]))]);
    let serve = || {
        let mut command = room.serve_command(&PATIENT);
        command.env("XDG_CACHE_HOME", cache(&room)).env_remove("TRUNKLINE_CACHE");
        Serve::start(command)
    };
    // Servers of `serve` hear of other capabilities than those of one client.
    room.open_gate("go");
    let first = serve();
    process::wait_until("it is remembered", LIMIT, || records(&cache(&room)) == 1);
    drop(first);
    std::fs::remove_file(room.path("go")).expect("the gate is a file");
    let serve = serve();
    let client = serve.http();
    assert_eq!(client.list_names(), ["rail.go"]);
    let call = client.begin("rail.go", "{}");
    client.ask("ping", "{}").result();
    room.open_gate("go");
    client.answer(&call, LIMIT).result();
}

#[test]
fn what_differs_when_the_server_is_up_is_told_and_listed() {
    let room = Room::new();
    room.config([("rail", rail(&room, &[&tool("go"), &tool("old")]))]);
    run_once(&room, 1);
    rail(&room, &[&tool("go"), &tool("new")]); // the same entry, and another script
    let client = Client::spawn(command(&room, &PATIENT));
    client.initialize("2025-11-25");
    assert_eq!(client.list_names(), ["rail:go", "rail:old"]);
    room.open_gate("go");
    client.wait_for("list_changed", LIMIT, |line| line.is_notification(CHANGED));
    assert_eq!(client.list_names(), ["rail:go", "rail:new"]);
    client.close_stdin();
    client.wait_exit(LIMIT);
    // And that is what the next start remembers.
    std::fs::remove_file(room.path("go")).expect("the gate is a file");
    let client = Client::spawn(command(&room, &PATIENT));
    client.initialize("2025-11-25");
    assert_eq!(client.list_names(), ["rail:go", "rail:new"]);
}

#[test]
fn a_tool_that_is_gone_or_takes_other_arguments_is_not_called_by_the_old_list() {
    let room = Room::new();
    let with = |name: &str, schema: &str| format!(r#"{{"name":"{name}","inputSchema":{schema}}}"#);
    let text = r#"{"type":"object","properties":{"to":{"type":"string"}},"required":["to"]}"#;
    let more =
        r#"{"type":"object","properties":{"to":{"type":"string"},"via":{}},"required":["to"]}"#;
    let number = r#"{"type":"object","properties":{"to":{"type":"number"}},"required":["to"]}"#;
    let old = ["gone", "grown", "other"].map(|name| with(name, text));
    room.config([("rail", rail(&room, &[&old[0], &old[1], &old[2]]))]);
    run_once(&room, 1);
    rail(&room, &[&with("grown", more), &with("other", number)]);
    let client = Client::spawn(command(&room, &PATIENT));
    client.initialize("2025-11-25");
    assert_eq!(client.list_names(), ["rail:gone", "rail:grown", "rail:other"]);
    let [gone, grown, other] = ["gone", "grown", "other"]
        .map(|name| client.begin(&format!("rail:{name}"), r#"{"to":"x"}"#));
    client.ask("ping", "{}").result();
    room.open_gate("go");
    let answer = client.answer(&gone, LIMIT);
    assert_eq!(answer.code(), -32601, "{answer}");
    assert!(answer.message().contains("does not offer it any more"), "{answer}");
    let answer = client.answer(&other, LIMIT);
    assert_eq!(answer.code(), -32602, "{answer}");
    for part in ["did not run", number] {
        assert!(answer.message().contains(part), "{part}: {answer}");
    }
    client.answer(&grown, LIMIT).result();
    let called = ledger::calls(&room.ledger("rail"));
    assert_eq!(called.len(), 1, "only the one whose arguments mean the same");
    client.wait_for("list_changed", LIMIT, |line| line.is_notification(CHANGED));
    client.call("rail:other", r#"{"to":1}"#).result();
}

#[test]
fn a_server_that_cannot_be_started_any_more_leaves_the_list() {
    let room = Room::new();
    let program = room.path("rail-server");
    symlink(bin::fake_mcp(), &program).expect("a link can be made");
    let mut entry = rail(&room, &[&tool("go")]);
    entry["command"] = json!(program.to_str());
    room.config([("rail", entry)]);
    run_once(&room, 1);
    std::fs::remove_file(&program).expect("it is there");
    let client = Client::spawn(command(&room, &PATIENT));
    client.initialize("2025-11-25");
    client.wait_list("its tools are gone", LIMIT, <[String]>::is_empty);
    let answer = client.call("rail:go", "{}");
    assert!(answer.message().contains("could not be started"), "{answer}");
}

#[test]
fn a_list_with_a_secret_in_it_is_not_kept_and_waited_for() {
    const SECRET: &str = "sup3r-s3cret-value";
    let room = Room::new();
    let leaky =
        format!(r#"{{"name":"go","description":"by {SECRET}","inputSchema":{{"type":"object"}}}}"#);
    let mut entry = rail(&room, &[&leaky]);
    entry["env"]["RAIL_TOKEN"] = json!(SECRET);
    room.config([("rail", entry)]);
    run_once(&room, 1);
    for file in files(&cache(&room)) {
        let text =
            String::from_utf8_lossy(&std::fs::read(&file).expect("it can be read")).into_owned();
        assert!(!text.contains(SECRET) && !text.contains("\"lists\""), "{text}");
    }
    let client = Client::spawn(command(&room, &PATIENT));
    client.initialize("2025-11-25");
    let id = client.fresh_id();
    client.send_line(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list"}}"#));
    client.ask("ping", "{}").result(); // what came before was taken
    let early =
        client.try_wait_for(std::time::Duration::ZERO, |line| line.is_answer_to(id.as_bytes()));
    assert_eq!(early, None, "nothing is known of it");
    client.wait_stderr(&["waiting for 1 of 1 servers to start: rail"], LIMIT);
    room.open_gate("go");
    assert!(result_of(&client.answer(id.as_bytes(), LIMIT)).contains("rail:go"));
}

#[test]
fn two_gateways_that_write_at_once_leave_one_good_record() {
    let room = Room::new();
    room.config([("rail", rail(&room, &[&tool("go")]))]);
    room.open_gate("go");
    let clients: Vec<_> = (0..4).map(|_| Client::spawn(command(&room, &PATIENT))).collect();
    for client in &clients {
        client.initialize("2025-11-25");
        client.list();
    }
    process::wait_until("it is remembered", LIMIT, || records(&cache(&room)) == 1);
    for client in &clients {
        client.close_stdin();
        client.wait_exit(LIMIT);
        assert!(!client.stderr().contains("is ignored"), "{}", client.stderr());
    }
    std::fs::remove_file(room.path("go")).expect("the gate is a file");
    let client = Client::spawn(command(&room, &PATIENT));
    client.initialize("2025-11-25");
    assert_eq!(client.list_names(), ["rail:go"]);
    assert_eq!(files(&cache(&room)).len(), 1);
}

/// Filters, renames and custom tools work on what is remembered as on what runs.
#[test]
fn what_is_remembered_is_filtered_and_combined_like_what_runs() {
    let room = Room::new();
    let write = |room: &Room| {
        let mut entry = rail(room, &[&tool("go"), &tool("stop"), &tool("hidden")]);
        entry["exposedTools"] = json!(["go", { "original": "stop", "exposed": "halt" }]);
        let trip =
            json!({ "description": "Both.", "subtools": { "rail": { "tools": ["hidden"] } } });
        room.config_with([("rail", entry)], json!({ "trip": trip }));
    };
    write(&room);
    run_once(&room, 1);
    let client = Client::spawn(command(&room, &PATIENT));
    client.initialize("2025-11-25");
    assert_eq!(client.list_names(), ["rail:go", "rail:halt", "trip"]);
    let calls = [
        client.begin("rail:halt", "{}"),
        client.begin("trip", r#"{"server":"rail","tool":"hidden","args":{}}"#),
    ];
    client.ask("ping", "{}").result();
    room.open_gate("go");
    for id in calls {
        client.answer(&id, LIMIT).result();
    }
    let called = ledger::calls(&room.ledger("rail"));
    let names: Vec<_> = called
        .iter()
        .map(|call| scan::path(call, &["params", "name"]).unwrap_or_default())
        .collect();
    assert_eq!(names, [&br#""stop""#[..], br#""hidden""#]);
}

/// `trunkline cache …` of somebody whose cache is this room's.
fn cache_command(room: &Room, arguments: &[&str]) -> Finished {
    let mut program = std::process::Command::new(bin::trunkline());
    program.arg("cache").args(arguments);
    program.env("XDG_CACHE_HOME", cache(room)).env_remove("TRUNKLINE_CACHE");
    Client::run(program)
}

#[test]
fn the_cache_is_shown_and_cleared() {
    let room = Room::new();
    room.config([("rail", rail(&room, &[&tool("go")])), ("other", room.fake("other").entry())]);
    run_once(&room, 2);
    let cache_command = |arguments: &[&str]| cache_command(&room, arguments);
    let shown = cache_command(&["show"]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    assert!(shown.stdout.contains("rail") && shown.stdout.contains("2 servers"), "{shown:?}");
    let json: Value =
        serde_json::from_str(&cache_command(&["show", "rail", "--json"]).stdout).expect("JSON");
    let [server] = &json["servers"].as_array().expect("an array")[..] else {
        panic!("one: {json}")
    };
    assert_eq!(
        server["lists"],
        json!({ "tools": 1, "resources": 1, "templates": 1, "prompts": 1 })
    );
    for flags in [&["show", "rial"][..], &["show", "rial", "--json"]] {
        let unknown = cache_command(flags);
        assert_eq!((unknown.code, unknown.stdout.as_str()), (Some(1), ""), "{unknown:?}");
        for part in ["nothing of `rial` is remembered (did you mean `rail`?)", "`other`, `rail`"] {
            assert!(unknown.stderr.contains(part), "{part}: {unknown:?}");
        }
        assert!(!unknown.stderr.contains("forgotten"), "{unknown:?}");
    }
    let cleared = cache_command(&["clear", "rail"]);
    assert_eq!(cleared.code, Some(0), "{cleared:?}");
    assert_eq!(files(&cache(&room)).len(), 1);
    assert_eq!(cache_command(&["clear", "rail"]).code, Some(1), "it is not there any more");
    assert_eq!(cache_command(&["clear"]).code, Some(0));
    assert!(files(&cache(&room)).is_empty());
    assert_eq!(cache_command(&["show"]).code, Some(0));
    let none = cache_command(&["show", "rail"]);
    assert_eq!(none.code, Some(1));
    assert!(none.stderr.contains("no server is remembered"), "{none:?}");
}

#[test]
fn several_servers_are_cleared_by_name_and_none_if_a_name_is_unknown() {
    let room = Room::new();
    room.config([
        ("rail", rail(&room, &[&tool("go")])),
        ("ferry", room.fake("ferry").entry()),
        ("tram", room.fake("tram").entry()),
    ]);
    run_once(&room, 3);

    for flags in [&[][..], &["--json"]] {
        let refused = cache_command(&room, &[&["clear", "ferry", "rial"], flags].concat());
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert!(refused.stdout.is_empty(), "{refused:?}");
        let told = &refused.stderr;
        assert!(told.contains("nothing of `rial` is remembered (did you mean `rail`?)"), "{told}");
        assert!(told.contains("remembered are `ferry`, `rail`, `tram` in "), "{told}");
        assert!(told.contains("nothing was forgotten"), "{told}");
        assert_eq!(files(&cache(&room)).len(), 3, "also the one whose name is right stays");
    }

    let cleared = cache_command(&room, &["clear", "ferry", "rail", "ferry", "--json"]);
    assert_eq!(cleared.code, Some(0), "{cleared:?}");
    let told: Value = serde_json::from_str(&cleared.stdout).expect("JSON");
    assert_eq!(told["removed"], 2, "{told}");
    let left: Value =
        serde_json::from_str(&cache_command(&room, &["show", "--json"]).stdout).expect("JSON");
    let left: Vec<&Value> =
        left["servers"].as_array().expect("an array").iter().map(|it| &it["server"]).collect();
    assert_eq!(left, ["tram"]);
}
