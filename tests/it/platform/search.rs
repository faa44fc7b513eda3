//! US2: one search over the tools of all connected servers, by what they do.

use kit::platform::{ADMIN, Platform, SERVERS};
use kit::room::Room;
use kit::service::Wire;
use kit::yardstick::Yardstick;
use kit::{LIMIT, process, say};
use serde_json::{Value, json};

pub(super) const SEARCH: &str = "/api/v1/search";

pub(super) type Tools = &'static [(&'static str, &'static str)];

const GITHUB: (&str, Tools) = (
    "github-mcp",
    &[
        ("create_issue", "Create a new issue in a GitHub repository"),
        ("create_pull_request", "Propose the changes of a branch for review and merging"),
        ("search_code", "Search code across repositories"),
    ],
);
const JIRA: (&str, Tools) = (
    "jira-mcp",
    &[
        ("create_issue", "Create a ticket in a Jira project"),
        ("transition_issue", "Move a ticket to another column of the board"),
    ],
);
const WEATHER: (&str, Tools) =
    ("weather", &[("get_forecast", "Temperature, wind and rain for the next days")]);

/// Registers a server whose tools say what they do; its id.
pub(super) fn offer(room: &Room, platform: &Platform, (name, tools): (&str, Tools)) -> String {
    let definitions: Vec<String> = tools
        .iter()
        .map(|(tool, description)| {
            let schema =
                json!({ "type": "object", "properties": { "title": { "type": "string" } } });
            json!({ "name": tool, "description": description, "inputSchema": schema }).to_string()
        })
        .collect();
    let definitions: Vec<&str> = definitions.iter().map(String::as_str).collect();
    let service = room.fake(name).definitions(&definitions).listen(Wire::Http);
    let id = platform.connected(name, &service);
    room.keep(service);
    id
}

/// 003's servers and one that has nothing to do with them.
fn house(room: &Room) -> (Platform, [String; 3]) {
    let platform = room.platform(&[]);
    let ids = [GITHUB, JIRA, WEATHER].map(|server| offer(room, &platform, server));
    (platform, ids)
}

#[track_caller]
fn found(platform: &Platform, token: &str, body: &Value) -> Value {
    platform.rest(Some(token)).post(SEARCH, body).is(200)
}

fn names(answer: &Value) -> Vec<String> {
    let tools = answer["tools"].as_array().into_iter().flatten();
    tools.map(|tool| tool["name"].as_str().unwrap_or_default().to_owned()).collect()
}

fn scores(answer: &Value) -> Vec<f64> {
    let tools = answer["tools"].as_array().into_iter().flatten();
    tools.filter_map(|tool| tool["score"].as_f64()).collect()
}

#[test]
fn us2_ac1_ac2_the_request_of_003_gets_the_response_of_003() {
    let room = Room::new();
    let (platform, ids) = house(&room);
    let asked = json!({
        "query": "create a GitHub issue",
        "include_external": true,
        "server_filter": ["github-mcp", "jira-mcp"],
        "limit": 10,
    });
    let answer = found(&platform, ADMIN, &asked);
    assert_eq!(answer["query"], "create a GitHub issue");
    let best = &answer["tools"][0];
    assert_eq!(best["id"], format!("{}/create_issue", ids[0]));
    assert_eq!(best["name"], "github-mcp.create_issue");
    assert_eq!(best["original_name"], "create_issue");
    assert_eq!(best["description"], "Create a new issue in a GitHub repository");
    let server = json!({ "id": ids[0], "name": "github-mcp", "status": "CONNECTED" });
    assert_eq!(best["source_server"], server);
    let score = best["score"].as_f64().expect("a score");
    assert!((0.5..=1.0).contains(&score), "{score}");
    assert!(best["skill_ids"].is_array(), "{best}");
    assert!(best.get("primary_skill_id").is_some(), "{best}");
    assert_eq!(answer["metadata"], json!({ "servers_searched": 2, "total_tools_searched": 5 }));
}

