//! One thing at a time over REST: a tool, and what a command writes to its stderr.

use kit::http::Ask;
use kit::platform::{ADMIN, Platform, SERVERS, id_of, percent};
use kit::process::wait_until;
use kit::room::Room;
use kit::service::Wire;
use kit::{LIMIT, say};
use serde_json::{Value, json};

#[track_caller]
fn one(platform: &Platform, token: &str, id: &str) -> kit::rest::Answer {
    platform.rest(Some(token)).get(&format!("/api/v1/tools/{}", percent(id)))
}

#[test]
fn a_tool_is_found_by_its_id_and_by_its_name_as_in_the_list() {
    let room = Room::new();
    let fake = room.fake("a").tool("echo", say::echo()).tool("a/b ?", say::echo());
    let service = fake.listen(Wire::Http);
    let platform = room.platform(&[]);
    let server = platform.connected("a", &service);
    let listed = &platform.tool_groups(ADMIN)[0];
    for tool in listed["tools"].as_array().expect("tools") {
        let word = |key: &str| tool[key].as_str().expect("a text").to_owned();
        let mut wanted = tool.clone();
        wanted["server"] = json!({ "id": server, "name": "a", "status": "CONNECTED" });
        for id in [word("id"), word("name")] {
            let mut found = one(&platform, ADMIN, &id).is(200);
            // They may have been given between the two answers.
            for skills in ["skill_ids", "primary_skill_id", "is_classified", "skills"] {
                for of in [&mut found, &mut wanted] {
                    of.as_object_mut().map(|of| of.remove(skills));
                }
            }
            assert_eq!(found, wanted, "{id}");
        }
    }
    let path = format!("/api/v1/tools/{}", percent(&format!("{server}/echo")));
    let tag = platform.admin().get(&path).header("etag").expect("a tag").to_owned();
    let known = platform.admin().send(&Ask::get(&path).header("If-None-Match", &tag));
    assert!([200, 304].contains(&known.status()), "{known}");
    for nothing in ["nobody/echo", "a.nothing", "echo", &format!("{server}/"), &server] {
        one(&platform, ADMIN, nothing).problem(404, "no-such-tool");
    }
    assert_eq!(
        platform.admin().get("/api/v1/tools/call").status(),
        405,
        "what is spelt out is meant"
    );
    platform.act(&server, "disconnect").is(200);
    one(&platform, ADMIN, "a.echo").problem(404, "no-such-tool");
}

#[test]
fn of_a_tool_that_a_key_may_not_call_nothing_is_said() {
    let room = Room::new();
    let fake = room.fake("a").tool("one", say::echo()).tool("two", say::echo());
    let service = fake.listen(Wire::Http);
    let platform = room.platform(&[]);
    let server = platform.connected("a", &service);
    let made = platform.make_key(&json!({ "name": "k", "role": "caller", "tools": ["a.one"] }));
    let key = made["key"].as_str().expect("a key");
    assert_eq!(one(&platform, key, "a.one").is(200)["original_name"], "one");
    for hidden in ["a.two", &format!("{server}/two")] {
        one(&platform, key, hidden).problem(404, "no-such-tool");
    }
}

#[test]
fn a_custom_tool_is_found_like_any_other() {
    let room = Room::new();
    let custom = json!({ "pick": { "description": "picks one",
        "subtools": { "a": { "tools": [{ "name": "one" }] } } } });
    let entry = room.fake("a").tool("one", say::echo()).entry();
    let config = json!({ "mcpServers": { "a": entry }, "tools": custom });
    let config = room.write("custom.json", config.to_string());
    let platform = room.platform(&["--config", config.to_str().expect("UTF-8")]);
    wait_until("it is there", LIMIT, || one(&platform, ADMIN, "pick").status() == 200);
    let found = one(&platform, ADMIN, "custom-tools/pick").is(200);
    assert_eq!((&found["name"], &found["server"]["name"]), (&json!("pick"), &json!("custom")));
    assert!(found["input_schema"].is_object(), "{found:#}");
}

/// While it runs, not only when it has failed; and never what is secret.
#[test]
fn what_a_command_writes_to_stderr_is_shown_to_operators() {
    let room = Room::new();
    let fake = room
        .fake("a")
        .env("API_KEY", "sk-very-secret")
        .tool(
            "talk",
            say::steps([say::stderr("<b>one</b> sk-very-secret\ntwo\n"), say::text("done")]),
        )
        .tool("die", say::steps([say::stderr("last words\n"), say::exit(3)]));
    let config = room.config([("a", fake.entry())]);
    let platform = room.platform(&["--config", config.to_str().expect("UTF-8")]);
    wait_until("it is there", LIMIT, || platform.tool_names(ADMIN).len() == 2);
    let listed = platform.admin().get(SERVERS).is(200);
    let id = id_of(&listed["servers"][0]);
    let path = format!("{SERVERS}/{}/stderr", percent(&id));
    let told = || platform.admin().get(&path).is(200);
    assert_eq!((&told()["name"], &told()["state"]), (&json!("a"), &json!("running")));
    platform.call("a.talk", &json!({})).is(200);
    let has = |part: &str| told()["lines"].to_string().contains(part);
    wait_until("both lines", LIMIT, || has("two"));
    assert!(has("<b>one</b>") && !has("sk-very-secret"), "{:#}", told());
    platform.call("a.die", &json!({}));
    wait_until("its last words", LIMIT, || has("last words"));
    platform.rest(Some(&platform.key("caller"))).get(&path).problem(403, "forbidden");
    platform.admin().get(&format!("{SERVERS}/nobody/stderr")).problem(404, "no-such-server");
    let service = room.fake("b").tool("echo", say::echo()).listen(Wire::Http);
    let remote = platform.connected("b", &service);
    let lines = platform.admin().get(&format!("{SERVERS}/{remote}/stderr")).is(200);
    assert_eq!(lines["lines"], Value::Array(Vec::new()), "it has none");
}
