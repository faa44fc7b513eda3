//! `POST /api/v1/policy-test`: who may do what, asked without doing it; drafts of policies, tried and not stored.

use kit::mcp::Speak as _;
use kit::platform::{KEYS, Platform, id_of};
use kit::rest::Answer;
use kit::room::Room;
use kit::run::run;
use kit::say;
use kit::service::Wire;
use serde_json::{Value, json};

use super::ALL;

const TEST: &str = "/api/v1/policy-test";
const RULES: &str = "@id(\"etc\") @reason(\"not there\")\n\
    forbid(principal, action == Trunkline::Action::\"call\", resource) when { context.arguments has path && context.arguments.path like \"/etc/*\" };\n\
    @id(\"acts\") forbid(principal, action == Trunkline::Action::\"call\", resource is Trunkline::Tool) when { resource.destructiveHint };\n\
    @id(\"hidden\") forbid(principal, action, resource == Trunkline::Tool::\"a.secret\");";

/// Server `a` with a tool that looks, one that acts and one that nobody sees.
fn platform(room: &Room) -> Platform {
    let platform = room.platform(&[]);
    let names = ["look", "act", "secret"];
    let fake = names.iter().fold(room.fake("a"), |fake, name| fake.tool(name, say::echo()));
    let service = fake
        .definitions(&[
            r#"{"name":"look","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}"#,
            r#"{"name":"act","inputSchema":{"type":"object"}}"#,
            r#"{"name":"secret","inputSchema":{"type":"object"}}"#,
        ])
        .listen(Wire::Http);
    platform.connected("a", &service);
    room.keep(service);
    platform
}

#[track_caller]
fn put(platform: &Platform, id: &str, text: &str) {
    let body = json!({ "text": text }).to_string();
    let answer =
        platform.admin().with_body("PUT", &format!("/api/v1/policies/{id}"), body.as_bytes());
    assert!([200, 201].contains(&answer.status()), "{answer}");
}

/// The test with these members besides.
fn asked(who: &str, resource: &str, more: Value) -> Value {
    let mut body = json!({ "principal": who, "action": "call", "resource": resource });
    if let (Some(all), Value::Object(more)) = (body.as_object_mut(), more) {
        all.extend(more);
    }
    body
}

#[track_caller]
fn assert_decided(answer: &Answer, (allowed, by): (bool, &str), policies: &[&str], words: &str) {
    let told = answer.is(200);
    assert_eq!((&told["allowed"], &told["decided_by"]), (&json!(allowed), &json!(by)), "{told:#}");
    let ids: Vec<&str> = told["policies"]
        .as_array()
        .map(|all| all.iter().filter_map(|it| it["id"].as_str()).collect())
        .unwrap_or_default();
    assert_eq!(ids, policies, "{told:#}");
    assert!(told["explanation"].as_str().is_some_and(|it| it.contains(words)), "{told:#}");
}

#[test]
fn policy_decisions_over_rest_say_what_decides() {
    let room = Room::new();
    let platform = platform(&room);
    let operator = platform.rest(Some(&platform.key("operator")));
    let ask = |who: &str, resource: &str, more| operator.post(TEST, &asked(who, resource, more));
    let free = ask("user:alice", "tool:a.look", json!({}));
    assert_decided(&free, (true, "no-policies"), &[], "there are no policies");

    put(&platform, "base", ALL);
    put(&platform, "rules", RULES);
    let narrow = platform
        .make_key(&json!({ "name": "narrow", "role": "caller", "tools": ["a.look", "b.*"] }));
    let viewer = platform.make_key(&json!({ "name": "eyes", "role": "viewer" }));
    let gone = platform.make_key(&json!({ "name": "gone", "role": "caller" }));
    assert_eq!(platform.admin().delete(&format!("{KEYS}/{}", id_of(&gone))).status(), 204);
    let [narrow, viewer, gone] = [narrow, viewer, gone].map(|key| format!("key:{}", id_of(&key)));
    let etc = json!({ "arguments": { "path": "/etc/x" } });
    for (who, tool, more, decided, policies, words) in [
        ("user:alice", "a.look", json!({}), (true, "policies"), &["all"][..], "permits the caller"),
        ("user:alice", "a.look", etc, (false, "policies"), &["etc"], "\"etc\" forbids"),
        // What the server says about its tools, and what somebody says instead.
        ("user:alice", "a.act", json!({}), (false, "policies"), &["acts"], "\"acts\" forbids"),
        (
            "user:alice",
            "a.act",
            json!({ "annotations": { "readOnlyHint": true } }),
            (true, "policies"),
            &["all"],
            "permits",
        ),
        ("admin", "a.secret", json!({}), (false, "list"), &["hidden"], "does not exist"),
        // What is known about the key, and what somebody says instead.
        (&narrow[..], "a.look", json!({}), (true, "policies"), &["all"], "permits"),
        (&narrow, "a.act", json!({}), (false, "patterns"), &[], "the patterns of the key"),
        (&narrow, "a.look", json!({ "tools": [] }), (false, "patterns"), &[], "the patterns"),
        (&viewer, "a.look", json!({}), (false, "role"), &[], "the role viewer"),
        (&viewer, "a.look", json!({ "role": "operator" }), (true, "policies"), &["all"], ""),
        (&gone, "a.look", json!({}), (false, "key"), &[], "the key was revoked"),
    ] {
        let told = ask(who, &format!("tool:{tool}"), more);
        assert_decided(&told, decided, policies, words);
        assert_eq!(told.is(200)["note"], Value::Null, "{told}");
    }
    let told =
        ask("user:alice", "tool:a.look", json!({ "arguments": { "path": "/etc/x" } })).is(200);
    assert_eq!(
        (&told["reason"], &told["policies"][0]["reason"]),
        (&json!("not there"), &json!("not there"))
    );
    let told = ask("user:alice", "tool:a.lok", json!({})).is(200);
    assert!(
        told["note"].as_str().is_some_and(|it| it.contains("offers no tool `lok`")),
        "{told:#}"
    );
    let unknown = ask("key:abcdefghij", "tool:a.look", json!({})).problem(422, "invalid");
    assert_eq!(unknown["errors"][0]["pointer"], "/principal", "{unknown:#}");
    let caller = platform.rest(Some(&platform.key("caller")));
    caller.post(TEST, &asked("admin", "tool:a.look", json!({}))).problem(403, "forbidden");
}