#[test]
fn us2_ac1_ac7_tools_of_all_servers_come_in_the_order_of_their_scores() {
    let room = Room::new();
    let (platform, _) = house(&room);
    let answer = found(&platform, ADMIN, &json!({ "query": "create an issue", "limit": 100 }));
    let names = names(&answer);
    let first: Vec<&str> = names.iter().take(2).map(String::as_str).collect();
    assert!(first.contains(&"github-mcp.create_issue"), "{names:?}");
    assert!(first.contains(&"jira-mcp.create_issue"), "{names:?}");
    let scores = scores(&answer);
    assert!(scores.is_sorted_by(|one, next| one >= next), "{scores:?}");
    assert!(scores.iter().all(|score| (0.0..=1.0).contains(score)), "{scores:?}");
    for (query, expected) in [
        ("will it rain tomorrow?", "weather.get_forecast"),
        ("open a PR", "github-mcp.create_pull_request"),
        ("move the card to done", "jira-mcp.transition_issue"),
    ] {
        let answer = found(&platform, ADMIN, &json!({ "query": query }));
        assert_eq!(answer["tools"][0]["name"], expected, "{query}: {answer:#}");
    }
    for name in ["get_forecast", "weather.get_forecast"] {
        let answer = found(&platform, ADMIN, &json!({ "query": name }));
        assert_eq!(answer["tools"][0]["name"], "weather.get_forecast");
        assert_eq!(answer["tools"][0]["score"], 1.0, "a name is what it is");
    }
}

#[test]
fn us2_ac3_us6_ac4_ac5_what_is_disconnected_is_not_found_until_it_is_back() {
    let room = Room::new();
    let (platform, ids) = house(&room);
    let query = json!({ "query": "will it rain?" });
    assert_eq!(names(&found(&platform, ADMIN, &query))[0], "weather.get_forecast");
    platform.act(&ids[2], "disconnect").is(200);
    let answer = found(&platform, ADMIN, &query);
    assert!(!names(&answer).contains(&"weather.get_forecast".to_owned()), "{answer:#}");
    assert_eq!(answer["metadata"], json!({ "servers_searched": 2, "total_tools_searched": 5 }));
    platform.act(&ids[2], "connect").is(202);
    platform.wait_status(&ids[2], "CONNECTED");
    let answer = found(&platform, ADMIN, &query);
    assert_eq!(names(&answer)[0], "weather.get_forecast");
    assert_eq!(answer["metadata"]["total_tools_searched"], 6);
}

#[test]
fn us2_ac3_a_server_that_has_died_is_not_found() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let tool =
        r#"{"name":"get_forecast","description":"Rain and wind","inputSchema":{"type":"object"}}"#;
    let service = room.fake("weather").definitions(&[tool]).listen(Wire::Http);
    let id = platform.connected("weather", &service);
    let query = json!({ "query": "rain" });
    assert_eq!(names(&found(&platform, ADMIN, &query)), ["weather.get_forecast"]);
    service.kill();
    // It is noticed by the next call at the latest.
    platform.call("weather.get_forecast", &json!({}));
    platform.wait_server(&id, "down", LIMIT, |server| server["status"] != "CONNECTED");
    let answer = found(&platform, ADMIN, &query);
    assert_eq!(answer["tools"], json!([]));
    assert_eq!(answer["metadata"], json!({ "servers_searched": 0, "total_tools_searched": 0 }));
}

#[test]
fn us2_ac4_a_filter_limits_the_search_by_name_or_id() {
    let room = Room::new();
    let (platform, ids) = house(&room);
    for filter in [json!(["jira-mcp"]), json!([ids[1]]), json!(["jira-mcp", ids[1]])] {
        let asked = json!({ "query": "create an issue", "server_filter": filter, "limit": 100 });
        let answer = found(&platform, ADMIN, &asked);
        assert!(!names(&answer).is_empty());
        assert!(names(&answer).iter().all(|name| name.starts_with("jira-mcp.")), "{answer:#}");
        assert_eq!(answer["metadata"], json!({ "servers_searched": 1, "total_tools_searched": 2 }));
    }
    let asked = json!({ "query": "issue", "server_filter": ["weather", "gitlab-mcp"] });
    let metadata = found(&platform, ADMIN, &asked)["metadata"].clone();
    assert_eq!(metadata["servers_searched"], 1);
    assert_eq!(metadata["unknown_servers"], json!(["gitlab-mcp"]), "a slip is told");
}

