//! Servers nobody here wrote, behind the gateway: it lists what they list, answers what they answer.
//!
//! Each server is asked directly first. What it lists and answers behind a program of ours has to
//! be the same to the byte: the same table of calls, in the same order, on the same state.

mod calls;
mod direct;
mod peers;
mod scene;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use kit::client::Client;
use kit::line::Line;
use kit::mcp::{Speak, Tool, listed};
use kit::modern::Modern;
use kit::scene::Talk;
use kit::{LIMIT, bin, process, scan};
use serde_json::Value;

use crate::ONE_AT_A_TIME as TURN;
use calls::{BY_THE_CLOCK, CALLS, Call};
use direct::Direct;
use peers::{Eras, PEERS};
use scene::Scene;

/// Interpreters take their time on a busy machine, and none of it is promised here.
const START: &str = "60";
const START_LIMIT: Duration = Duration::from_secs(90);

/// "No process is left 6 s after the client has closed our input."
const GONE: Duration = Duration::from_secs(6);

/// One way to put a gateway in front of the servers.
struct Front {
    title: &'static str,
    program: PathBuf,
    flags: &'static [&'static str],
    /// Between the server's key and the tool's name.
    separator: &'static str,
    /// What it speaks to the servers.
    eras: Eras,
    /// Is its client of the stateless era?
    is_modern: bool,
}

fn fronts() -> [Front; 4] {
    let trunkline = |title| Front {
        title,
        program: bin::trunkline(),
        flags: &[],
        separator: ":",
        eras: Eras::Both,
        is_modern: false,
    };
    [
        trunkline("trunkline"),
        Front {
            flags: &["--for", "claude-code"],
            separator: "__",
            ..trunkline("trunkline --for claude-code")
        },
        Front { is_modern: true, ..trunkline("trunkline in the stateless era") },
        Front {
            program: bin::simple_aggregator(),
            eras: Eras::One,
            ..trunkline("mcp-simple-aggregator")
        },
    ]
}

impl Front {
    fn name(&self, server: &str, tool: &str) -> String {
        [server, self.separator, tool].concat()
    }

    fn start(&self, scene: &Scene) -> Talk {
        let mut command = scene.room.program(&self.program, self.flags);
        command.args(["--start-timeout", START]);
        let client = Client::spawn(command);
        if self.is_modern {
            return Talk::Modern(Modern::stdio(client, "{}"));
        }
        client.initialize(peers::REVISION);
        Talk::Stdio(client)
    }

    /// What was answered, without what the eras make different: only a result of a server of the
    /// older era to a client of the newer has something added.
    fn outcome(&self, server: &str, answer: &Line) -> (&'static str, Vec<u8>) {
        match outcome(answer) {
            ("result", _) if self.is_modern && !self.eras.is_modern(server) => {
                assert_eq!(answer.result_type().as_deref(), Some("complete"), "{answer}");
                ("result", answer.payload())
            }
            (kind, bytes) => (kind, bytes.to_vec()),
        }
    }
}

#[test]
fn fr_004_fr_005_fr_008_real_servers_say_the_same_behind_every_program_as_directly() {
    let _turn = TURN.lock();
    let scene = Scene::new();
    let both = [Eras::One, Eras::Both].map(|eras| (eras, Direct::ask(&scene, eras)));
    for (_, direct) in &both {
        direct.assert_that_the_calls_are_worth_it();
    }
    for front in fronts() {
        let found = both.iter().find(|(eras, _)| *eras == front.eras);
        let direct = &found.expect("each was asked").1;
        scene.renew();
        let client = front.start(&scene);
        let list = list(&client);
        assert_same_tools(&front, direct, &listed(&list));
        assert_same_answers(&front, direct, &scene, &client);
        assert_same_shapes(&front, direct, &client);
        for _ in 0..2 {
            let again = self::list(&client);
            assert!(again.result() == list.result(), "{}: the list has changed", front.title);
        }
        client.assert_only_protocol();
        assert_none_is_left(&front, &scene, process_of(&client));
    }
}

fn process_of(client: &Talk) -> &Client {
    match client {
        Talk::Stdio(client) => client,
        Talk::Modern(client) => client.process().expect("a gateway of its own"),
        other => panic!("not on a pipe: {other:?}"),
    }
}

