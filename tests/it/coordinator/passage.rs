//! CO-9: progress, cancellation, logging, list changes, instructions and unknown fields.

use std::time::Duration;

use kit::config::Upstream;
use kit::line::Line;
use kit::mcp::Speak;
use kit::room::Room;
use kit::scene::{Front, each, each_front, each_of};
use kit::{LIMIT, SOON, ledger, process, say, scan};

use super::resources;

const MESSAGE: &str = "notifications/message";

#[test]
fn co_9_progress_comes_back_under_the_clients_own_token() {
    each(|front, upstream| {
        let room = Room::new();
        let work = say::steps([say::progress(3), say::text("done")]);
        room.config([("a", room.fake("a").tool("work", work).over(upstream))]);
        let scene = room.open_ready(front, &[]);
        for token in ["\"t\"", "7", "\"caf\\u00e9\""] {
            let tool = scene.tool("a", "work");
            let id = scene.start(
                "tools/call",
                &format!(
                    r#"{{"name":"{tool}","arguments":{{}},"_meta":{{"progressToken":{token}}}}}"#
                ),
            );
            for step in 1..=3 {
                let line = scene.notification("notifications/progress", SOON);
                let expected = format!(
                    r#"{{"progressToken":{token},"progress":{step}.0,"total": 3,"message":"\u0073tep"}}"#
                );
                let params = scan::get(&line.0, "params").unwrap_or_default();
                assert_eq!(String::from_utf8_lossy(params), expected);
            }
            scene.answer(&id, SOON).result();
        }
    });
}