/// One decision: what is said here happens there.
#[test]
fn policy_decisions_over_rest_are_those_of_calls_and_of_the_command() {
    let room = Room::new();
    let platform = platform(&room);
    put(&platform, "base", &format!("{ALL}{RULES}"));
    room.write("p.cedar", format!("{ALL}{RULES}"));
    let key = platform.make_key(&json!({ "name": "ci", "role": "caller" }));
    let session = platform.mcp(key["key"].as_str().expect("a key"));
    let who = format!("key:{}", id_of(&key));
    for (tool, arguments) in [
        ("look", r#"{"path":"/srv/x"}"#),
        ("look", r#"{"path":"/etc/x"}"#),
        ("look", r#"{"path":["/etc/x"]}"#),
        ("act", "{}"),
        ("secret", "{}"),
    ] {
        let annotations = json!({ "readOnlyHint": tool == "look" }).to_string();
        let said: Value = serde_json::from_str(arguments).expect("JSON");
        let told = asked(&who, &format!("tool:a.{tool}"), json!({ "arguments": said }));
        let told = platform.admin().post(TEST, &told).is(200);
        let called = session.call(&format!("a.{tool}"), arguments);
        assert_eq!(told["allowed"], called.try_result().is_some(), "{tool} {arguments}: {told:#}");
        let mut command = std::process::Command::new(kit::bin::trunkline());
        command.args(["policy", "test", "--json", "--policies", "p.cedar", "--action", "call"]);
        command.args(["--principal", &who, "--resource", &format!("tool:a.{tool}")]);
        command.args(["--name", "ci", "--annotations", &annotations, "--arguments", arguments]);
        command.current_dir(room.path(""));
        let shown: Value = serde_json::from_slice(&run(command, b"").stdout).expect("JSON");
        for member in ["allowed", "decided_by", "reason", "explanation"] {
            assert_eq!(told[member], shown[member], "{tool} {arguments}: {member}");
        }
    }
}

#[test]
fn a_draft_of_a_policy_is_tried_and_not_stored() {
    let room = Room::new();
    let platform = platform(&room);
    put(&platform, "base", ALL);
    put(&platform, "rules", RULES);
    let operator = platform.rest(Some(&platform.key("operator")));
    let ask = |tool: &str, draft: Value| {
        operator.post(TEST, &asked("anonymous", &format!("tool:a.{tool}"), draft))
    };
    let no_looks =
        "@id(\"no-looks\") forbid(principal, action, resource == Trunkline::Tool::\"a.look\");";
    // Besides what is stored, and in the place of a stored one.
    let besides = ask("look", json!({ "text": no_looks }));
    assert_decided(&besides, (false, "list"), &["no-looks"], "");
    assert_decided(&ask("act", json!({ "text": no_looks })), (false, "policies"), &["acts"], "");
    let instead = json!({ "text": no_looks, "id": "rules" });
    assert_decided(&ask("act", instead.clone()), (true, "policies"), &["all"], "");
    assert_decided(&ask("look", instead), (false, "list"), &["no-looks"], "");
    let nothing = json!({ "text": "// nothing", "id": "base" });
    assert_decided(&ask("look", nothing), (false, "list"), &[], "no policy permits");
    // It is read as strictly as what is stored.
    for (text, words) in [
        ("permit(principal, action,\nresorce);", "has a mistake in line 2: "),
        (RULES, "the id `etc` is taken by a policy of store:rules"),
    ] {
        let problem = ask("look", json!({ "text": text })).problem(422, "invalid");
        let error = &problem["errors"][0];
        assert_eq!(error["pointer"], "/text", "{problem:#}");
        assert!(error["message"].as_str().is_some_and(|it| it.contains(words)), "{problem:#}");
    }
    ask("look", json!({ "id": "rules" })).problem(422, "invalid");
    assert_decided(&ask("look", json!({})), (true, "policies"), &["all"], "");
    let list = operator.get("/api/v1/policies").is(200);
    assert_eq!(list["total"], 2, "{list:#}");
}
