//! Servers that work and do not keep to the letter of the protocol, as a table: what they send beside
//! their answers harms neither them nor the calls that are open.
//!
//! One gateway runs all of them. Each is listed, is called while another of its calls is open, and
//! has a call cancelled; the call that was open all the time gets its result.

use std::time::Duration;

use kit::config::{Fake, Upstream};
use kit::mcp::Speak;
use kit::room::Room;
use kit::scene::{Front, Scene, each_of};
use kit::{LIMIT, SOON, ledger, process, say};
use serde_json::{Value, json};

/// How long the real answer is waited for before an answer without an id counts (about a second),
/// and half as much again: what would have harmed a call has done so by then.
const GRACE: Duration = Duration::from_millis(1500);

/// One kind of server.
struct Kind {
    name: &'static str,
    dress: fn(Fake<'_>) -> Fake<'_>,
    /// Where it is found.
    only: Option<Upstream>,
    /// How many processes it takes until it runs.
    starts: usize,
}

const fn kind(name: &'static str, dress: fn(Fake<'_>) -> Fake<'_>) -> Kind {
    Kind { name, dress, only: None, starts: 1 }
}

/// It can only be done on a pipe.
const fn piped(name: &'static str, dress: fn(Fake<'_>) -> Fake<'_>) -> Kind {
    Kind { only: Some(Upstream::Stdio), ..kind(name, dress) }
}