#[test]
fn co_9_a_cancellation_reaches_the_server_under_its_own_id_whatever_was_asked() {
    each(|front, upstream| {
        let room = Room::new();
        let a = room
            .fake("a")
            .tool("slow", say::never())
            .resource("x://slow", "Slow")
            .read("x://slow", say::never())
            .prompt("slow", "Slow")
            .get("slow", say::never());
        room.config([("a", a.over(upstream))]);
        let scene = room.open_ready(front, &[]);
        let tool = scene.tool("a", "slow");
        for (method, params) in [
            ("tools/call", format!(r#"{{"name":"{tool}","arguments":{{}}}}"#)),
            ("resources/read", r#"{"uri":"x://slow"}"#.to_owned()),
            ("prompts/get", r#"{"name":"slow"}"#.to_owned()),
        ] {
            let id = scene.start(method, &params);
            let asked = || ledger::with_method(&room.ledger("a"), method);
            process::wait_until("the server has it", LIMIT, || !asked().is_empty());
            scene.cancel(&id);
            let own = asked().last().and_then(|line| scan::get(line, "id")).map(<[u8]>::to_vec);
            let told = || {
                let all = ledger::with_method(&room.ledger("a"), "notifications/cancelled");
                let last = all.last().and_then(|c| scan::path(c, &["params", "requestId"]));
                last == own.as_deref()
            };
            process::wait_until("the server is told", LIMIT, told);
        }
    });
}

#[test]
fn co_9_the_log_level_goes_to_servers_that_log_and_messages_come_back() {
    each(|front, upstream| {
        let room = Room::new();
        let speak =
            say::steps([say::log("warning", r#"{ "n":1.0,"s":"\u0061" }"#), say::text("done")]);
        let a = room.fake("a").logging().tool("speak", speak);
        let mute = room.fake("mute").tool("echo", say::echo());
        room.config([("a", a.over(upstream)), ("mute", mute.over(upstream))]);
        let scene = room.open_ready(front, &[]);
        assert_eq!(scene.ask("logging/setLevel", r#"{"level":"debug"}"#).result(), b"{}");
        let told = || {
            let all = ledger::with_method(&room.ledger("a"), "logging/setLevel");
            all.last().is_some_and(|line| String::from_utf8_lossy(line).contains("\"debug\""))
        };
        process::wait_until("the server is told", LIMIT, told);
        scene.call(&scene.tool("a", "speak"), "{}").result();
        let message = scene.notification(MESSAGE, SOON);
        let data = scan::path(&message.0, &["params", "data"]).map(String::from_utf8_lossy);
        assert_eq!(data.as_deref(), Some(r#"{ "n":1.0,"s":"\u0061" }"#), "{message}");
        assert!(ledger::with_method(&room.ledger("mute"), "logging/setLevel").is_empty());
        assert_eq!(scene.ask("logging/setLevel", r#"{"level":"loud"}"#).code(), -32602);
    });
}

#[test]
fn co_9_a_client_gets_no_log_below_the_level_it_has_asked_for() {
    each_front(|front| {
        let room = Room::new();
        let speak = say::steps([say::log("info", "1"), say::log("error", "2"), say::text("done")]);
        room.config([("a", room.fake("a").logging().tool("speak", speak).entry())]);
        let scene = room.open_ready(front, &[]);
        scene.ask("logging/setLevel", r#"{"level":"error"}"#).result();
        scene.call(&scene.tool("a", "speak"), "{}").result();
        let message = scene.notification(MESSAGE, SOON);
        assert_eq!(scan::path(&message.0, &["params", "level"]), Some(&b"\"error\""[..]));
        assert_eq!(scene.try_wait_for(Duration::ZERO, |line| line.is_notification(MESSAGE)), None);
    });
}

#[test]
fn co_9_changed_lists_of_every_kind_are_announced_and_new() {
    each(|front, upstream| {
        let room = Room::new();
        let (tool, resource) = (say::definition("fresh"), say::resource("x://fresh", "Fresh"));
        let template = say::template("y://{fresh}", "Fresh");
        let change = say::steps([
            say::change_tools(&[&tool]),
            say::change_list("resources", &[&resource]),
            say::change_list("templates", &[&template]),
            say::changed("tools"),
            say::changed("resources"),
            say::text("done"),
        ]);
        let a = room.fake("a").tool("change", change).tool("*", say::echo());
        let a = a.resource("x://old", "Old").template("y://{old}", "Old");
        room.config([("a", a.over(upstream))]);
        let scene = room.open_ready(front, &[]);
        resources(&scene.client);
        scene.call(&scene.tool("a", "change"), "{}").result();
        scene.notification("notifications/tools/list_changed", LIMIT);
        scene.notification("notifications/resources/list_changed", LIMIT);
        let fresh = scene.tool("a", "fresh");
        scene.wait_list("the new tools", LIMIT, |names| names == [fresh.clone()]);
        let uris = || resources(&scene.client).into_iter().map(|r| r.name).collect::<Vec<_>>();
        process::wait_until("the new resources", LIMIT, || uris() == ["x://fresh"]);
        let templates = || {
            scene.list_of("resources/templates/list", "resourceTemplates", "uriTemplate")[0]
                .name
                .clone()
        };
        process::wait_until("the new templates", LIMIT, || templates() == "y://{fresh}");
    });
}

#[test]
fn co_9_instructions_are_one_stable_text_with_a_line_for_every_server() {
    let long = "Use this server for everything that has to do with trains. ".repeat(200);
    let texts: Vec<String> = [Front::Http, Front::Sse]
        .map(|front| {
            let room = Room::new();
            room.config([
                ("zoo", room.fake("zoo").instructions("Animals.\nAsk for  one at a time.").entry()),
                ("rail", room.fake("rail").instructions(&long).entry()),
                (
                    "mute",
                    room.fake("mute").info(r#"{"name":"m","title":"Mute","version":"1"}"#).entry(),
                ),
            ]);
            // The servers are there before the second client opens its session.
            let scene = room.open_ready(front, &[]);
            let answer = scene.serve().streamable().initialize("2025-11-25");
            scan::get(answer.result(), "instructions").and_then(scan::text).unwrap_or_default()
        })
        .to_vec();
    let text = &texts[0];
    assert_eq!(text, &texts[1], "the same bytes in another process");
    assert!(text.chars().count() <= 4_000, "{}", text.chars().count());
    for part in ["zoo", "Animals. Ask for one at a time.", "rail", "trains", "mute"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("- ")).collect();
    assert_eq!(lines.len(), 3, "{text}");
    assert!(lines[0].starts_with("- zoo"), "in the order of the config: {text}");
}

#[test]
fn co_9_fields_of_extensions_pass_in_both_directions() {
    each(|front, upstream| {
        let room = Room::new();
        let definition = r#"{"name":"ui","inputSchema":{"type":"object"},"outputSchema":true,"execution":{"taskSupport":"optional"},"icons":[{"src":"data:,"}],"_meta":{"ui":{"resourceUri":"ui://x/y"},"n":1.0}}"#;
        let result = r#"{"content":[{"type":"hologram","n":1.0}],"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"7"}},"task":{"taskId":"t"}}"#;
        let a = room.fake("a").definitions(&[definition]);
        let a = a.tool("ui", say::steps([say::result(result)])).over(upstream);
        room.config([("a", a)]);
        let scene = room.open_ready(front, &[]);
        let name = scene.tool("a", "ui");
        let listed = &scene.list()[0];
        let expected = scan::replace(definition.as_bytes(), "name", scan::quote(&name).as_bytes());
        assert_eq!(Some(&listed.raw), expected.as_ref());
        let params = format!(
            r#"{{"name":"{name}","arguments":{{}},"task":{{"ttl":60000}},"_meta":{{"traceparent":"00-a","x.y/z":[1.0]}}}}"#
        );
        let answer = scene.ask("tools/call", &params);
        assert_eq!(String::from_utf8_lossy(answer.result()), result);
        let call = &ledger::calls(&room.ledger("a"))[0];
        let arrived = scan::get(call, "params").map(String::from_utf8_lossy);
        assert_eq!(arrived.as_deref(), Some(&params.replace(&name, "ui")[..]));
    });
}

#[test]
fn co_9_unknown_methods_go_to_the_server_they_concern_or_get_a_clear_error() {
    each_front(|front| {
        let room = Room::new();
        let echo = say::steps([say::result(r#"{"from":"@SERVER@","params":@PARAMS@}"#)]);
        let one = room.fake("one").resource("x://one", "One").on("*", echo.clone());
        let two = room.fake("two").resource("y://two", "Two").on("*", echo);
        room.config([("one", one.entry()), ("two", two.entry())]);
        let scene = room.open_ready(front, &[]);
        let answer = scene.ask("no/such/method", r#"{"x":1}"#);
        assert_eq!(answer.code(), -32601, "it concerns nobody: {answer}");
        let answer = scene.ask("resources/directory/read", r#"{"uri":"y://two","n":1.0}"#);
        match answer.try_result() {
            Some(result) => {
                assert_eq!(scan::get(result, "from"), Some(&b"\"two\""[..]), "{answer}");
                let params = scan::get(result, "params").map(String::from_utf8_lossy);
                assert_eq!(params.as_deref(), Some(r#"{"uri":"y://two","n":1.0}"#));
            }
            None => assert_eq!(answer.code(), -32601, "{answer}"),
        }
        scene.notify("notifications/vendor/thing", "{}");
        assert_eq!(scene.ask("ping", "{}").result(), b"{}");
    });
}

#[test]
fn co_9_capabilities_tell_what_there_is() {
    each_of(Front::NETWORK, |front| {
        let room = Room::new();
        let a = room.fake("a").resource("x://a", "A").prompt("p", "P").completions().logging();
        room.config([("a", a.tool("echo", say::echo()).entry())]);
        let scene = room.open_ready(front, &[]);
        let answer = scene.serve().streamable().initialize("2025-11-25");
        let capabilities = scan::get(answer.result(), "capabilities").expect("capabilities");
        for (path, expected) in [
            (&["tools", "listChanged"][..], &b"true"[..]),
            (&["resources", "listChanged"], b"true"),
            (&["resources", "subscribe"], b"true"),
            (&["prompts", "listChanged"], b"true"),
            (&["completions"], b"{}"),
            (&["logging"], b"{}"),
        ] {
            assert_eq!(scan::path(capabilities, path), Some(expected), "{path:?}: {answer}");
        }
    });
}

#[test]
fn co_9_a_second_list_change_is_never_swallowed() {
    each_front(|front| {
        let room = Room::new();
        let definitions: Vec<String> = (1..6).map(|n| say::definition(&format!("t{n}"))).collect();
        let mut a = room.fake("a").tool("*", say::echo());
        for (number, definition) in definitions.iter().enumerate() {
            let change = say::steps([
                say::change_tools(&[definition]),
                say::changed("tools"),
                say::text("done"),
            ]);
            a = a.tool(&format!("t{number}"), change);
        }
        room.config([("a", a.over(Upstream::Stdio))]);
        let scene = room.open_ready(front, &[]);
        for number in 0..5 {
            let tool = scene.tool("a", &format!("t{number}"));
            scene.call(&tool, "{}").result();
            let changed = |line: &Line| line.is_notification("notifications/tools/list_changed");
            scene.wait_for("list_changed", LIMIT, changed);
            let next = scene.tool("a", &format!("t{}", number + 1));
            scene.wait_list("the new list", LIMIT, |names| names == [next.clone()]);
        }
    });
}
