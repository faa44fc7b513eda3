//! Exposure `search` on a platform: a key finds, describes and calls its own tools and no others, and the
//! audit names the tools that were called.

use kit::line::Line;
use kit::mcp::{self, Speak};
use kit::modern::Modern;
use kit::platform::{ADMIN, Platform};
use kit::room::Room;
use kit::service::Wire;
use kit::{LIMIT, ledger, process, say, scan};
use serde_json::{Value, json};

const SEARCH: [&str; 2] = ["--expose", "search"];
const SEEN: [&str; 2] = ["alpha.read_mail", "beta.send_mail"];

/// Two servers, and a key for one tool of each.
fn house(room: &Room) -> (Platform, String) {
    let platform = room.platform(&SEARCH);
    for name in ["alpha", "beta"] {
        let fake = room.fake(name).tool("read_mail", say::echo()).tool("send_mail", say::echo());
        let service = fake.listen(Wire::Http);
        platform.connected(name, &service);
        room.keep(service);
    }
    let made = platform.make_key(&json!({ "name": "some", "role": "caller", "tools": SEEN }));
    (platform, made["key"].as_str().expect("a key").to_owned())
}

#[track_caller]
fn said(answer: &Line) -> (String, bool) {
    let content = scan::get(answer.result(), "content").and_then(scan::elements);
    let content = content.unwrap_or_else(|| panic!("no content: {answer}"));
    let text = scan::get(content[0], "text").and_then(scan::text).expect("a text");
    (text, scan::get(answer.result(), "isError") == Some(b"true"))
}

fn names(text: &str) -> Vec<String> {
    let found: Value = serde_json::from_str(text).expect("JSON");
    let tools = found["tools"].as_array().into_iter().flatten();
    let mut names: Vec<String> =
        tools.filter_map(|tool| Some(tool["name"].as_str()?.to_owned())).collect();
    names.sort();
    names
}