#[test]
fn us2_ac5_the_count_is_the_sum_over_the_connected_servers() {
    let room = Room::new();
    let (platform, _) = house(&room);
    let listed = platform.admin().get("/api/v1/tools").is(200);
    let groups = listed["servers"].as_array().cloned().unwrap_or_default();
    let sum: usize = groups.iter().map(|it| it["tools"].as_array().map_or(0, Vec::len)).sum();
    let metadata = found(&platform, ADMIN, &json!({ "query": "x" }))["metadata"].clone();
    assert_eq!(metadata["total_tools_searched"], json!(sum));
    assert_eq!(metadata["total_tools_searched"], listed["total"]);
    assert_eq!(metadata["servers_searched"], json!(groups.len()));
}

#[test]
fn us2_a_key_finds_nothing_that_it_may_not_list() {
    let room = Room::new();
    let (platform, _) = house(&room);
    let tools = json!(["github-mcp.search_*", "jira-mcp.*"]);
    let made = platform.make_key(&json!({ "name": "some", "role": "viewer", "tools": tools }));
    let key = made["key"].as_str().expect("a key");
    let listed = platform.tool_names(key);
    for query in ["create_issue", "github-mcp.create_issue", "will it rain?", "search code"] {
        let answer = found(&platform, key, &json!({ "query": query, "limit": 100 }));
        let names = names(&answer);
        assert!(names.iter().all(|name| listed.contains(name)), "{query}: {names:?}");
        let expected = json!({ "servers_searched": 2, "total_tools_searched": listed.len() });
        assert_eq!(answer["metadata"], expected, "the numbers say no more than the list");
    }
    let filter = json!({ "query": "rain", "server_filter": ["weather", "no-such"] });
    let metadata = found(&platform, key, &filter)["metadata"].clone();
    assert_eq!(metadata["unknown_servers"], json!(["weather", "no-such"]), "both are not there");
}

#[test]
fn us2_us7_ac6_a_renamed_server_is_found_under_its_new_name_at_once() {
    let room = Room::new();
    let (platform, ids) = house(&room);
    found(&platform, ADMIN, &json!({ "query": "rain" }));
    let place = format!("{SERVERS}/{}", ids[2]);
    platform.admin().patch(&place, &json!({ "name": "meteo" })).is(200);
    let answer = found(&platform, ADMIN, &json!({ "query": "meteo.get_forecast" }));
    assert_eq!(answer["tools"][0]["name"], "meteo.get_forecast", "{answer:#}");
    assert_eq!(answer["tools"][0]["score"], 1.0);
    assert_eq!(answer["tools"][0]["source_server"]["name"], "meteo");
}

#[test]
fn us2_a_changed_list_is_searched_and_what_is_removed_is_gone() {
    let room = Room::new();
    let (platform, ids) = house(&room);
    let before = found(&platform, ADMIN, &json!({ "query": "transition" }));
    assert_eq!(names(&before)[0], "jira-mcp.transition_issue");
    platform.admin().delete(&format!("{SERVERS}/{}", ids[1])).is(204);
    let after = found(&platform, ADMIN, &json!({ "query": "jira-mcp.create_issue", "limit": 100 }));
    assert!(names(&after).iter().all(|name| !name.starts_with("jira-mcp")), "{after:#}");
    assert_eq!(after["metadata"]["total_tools_searched"], 4);
    let slack: (&str, Tools) = ("slack", &[("post_message", "Send a message to a channel")]);
    offer(&room, &platform, slack);
    let new = found(&platform, ADMIN, &json!({ "query": "write into the team's chat channel" }));
    assert_eq!(names(&new)[0], "slack.post_message", "{new:#}");
}

