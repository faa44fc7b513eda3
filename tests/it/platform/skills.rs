//! US3: tools are given skills when they are discovered, by the model in the program; people have the
//! last word.

use kit::platform::{ADMIN, Platform, SERVERS, percent};
use kit::room::Room;
use kit::service::Wire;
use kit::yardstick::Yardstick;
use kit::{LIMIT, process};
use serde_json::{Value, json};

use super::search::{SEARCH, offer};

const SKILLS: &str = "/api/v1/skills";

const DATABASE: (&str, &[(&str, &str)]) = (
    "postgres",
    &[
        ("run_query", "Run a SQL query against the tables of a database"),
        ("list_tables", "List the tables and columns of a database schema"),
    ],
);
const WEATHER: (&str, &[(&str, &str)]) =
    ("open-meteo", &[("get_forecast", "Weather forecast: temperature, wind and rain for a city")]);

fn place(id: &str, tool: &str, rest: &str) -> String {
    format!("/api/v1/tools/{}/{rest}", percent(&format!("{id}/{tool}")))
}

/// Waits until the tool was judged; its skills.
#[track_caller]
fn judged(platform: &Platform, id: &str, tool: &str) -> Value {
    let mut last = Value::Null;
    process::wait_until(&format!("skills of {tool}"), LIMIT, || {
        last = platform.admin().get(&place(id, tool, "skills")).is(200);
        !last["source"].is_null()
    });
    last
}

#[track_caller]
fn skill(platform: &Platform, id: &str) -> Value {
    let list = platform.admin().get(SKILLS).is(200);
    let skills = list["skills"].as_array().cloned().unwrap_or_default();
    skills.into_iter().find(|skill| skill["id"] == id).unwrap_or_default()
}

#[test]
fn us3_ac2_ac3_a_discovered_tool_has_one_to_three_skills_and_a_primary_one() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let id = offer(&room, &platform, DATABASE);
    let shown = judged(&platform, &id, "run_query");
    assert_eq!(shown["name"], "postgres.run_query");
    assert_eq!(shown["source"], "model");
    assert_eq!(shown["primary_skill_id"], "database");
    assert_eq!(shown["is_classified"], true);
    let skills = shown["skills"].as_array().cloned().unwrap_or_default();
    assert!((1..=3).contains(&skills.len()), "{shown:#}");
    assert_eq!(shown["skill_ids"][0], skills[0]["id"]);
    let sure: Vec<f64> = skills.iter().filter_map(|it| it["confidence"].as_f64()).collect();
    assert!(sure[0] >= 0.5, "the primary skill is likelier than not: {sure:?}");
    assert!(sure.is_sorted_by(|one, next| one >= next), "{sure:?}");
    assert!(sure.iter().all(|it| (0.0..=1.0).contains(it)), "{sure:?}");
    let known = platform.admin().get(SKILLS).is(200);
    assert_eq!(known["total"], 31);
    let ids: Vec<&Value> =
        known["skills"].as_array().into_iter().flatten().map(|skill| &skill["id"]).collect();
    assert!(skills.iter().all(|skill| ids.contains(&&skill["id"])), "of the taxonomy");
    let found = platform.admin().post(SEARCH, &json!({ "query": "postgres.run_query" })).is(200);
    assert_eq!(found["tools"][0]["skill_ids"], shown["skill_ids"], "the search tells, too");
    assert_eq!(found["tools"][0]["primary_skill_id"], "database");
    let listed = platform.admin().get("/api/v1/tools?server=postgres").is(200);
    let tool = &listed["servers"][0]["tools"][1];
    assert_eq!(
        (&tool["original_name"], &tool["primary_skill_id"]),
        (&json!("run_query"), &json!("database"))
    );
}

#[test]
fn us3_ac4_a_tool_that_cannot_be_classified_says_so_and_is_found() {
    let room = Room::new();
    let platform = room.platform(&[]);
    // Nothing in it is a word that the model knows.
    let odd = ("\u{16a0}\u{16a2}", "\u{16a6}\u{16a8}");
    let definition = json!({ "name": odd.0, "description": odd.1, "inputSchema": {} }).to_string();
    let service = room.fake("s").definitions(&[&definition]).listen(Wire::Http);
    let body = json!({
        "name": "_", "transport_type": "HTTP", "auto_connect": true,
        "connection_config": { "url": service.url() },
    });
    let id = kit::platform::id_of(&platform.register(&body));
    platform.wait_status(&id, "CONNECTED");
    let shown = judged(&platform, &id, odd.0);
    assert_eq!(shown["is_classified"], false, "{shown:#}");
    assert_eq!(shown["primary_skill_id"], Value::Null);
    let found = platform.admin().post(SEARCH, &json!({ "query": odd.0 })).is(200);
    assert_eq!(found["tools"][0]["original_name"], odd.0, "{found:#}");
    assert_eq!(found["tools"][0]["is_classified"], false);
}

