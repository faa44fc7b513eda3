//! Secrets with names of their own: put and removed over REST and by the command line, used by the
//! servers that refer to them, shown to nobody.

use std::process::Command;

use kit::platform::{Platform, id_of, remote, stdio};
use kit::room::Room;
use kit::run::{self, Done};
use kit::service::{Service, Wire};
use kit::{LIMIT, bin, ledger, process, say};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::echoing;

const SECRETS: &str = "/api/v1/secrets";

fn put(platform: &Platform, name: &str, value: &str) -> kit::rest::Answer {
    let body = json!({ "value": value }).to_string();
    platform.admin().with_body("PUT", &format!("{SECRETS}/{name}"), body.as_bytes())
}

/// A registration that sends a secret in a header.
fn referring(name: &str, service: &Service, secret: &str) -> Value {
    let mut body = remote(name, service);
    body["connection_config"]["headers"] = json!({ "X-Key": format!("k ${{secret:{secret}}}") });
    body
}

/// The values of the header that have come.
fn sent(room: &Room, server: &str) -> Vec<String> {
    let heads = ledger::heads(&room.ledger(server));
    heads.iter().filter_map(|head| head.header("x-key").map(str::to_owned)).collect()
}

/// `trunkline secret …` on the store of this room.
fn secret(room: &Room, arguments: &[&str], input: &str) -> Done {
    let mut command = Command::new(bin::trunkline());
    command.arg("secret").args(arguments).arg("--data-dir").arg(room.path("data"));
    command.env_remove("TRUNKLINE_KEY");
    run::run(command, input.as_bytes())
}

fn stop(platform: &Platform) {
    platform.serve().process().signal(Signal::TERM);
    platform.serve().process().wait_exit(LIMIT);
}

#[test]
fn a_secret_is_put_listed_without_its_value_used_changed_and_removed() {
    let room = Room::new();
    let service = echoing(&room, "a").listen(Wire::Http);
    let platform = room.platform(&[]);
    // Without it the server is not asked.
    let id = id_of(&platform.register(&referring("a", &service, "git.hub")));
    let server = platform.wait_status(&id, "ERROR");
    assert!(server.to_string().contains("there is no secret `git.hub`"), "{server:#}");
    let made = put(&platform, "git.hub", "canary-one").is(201);
    assert_eq!(
        (made["name"].as_str(), made["updated_by"].as_str()),
        (Some("git.hub"), Some("admin"))
    );
    assert_eq!(made["used_by"], json!([{ "id": id, "name": "a" }]));
    platform.wait_status(&id, "CONNECTED");
    assert!(sent(&room, "a").iter().all(|value| value == "k canary-one"));
    // Another value: it is connected anew with it.
    put(&platform, "git.hub", "canary-two").is(200);
    process::wait_until("the new value is used", LIMIT, || {
        platform.call("a.echo", &json!({}));
        sent(&room, "a").last().is_some_and(|value| value == "k canary-two")
    });
    platform.wait_status(&id, "CONNECTED");
    platform.call("a.echo", &json!({})).is(200);
    put(&platform, "other", "canary-three").is(201);
    let list = platform.admin().get(SECRETS).is(200);
    let names: Vec<_> = list["secrets"].as_array().into_iter().flatten().collect();
    let names: Vec<_> = names.iter().map(|secret| secret["name"].as_str()).collect();
    assert_eq!((names, &list["total"]), (vec![Some("git.hub"), Some("other")], &json!(2)));
    assert_eq!(list["secrets"][1]["used_by"], json!([]));
    assert!(!list.to_string().contains("canary"), "{list:#}");
    // One that is used stays, unless somebody insists.
    let path = format!("{SECRETS}/git.hub");
    let problem = platform.admin().delete(&path).problem(409, "secret-in-use");
    assert!(problem["detail"].as_str().is_some_and(|it| it.contains("`a`")), "{problem:#}");
    assert_eq!(platform.admin().delete(&format!("{path}?force=false")).status(), 409);
    platform.admin().delete(&format!("{path}?force=maybe")).problem(422, "invalid");
    assert_eq!(platform.admin().delete(&format!("{SECRETS}/other")).status(), 204);
    assert_eq!(platform.admin().delete(&format!("{path}?force=true")).status(), 204);
    platform.admin().delete(&path).problem(404, "no-such-secret");
    platform.wait_status(&id, "ERROR");
    assert_eq!(platform.admin().get(SECRETS).is(200)["total"], 0);
}