#[test]
fn us2_tools_that_a_config_hides_are_not_found_and_custom_tools_are() {
    let room = Room::new();
    let entry = |name: &str| room.fake(name).tool("one", say::echo()).tool("two", say::echo());
    let mut hiding = entry("a").entry();
    hiding["hiddenTools"] = json!(["two"]);
    let custom = json!({ "picker": {
        "description": "rotates photographs of llamas",
        "subtools": { "a": { "tools": [{ "name": "one" }] } },
    } });
    let config = json!({ "mcpServers": { "a": hiding }, "tools": custom }).to_string();
    let config = room.write("hiding.json", config);
    let platform = room.platform(&["--config", config.to_str().expect("UTF-8")]);
    process::wait_until("it runs", LIMIT, || platform.tool_names(ADMIN).len() == 2);
    let answer = found(&platform, ADMIN, &json!({ "query": "two", "limit": 100 }));
    assert!(!names(&answer).contains(&"a.two".to_owned()), "{answer:#}");
    assert_eq!(answer["metadata"], json!({ "servers_searched": 2, "total_tools_searched": 2 }));
    let answer = found(&platform, ADMIN, &json!({ "query": "turn a llama photograph" }));
    assert_eq!(answer["tools"][0]["name"], "picker", "{answer:#}");
    let own = json!({ "query": "one", "include_external": false, "limit": 100 });
    let answer = found(&platform, ADMIN, &own);
    assert!(names(&answer).iter().all(|name| name == "picker"), "{answer:#}");
    assert_eq!(answer["metadata"]["total_tools_searched"], 1);
}

#[test]
fn us2_a_search_that_is_none_is_refused_with_what_to_do() {
    let room = Room::new();
    let platform = room.platform(&[]);
    for (body, pointer) in [
        (json!({}), "/query"),
        (json!({ "query": "" }), "/query"),
        (json!({ "query": "a", "limit": 0 }), "/limit"),
        (json!({ "query": "a", "limit": 1000 }), "/limit"),
        (json!({ "query": "a", "server_filter": [] }), "/server_filter"),
        (json!({ "query": "a", "server_filter": "b" }), "/server_filter"),
        (json!({ "query": "a", "top_k": 3 }), "/top_k"),
    ] {
        let problem = platform.admin().post(SEARCH, &body).problem(422, "invalid");
        assert_eq!(problem["errors"][0]["pointer"], pointer, "{body}: {problem:#}");
    }
    platform.rest(None).post(SEARCH, &json!({ "query": "a" })).problem(401, "unauthenticated");
    let viewer = platform.key("viewer");
    let answer = found(&platform, &viewer, &json!({ "query": "a" }));
    assert_eq!(answer["tools"], json!([]), "nothing there, nothing found");
}

#[test]
fn us2_ac6_nfr_p3_a_search_over_ten_servers_with_a_hundred_tools_each_is_fast() {
    let room = Room::new();
    let platform = room.platform(&[]);
    for number in 0..10 {
        let name = format!("s{number}");
        let service = room.fake(&name).generated(100, 100).listen(Wire::Http);
        platform.connected(&name, &service);
        room.keep(service);
    }
    let asked = json!({ "query": "find the tool that does it", "limit": 10 });
    let metadata = found(&platform, ADMIN, &asked)["metadata"].clone();
    assert_eq!(metadata, json!({ "servers_searched": 10, "total_tools_searched": 1000 }));
    let yardstick = Yardstick::new();
    let mut times: Vec<_> = (0..21)
        .map(|_| {
            let begun = std::time::Instant::now();
            found(&platform, ADMIN, &asked);
            begun.elapsed()
        })
        .collect();
    times.sort();
    // The promise of 003, which an unoptimised build has to keep, too.
    yardstick.assert_kept(std::time::Duration::from_millis(150), times[10]);
}