/// What holds for the key, however it speaks.
#[track_caller]
fn assert_sees_its_own(call: &dyn Fn(&str, &str) -> Line) {
    let (text, _) = said(&call("search_tools", r#"{"query":"mail","limit":50}"#));
    assert_eq!(names(&text), SEEN, "{text}");
    assert!(text.ends_with(r#""searched":2}"#), "{text}");
    for name in SEEN {
        call("call_tool", &format!(r#"{{"name":"{name}"}}"#)).result();
    }
    let (unknown, _) = said(&call("call_tool", r#"{"name":"alpha.write_song"}"#));
    for hidden in ["alpha.send_mail", "beta.read_mail"] {
        for (tool, arguments) in [
            ("call_tool", format!(r#"{{"name":"{hidden}"}}"#)),
            ("describe_tools", format!(r#"{{"names":["{hidden}"]}}"#)),
        ] {
            let (text, is_error) = said(&call(tool, &arguments));
            assert!(is_error, "{text}");
            let rest = text.replace(hidden, "");
            assert!(!rest.contains("alpha.send") && !rest.contains("beta.read"), "{text}");
        }
    }
    assert!(unknown.starts_with("Tool not found: alpha.write_song"), "{unknown}");
    let (text, _) = said(&call("search_tools", r#"{"query":"x","server":"gamma"}"#));
    assert_eq!(text, "there is no server `gamma`; there are `alpha`, `beta`");
}

#[test]
fn a_key_finds_describes_and_calls_its_own_tools_and_no_others() {
    let room = Room::new();
    let (platform, key) = house(&room);
    let session = platform.mcp(&key);
    assert_eq!(session.list_names().len(), 4);
    assert_sees_its_own(&|tool, arguments| session.call(tool, arguments));
    let bearer = format!("Bearer {key}");
    let modern = Modern::http(platform.serve().address(), "{}");
    assert_sees_its_own(&|tool, arguments| {
        let call = mcp::call(&modern.fresh_id(), tool, arguments);
        let id = modern.start_with(&call, &[("Authorization", &bearer)]);
        modern.answer(&id, LIMIT)
    });
    let ran: usize =
        ["alpha", "beta"].map(|name| ledger::calls(&room.ledger(name)).len()).iter().sum();
    assert_eq!(ran, 4, "what was refused did not run");
    let all = platform.mcp(ADMIN);
    let (text, _) = said(&all.call("search_tools", r#"{"query":"mail","limit":50}"#));
    assert_eq!(names(&text).len(), 4, "{text}");
}

#[test]
fn the_audit_names_the_tool_that_was_called_and_what_was_looked_for() {
    let room = Room::new();
    let (platform, key) = house(&room);
    let client = platform.mcp(&key);
    client.call("call_tool", r#"{"name":"alpha.read_mail","arguments":{"n":1}}"#).result();
    let record = platform.wait_audit("the call", |record| record["tool"] == "read_mail");
    assert_eq!(record["server_name"], "alpha", "{record:#}");
    assert_eq!(record["action"], "call-tool", "{record:#}");
    let direct = client.call("alpha.read_mail", r#"{"n":1}"#);
    direct.result();
    let hash = &record["argument_hash"];
    process::wait_until("the same call, made directly", LIMIT, || {
        let audit = platform.audit();
        let same = audit.iter().filter(|it| it["tool"] == "read_mail");
        same.filter(|it| it["argument_hash"] == *hash).count() == 2
    });
    said(&client.call("call_tool", r#"{"name":"beta.read_mail"}"#));
    let refused = platform.wait_audit("the refusal", |record| record["tool"] == "beta.read_mail");
    assert_eq!(refused["outcome"], "refused", "{refused:#}");
    said(&client.call("search_tools", r#"{"query":"mail"}"#));
    let search = platform.wait_audit("the search", |record| record["tool"] == "search_tools");
    assert_eq!(search["outcome"], "ok", "{search:#}");
    assert_eq!(search["server_name"], Value::Null, "{search:#}");
}

#[test]
fn what_a_key_finds_is_told_as_it_is_for_the_key_and_under_every_name_it_has() {
    let room = Room::new();
    let server = |name: &str| room.fake(name).tool("one", say::echo()).tool("two", say::echo());
    let mut a = server("a").entry();
    a["exposedTools"] = json!(["two", { "original": "one", "exposed": "fetch_llama" }]);
    let pick = json!({
        "description": "picks one",
        "subtools": { "a": { "tools": [{ "name": "one" }] }, "b": { "tools": [{ "name": "two" }] } },
    });
    let servers = json!({ "a": a, "b": server("b").entry() });
    let config = json!({ "mcpServers": servers, "tools": { "pick": pick } }).to_string();
    let config = room.write("pick.json", config);
    let config = config.to_str().expect("UTF-8");
    let platform = room.platform(&["--config", config, "--expose", "search"]);
    process::wait_until("both run", LIMIT, || platform.tool_names(ADMIN).len() == 5);
    let made = platform.make_key(&json!({ "name": "k", "role": "caller", "tools": ["a.one"] }));
    let key = made["key"].as_str().expect("a key");
    // Of the custom tool the key has the part that it may call, and hears of no other.
    let (text, _) = said(&platform.mcp(key).call("search_tools", r#"{"query":"pick"}"#));
    assert!(text.contains("a / one") && !text.contains("b / two"), "{text}");
    let rest = platform.rest(Some(key)).post("/api/v1/search", &json!({ "query": "pick" })).is(200);
    let shown = rest.to_string();
    assert!(shown.contains("a / one") && !shown.contains("b / two"), "{rest:#}");
    // A tool that the config has renamed is found by both of its names.
    for name in ["fetch_llama", "a.fetch_llama", "a.one"] {
        let query = json!({ "query": name });
        let (text, _) = said(&platform.mcp(key).call("search_tools", &query.to_string()));
        let found: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(found["tools"][0]["name"], "a.fetch_llama", "{name}: {text}");
        assert_eq!(found["tools"][0]["score"], 1.0, "{name}: {text}");
        let rest = platform.rest(Some(key)).post("/api/v1/search", &query).is(200);
        assert_eq!(rest["tools"][0]["name"], "a.one", "{name}: {rest:#}");
        assert_eq!(rest["tools"][0]["score"], 1.0, "{name}: {rest:#}");
    }
}
