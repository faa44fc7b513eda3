//! Calls through `call_tool` are the calls they stand for: to the byte, with all that goes with them.

use kit::config::Upstream;
use kit::corpus;
use kit::mcp::Speak;
use kit::room::Room;
use kit::scene::{Front, each_of, each_pair};
use kit::{LIMIT, ledger, process, say, scan};

use super::{SEARCH, fronts, house, mistake, through};

const ABLE: &str = r#"{"sampling":{},"elicitation":{"form":{},"url":{}},"roots":{}}"#;
const ELICIT: (&str, &str, &str) = (
    "elicitation/create",
    r#"{ "message":"who?","requestedSchema":{"type":"object","properties":{"n":{"type":"number","maximum":1E2}}} }"#,
    r#"{"action":"accept","content":{ "n":-0.0 }}"#,
);

#[test]
fn arguments_and_results_pass_to_the_byte() {
    let upstreams = [Upstream::Stdio, Upstream::ModernHttp];
    each_pair(&fronts(), &upstreams, |front, upstream| {
        let room = Room::new();
        room.config([("a", room.fake("a").tool("mirror", say::mirror()).over(upstream))]);
        let scene = room.open_ready(front, &SEARCH);
        let name = scene.tool("a", "mirror");
        let values: Vec<String> = corpus::values().into_iter().step_by(9).collect();
        for value in &values {
            let arguments = format!(r#"{{ "v":{value}}}"#);
            let answer = scene.call("call_tool", &through(&name, &arguments));
            let result = scan::get(answer.result(), "v").unwrap_or_default();
            assert!(result == value.as_bytes(), "{value} became {answer}");
        }
        let calls = ledger::calls(&room.ledger("a"));
        assert_eq!(calls.len(), values.len());
        for (call, value) in calls.iter().zip(&values) {
            let arrived = scan::path(call, &["params", "arguments"]).unwrap_or_default();
            assert!(arrived == format!(r#"{{ "v":{value}}}"#).as_bytes(), "{value}");
            assert_eq!(scan::path(call, &["params", "name"]), Some(&b"\"mirror\""[..]));
        }
        scene.assert_only_protocol();
    });
}

#[test]
fn a_tool_without_arguments_gets_an_empty_object() {
    let room = Room::new();
    house(&room, Upstream::Stdio);
    let scene = room.open_ready(Front::Stdio, &SEARCH);
    for arguments in
        [r#"{"name":"weather:forecast"}"#, r#"{"name":"weather:forecast","arguments":null}"#]
    {
        scene.call("call_tool", arguments).result();
    }
    for call in ledger::calls(&room.ledger("weather")) {
        assert_eq!(scan::path(&call, &["params", "arguments"]), Some(&b"{}"[..]));
    }
}

#[test]
fn only_what_says_that_it_reads_is_called_by_the_tool_that_only_reads() {
    each_of(fronts(), |front| {
        let room = Room::new();
        house(&room, Upstream::Stdio);
        let scene = room.open_ready(front, &SEARCH);
        let (read, delete) = (scene.tool("files", "read_file"), scene.tool("files", "delete_file"));
        scene.call("call_read_only_tool", &through(&read, r#"{"path":"x"}"#)).result();
        for name in [delete.as_str(), &scene.tool("weather", "forecast")] {
            let why = mistake(&scene.client, "call_read_only_tool", &through(name, "{}"));
            assert!(why.starts_with(&format!("`{name}` does not say that it only reads")), "{why}");
            assert!(why.ends_with("call it with `call_tool`"), "{why}");
        }
        assert_eq!(ledger::calls(&room.ledger("files")).len(), 1, "what was refused did not run");
        assert_eq!(ledger::calls(&room.ledger("weather")).len(), 0);
        scene.call("call_tool", &through(&delete, r#"{"path":"x"}"#)).result();
        assert_eq!(ledger::calls(&room.ledger("files")).len(), 2);
    });
}

#[test]
fn what_is_wrong_with_a_call_is_said_in_its_result() {
    let room = Room::new();
    house(&room, Upstream::Stdio);
    let scene = room.open_ready(Front::Stdio, &SEARCH);
    for (arguments, expected) in [
        ("{}", "the arguments of this tool are"),
        (r#"{"name":7}"#, "the arguments of this tool are"),
        (r#"{"name":"weather:forecast","arguments":"{}"}"#, "`arguments` is an object"),
        (r#"{"name":"call_tool","arguments":{}}"#, "`call_tool` is called directly"),
        (r#"{"name":"files:raed_file"}"#, "did you mean `files:read_file`?"),
        (r#"{"name":"files:sing_a_song"}"#, "find tools with `search_tools`"),
    ] {
        let why = mistake(&scene.client, "call_tool", arguments);
        assert!(why.contains(expected), "{arguments}: {why}");
    }
    assert_eq!(ledger::calls(&room.ledger("files")).len(), 0);
}

#[test]
fn progress_and_cancelling_go_with_the_call() {
    each_of([Front::Stdio, Front::Http, Front::ModernStdio], |front| {
        let room = Room::new();
        let steps = say::steps([say::progress(2), say::until_cancelled(), say::text("too late")]);
        room.config([("a", room.fake("a").tool("slow", steps).entry())]);
        let scene = room.open_ready(front, &SEARCH);
        let name = scan::quote(&scene.tool("a", "slow"));
        let params = format!(
            r#"{{"name":"call_tool","arguments":{{"name":{name}}},"_meta":{{"progressToken":"p"}}}}"#
        );
        let id = scene.start("tools/call", &params);
        let progress = scene.notification("notifications/progress", LIMIT);
        let token = scan::path(&progress.0, &["params", "progressToken"]);
        assert_eq!(token, Some(&b"\"p\""[..]), "{progress}");
        scene.cancel(&id);
        let told = || !ledger::with_method(&room.ledger("a"), "notifications/cancelled").is_empty();
        process::wait_until("the server is told", LIMIT, told);
    });
}

#[test]
fn a_question_reaches_the_caller_in_its_session() {
    each_of(Front::ALL, |front| {
        let room = Room::new();
        let (method, params, result) = ELICIT;
        let ask = say::steps([say::ask(method, params), say::result(r#"{"heard":@ANSWER@}"#)]);
        room.config([("a", room.fake("a").tool("ask", ask).entry())]);
        let scene = room.open_with(front, &SEARCH, ABLE);
        scene.list();
        let id = scene.begin("call_tool", &through(&scene.tool("a", "ask"), "{}"));
        let question = scene.question(method, LIMIT);
        scene.reply(&question, &format!(r#""result":{result}"#));
        let answer = scene.answer(&id, LIMIT);
        let heard = scan::path(answer.result(), &["heard", "result"]).map(String::from_utf8_lossy);
        assert_eq!(heard.as_deref(), Some(result), "{answer}");
    });
}

#[test]
fn a_parked_call_is_taken_up_again() {
    each_pair(&Front::MODERN, &[Upstream::Stdio, Upstream::ModernStdio], |front, upstream| {
        let room = Room::new();
        let (method, params, result) = ELICIT;
        let ask = if upstream.is_modern() {
            let asks = say::modern::input_required(&[("k", method, params)], Some(r#""1:x""#));
            say::modern::rounds([
                say::steps([asks]),
                say::steps([say::result(r#"{"heard":"-0.0"}"#)]),
            ])
        } else {
            say::steps([say::ask(method, params), say::result(r#"{"heard":@ANSWER@}"#)])
        };
        room.config([("a", room.fake("a").tool("ask", ask).over(upstream))]);
        let scene = room.open_with(front, &SEARCH, ABLE);
        scene.list();
        let arguments = through(&scene.tool("a", "ask"), r#"{"n":1.0}"#);
        let call = format!(r#"{{"name":"call_tool","arguments":{arguments}}}"#);
        let round = scene.ask("tools/call", &call).round();
        let question = round.only();
        assert_eq!(question.method, method);
        let answer = scene.ask("tools/call", &round.again(&call, &[(&question.key, result)]));
        assert_eq!(answer.result_type().as_deref(), Some("complete"), "{answer}");
        assert!(String::from_utf8_lossy(answer.result()).contains("-0.0"), "{answer}");
    });
}

#[test]
fn a_call_that_is_late_ends_at_its_deadline() {
    let room = Room::new();
    room.config([("a", room.fake("a").tool("slow", say::never()).entry())]);
    let scene = room.open_ready(Front::Stdio, &["--expose", "search", "--call-timeout", "1"]);
    let answer = scene.call("call_tool", &through("a:slow", "{}"));
    assert!(answer.message().contains("server `a` did not answer within"), "{answer}");
}
