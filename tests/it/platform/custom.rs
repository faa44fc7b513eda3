//! Custom tools of the config file over REST: listed and called with the same grants as over MCP.

use kit::mcp::Speak;
use kit::platform::{ADMIN, CALL, Platform};
use kit::room::Room;
use kit::{LIMIT, process, say};
use serde_json::{Value, json};

fn platform(room: &Room) -> Platform {
    let server = |name: &str| room.fake(name).tool("one", say::echo()).tool("two", say::echo());
    let custom = json!({ "pick": {
        "description": "picks one",
        "subtools": { "a": { "tools": [{ "name": "one" }] }, "b": { "tools": [{ "name": "two" }] } },
    } });
    let config = room.write(
        "custom.json",
        json!({
            "mcpServers": { "a": server("a").entry(), "b": server("b").entry() },
            "tools": custom,
        })
        .to_string(),
    );
    let platform = room.platform(&["--config", config.to_str().expect("UTF-8")]);
    process::wait_until("both run", LIMIT, || platform.tool_names(ADMIN).len() == 5);
    platform
}

fn key(platform: &Platform, tools: &Value) -> String {
    let made = platform.make_key(&json!({ "name": "k", "role": "caller", "tools": tools }));
    made["key"].as_str().expect("a key").to_owned()
}

fn pick(server: &str, tool: &str) -> Value {
    json!({ "name": "pick", "arguments": { "server": server, "tool": tool, "args": { "n": 1 } } })
}

#[test]
fn a_custom_tool_is_listed_and_called_over_rest_as_over_mcp() {
    let room = Room::new();
    let platform = platform(&room);
    let groups = platform.tool_groups(ADMIN);
    let group = groups.iter().find(|group| group["name"] == "custom").expect("a group of its own");
    assert_eq!(group["tools"][0]["name"], "pick", "{group:#}");
    let shown = platform.mcp(ADMIN).list_names();
    let mut over_rest = platform.tool_names(ADMIN);
    over_rest.sort();
    assert_eq!(over_rest, shown);
    for (server, tool) in [("a", "one"), ("b", "two")] {
        let answer = platform.admin().post(CALL, &pick(server, tool)).is(200);
        assert_eq!(answer["metadata"]["routed_to"], server, "{answer:#}");
        assert_eq!(answer["structuredContent"]["arguments"], json!({ "n": 1 }));
    }
    platform.admin().post(CALL, &pick("a", "two")).problem(422, "invalid");
    platform.admin().post(CALL, &json!({ "name": "pick" })).problem(422, "invalid");
    let record = platform.wait_audit("the call", |record| record["tool"] == "two");
    assert_eq!((&record["server_name"], &record["outcome"]), (&json!("b"), &json!("ok")));
}

#[test]
fn of_a_custom_tool_a_key_has_the_part_it_is_granted() {
    let room = Room::new();
    let platform = platform(&room);
    let some = key(&platform, &json!(["a.one"]));
    assert_eq!(platform.tool_names(&some), ["a.one", "pick"]);
    let rest = platform.rest(Some(&some));
    rest.post(CALL, &pick("a", "one")).is(200);
    let problem = rest.post(CALL, &pick("b", "two")).problem(422, "invalid");
    assert!(!problem.to_string().contains("two"), "what is not granted is not named: {problem:#}");
    let none = key(&platform, &json!(["a.two"]));
    assert_eq!(platform.tool_names(&none), ["a.two"]);
    platform.rest(Some(&none)).post(CALL, &pick("a", "one")).problem(404, "no-such-tool");
}