#[test]
fn us3_ac5_us6_ac7_where_a_skill_points_follows_its_tools() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let question = "which isobars and millimetres of drizzle over Reykjavik";
    let near = || {
        let path = format!("{SKILLS}?query={}", percent(question));
        let list = platform.admin().get(&path).is(200);
        let all = list["skills"].as_array().cloned().unwrap_or_default();
        let weather = all.into_iter().find(|it| it["id"] == "weather_environment");
        let weather = weather.unwrap_or_default();
        (weather["similarity"].as_f64().unwrap_or_default(), weather["tools"].as_u64())
    };
    process::wait_until("where skills point is known", LIMIT, || near().0.abs() > 0.0);
    let (before, _) = near();
    let server: (&str, &[(&str, &str)]) = (
        "open-meteo",
        &[("get_forecast", "Weather: isobars, millimetres of drizzle over Reykjavik, wind, rain")],
    );
    let id = offer(&room, &platform, server);
    judged(&platform, &id, "get_forecast");
    process::wait_until("the skill points nearer", LIMIT, || near().0 > before + 0.01);
    assert_eq!(near().1, Some(1));
    platform.admin().delete(&format!("{SERVERS}/{id}")).is(204);
    process::wait_until("the skill points where it did", LIMIT, || near() == (before, Some(0)));
}

#[test]
fn us3_ac6_ac7_nfr_p5_sixty_tools_have_their_skills_within_a_minute() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let service = room.fake("many").generated(60, 60).listen(Wire::Http);
    let (yardstick, begun) = (Yardstick::new(), std::time::Instant::now());
    platform.connected("many", &service);
    let judged = || {
        let groups = platform.tool_groups(ADMIN);
        let tools = groups.iter().flat_map(|it| it["tools"].as_array().into_iter().flatten());
        tools.filter(|tool| tool.get("is_classified").is_some()).count()
    };
    process::wait_until("all are judged", 3 * LIMIT, || judged() == 60);
    yardstick.assert_kept(std::time::Duration::from_secs(60), begun.elapsed());
}

#[test]
fn us3_what_a_person_says_stays_until_a_person_says_otherwise() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let id = offer(&room, &platform, DATABASE);
    let judged_before = judged(&platform, &id, "run_query");
    let skills = place(&id, "run_query", "skills");
    let wish = json!({ "skill_ids": ["finance", "weather_environment"] });
    let set = platform.admin().with_body("PUT", &skills, wish.to_string().as_bytes()).is(200);
    assert_eq!(set["skill_ids"], wish["skill_ids"]);
    assert_eq!((&set["primary_skill_id"], &set["source"]), (&json!("finance"), &json!("manual")));
    platform.admin().bare("POST", &place(&id, "run_query", "classify")).problem(409, "set-by-hand");
    platform.act(&id, "disconnect").is(200);
    platform.act(&id, "connect").is(202);
    platform.wait_status(&id, "CONNECTED");
    let name = "/api/v1/tools/postgres.run_query/skills";
    assert_eq!(platform.admin().get(name).is(200)["skill_ids"], wish["skill_ids"]);
    let platform = {
        drop(platform);
        room.platform(&[])
    };
    platform.wait_status(&id, "CONNECTED");
    assert_eq!(judged(&platform, &id, "run_query")["skill_ids"], wish["skill_ids"], "a restart");
    let cleared = platform.admin().delete(&skills).is(200);
    assert_eq!(cleared["skills"], judged_before["skills"], "it is judged again");
    assert_eq!(cleared["source"], "model");
    let actions: Vec<Value> = platform.audit().iter().map(|it| it["action"].clone()).collect();
    for action in ["set-tool-skills", "clear-tool-skills"] {
        assert!(actions.contains(&json!(action)), "{action}: {actions:?}");
    }
    let record = platform.wait_audit("who", |it| it["action"] == "set-tool-skills");
    assert_eq!((&record["principal"], &record["tool"]), (&json!("admin"), &json!("run_query")));
}

#[test]
fn us3_a_skill_that_is_removed_takes_no_more_of_a_persons_word_with_it() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let id = offer(&room, &platform, DATABASE);
    judged(&platform, &id, "run_query");
    let robots = json!({ "title": "Robots", "keywords": "robot arm" }).to_string();
    let path = format!("{SKILLS}/robots");
    platform.admin().with_body("PUT", &path, robots.as_bytes()).is(201);
    let skills = place(&id, "run_query", "skills");
    let wish = json!({ "skill_ids": ["robots", "finance"] }).to_string();
    platform.admin().with_body("PUT", &skills, wish.as_bytes()).is(200);
    let shows = |source: &str, ids: &Value| {
        process::wait_until(&format!("{ids} by {source}"), LIMIT, || {
            let shown = judged(&platform, &id, "run_query");
            shown["skill_ids"] == *ids && shown["source"] == source
        });
    };
    platform.admin().delete(&path).is(204);
    shows("manual", &json!(["finance"]));
    platform.admin().with_body("PUT", &path, robots.as_bytes()).is(201);
    shows("manual", &json!(["robots", "finance"]));
}

