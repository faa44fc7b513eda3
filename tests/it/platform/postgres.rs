//! A platform on Postgres: the same promises, and serving goes on while the database is away.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use kit::mcp::Speak;
use kit::platform::{ADMIN, KEYS, Platform, SERVERS, id_of, remote};
use kit::room::Room;
use kit::run;
use kit::service::Wire;
use kit::way::Way;
use kit::{LIMIT, bin, process};
use rustix::process::Signal;
use serde_json::json;

use super::echoing;

/// A database of one test's own.
struct Database {
    /// `postgres://user:password@host:port/postgres`
    server: String,
    name: String,
}

impl Database {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let server = std::env::var("TRUNKLINE_TEST_POSTGRES").unwrap_or_else(|_| {
            panic!(
                "TRUNKLINE_TEST_POSTGRES is not set: run `cargo xtask test`, or \
                 `cargo xtask postgres cargo test -p trunkline-tests platform::postgres`"
            )
        });
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("trunkline_it_{}_{number}", std::process::id());
        let database = Self { server, name };
        database.say(&format!("CREATE DATABASE {} TEMPLATE template0", database.name));
        database
    }

    fn say(&self, sql: &str) {
        // The password is in the environment, where the process list does not show it.
        let user = self.server.trim_start_matches("postgres://").rsplit_once('@');
        let (user, password) = user.and_then(|(user, _)| user.split_once(':')).expect("a password");
        let behind = self.behind();
        let mut psql = Command::new("psql");
        psql.args(["--no-psqlrc", "--quiet", "--command", sql]);
        psql.env("PGUSER", user).env("PGPASSWORD", password).env("PGDATABASE", "postgres");
        psql.env("PGHOST", behind.ip().to_string()).env("PGPORT", behind.port().to_string());
        let done = run::run(psql, b"");
        assert_eq!(done.code, Some(0), "{done}");
    }

    fn behind(&self) -> SocketAddr {
        let host = self.server.rsplit('@').next().and_then(|rest| rest.split('/').next());
        host.and_then(|host| host.parse().ok()).expect("an address and a port")
    }

    /// Its address through this way.
    fn url(&self, way: &Way) -> String {
        let (user, _) = self.server.rsplit_once('@').expect("a user");
        format!("{user}@{}/{}?sslmode=disable", way.address(), self.name)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        self.say(&format!("DROP DATABASE {} WITH (FORCE)", self.name));
    }
}

fn platform(room: &Room, url: &str) -> Platform {
    room.platform(&["--store", url, "--health-interval", "1s"])
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
        records.iter().filter(|record| record["action"] == "call-tool").count() == 41
    });
    assert_eq!(platform.admin().get(SERVERS).is(200)["total"], 2, "refused is not half done");
}

#[test]
fn a_key_that_one_replica_revokes_is_refused_by_the_other() {
    let database = Database::new();
    let way = Way::to(database.behind());
    let url = database.url(&way);
    let rooms = [Room::new(), Room::new()];
    let replicas = rooms.each_ref().map(|room| {
        let flags = ["--store", &url[..]];
        let mut command = room.platform_command(&flags);
        command.env("TRUNKLINE_KEY", "a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s=");
        Platform::start(command)
    });
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
