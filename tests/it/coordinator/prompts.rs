//! CO-3: prompts of all servers, and completions for prompts and templates.

use kit::mcp::Speak;
use kit::room::Room;
use kit::scene::{each, each_front};
use kit::{LIMIT, ledger, process, say, scan};

use super::{prompts, said};

#[test]
fn co_3_prompts_are_listed_with_their_server_and_fetched_there_byte_for_byte() {
    each(|front, upstream| {
        let room = Room::new();
        let result = r#"{ "messages":[],"description":"\u0064","_meta":{"n":1.0} }"#;
        let git = room.fake("git").prompt("commit", "Writes a message");
        let git = git.get("commit", say::steps([say::result(result)]));
        let mail = room.fake("mail").prompt("answer", "Answers a mail");
        room.config([("git", git.over(upstream)), ("mail", mail.over(upstream))]);
        let scene = room.open_ready(front, &[]);
        let all = prompts(&scene.client);
        let shown: Vec<_> =
            all.iter().map(|prompt| (prompt.name.as_str(), said(prompt, "description"))).collect();
        assert_eq!(
            shown,
            [
                ("answer", Some("[mail] Answers a mail".to_owned())),
                ("commit", Some("[git] Writes a message".to_owned())),
            ]
        );
        let arguments = r#"{ "topic":"x\/y", "n":1e400 }"#;
        let params = format!(r#"{{"arguments":{arguments} ,"name":"commit","_meta":{{"a":-0}}}}"#);
        let answer = scene.ask("prompts/get", &params);
        assert_eq!(String::from_utf8_lossy(answer.result()), result);
        let asked = ledger::with_method(&room.ledger("git"), "prompts/get");
        assert_eq!(scan::get(&asked[0], "params"), Some(params.as_bytes()));
        assert!(ledger::with_method(&room.ledger("mail"), "prompts/get").is_empty());
    });
}

#[test]
fn co_3_one_name_on_two_servers_is_told_apart_and_both_are_reachable() {
    each_front(|front| {
        let room = Room::new();
        room.config([
            ("one", room.fake("one").prompt("review", "First").entry()),
            ("two", room.fake("two").prompt("review", "Second").entry()),
        ]);
        let scene = room.open_ready(front, &[]);
        let second = scene.tool("two", "review");
        let names: Vec<String> = prompts(&scene.client).into_iter().map(|p| p.name).collect();
        let mut expected = vec!["review".to_owned(), second.clone()];
        expected.sort();
        assert_eq!(names, expected);
        for (name, server) in
            [("review", "one"), (&second[..], "two"), (&scene.tool("one", "review")[..], "one")]
        {
            let params = format!(r#"{{"name":"{name}","arguments":{{}}}}"#);
            let answer = scene.ask("prompts/get", &params);
            let from = scan::get(answer.result(), "description").and_then(scan::text);
            assert_eq!(from, Some(format!("from {server}")), "{name}");
            let asked = ledger::with_method(&room.ledger(server), "prompts/get");
            let seen = asked.last().and_then(|line| scan::path(line, &["params", "name"]));
            assert_eq!(seen, Some(&b"\"review\""[..]), "its own name");
        }
    });
}

#[test]
fn co_3_an_unknown_prompt_is_refused_and_a_servers_error_comes_through() {
    each_front(|front| {
        let room = Room::new();
        let error = r#"{"code":-32602,"message":"topic?","data":[1.0]}"#;
        let a = room.fake("a").prompt("p", "P").get("p", say::steps([say::error(error)]));
        room.config([("a", a.entry())]);
        let scene = room.open_ready(front, &[]);
        assert_eq!(scene.ask("prompts/get", r#"{"name":"p"}"#).error(), error.as_bytes());
        let answer = scene.ask("prompts/get", r#"{"name":"nope"}"#);
        assert_eq!(answer.code(), -32602, "{answer}");
        assert!(answer.message().contains("nope"), "{answer}");
        assert_eq!(scene.ask("prompts/get", "{}").code(), -32602);
    });
}

#[test]
fn co_3_a_prompt_without_a_description_gets_its_server_and_loses_nothing() {
    each_front(|front| {
        let room = Room::new();
        let raw = r#"{ "title":"T","name":"bare","arguments":[],"x":{"n":1.0} }"#;
        room.config([("a", room.fake("a").list("prompts", serde_json::json!([raw])).entry())]);
        let scene = room.open_ready(front, &[]);
        let all = prompts(&scene.client);
        assert_eq!(said(&all[0], "description").as_deref(), Some("[a]"));
        assert_eq!(said(&all[0], "title").as_deref(), Some("T"));
        assert_eq!(scan::get(&all[0].raw, "x"), Some(&br#"{"n":1.0}"#[..]));
    });
}

#[test]
fn co_3_completions_are_routed_by_what_they_refer_to() {
    each(|front, upstream| {
        let room = Room::new();
        let one = room.fake("one").prompt("p", "P").completions();
        let two = room.fake("two").prompt("p", "P").template("x://{id}", "X").completions();
        room.config([("one", one.over(upstream)), ("two", two.over(upstream))]);
        let scene = room.open_ready(front, &[]);
        let second = scene.tool("two", "p");
        let argument = r#""argument":{ "name":"topic","value":"x\/1.0" }"#;
        for (reference, own, server) in [
            (r#"{"type":"ref/prompt","name":"p"}"#.to_owned(), r#""p""#, "one"),
            (format!(r#"{{"type":"ref/prompt","name":"{second}"}}"#), r#""p""#, "two"),
            (r#"{"type":"ref/resource","uri":"x://{id}"}"#.to_owned(), r#""x://{id}""#, "two"),
        ] {
            let params = format!(r#"{{"ref":{reference},{argument},"context":{{"a":1.0}}}}"#);
            let answer = scene.ask("completion/complete", &params);
            let values = scan::path(answer.result(), &["completion", "values"]);
            assert_eq!(values, Some(format!(r#"["{server}"]"#).as_bytes()), "{reference}");
            let asked = ledger::with_method(&room.ledger(server), "completion/complete");
            let last = asked.last().expect("asked");
            let key = if reference.contains("uri") { "uri" } else { "name" };
            assert_eq!(scan::path(last, &["params", "ref", key]), Some(own.as_bytes()));
            let sent = scan::path(last, &["params", "argument"]).map(String::from_utf8_lossy);
            assert_eq!(sent.as_deref(), Some(r#"{ "name":"topic","value":"x\/1.0" }"#));
        }
        for reference in
            [r#"{"type":"ref/prompt","name":"nope"}"#, r#"{"type":"ref/odd"}"#, "7", "{}"]
        {
            let params = format!(r#"{{"ref":{reference},{argument}}}"#);
            let answer = scene.ask("completion/complete", &params);
            assert_eq!(answer.code(), -32602, "{reference}: {answer}");
        }
    });
}

#[test]
fn co_3_changed_prompts_change_the_list_and_say_so() {
    each(|front, upstream| {
        let room = Room::new();
        let fresh = say::prompt("fresh", "Fresh");
        let change = say::steps([
            say::change_list("prompts", &[&fresh]),
            say::changed("prompts"),
            say::text("done"),
        ]);
        let a = room.fake("a").prompt("old", "Old").tool("change", change);
        room.config([("a", a.over(upstream))]);
        let scene = room.open_ready(front, &[]);
        scene.call(&scene.tool("a", "change"), "{}").result();
        scene.notification("notifications/prompts/list_changed", LIMIT);
        let new = || prompts(&scene.client).iter().all(|prompt| prompt.name == "fresh");
        process::wait_until("the new list", LIMIT, new);
    });
}
