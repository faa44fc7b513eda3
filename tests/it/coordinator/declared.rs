//! CO-9: what is declared is the same whatever the servers are and however fast they start, and every
//! method it promises is answered.

use kit::client::Client;
use kit::mcp::Speak;
use kit::modern::Modern;
use kit::room::Room;
use kit::scene::{Front, each_front, each_of};
use kit::{ledger, say, scan};
use serde_json::{Value, json};

const LEGACY: &str = r#"{"completions":{},"logging":{},"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"tools":{"listChanged":true}}"#;
const TASKS: &str = r#","tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}}"#;
const EXTENSIONS: &str = r#","extensions":{"io.modelcontextprotocol/tasks":{}}}"#;

fn with(more: &str) -> String {
    format!("{}{more}", LEGACY.strip_suffix('}').expect("an object"))
}

/// Servers that could make a difference: none; one that has nothing; one that has everything; one that
/// never answers.
fn houses() -> Vec<(&'static str, Room)> {
    let all = r#"{"tools":{},"resources":{},"prompts":{},"tasks":{"requests":{"tools":{"call":{}}}},"x":{}}"#;
    ["none", "poor", "rich", "hung"]
        .map(|kind| {
            let room = Room::new();
            let fake = room.fake(kind).tool("one", say::echo());
            match kind {
                "none" => room.config([]),
                "poor" => room.config([(kind, fake.entry())]),
                "rich" => room.config([(kind, fake.capabilities(all).entry())]),
                _ => room.config([(kind, fake.on("initialize", say::never()).entry())]),
            };
            (kind, room)
        })
        .into()
}

fn declared(result: &[u8]) -> String {
    let capabilities = scan::get(result, "capabilities").expect("capabilities");
    String::from_utf8_lossy(capabilities).into_owned()
}

#[test]
fn co_9_what_is_declared_does_not_depend_on_the_servers() {
    for (kind, room) in houses() {
        for (revision, expected) in [("2025-11-25", with(TASKS)), ("2025-06-18", LEGACY.to_owned())]
        {
            let client = Client::spawn(room.trunkline(&[]));
            let answer = client.initialize(revision);
            assert_eq!(declared(answer.result()), expected, "{kind}, stdio {revision}");
            if kind != "hung" {
                client.list();
                let again = client.request(kit::mcp::initialize("\"again\"", revision));
                assert_eq!(declared(again.result()), expected, "{kind} runs, stdio {revision}");
            }
        }
        let client = Modern::stdio(Client::spawn(room.trunkline(&[])), "{}");
        assert_eq!(declared(client.discover().result()), with(EXTENSIONS), "{kind}, stdio");
        let serve = room.serve(&["--start-timeout", "1"]);
        assert_eq!(declared(serve.modern("{}").discover().result()), with(EXTENSIONS), "{kind}");
        let http = serve.streamable().initialize("2025-11-25");
        assert_eq!(declared(http.result()), with(TASKS), "{kind}, http");
    }
}

