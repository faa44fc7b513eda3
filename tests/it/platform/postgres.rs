//! A platform on Postgres: the same promises, and serving goes on while the database is away.

use std::process::Command;

use kit::database::Database;
use kit::mcp::Speak;
use kit::platform::{ADMIN, KEYS, Platform, SERVERS, id_of, remote, stdio};
use kit::room::Room;
use kit::run;
use kit::service::Wire;
use kit::way::Way;
use kit::{LIMIT, bin, ledger, process};
use rustix::process::Signal;
use serde_json::json;

use super::echoing;

fn platform(room: &Room, url: &str) -> Platform {
    // A slow machine takes long between two steps: how long keys are trusted is tested elsewhere.
    room.platform(&["--store", url, "--health-interval", "1s", "--max-stale", "600s"])
}

fn stop(platform: &Platform) {
    platform.serve().process().signal(Signal::TERM);
    platform.serve().process().wait_exit(LIMIT);
}

#[test]
fn what_was_registered_in_postgres_is_there_after_a_restart_and_the_chain_is_whole() {
    let database = Database::new();
    let way = Way::to(database.behind());
    let url = database.url(&way);
    let room = Room::new();
    let service = echoing(&room, "a").listen(Wire::Http);
    let (id, key) = {
        let platform = platform(&room, &url);
        let mut body = remote("a", &service);
        body["connection_config"]["headers"] = json!({ "X-Secret": "sealed" });
        let id = id_of(&platform.register(&body));
        platform.wait_status(&id, "CONNECTED");
        platform.admin().post(SERVERS, &body).problem(409, "name-taken");
        let key = platform.key("caller");
        stop(&platform);
        (id, key)
    };
    let platform = platform(&room, &url);
    platform.wait_status(&id, "CONNECTED");
    platform.mcp(&key).assert_echo("a", "echo", "{}");
    platform.wait_audit("the call", |record| record["action"] == "call-tool");
    let mut verify = Command::new(bin::trunkline());
    verify.args(["audit", "verify", "--store", &url, "--data-dir"]).arg(room.path("data"));
    let done = run::run(verify, b"");
    assert_eq!(done.code, Some(0), "{done}");
}

#[test]
fn k28_while_postgres_is_away_calls_are_served_and_changes_refused_until_it_is_back() {
    let database = Database::new();
    let way = Way::to(database.behind());
    let room = Room::new();
    let service = echoing(&room, "a").listen(Wire::Http);
    let platform = platform(&room, &database.url(&way));
    let id = platform.connected("a", &service);
    let key = platform.key("caller");
    let client = platform.mcp(&key);
    way.cut();
    let other = remote("b", &service);
    platform.admin().post(SERVERS, &other).problem(503, "store-unavailable");
    platform
        .admin()
        .post(KEYS, &json!({ "name": "x", "role": "viewer" }))
        .problem(503, "store-unavailable");
    for n in 0..20 {
        client.assert_echo("a", "echo", &format!(r#"{{"n":{n}}}"#));
        platform.call("a.echo", &json!({ "n": n })).is(200);
    }
    // Also when the servers have been looked for again, in vain; it is said once.
    platform.serve().process().wait_stderr(&["the registered servers cannot be read"], 2 * LIMIT);
    platform.call("a.echo", &json!({ "n": 20 })).is(200);
    assert_eq!(platform.server(&id)["status"], "CONNECTED");
    assert_eq!(ledger::with_method(&room.ledger("a"), "tools/list").len(), 1, "it was left alone");
    // Who was known before is known, and a new session can be opened.
    platform.mcp(&key).assert_echo("a", "echo", "{}");
    assert_eq!(platform.tool_names(&key), ["a.echo"]);
    way.join();
    process::wait_until("it is used again", 2 * LIMIT, || {
        platform.admin().post(SERVERS, &other).status() == 201
    });
    assert_eq!(platform.server(&id)["name"], "a");
    // What was called meanwhile is recorded now.
    process::wait_until("the records are written", 2 * LIMIT, || {
        let records = platform.audit();
        records.iter().filter(|record| record["action"] == "call-tool").count() == 42
    });
    assert_eq!(platform.admin().get(SERVERS).is(200)["total"], 2, "refused is not half done");
}

/// Two on the same store.
fn replicas(rooms: &[Room; 2], url: &str) -> [Platform; 2] {
    rooms.each_ref().map(|room| {
        let mut command = room.platform_command(&["--store", url, "--allow-net", "127.0.0.0/8"]);
        command.env("TRUNKLINE_KEY", KEY);
        Platform::start(command)
    })
}

const KEY: &str = "a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s=";

/// Told, or else by looking: that it is told at once is in the contract of the store.
#[test]
fn what_one_replica_or_the_command_line_changes_the_other_is_told() {
    let database = Database::new();
    let way = Way::to(database.behind());
    let url = database.url(&way);
    let rooms = [Room::new(), Room::new()];
    let [here, there] = replicas(&rooms, &url);
    let service = echoing(&rooms[0], "a").listen(Wire::Http);
    for n in 0..12 {
        let mut body = remote(&format!("n{n}"), &service);
        body["auto_connect"] = false.into();
        here.register(&body);
        let made = here.make_key(&json!({ "name": "x", "role": "viewer" }));
        let known = there.rest(made["key"].as_str());
        process::wait_until("the key is known", LIMIT, || known.get("/api/v1/me").status() == 200);
        process::wait_until("the server is there", LIMIT, || {
            there.admin().get(SERVERS).is(200)["total"] == n + 1
        });
    }
    let mut body = remote("a", &service);
    body["connection_config"]["headers"] = json!({ "X-Key": "${secret:db}" });
    let id = id_of(&there.register(&body));
    there.wait_status(&id, "ERROR");
    let mut set = Command::new(bin::trunkline());
    set.args(["secret", "set", "db", "--store", &url]).env("TRUNKLINE_KEY", KEY);
    assert_eq!(run::run(set, b"canary").code, Some(0));
    there.wait_status(&id, "CONNECTED");
}

/// Each change reads all servers again; of several at once an older reading must not come last.
#[test]
fn what_was_registered_is_there_at_once_however_many_register_beside_it() {
    const WRITERS: usize = 6;
    const EACH: usize = 25;
    let database = Database::new();
    let room = Room::new();
    let platform = room.platform(&["--store", &database.direct_url()]);
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let platform = &platform;
            scope.spawn(move || {
                for number in 0..EACH {
                    let shown = platform.register(&json!({
                        "name": format!("w{writer}-{number}"),
                        "transport_type": "HTTP",
                        "connection_config": { "url": "https://example.com/mcp" },
                        "auto_connect": false,
                    }));
                    let path = format!("{SERVERS}/{}", id_of(&shown));
                    platform.admin().get(&path).is(200);
                    platform.admin().delete(&path).is(204);
                    platform.admin().get(&path).problem(404, "no-such-server");
                }
            });
        }
    });
    assert_eq!(platform.admin().get(SERVERS).is(200)["total"], 0);
}