#[test]
fn us3_skills_can_be_added_changed_and_removed_and_tools_follow() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let robot: (&str, &[(&str, &str)]) =
        ("arm", &[("grasp", "Move the robot arm and grasp an object with the gripper")]);
    let ids = [DATABASE, robot].map(|server| offer(&room, &platform, server));
    judged(&platform, &ids[0], "run_query");
    judged(&platform, &ids[1], "grasp");
    let put = |id: &str, body: &Value| {
        let path = format!("{SKILLS}/{id}");
        platform.admin().with_body("PUT", &path, body.to_string().as_bytes())
    };
    let robots = json!({ "title": "Robots", "keywords": "robot arm gripper joint grasp move" });
    assert_eq!(put("robots", &robots).is(201)["is_builtin"], false);
    process::wait_until("the tool has the new skill", LIMIT, || {
        let shown = judged(&platform, &ids[1], "grasp");
        shown["skill_ids"].as_array().is_some_and(|all| all.contains(&json!("robots")))
    });
    assert_eq!(skill(&platform, "robots")["tools"], 1);
    assert_eq!(put("robots", &json!({ "title": "Robotics" })).is(200)["title"], "Robotics");
    platform.admin().delete(&format!("{SKILLS}/database")).is(204);
    process::wait_until("no tool has what is gone", LIMIT, || {
        let shown = judged(&platform, &ids[0], "run_query");
        shown["skill_ids"].as_array().is_some_and(|all| !all.contains(&json!("database")))
    });
    platform.admin().delete(&format!("{SKILLS}/database")).problem(404, "no-such-skill");
    put("Not%20An%20Id", &robots).problem(422, "invalid");
    let (total, robots) = (platform.admin().get(SKILLS).is(200)["total"].clone(), "robots");
    assert_eq!(total, 31, "one more, one less");
    drop(platform);
    let platform = room.platform(&[]);
    process::wait_until("it is kept", LIMIT, || skill(&platform, robots)["title"] == "Robotics");
    assert_eq!(skill(&platform, "database"), Value::Null);
}

#[test]
fn us3_skills_are_asked_for_wrongly_with_words() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let id = offer(&room, &platform, WEATHER);
    judged(&platform, &id, "get_forecast");
    let skills = place(&id, "get_forecast", "skills");
    let put = |body: Value| platform.admin().with_body("PUT", &skills, body.to_string().as_bytes());
    let unknown = put(json!({ "skill_ids": ["no_such"] })).problem(422, "invalid");
    assert_eq!(unknown["errors"][0]["pointer"], "/skill_ids/0");
    put(json!({ "skill_ids": [] })).problem(422, "invalid");
    platform.admin().get(&place(&id, "nothing", "skills")).problem(404, "no-such-tool");
    platform.admin().get("/api/v1/tools/no.tool/skills").problem(404, "no-such-tool");
    let nobody = format!("{SKILLS}/suggestions/1/approve");
    platform.admin().bare("POST", &nobody).problem(404, "no-such-suggestion");
    let empty = platform.admin().get(&format!("{SKILLS}/suggestions?state=pending")).is(200);
    assert_eq!(empty["suggestions"], json!([]));
    let viewer = platform.rest(Some(&platform.key("viewer")));
    viewer.get(&skills).is(200);
    viewer.get(SKILLS).is(200);
    viewer.with_body("PUT", &skills, br#"{"skill_ids":["finance"]}"#).problem(403, "forbidden");
    let made = platform.make_key(&json!({ "name": "k", "role": "operator", "tools": ["other.*"] }));
    let blind = platform.rest(made["key"].as_str());
    blind.get(&skills).problem(404, "no-such-tool");
    let seen = blind.get(SKILLS).is(200);
    let counts = seen["skills"].as_array().into_iter().flatten().map(|it| it["tools"].clone());
    assert!(counts.into_iter().all(|count| count == 0), "the numbers say no more than the list");
}

#[test]
fn us3_a_tool_is_classified_anew_when_somebody_asks() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let id = offer(&room, &platform, DATABASE);
    let before = judged(&platform, &id, "run_query");
    let again = platform.admin().bare("POST", &place(&id, "run_query", "classify")).is(200);
    assert_eq!(again, before, "the model says the same of the same");
    platform.wait_audit("it is told", |it| it["action"] == "classify-tool");
    let nobody = place(&id, "nothing", "classify");
    platform.admin().bare("POST", &nobody).problem(404, "no-such-tool");
}