#[test]
fn co_9_every_declared_method_is_answered_where_no_server_has_it() {
    let prompt = r#"{"ref":{"type":"ref/prompt","name":"no"},"argument":{"name":"a","value":""}}"#;
    let template =
        r#"{"ref":{"type":"ref/resource","uri":"no://{x}"},"argument":{"name":"x","value":""}}"#;
    let rows: [(&str, &str, Result<&str, i64>); 15] = [
        ("tools/list", "{}", Ok(r#"{"tools":[]}"#)),
        ("resources/list", "{}", Ok(r#"{"resources":[]}"#)),
        ("resources/templates/list", "{}", Ok(r#"{"resourceTemplates":[]}"#)),
        ("prompts/list", "{}", Ok(r#"{"prompts":[]}"#)),
        ("tasks/list", "{}", Ok(r#"{"tasks":[]}"#)),
        ("tasks/list", r#"{"cursor":"x"}"#, Err(-32602)),
        ("tasks/get", r#"{"taskId":"t"}"#, Err(-32602)),
        ("tasks/result", r#"{"taskId":"t"}"#, Err(-32602)),
        ("tasks/cancel", r#"{"taskId":"t"}"#, Err(-32602)),
        ("logging/setLevel", r#"{"level":"debug"}"#, Ok("{}")),
        ("completion/complete", prompt, Err(-32602)),
        ("completion/complete", template, Err(-32602)),
        ("prompts/get", r#"{"name":"no"}"#, Err(-32602)),
        ("resources/read", r#"{"uri":"no://x"}"#, Err(-32002)),
        ("resources/subscribe", r#"{"uri":"no://x"}"#, Err(-32002)),
    ];
    each_front(|front| {
        for count in 0..3 {
            let room = Room::new();
            // Servers that know only what they have to.
            let bare = |n: usize| {
                let fake = room.fake(&format!("s{n}")).capabilities(r#"{"tools":{}}"#);
                (format!("s{n}"), fake.definitions(&[]).entry())
            };
            room.config_of((0..count).map(bare).collect());
            let scene = room.open_ready(front, &[]);
            for (method, params, expected) in &rows {
                let answer = scene.ask(method, params);
                let got = match answer.try_result() {
                    Some(result) => Ok(String::from_utf8_lossy(result).into_owned()),
                    None => Err(answer.code()),
                };
                let expected = expected.map(str::to_owned);
                assert_eq!(got, expected, "{count} servers, {method} {params}: {answer}");
            }
        }
    });
}

#[test]
fn a_task_that_nobody_knows_is_told_in_the_stateless_era_too() {
    each_of(Front::MODERN, |front| {
        let room = Room::new();
        room.config([("a", room.fake("a").tool("one", say::echo()).entry())]);
        let scene = room.open_ready(front, &[]);
        for method in ["tasks/get", "tasks/cancel", "tasks/update"] {
            let answer = scene.ask(method, r#"{"taskId":"t"}"#);
            assert_eq!(answer.code(), -32602, "{method}: {answer}");
        }
    });
}

/// A server that lists these tasks, in pages.
fn lister(room: &Room, name: &str, pages: Value) -> Value {
    let capabilities = r#"{"tools":{},"tasks":{"list":{},"requests":{"tools":{"call":{}}}}}"#;
    let fake = room.fake(name).capabilities(capabilities).tool("one", say::echo());
    fake.on("tasks/list", pages).entry()
}

#[test]
fn co_9_a_list_of_tasks_has_those_of_all_servers() {
    each_front(|front| {
        let room = Room::new();
        let first = r#"{"tasks":[{"taskId":"a1","ttl":1.50}],"nextCursor":"more"}"#;
        let second = r#"{"tasks":[{"taskId":"a2"}]}"#;
        let (one, other) = (json!([say::result(first)]), json!([say::result(second)]));
        let pages = say::first(1, &one, &other);
        let a = lister(&room, "a", pages);
        let b = lister(&room, "b", json!([say::result(r#"{"tasks":[{ "taskId":"b1" }]}"#)]));
        let broken = lister(&room, "broken", json!([say::error(r#"{"code":-1,"message":"no"}"#)]));
        let plain = room.fake("plain").tool("one", say::echo()).entry();
        room.config([("a", a), ("b", b), ("broken", broken), ("plain", plain)]);
        let scene = room.open_ready(front, &[]);
        let answer = scene.ask("tasks/list", "{}");
        let expected =
            r#"{"tasks":[{"taskId":"a1","ttl":1.50},{"taskId":"a2"},{ "taskId":"b1" }]}"#;
        assert_eq!(String::from_utf8_lossy(answer.result()), expected);
        assert!(ledger::with_method(&room.ledger("plain"), "tasks/list").is_empty());
        assert_eq!(scene.ask("tasks/list", r#"{"cursor":"more"}"#).code(), -32602);
        // What was listed can be asked about.
        let asked = scene.start("tasks/get", r#"{"taskId":"b1"}"#);
        scene.answer(&asked, kit::LIMIT);
        assert_eq!(ledger::with_method(&room.ledger("b"), "tasks/get").len(), 1);
    });
}

#[test]
fn co_9_the_pages_of_the_only_server_with_tasks_pass() {
    each_front(|front| {
        let room = Room::new();
        let first = r#"{"tasks":[{"taskId":"a1"}],"nextCursor":"more"}"#;
        let a = lister(&room, "a", json!([say::result(first)]));
        let plain = room.fake("plain").tool("one", say::echo()).entry();
        room.config([("a", a), ("plain", plain)]);
        let scene = room.open_ready(front, &[]);
        for params in ["{}", r#"{"cursor":"more"}"#] {
            let answer = scene.ask("tasks/list", params);
            assert_eq!(String::from_utf8_lossy(answer.result()), first, "{params}");
        }
        let asked = ledger::with_method(&room.ledger("a"), "tasks/list");
        let cursor = asked.last().and_then(|asked| scan::path(asked, &["params", "cursor"]));
        assert_eq!(cursor, Some(&b"\"more\""[..]));
    });
}