const KINDS: &[Kind] = &[
    kind("answers-notifications", |fake| answers_notifications(fake, &[NOT_FOUND])),
    kind("answers-without-id", |fake| {
        answers_notifications(
            fake,
            &[r#"{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found"}}"#],
        )
    }),
    kind("answers-with-ids-of-its-own", |fake| {
        answers_notifications(
            fake,
            &[
                r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"Method not found"}}"#,
                r#"{"jsonrpc":"2.0","id":"","error":{"code":-32601,"message":"Method not found"}}"#,
                r#"{"jsonrpc":"2.0","id":-1,"error":{"code":-32601,"message":"Method not found"}}"#,
            ],
        )
    }),
    kind("answers-with-a-result", |fake| {
        answers_notifications(fake, &[r#"{"jsonrpc":"2.0","id":null,"result":{}}"#])
    }),
    kind("answers-with-null", |fake| {
        answers_notifications(fake, &[r#"{"jsonrpc":"2.0","id":null,"result":null}"#])
    }),
    kind("answers-in-brief", |fake| {
        answers_notifications(fake, &[r#"{"id":null,"error":"unknown method"}"#])
    }),
    kind("answers-and-logs", |fake| {
        let log = r#"{"level":"warn","msg":"unknown method","request":@LINE@}"#;
        answers_notifications(fake, &[log, NOT_FOUND, log])
    }),
    kind("answers-the-probe-without-id", |fake| {
        fake.on("server/discover", say::steps([say::line(NOT_FOUND)]))
    }),
    piped("logs-at-start", |fake| {
        fake.at_start(say::steps([
            say::line(r#"{"level":"info","msg":"starting","pid":1}"#),
            say::line(r#"{"jsonrpc":"2.0","method":"notifications/message","id":null}"#),
            say::line(NOT_FOUND),
        ]))
    }),
    piped("prints-a-banner", |fake| {
        fake.at_start(say::steps([
            say::line("\u{1b}[32mMCP server v1.2.3\u{1b}[0m"),
            say::line("{ server: 'running on stdio' }"),
            say::line("[INFO] {\"jsonrpc\" is spoken here"),
        ]))
    }),
    kind("logs-what-it-gets", |fake| {
        let nested = r#"{"level":"debug","msg":"in","request":{"jsonrpc":"2.0","method":"tools/call","params":{"name":"echo"},"id":@ID@}}"#;
        let quoted = r#"{"level":"debug","msg":"in","request":@LINE@}"#;
        let python = "{'jsonrpc': '2.0', 'id': @ID@, 'method': 'tools/call'}";
        let torn =
            r#"{"level":"debug","request":{"jsonrpc":"2.0","method":"tools/call","id":@ID@}"#;
        noisy(fake, &[nested, quoted, python, torn])
    }),
    kind("echoes-what-it-gets", |fake| {
        let call = r#"{"jsonrpc":"2.0","id":@ID@,"method":"tools/call","params":@PARAMS@}"#;
        let told = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        noisy(fake, &[call]).on("notifications/initialized", say::steps([say::line(told)]))
    }),
    kind("notifies-with-an-id", |fake| {
        noisy(
            fake,
            &[
                r#"{"jsonrpc":"2.0","id":null,"method":"notifications/message","params":{"level":"info","data":"x"}}"#,
                r#"{"jsonrpc":"2.0","id":null,"method":"notifications/tools/list_changed"}"#,
            ],
        )
    }),
    kind("speaks-an-older-json-rpc", |fake| {
        noisy(
            fake,
            &[
                r#"{"jsonrpc":"1.0","method":"log","params":["hello"],"id":null}"#,
                r#"{"jsonrpc":"1.0","result":"ok","error":null,"id":null}"#,
                r#"{"jsonrpc":"1.0","level":"info"}"#,
            ],
        )
    }),
    kind("forgets-jsonrpc-in-its-log", |fake| {
        noisy(
            fake,
            &[
                r#"{"method":"log","params":{"id":@ID@,"result":"pending"}}"#,
                r#"{"id":@ID@,"method":"tools/call","status":"started"}"#,
            ],
        )
    }),
    piped("logs-outcomes-beside-ids", |fake| {
        noisy(
            fake,
            &[
                r#"{"level":"info","id":@ID@,"result":"started"}"#,
                r#"{"level":"error","error":"disk","id":@ID@}"#,
                r#"{"jsonrpc":"1.0","id":@ID@,"result":{}}"#,
            ],
        )
    }),
    piped("logs-ids", |fake| noisy(fake, &[r#"{"event":"call","id":@ID@,"tool":"echo"}"#])),
    piped("ends-lines-in-crlf-after-a-bom", |fake| {
        let answer = say::raw(format!("\u{feff}{ECHO}\r\n"));
        fake.at_start(say::steps([say::raw("\u{feff}")])).tool("echo", say::steps([answer]))
    }),
    kind("knows-no-ping", |fake| {
        fake.on("ping", say::steps([say::error(r#"{"code":-32601,"message":"no ping"}"#)]))
    }),
    kind("answers-ping-with-null", |fake| fake.on("ping", say::steps([say::result("null")]))),
    kind("makes-text-of-ids", |fake| {
        let answer = say::line(ECHO.replace("@ID@", "\"@ID@\""));
        fake.tool("echo", say::steps([answer]))
    }),
    kind("makes-fractions-of-ids", |fake| {
        let answer = say::line(ECHO.replace("@ID@", "@ID@.0"));
        fake.tool("echo", say::steps([answer]))
    }),
    kind("adds-members", |fake| {
        let answer = ECHO.replacen('{', r#"{"ts":1.50,"meta":{"id":1,"error":null},"#, 1);
        fake.tool("echo", say::steps([say::line(answer)]))
    }),
    Kind {
        starts: 2,
        ..piped("dies-of-the-probe", |fake| {
            let refusal = say::error(r#"{"code":-32600,"message":"initialize first"}"#);
            fake.on("server/discover", say::steps([refusal, say::exit(1)]))
        })
    },
];

const NOT_FOUND: &str =
    r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"Method not found"}}"#;

/// What `say::echo` answers.
const ECHO: &str = r#"{"jsonrpc":"2.0","id":@ID@,"result":{"content":[],"structuredContent":{"from":"@SERVER@","pid":@PID@,"arguments":@ARGS@}}}"#;

/// Answers everything that has no answer with these lines.
fn answers_notifications<'a>(fake: Fake<'a>, lines: &[&str]) -> Fake<'a> {
    let lines: Vec<Value> = lines.iter().map(|line| say::line(*line)).collect();
    fake.on("notifications/initialized", json!(lines)).on("notifications/cancelled", json!(lines))
}

/// Sends these lines before each answer of `echo` and of the handshake.
fn noisy<'a>(fake: Fake<'a>, lines: &[&str]) -> Fake<'a> {
    let before = |answer: Value| {
        let lines = lines.iter().map(|line| say::line(*line));
        Value::Array(lines.chain([answer]).collect())
    };
    fake.tool("echo", before(say::line(ECHO)))
        .on("initialize", before(say::usual()))
        .on("tools/list", before(say::usual()))
}

#[test]
fn k1_k4_sloppy_servers_are_listed_and_called_and_harm_no_open_call() {
    each_of([Front::Stdio, Front::Http, Front::ModernHttp], |front| check(front, Upstream::Stdio));
}

#[test]
fn k1_k4_sloppy_servers_are_listed_and_called_over_the_network() {
    each_of([(Front::Stdio, Upstream::Sse), (Front::Http, Upstream::Http)], |(front, upstream)| {
        check(front, upstream);
    });
}

#[track_caller]
fn check(front: Front, upstream: Upstream) {
    let kinds: Vec<&Kind> =
        KINDS.iter().filter(|kind| kind.only.is_none_or(|only| only == upstream)).collect();
    let room = Room::new();
    let entry = |kind: &&Kind| {
        let fake = room.fake(kind.name).tool("echo", say::echo());
        let fake = fake.tool("wait", say::steps([say::gate(&room, "go"), say::text("done")]));
        let fake = fake.tool("stop", say::steps([say::until_cancelled()]));
        (kind.name.to_owned(), (kind.dress)(fake).over(upstream))
    };
    room.config_of(kinds.iter().map(entry).collect());
    let scene = room.open_ready(front, &[]);
    let names = scene.list_names();
    let missing: Vec<_> =
        kinds.iter().filter(|kind| !names.contains(&scene.tool(kind.name, "echo"))).collect();
    let missing: Vec<_> = missing.iter().map(|kind| kind.name).collect();
    assert!(missing.is_empty(), "not listed: {missing:?}\n{}", scene.process().describe());

    let open: Vec<_> = kinds
        .iter()
        .map(|kind| (kind.name, scene.begin(&scene.tool(kind.name, "wait"), "{}")))
        .collect();
    for kind in &kinds {
        println!("---- {front:?}, {upstream:?}: {}", kind.name);
        scene.assert_echo(kind.name, "echo", r#"{"n":1}"#);
        cancel_one(&room, &scene, kind.name);
        scene.assert_echo(kind.name, "echo", r#"{"n":2}"#);
    }
    let is_open = |id: Option<&[u8]>| open.iter().any(|(_, open)| id == Some(open));
    let harmed = scene.try_wait_for(GRACE, |line| is_open(line.id()));
    assert_eq!(harmed, None, "an open call was ended: {open:?}");
    room.open_gate("go");
    for (name, id) in &open {
        let answer = scene.answer(id, SOON);
        assert!(answer.try_result().is_some(), "{name}: {answer}");
    }
    for kind in &kinds {
        let starts = ledger::started(&room.ledger(kind.name)).len();
        assert_eq!(starts, kind.starts, "{}: processes", kind.name);
    }
    scene.assert_only_protocol();
}

/// Cancels a call when its server has it.
#[track_caller]
fn cancel_one(room: &Room, scene: &Scene, server: &str) {
    let ledger = room.ledger(server);
    let begun = ledger::calls(&ledger).len();
    let id = scene.begin(&scene.tool(server, "stop"), "{}");
    process::wait_until("the call", LIMIT, || ledger::calls(&ledger).len() > begun);
    scene.cancel(&id);
    let is_told = || !ledger::with_method(&ledger, "notifications/cancelled").is_empty();
    process::wait_until("the cancellation", LIMIT, is_told);
}

/// An answer without an id is believed where nothing else can be meant, and not at once.
#[test]
fn k4_an_error_without_an_id_ends_the_only_call_when_nothing_else_comes() {
    each_of([Upstream::Stdio, Upstream::Sse], |upstream| {
        let room = Room::new();
        let late = say::steps([say::line(NOT_FOUND), say::pause(300), say::text("fine")]);
        let lost = say::steps([say::line(NOT_FOUND)]);
        let fake = answers_notifications(room.fake("a"), &[NOT_FOUND]);
        room.config([("a", fake.tool("late", late).tool("lost", lost).over(upstream))]);
        let scene = room.open_ready(Front::Stdio, &[]);
        let answer = scene.call_within(&scene.tool("a", "late"), "{}", SOON);
        assert!(answer.try_result().is_some(), "the real answer was on its way: {answer}");
        let answer = scene.call_within(&scene.tool("a", "lost"), "{}", SOON);
        assert_eq!((answer.code(), &*answer.message()), (-32601, "Method not found"), "{answer}");
    });
}