/// A change of the config file makes Trunkline look at everything at once, and shows when it has.
#[test]
fn nfr_r1_while_postgres_is_away_no_server_is_stopped_and_the_log_says_it_once() {
    let database = Database::new();
    let way = Way::to(database.behind());
    let room = Room::new();
    let config = room.config([]);
    let url = database.url(&way);
    let config = config.to_str().expect("UTF-8");
    let platform =
        room.platform(&["--store", &url, "--config", config, "--allow-stdio-registration"]);
    let mut body = stdio("a", &echoing(&room, "a").entry());
    body["connection_config"]["env"]["SEALED"] = "s".into();
    let id = id_of(&platform.register(&body));
    platform.wait_status(&id, "CONNECTED");
    way.cut();
    for name in ["x", "y"] {
        room.config([(name, echoing(&room, name).entry())]);
        let added = format!("file:{name}");
        process::wait_until("the file is read", LIMIT, || {
            platform.admin().get(&format!("{SERVERS}/{added}")).status() == 200
        });
        platform.wait_status(&added, "CONNECTED");
        platform.call(&format!("{name}.echo"), &json!({})).is(200);
        platform.call("a.echo", &json!({})).is(200);
        assert_eq!(platform.server(&id)["status"], "CONNECTED");
    }
    platform.serve().process().wait_stderr(&["the registered servers cannot be read"], LIMIT);
    way.join();
    platform
        .serve()
        .process()
        .wait_stderr(&["the registered servers can be read again"], 2 * LIMIT);
    let log = platform.serve().process().stderr();
    assert_eq!(log.matches("the registered servers cannot be read").count(), 1, "{log}");
    platform.call("a.echo", &json!({})).is(200);
    assert_eq!(ledger::started(&room.ledger("a")).len(), 1, "the same process all the time");
}

#[test]
fn a_key_that_one_replica_revokes_is_refused_by_the_other() {
    let database = Database::new();
    let way = Way::to(database.behind());
    let url = database.url(&way);
    let rooms = [Room::new(), Room::new()];
    let replicas = replicas(&rooms, &url);
    let made = replicas[0].make_key(&json!({ "name": "x", "role": "viewer" }));
    let there = replicas[1].rest(made["key"].as_str());
    process::wait_until("the other knows it", LIMIT, || there.get("/api/v1/me").status() == 200);
    let gone = replicas[0].admin().delete(&format!("{KEYS}/{}", id_of(&made)));
    assert_eq!(gone.status(), 204);
    process::wait_until("the other refuses it", LIMIT, || there.get("/api/v1/me").status() == 401);
    assert_eq!(replicas[1].rest(Some(ADMIN)).get("/api/v1/me").is(200)["role"], "admin");
}

#[test]
fn a_key_is_not_changed_while_a_replica_serves_from_postgres() {
    let database = Database::new();
    let way = Way::to(database.behind());
    let (room, url) = (Room::new(), database.url(&way));
    let rotate = || {
        let mut rotate = Command::new(bin::trunkline());
        rotate.args(["key", "rotate", "--store", &url, "--data-dir"]).arg(room.path("data"));
        run::run(rotate, b"")
    };
    let platform = platform(&room, &url);
    rotate().bad(1, &["trunkline serve", "stop it first"]);
    assert_eq!(platform.admin().get(SERVERS).status(), 200);
    stop(&platform);
    let done = rotate();
    assert_eq!(done.code, Some(0), "{done}");
}
