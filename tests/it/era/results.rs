//! What the eras add to results and change in errors; every other byte stays.

use kit::mcp::Speak;
use kit::room::Room;
use kit::scene::{Front, each_legacy_to_modern, each_modern, each_modern_to_legacy, each_of};
use kit::{say, scan};
use serde_json::Value;

const RESULT: &str = r#"{ "content":[{"type":"hologram","n":1.0}], "structuredContent":[1e400],"isError":false,"_meta":{"\u0061":"\/"},"x":null }"#;

fn given() -> Value {
    say::steps([say::result(RESULT)])
}

/// Method and params of what can be asked; the tool is named for this client.
fn requests(client: &impl Speak) -> [(&'static str, String); 4] {
    let tool = client.tool("a", "give");
    [
        ("tools/call", format!(r#"{{"name":"{tool}","arguments":{{}}}}"#)),
        ("resources/read", r#"{"uri":"x://1"}"#.to_owned()),
        ("prompts/get", r#"{"name":"p"}"#.to_owned()),
        (
            "completion/complete",
            r#"{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"topic","value":""}}"#
                .to_owned(),
        ),
    ]
}

fn fake<'a>(room: &'a Room) -> kit::config::Fake<'a> {
    let a = room.fake("a").tool("give", given()).resource("x://1", "1").read("x://1", given());
    a.prompt("p", "P").get("p", given()).completions().on("completion/complete", given())
}

#[test]
fn a_result_of_the_older_era_gets_its_type_and_its_hints_and_is_otherwise_unchanged() {
    each_modern_to_legacy(|front, upstream| {
        let room = Room::new();
        room.config([("a", fake(&room).over(upstream))]);
        let scene = room.open_ready(front, &[]);
        for (method, params) in requests(&scene.client) {
            let answer = scene.ask(method, &params);
            assert_eq!(answer.result_type().as_deref(), Some("complete"), "{answer}");
            assert_eq!(String::from_utf8_lossy(&answer.payload()), RESULT, "{method}");
            let has = |key: &str| scan::get(answer.result(), key).is_some();
            let is_read = method == "resources/read";
            assert_eq!((has("ttlMs"), has("cacheScope")), (is_read, is_read), "{answer}");
        }
        for (method, member) in [
            ("tools/list", "tools"),
            ("resources/list", "resources"),
            ("resources/templates/list", "resourceTemplates"),
            ("prompts/list", "prompts"),
        ] {
            let answer = scene.ask(method, "{}");
            for key in ["resultType", "ttlMs", "cacheScope", member] {
                assert!(scan::get(answer.result(), key).is_some(), "{key}: {answer}");
            }
        }
        scene.assert_only_protocol();
    });
}

#[test]
fn a_result_of_the_same_era_is_unchanged_with_its_type_and_its_hints() {
    each_modern(|front, upstream| {
        let room = Room::new();
        room.config([("a", fake(&room).cache(77, "public").over(upstream))]);
        let scene = room.open_ready(front, &[]);
        for (method, params) in requests(&scene.client) {
            let answer = scene.ask(method, &params);
            let hints = match method {
                "resources/read" => r#","ttlMs":77,"cacheScope":"public""#,
                _ => "",
            };
            let added = format!(r#""resultType":"complete"{hints}"#);
            let expected = scan::with_first(RESULT.as_bytes(), &added);
            let expected = String::from_utf8_lossy(&expected).into_owned();
            assert_eq!(String::from_utf8_lossy(answer.result()), expected, "{method}");
        }
    });
}

#[test]
fn a_session_gets_results_of_the_stateless_era_unchanged() {
    each_legacy_to_modern(|front, upstream| {
        let room = Room::new();
        room.config([("a", fake(&room).over(upstream))]);
        let scene = room.open_ready(front, &[]);
        for (method, params) in requests(&scene.client) {
            let answer = scene.ask(method, &params);
            assert_eq!(String::from_utf8_lossy(&answer.payload()), RESULT, "{method}");
        }
        for (method, member) in [("tools/list", "tools"), ("prompts/list", "prompts")] {
            let answer = scene.ask(method, "{}");
            let keys = scan::members(answer.result()).expect("an object");
            let keys: Vec<_> = keys.iter().filter_map(|one| scan::text(one.key)).collect();
            assert_eq!(keys, [member], "a list of the older era: {answer}");
        }
    });
}

#[test]
fn a_result_that_forgets_its_type_is_complete() {
    each_modern(|front, upstream| {
        let room = Room::new();
        // `pieces` goes past what the scripted server adds.
        let raw = r#"{"jsonrpc":"2.0","id":@ID@,"result":{ "content":[] }}"#;
        let a = room.fake("a").tool("old", say::steps([say::pieces(4096, raw)]));
        room.config([("a", a.over(upstream))]);
        let scene = room.open_ready(front, &[]);
        let answer = scene.call(&scene.tool("a", "old"), "{}");
        assert_eq!(answer.result_type().as_deref(), Some("complete"), "{answer}");
        assert_eq!(answer.payload(), br#"{ "content":[] }"#, "{answer}");
    });
}

#[test]
fn a_result_of_a_type_of_an_extension_passes() {
    each_modern(|front, upstream| {
        let room = Room::new();
        let task = r#"{"resultType":"task","taskId":"t-1","status":"working","ttlMs":1.0}"#;
        let a = room.fake("a").tool("task", say::steps([say::result(task)]));
        room.config([("a", a.over(upstream))]);
        let scene = room.open_ready(front, &[]);
        let answer = scene.call(&scene.tool("a", "task"), "{}");
        assert_eq!(String::from_utf8_lossy(answer.result()), task);
    });
}

#[test]
fn a_task_is_asked_for_where_it_runs() {
    each_modern(|front, upstream| {
        let room = Room::new();
        let of = |name: &str| {
            let task = format!(r#"{{"resultType":"task","taskId":"t-{name}","status":"working"}}"#);
            let told = say::steps([say::result(r#"{"from":"@SERVER@","params":@PARAMS@}"#)]);
            room.fake(name)
                .tool("work", say::steps([say::result(&task)]))
                .on("tasks/get", told.clone())
                .on("tasks/cancel", told)
        };
        room.config([("a", of("a").over(upstream)), ("b", of("b").over(upstream))]);
        let scene = room.open_ready(front, &[]);
        for name in ["b", "a"] {
            scene.call(&scene.tool(name, "work"), "{}").result();
            for method in ["tasks/get", "tasks/cancel"] {
                let answer = scene.ask(method, &format!(r#"{{"taskId":"t-{name}"}}"#));
                let from = scan::get(answer.result(), "from").and_then(scan::text);
                assert_eq!(from.as_deref(), Some(name), "{method}: {answer}");
            }
        }
        scene.ask("tasks/get", r#"{"taskId":"nobody's"}"#).error();
    });
}

#[test]
fn errors_keep_their_bytes_but_for_the_code_that_is_gone() {
    each_modern_to_legacy(|front, upstream| {
        let room = Room::new();
        let tail = r#","message":"Resource \u006eot found","data":{ "uri":"x://1","n":1.0 } }"#;
        let own = r#"{ "code":-31050,"message":"no","data":[1e400] }"#;
        // A code the protocol keeps for itself would mean something else to the client.
        let kept = r#"{ "code":-32020,"message":"no","data":[1e400] }"#;
        let a = room.fake("a").tool("refuse", say::steps([say::error(own)]));
        let a = a.tool("mislead", say::steps([say::error(kept)]));
        let a = a
            .resource("x://1", "1")
            .read("x://1", say::steps([say::error(&format!(r#"{{ "code": -32002{tail}"#))]));
        room.config([("a", a.over(upstream))]);
        let scene = room.open_ready(front, &[]);
        let answer = scene.call(&scene.tool("a", "refuse"), "{}");
        assert_eq!(String::from_utf8_lossy(answer.error()), own);
        let answer = scene.call(&scene.tool("a", "mislead"), "{}");
        let expected = kept.replace("-32020", "-32603");
        assert_eq!(String::from_utf8_lossy(answer.error()), expected);
        let id = scene.start("resources/read", r#"{"uri":"x://1"}"#);
        let answer = scene.answer(&id, kit::LIMIT);
        let expected = format!(r#"{{ "code": -32602{tail}"#);
        assert_eq!(String::from_utf8_lossy(answer.error()), expected);
        if front == Front::ModernHttp {
            assert_eq!(scene.modern().head_of(&id).status, 200, "the request itself was right");
        }
    });
}

#[test]
fn errors_of_the_stateless_era_pass_to_both() {
    let own = r#"{ "code":-32602,"message":"Resource not found","data":{"n":1.0} }"#;
    let check = |front, upstream| {
        let room = Room::new();
        let refuse = || say::steps([say::error(own)]);
        let a = room.fake("a").tool("refuse", refuse()).resource("x://1", "1");
        room.config([("a", a.read("x://1", refuse()).over(upstream))]);
        let scene = room.open_ready(front, &[]);
        let answers = [
            scene.call(&scene.tool("a", "refuse"), "{}"),
            scene.ask("resources/read", r#"{"uri":"x://1"}"#),
        ];
        for answer in answers {
            assert_eq!(String::from_utf8_lossy(answer.error()), own, "{answer}");
        }
    };
    each_modern(check);
    each_legacy_to_modern(check);
}

/// The Python SDK answers some errors with status 400; that is an answer, not a broken server.
#[test]
fn an_error_under_a_status_of_http_is_the_servers_answer() {
    let fronts = [Front::Stdio, Front::Http, Front::ModernStdio, Front::ModernHttp];
    each_of(fronts, |front| {
        let room = Room::new();
        let error = r#"{"code":-32021,"message":"Missing capability","data":{"requiredCapabilities":{"sampling":{}}}}"#;
        let body = format!(r#"{{"jsonrpc":"2.0","id":@ID@,"error":{error}}}"#);
        let kind = [("Content-Type", "application/json")];
        let refuse = say::steps([say::net::http(400, &kind, &body)]);
        let a = room.fake("a").tool("refuse", refuse).tool("echo", say::echo());
        room.config([("a", a.over(kit::config::Upstream::ModernHttp))]);
        let scene = room.open_ready(front, &[]);
        let answer = scene.call(&scene.tool("a", "refuse"), "{}");
        assert_eq!(answer.code(), -32021, "{answer}");
        scene.assert_echo("a", "echo", "{}");
    });
}

#[test]
fn tools_that_need_tasks_of_the_older_era_are_not_offered() {
    each_of(Front::MODERN, |front| {
        let room = Room::new();
        let definition = |name: &str, support: &str| {
            format!(
                r#"{{"name":"{name}","inputSchema":{{"type":"object"}},"execution":{{"taskSupport":"{support}"}}}}"#
            )
        };
        let all = [definition("must", "required"), definition("may", "optional")];
        let a = room.fake("a").definitions(&[&all[0], &all[1]]).tool("may", say::echo());
        room.config([("a", a.entry())]);
        let scene = room.open(front, &[]);
        assert_eq!(scene.list_names(), [scene.tool("a", "may")]);
    });
}

#[test]
fn listening_for_tasks_needs_the_extension() {
    each_of(Front::MODERN, |front| {
        let room = Room::new();
        room.config([("a", room.fake("a").tool("one", say::echo()).entry())]);
        let scene = room.open_ready(front, &[]);
        let wanted = r#"{"notifications":{"taskIds":["t"]}}"#;
        let refused = scene.ask("subscriptions/listen", wanted);
        assert_eq!(refused.code(), -32021, "{refused}");
        let needed = ["error", "data", "requiredCapabilities", "extensions"];
        let needed = scan::path(&refused.0, &needed).map(String::from_utf8_lossy);
        assert_eq!(needed.as_deref(), Some(r#"{"io.modelcontextprotocol/tasks":{}}"#), "{refused}");
    });
}

/// A server of the older era may say what it likes of a result; to a client of the stateless one it
/// is complete, and nothing else of it changes.
#[test]
fn what_an_older_server_calls_its_result_is_not_passed_on() {
    each_modern_to_legacy(|front, upstream| {
        let room = Room::new();
        let odd = [r#""input_required""#, r#""weird""#, "7", r#""complete""#];
        let a = odd.iter().enumerate().fold(room.fake("a"), |a, (n, kind)| {
            let result = format!(r#"{{"content":[], "resultType" : {kind} ,"x":1.0}}"#);
            a.tool(&format!("odd-{n}"), say::steps([say::result(&result)]))
        });
        room.config([("a", a.over(upstream))]);
        let scene = room.open_ready(front, &[]);
        for (n, kind) in odd.iter().enumerate() {
            let answer = scene.call(&scene.tool("a", &format!("odd-{n}")), "{}");
            let result = String::from_utf8_lossy(answer.result()).into_owned();
            let expected = r#"{"content":[], "resultType" : "complete" ,"x":1.0}"#;
            assert_eq!(result, expected, "{kind}");
        }
    });
}

#[test]
fn a_result_that_asks_for_nothing_is_an_error_that_names_its_server() {
    each_modern(|front, upstream| {
        let room = Room::new();
        let ask = say::steps([say::result(r#"{"resultType":"input_required"}"#)]);
        let a = room.fake("a").tool("ask", ask).tool("echo", say::echo());
        room.config([("a", a.over(upstream))]);
        let scene = room.open_with(front, &[], super::ABLE);
        scene.list();
        let answer = scene.call(&scene.tool("a", "ask"), "{}");
        let message = answer.message();
        assert!(message.contains("`a`") && message.contains("does not say for what"), "{answer}");
        scene.assert_echo("a", "echo", "{}");
    });
}