/// The whole answer, so that its bytes can be compared.
fn list(client: &Talk) -> Line {
    let id = client.fresh_id();
    client.send_line(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list"}}"#));
    let list = client.answer(id.as_bytes(), START_LIMIT);
    assert_eq!(scan::get(list.result(), "nextCursor"), None, "one page holds all");
    list
}

fn assert_same_tools(front: &Front, direct: &Direct, tools: &[Tool]) {
    // Tools that can only be called as tasks of the older era are not offered to the newer.
    let is_task = |tool: &Tool| {
        let support = scan::path(&tool.raw, &["execution", "taskSupport"]);
        support == Some(b"\"required\"")
    };
    let expected: Vec<_> =
        direct.tools().iter().filter(|(_, tool)| !front.is_modern || !is_task(tool)).collect();
    let mut names: Vec<String> =
        expected.iter().map(|(server, tool)| front.name(server, &tool.name)).collect();
    names.sort();
    let found: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(found, names, "{}: all tools, nothing else, sorted", front.title);
    for (server, own) in expected.iter().copied() {
        let name = front.name(server, &own.name);
        let tool = tools.iter().find(|tool| tool.name == name).expect("compared above");
        let own_name = scan::get(&own.raw, "name").expect("a tool has a name");
        let raw = scan::replace(&tool.raw, "name", own_name).expect("a tool has a name");
        assert_same(&format!("{}: definition of {name}", front.title), &own.raw, &raw);
    }
}

fn assert_same_answers(front: &Front, direct: &Direct, scene: &Scene, client: &Talk) {
    for (call, expected) in CALLS.iter().zip(direct.answers()) {
        let Call { server, tool, arguments, .. } = *call;
        let answer = client.call(&front.name(server, tool), &scene.fill(arguments));
        // `convert_time` tells today's date, and that may have changed since it was asked directly.
        let (kind, bytes) = front.outcome(server, &answer);
        if server == "time" && (kind, &bytes[..]) != outcome(expected) {
            let expected = direct.call(call, scene);
            assert_same_outcome(front, call, &expected, &answer);
        } else {
            assert_same_outcome(front, call, expected, &answer);
        }
    }
}

fn assert_same_outcome(front: &Front, call: &Call, expected: &Line, answer: &Line) {
    let what = format!("{}: {} {} {}", front.title, call.server, call.tool, call.arguments);
    let ((kind, expected), (got, answer)) = (outcome(expected), front.outcome(call.server, answer));
    assert_eq!(got, kind, "{what}: {}", shown(&answer, 0));
    assert_same(&what, expected, &answer);
}

/// Answers that tell the time: all of them but the time.
fn assert_same_shapes(front: &Front, direct: &Direct, client: &Talk) {
    for (server, tool, arguments, clocks) in BY_THE_CLOCK {
        let expected = direct.client(server).call(tool, arguments);
        let answer = client.call(&front.name(server, tool), arguments);
        let what = format!("{}: {server} {tool} {arguments}", front.title);
        let answer = front.outcome(server, &answer).1;
        assert_eq!(timeless(&answer, clocks), timeless(expected.result(), clocks), "{what}");
    }
}

/// A result as text, in the order it is written, without the values at `clocks`.
fn timeless(answer: &[u8], clocks: &[&str]) -> String {
    let mut result: Value = serde_json::from_slice(answer).expect("a result is JSON");
    for clock in clocks {
        let shown = String::from_utf8_lossy(answer);
        let value = result.pointer_mut(clock).unwrap_or_else(|| panic!("no {clock} in {shown}"));
        assert!(value.is_string(), "{clock} in {shown}");
        *value = Value::Null;
    }
    result.to_string()
}

fn assert_none_is_left(front: &Front, scene: &Scene, client: &Client) {
    let household = process::descendants(client.pid().as_raw_nonzero().get());
    for name in PEERS {
        let program = peers::program(name);
        let is_it = |p: &process::Process| p.command_line().contains(&*program.to_string_lossy());
        assert!(household.iter().any(is_it), "{}: {name} does not run below it", front.title);
    }
    let household: Vec<i32> = household.iter().map(|process| process.pid).collect();
    client.close_stdin();
    if let Err(left) = process::wait_all_gone(&scene.marker(), &household, GONE) {
        let left: Vec<String> = left.iter().map(process::Process::command_line).collect();
        panic!("{}: left after {GONE:?}: {left:#?}", front.title);
    }
    assert!(client.wait_exit(LIMIT).success(), "{}", client.describe());
}

#[test]
fn check_finds_real_servers_running_with_as_many_tools_as_they_list_directly() {
    let _turn = TURN.lock();
    let scene = Scene::new();
    scene.renew();
    // `check` tells servers what a shared runtime tells them.
    let able = r#"{"roots":{"listChanged":true},"sampling":{"context":{},"tools":{}},"elicitation":{"form":{},"url":{}}}"#;
    let direct = Direct::start_declaring(&scene, Eras::Both, able);
    let report = check(&scene.room.path("mcp.json"));
    assert_eq!(report["ok"], true, "{report}");
    let servers = report["servers"].as_array().expect("a list of servers");
    let names: Vec<&str> = servers.iter().filter_map(|server| server["name"].as_str()).collect();
    assert_eq!(names, PEERS, "{report}");
    for (name, server) in PEERS.iter().zip(servers) {
        assert_eq!(server["state"], "running", "{server}");
        assert_eq!(server["protocol"], Eras::Both.revision(name), "{server}");
        let tools = direct.tools().iter().filter(|(of, _)| of == name).count();
        assert_eq!(server["tools"], tools, "{server}");
    }
    process::wait_gone(&scene.marker(), GONE).expect("a check leaves no process");
}

fn check(config: &Path) -> Value {
    let mut command = Command::new(bin::trunkline());
    command.args(["check", "--json", "--start-timeout", START, "--config"]).arg(config);
    let client = Client::spawn(command);
    client.close_stdin();
    let end = client.finish(START_LIMIT);
    assert_eq!(end.code, Some(0), "{}\n{}", end.stdout, end.stderr);
    serde_json::from_str(&end.stdout).expect("one JSON object")
}

/// Which of the two it is, and its bytes.
fn outcome(answer: &Line) -> (&'static str, &[u8]) {
    match answer.try_error() {
        Some(error) => ("error", error),
        None => ("result", answer.result()),
    }
}

#[track_caller]
fn assert_same(what: &str, expected: &[u8], got: &[u8]) {
    if expected == got {
        return;
    }
    let at = expected.iter().zip(got).take_while(|(a, b)| a == b).count();
    panic!(
        "{what}: {} bytes directly, {} behind the gateway, different from byte {at} on\n\
         directly: {}\n  behind: {}",
        expected.len(),
        got.len(),
        shown(expected, at),
        shown(got, at),
    );
}

/// The bytes around `at`, for the message of a failed test.
fn shown(bytes: &[u8], at: usize) -> String {
    let (start, end) = (at.saturating_sub(100), bytes.len().min(at + 200));
    String::from_utf8_lossy(&bytes[start..end]).into_owned()
}