#[test]
fn nfr_sec4_what_is_done_to_secrets_is_recorded_without_them() {
    let room = Room::new();
    let platform = room.platform(&[]);
    put(&platform, "db", "canary-value").is(201);
    put(&platform, "db", "canary-other").is(200);
    let viewer = platform.rest(Some(&platform.key("viewer")));
    let refused = viewer.with_body("PUT", &format!("{SECRETS}/db"), br#"{"value":"canary"}"#);
    refused.problem(403, "forbidden");
    assert_eq!(platform.admin().delete(&format!("{SECRETS}/db")).status(), 204);
    platform.wait_audit("the refusal", |record| record["outcome"] == "refused");
    let records = platform.audit();
    let told = |record: &&Value| record["detail"].as_str() == Some("db");
    let told: Vec<_> = records.iter().filter(told).map(|it| it["action"].as_str()).collect();
    assert_eq!(told, [Some("put-secret"), Some("put-secret"), Some("delete-secret")]);
    assert!(!json!(records).to_string().contains("canary"), "{records:#?}");
    assert!(!platform.serve().process().stderr().contains("canary"));
}

#[test]
fn names_and_values_that_are_none_are_refused_and_not_repeated() {
    let room = Room::new();
    let platform = room.platform(&[]);
    for name in ["a%20b", "a%2Fb", "%2Ea", "a%24", &"x".repeat(201)] {
        put(&platform, name, "canary").problem(422, "invalid");
    }
    for body in [r#"{"value":""}"#, r#"{"value":"canary\u0000"}"#, r#"{"value":["canary"]}"#, "{}"]
    {
        let answer = platform.admin().with_body("PUT", &format!("{SECRETS}/a"), body.as_bytes());
        let problem = answer.problem(422, "invalid");
        assert!(!problem.to_string().contains("canary"), "{problem:#}");
    }
    assert_eq!(platform.admin().get(SECRETS).is(200)["total"], 0);
    for n in 0..5 {
        put(&platform, &format!("s{n}"), "x").is(201);
    }
    let all = kit::platform::pages(platform.admin(), &format!("{SECRETS}?limit=2"), "secrets");
    let names: Vec<_> = all.iter().filter_map(|secret| secret["name"].as_str()).collect();
    assert_eq!(names, ["s0", "s1", "s2", "s3", "s4"]);
}

#[test]
fn a_value_of_several_lines_reaches_a_variable_and_no_header() {
    let room = Room::new();
    let pem = "-----BEGIN KEY-----\ncanary-MIIEvQIBADANBgkq\n-----END KEY-----";
    let service = echoing(&room, "h").listen(Wire::Http);
    let platform = room.platform(&["--allow-stdio-registration"]);
    put(&platform, "pem", pem).is(201);
    let env = say::steps([say::result(r#"{"content":[],"structuredContent":@ENV@}"#)]);
    // It says what it was given, as careless servers do.
    let cries = say::steps([say::stderr("started with canary-MIIEvQIBADANBgkq\n")]);
    let fake = room.fake("c").tool("env", env).at_start(cries);
    let fake = fake.env("NAMED", "${secret:pem}").env("WRITTEN", &format!("{pem}\r\n"));
    let id = id_of(&platform.register(&stdio("c", &fake.entry())));
    platform.wait_status(&id, "CONNECTED");
    let result = platform.call("c.env", &json!({})).is(200);
    let given = &result["structuredContent"];
    assert_eq!(given["NAMED"].as_str(), Some(pem), "{result:#}");
    assert_eq!(given["WRITTEN"].as_str(), Some(&*format!("{pem}\r\n")), "{result:#}");
    assert!(!platform.serve().process().stderr().contains("MIIEvQIBADANBgkq"));
    let id = id_of(&platform.register(&referring("h", &service, "pem")));
    let server = platform.wait_status(&id, "ERROR");
    assert!(server.to_string().contains("line end"), "{server:#}");
    assert!(sent(&room, "h").is_empty(), "a header of several lines was sent");
}

#[test]
fn the_command_line_puts_lists_and_removes_while_serve_runs_and_serve_notices() {
    let room = Room::new();
    let service = echoing(&room, "a").listen(Wire::Http);
    let platform = room.platform(&[]);
    let id = id_of(&platform.register(&referring("a", &service, "db")));
    platform.wait_status(&id, "ERROR");
    let done = secret(&room, &["set", "db"], "canary-one\n");
    assert!(done.text().contains("${secret:db}"), "{done}");
    platform.wait_status(&id, "CONNECTED");
    assert_eq!(sent(&room, "a").last().map(String::as_str), Some("k canary-one"));
    let file = room.write("value", b"canary-two");
    let from = ["set", "db", "--json", "--from-file", file.to_str().expect("UTF-8")];
    let said: Value = serde_json::from_str(secret(&room, &from, "").text()).expect("JSON");
    assert_eq!(said, json!({ "name": "db", "new": false }));
    process::wait_until("the new value is used", LIMIT, || {
        platform.call("a.echo", &json!({}));
        sent(&room, "a").last().is_some_and(|value| value == "k canary-two")
    });
    let list = secret(&room, &["list"], "");
    assert!(
        list.text().contains("db  ") && list.text().contains("by operator, used by a"),
        "{list}"
    );
    let said: Value =
        serde_json::from_str(secret(&room, &["list", "--json"], "").text()).expect("JSON");
    assert_eq!(said["secrets"][0]["used_by"], json!([{ "id": id, "name": "a" }]));
    secret(&room, &["remove", "db"], "").bad(1, &["`db` is used by `a`"]);
    secret(&room, &["remove", "none", "--force"], "").bad(1, &["no secret `none`"]);
    secret(&room, &["remove", "db", "--force"], "").good();
    platform.wait_status(&id, "ERROR");
    assert_eq!(platform.admin().get(SECRETS).is(200)["total"], 0);
    let done = [list.text().to_owned(), said.to_string()].concat();
    assert!(!done.contains("canary"), "{done}");
    let records = platform.audit();
    let by = |record: &&Value| record["principal"] == "operator";
    let told: Vec<_> = records.iter().filter(by).map(|it| it["action"].as_str()).collect();
    assert_eq!(told, [Some("put-secret"), Some("put-secret"), Some("delete-secret")]);
}

#[test]
fn a_value_on_the_command_line_is_refused_and_not_repeated() {
    let room = Room::new();
    stop(&room.platform(&[]));
    let done = secret(&room, &["set", "db", "canary"], "");
    done.bad(2, &["--from-file"]);
    done.hides("canary");
    secret(&room, &["set", "a b"], "canary").bad(1, &["not a name a secret can have"]);
    secret(&room, &["set", "db"], "").bad(1, &["it is empty"]);
    secret(&room, &["set", "db", "--from-file", "/nowhere/at/all"], "")
        .bad(2, &["/nowhere/at/all"]);
    secret(&room, &["list"], "").bad(0, &["no secret"]);
}

#[test]
fn without_a_key_or_with_another_one_nothing_is_put_and_nothing_made() {
    let room = Room::new();
    secret(&room, &["set", "db"], "x").bad(1, &["there is no key file"]);
    assert!(!room.path("data").exists());
    stop(&room.platform(&[]));
    let mut command = Command::new(bin::trunkline());
    command.args(["secret", "set", "db", "--data-dir"]).arg(room.path("data"));
    command.env("TRUNKLINE_KEY", "eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHg=");
    run::run(command, b"x").bad(1, &["the store is locked"]);
    secret(&room, &["list"], "").bad(0, &["no secret"]);
}

#[test]
fn nfr_sec1_after_a_rotation_a_secret_is_as_before() {
    let room = Room::new();
    let service = echoing(&room, "a").listen(Wire::Http);
    let id = {
        let platform = room.platform(&[]);
        put(&platform, "db", "canary-db").is(201);
        let id = id_of(&platform.register(&referring("a", &service, "db")));
        platform.wait_status(&id, "CONNECTED");
        stop(&platform);
        id
    };
    let mut command = Command::new(bin::trunkline());
    command.args(["key", "rotate", "--data-dir"]).arg(room.path("data"));
    command.env_remove("TRUNKLINE_KEY");
    let done = run::run(command, b"");
    assert_eq!(done.code, Some(0), "{done}");
    let before = sent(&room, "a").len();
    let platform = room.platform(&[]);
    platform.wait_status(&id, "CONNECTED");
    assert!(sent(&room, "a").iter().skip(before).all(|value| value == "k canary-db"));
    assert!(sent(&room, "a").len() > before);
}
