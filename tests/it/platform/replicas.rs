//! Several replicas that work with one store, behind a balancer that knows nothing of sessions: any request may come
//! to any of them.

use std::net::SocketAddr;
use std::process::Command;

use kit::balancer::Balancer;
use kit::database::Database;
use kit::http::{Ask, Connection};
use kit::legacy_sse::LegacySse;
use kit::mcp::Speak;
use kit::modern::Modern;
use kit::platform::{ADMIN, KEYS, Platform, SERVERS, id_of, remote};
use kit::room::Room;
use kit::service::Wire;
use kit::streamable::Streamable;
use kit::way::Way;
use kit::{LIMIT, bin, ledger, process, run, say};
use rustix::process::Signal;
use serde_json::json;

use super::echoing;

pub(super) const ABLE: &str = r#"{"elicitation":{}}"#;
pub(super) const ASKED: &str = r#"{"message":"who?","requestedSchema":{"type":"object"}}"#;
pub(super) const ANSWER: &str = r#"{"action":"accept","content":{"name":"x"}}"#;

/// Some replicas, and the way to all of them.
pub(super) struct Cluster {
    balancer: Balancer,
    pub(super) replicas: Vec<Platform>,
    pub(super) key: String,
    _database: Database,
}

impl Cluster {
    /// The config file, if there is one, is the same for all; each has its own processes of the servers in it.
    pub(super) fn start(room: &Room, count: usize, flags: &[&str]) -> Self {
        let database = Database::new();
        let url = database.direct_url();
        let flags = [&["--store", &url], flags].concat();
        let replicas: Vec<_> = (0..count).map(|_| room.platform(&flags)).collect();
        let key = replicas[0].key("caller");
        let balancer = Balancer::new(addresses(&replicas));
        Self { balancer, replicas, key, _database: database }
    }

    fn bearer(&self) -> String {
        format!("Bearer {}", self.key)
    }

    /// A session through the balancer.
    fn session(&self) -> Streamable {
        let bearer = self.bearer();
        let headers = [("Authorization", &bearer[..])];
        let client = Streamable::with_headers(self.balancer.address(), "/mcp", &headers);
        client.initialize("2025-11-25").result();
        client
    }

    fn modern(&self) -> Modern {
        let bearer = self.bearer();
        let headers = [("Authorization", &bearer[..])];
        Modern::http_with(self.balancer.address(), ABLE, &headers)
    }

    /// Waits until every replica can call it.
    pub(super) fn wait_tool(&self, name: &str) {
        for replica in &self.replicas {
            process::wait_until("each replica has the tool", 2 * LIMIT, || {
                replica.tool_names(&self.key).iter().any(|known| known == name)
            });
        }
    }
}

fn addresses(replicas: &[Platform]) -> Vec<SocketAddr> {
    replicas.iter().map(|replica| replica.serve().address()).collect()
}

pub(super) fn config(room: &Room) -> String {
    room.path("mcp.json").to_str().expect("UTF-8").to_owned()
}

#[test]
fn a_session_goes_on_at_whatever_replica_its_requests_come_to() {
    let room = Room::new();
    room.config([("a", echoing(&room, "a").entry())]);
    let cluster = Cluster::start(&room, 3, &["--config", &config(&room)]);
    cluster.wait_tool("a.echo");
    let client = cluster.session();
    for n in 0..30 {
        client.assert_echo("a", "echo", &format!(r#"{{"n":{n}.0,"text":"\u00e9"}}"#));
    }
    assert_eq!(client.list_names(), ["a.echo"]);
    assert_eq!(client.delete(), 204);
    let over = client.post(kit::mcp::call("1", "a.echo", "{}"));
    assert_eq!(over.status, 404, "{}", over.raw);
}

#[test]
fn the_transport_of_2024_works_at_whatever_replica_its_posts_come_to() {
    let room = Room::new();
    room.config([("a", echoing(&room, "a").entry())]);
    let cluster = Cluster::start(&room, 3, &["--config", &config(&room)]);
    cluster.wait_tool("a.echo");
    let bearer = cluster.bearer();
    let headers = [("Authorization", &bearer[..])];
    let client = LegacySse::with_headers(cluster.balancer.address(), "/sse", &headers);
    client.initialize("2024-11-05").result();
    for n in 0..12 {
        client.assert_echo("a", "echo", &format!(r#"{{"n":{n}}}"#));
    }
}

#[test]
fn what_a_server_asks_is_answered_over_whatever_replica() {
    let room = Room::new();
    let heard = say::result(r#"{"content":[],"structuredContent":{"heard":@ANSWER@}}"#);
    let ask = say::steps([say::ask("elicitation/create", ASKED), heard]);
    let rounds = say::modern::rounds([
        say::steps([say::modern::input_required(
            &[("k", "elicitation/create", ASKED)],
            Some(r#""2:mine""#),
        )]),
        say::steps([say::text("without its state")]),
        say::steps([say::result(r#"{"content":[],"resultType":"complete"}"#)]),
    ]);
    let legacy = room.fake("legacy").tool("ask", ask);
    let modern = room.fake("modern").modern().tool("ask", rounds);
    room.config([("legacy", legacy.entry()), ("modern", modern.entry())]);
    let cluster = Cluster::start(&room, 3, &["--config", &config(&room)]);
    cluster.wait_tool("legacy.ask");
    cluster.wait_tool("modern.ask");
    let client = cluster.modern();
    // With three replicas the retry of an even number of requests comes to another one each time.
    for server in ["legacy", "modern"] {
        let call = format!(r#"{{"name":"{server}.ask","arguments":{{}}}}"#);
        for n in 0..20 {
            let round = client.ask("tools/call", &call).round();
            let again = round.answered(&call, |_| ANSWER.to_owned());
            let answer = client.ask("tools/call", &again);
            assert!(answer.try_result().is_some(), "{server} {n}: {answer}");
        }
    }
    let calls = ledger::calls(&room.ledger("legacy")).len();
    assert_eq!(calls, 20, "each ran once");
}

#[test]
fn a_task_is_asked_for_at_whatever_replica() {
    let room = Room::new();
    let made = r#"{"resultType":"task","taskId":"t-1","status":"working"}"#;
    let told = r#"{"resultType":"complete","taskId":"t-1"}"#;
    let server = room
        .fake("a")
        .modern()
        .tool("slow", say::steps([say::result(made)]))
        .on("tasks/get", say::steps([say::result(told)]));
    let other = room.fake("b").modern().tool("x", say::echo());
    room.config([("a", server.entry()), ("b", other.entry())]);
    let cluster = Cluster::start(&room, 3, &["--config", &config(&room)]);
    cluster.wait_tool("a.slow");
    let client = cluster.modern();
    client.ask("tools/call", r#"{"name":"a.slow","arguments":{}}"#).result();
    for _ in 0..6 {
        client.ask("tasks/get", r#"{"taskId":"t-1"}"#).result();
    }
    let nobodys = client.ask("tasks/get", r#"{"taskId":"t-2"}"#);
    assert_eq!(nobodys.code(), -32602, "{nobodys}");
}

#[test]
fn a_broken_stream_is_resumed_at_another_replica() {
    let room = Room::new();
    room.config([("a", echoing(&room, "a").entry())]);
    let cluster = Cluster::start(&room, 2, &["--config", &config(&room)]);
    cluster.wait_tool("a.echo");
    let client = cluster.session();
    assert_eq!(client.listen(), 200);
    // The lists change, which is told on the stream.
    let service = echoing(&room, "b").listen(Wire::Http);
    cluster.replicas[0].connected("b", &service);
    cluster.wait_tool("b.echo");
    process::wait_until("an event came", 2 * LIMIT, || {
        client.last_event().is_some_and(|id| !id.ends_with("-0"))
    });
    let last = client.last_event().expect("an event");
    client.unlisten();
    for _ in 0..4 {
        assert_eq!(client.listen_from(Some(&last)), 200);
        client.unlisten();
    }
    client.assert_echo("b", "echo", "{}");
}

#[test]
fn when_the_holder_of_a_session_has_died_its_client_begins_another() {
    let room = Room::new();
    let wait = say::steps([say::gate(&room, "go"), say::text("waited")]);
    let server = echoing(&room, "a").tool("wait", wait);
    let service = server.listen(Wire::Http);
    let mut cluster = Cluster::start(&room, 2, &[]);
    cluster.replicas[0].connected("a", &service);
    cluster.wait_tool("a.wait");
    let holder = cluster.replicas.remove(0);
    // Opened at one replica; everything else comes to the other.
    let bearer = cluster.bearer();
    let headers = [("Authorization", &bearer[..])];
    let balancer = Balancer::new(vec![holder.serve().address()]);
    let client = Streamable::with_headers(balancer.address(), "/mcp", &headers);
    client.initialize("2025-11-25").result();
    balancer.set(addresses(&cluster.replicas));
    client.assert_echo("a", "echo", "{}");
    let open = client.begin("a.wait", "{}");
    process::wait_until("the call runs", 2 * LIMIT, || ledger::calls(&room.ledger("a")).len() == 2);
    holder.serve().process().signal(Signal::KILL);
    let answer = client.answer(&open, 2 * LIMIT);
    // A process that ends closes one socket after the other: its listener may be the last.
    holder.serve().process().wait_exit(2 * LIMIT);
    assert_eq!(answer.code(), -31017, "{answer}");
    assert!(answer.to_string().contains("may have run"), "{answer}");
    let gone = client.post(kit::mcp::call("9", "a.echo", "{}"));
    assert_eq!(gone.status, 404, "{}", gone.raw);
    assert_eq!(ledger::calls(&room.ledger("a")).len(), 2, "it did not run");
    let again = Streamable::with_headers(balancer.address(), "/mcp", &headers);
    again.initialize("2025-11-25").result();
    again.assert_echo("a", "echo", "{}");
}

#[test]
fn a_key_that_was_revoked_opens_no_session_at_any_replica() {
    let room = Room::new();
    room.config([("a", echoing(&room, "a").entry())]);
    let cluster = Cluster::start(&room, 3, &["--config", &config(&room)]);
    cluster.wait_tool("a.echo");
    let made = cluster.replicas[1].make_key(&json!({ "name": "x", "role": "caller" }));
    let bearer = format!("Bearer {}", made["key"].as_str().expect("a key"));
    let headers = [("Authorization", &bearer[..])];
    let client = Streamable::with_headers(cluster.balancer.address(), "/mcp", &headers);
    client.initialize("2025-11-25").result();
    client.assert_echo("a", "echo", "{}");
    let path = format!("{KEYS}/{}", made["id"].as_str().expect("an id"));
    assert_eq!(cluster.replicas[2].admin().delete(&path).status(), 204);
    let call = || client.dress(Ask::post("/mcp", kit::mcp::call("9", "a.echo", "{}")));
    for replica in &cluster.replicas {
        let status = || Connection::open(replica.serve().address()).ask(&call()).status();
        process::wait_until("it is refused", 2 * LIMIT, || status() == 401);
    }
    // Somebody else's session is none, wherever it is.
    let mine = cluster.session();
    mine.assert_echo("a", "echo", "{}");
    let other = format!("Bearer {}", cluster.replicas[0].key("caller"));
    for replica in &cluster.replicas {
        let ask = mine.dress(Ask::post("/mcp", kit::mcp::call("9", "a.echo", "{}")));
        let ask = ask.header("Authorization", &other);
        let answer = Connection::open(replica.serve().address()).ask(&ask);
        assert_eq!(answer.status(), 404, "{}", answer.text());
    }
}

#[test]
fn nobody_but_a_replica_passes_a_request_on() {
    let room = Room::new();
    room.config([("a", echoing(&room, "a").entry())]);
    let cluster = Cluster::start(&room, 2, &["--config", &config(&room)]);
    cluster.wait_tool("a.echo");
    let [one, other] = [0, 1].map(|at| cluster.replicas[at].serve().address());
    let ask = Ask::new("POST", "/replicas/forward").header("Trunkline-Request", "AAAA").body("x");
    for address in [one, other] {
        let answer = Connection::open(address).ask(&ask);
        assert_eq!(answer.status(), 401, "{}", answer.text());
    }
    let session = cluster.session();
    session.assert_echo("a", "echo", "{}");
    let id = session.session().expect("a session");
    for word in [&one.to_string(), &other.to_string(), &one.port().to_string()] {
        assert!(!id.contains(word.as_str()), "{id}");
    }
    // A name that was changed names nobody.
    for at in [31, 32, 40, id.len() - 1] {
        let mut changed = id.clone().into_bytes();
        changed[at] = if changed[at] == b'a' { b'b' } else { b'a' };
        let changed = String::from_utf8(changed).expect("text");
        for address in [one, other] {
            let ask = session.dress(Ask::post("/mcp", kit::mcp::call("9", "a.echo", "{}")));
            let ask = ask.header("Mcp-Session-Id", &changed);
            let answer = Connection::open(address).ask(&ask);
            assert_eq!(answer.status(), 404, "{at}: {}", answer.text());
        }
    }
}

#[test]
fn a_request_between_replicas_is_taken_once_and_shows_no_secret() {
    let room = Room::new();
    room.config([("a", echoing(&room, "a").entry())]);
    let database = Database::new();
    let url = database.direct_url();
    let file = config(&room);
    let port = kit::port::free();
    let tap = kit::tap::Tap::to(SocketAddr::from(([127, 0, 0, 1], port)));
    let listen = format!("127.0.0.1:{port}");
    let reached = format!("http://{}", tap.address());
    let holder = room.platform(&[
        "--store",
        &url,
        "--config",
        &file,
        "--listen",
        &listen,
        "--replica-address",
        &reached,
    ]);
    let other = room.platform(&["--store", &url, "--config", &file]);
    let key = holder.key("caller");
    process::wait_until("both have the tool", 2 * LIMIT, || {
        [&holder, &other].iter().all(|replica| replica.tool_names(&key) == ["a.echo"])
    });
    let bearer = format!("Bearer {key}");
    let headers = [("Authorization", &bearer[..])];
    let balancer = Balancer::new(vec![holder.serve().address()]);
    let client = Streamable::with_headers(balancer.address(), "/mcp", &headers);
    client.initialize("2025-11-25").result();
    balancer.set(vec![other.serve().address()]);
    client.assert_echo("a", "echo", r#"{"word":"hunter2"}"#);
    let seen = tap.sent();
    let at = seen.windows(5).position(|part| part == b"POST ").expect("a request passed");
    let text = String::from_utf8_lossy(&seen);
    for secret in [key.as_str(), "hunter2", "Bearer", &client.session().expect("a session")] {
        assert!(!text.contains(secret), "{secret} passed in clear");
    }
    let calls = ledger::calls(&room.ledger("a")).len();
    let mut again = Connection::open(holder.serve().address());
    again.send(&seen[at..]);
    assert_eq!(again.response(LIMIT).status(), 409, "it was here before");
    let mut elsewhere = Connection::open(other.serve().address());
    elsewhere.send(&seen[at..]);
    assert_eq!(elsewhere.response(LIMIT).status(), 421, "it is for another");
    assert_eq!(ledger::calls(&room.ledger("a")).len(), calls, "it ran once");
}

#[test]
fn a_round_goes_on_after_a_restart_and_after_the_key_was_changed() {
    let room = Room::new();
    let rounds = say::modern::rounds([
        say::steps([say::modern::input_required(
            &[("k", "elicitation/create", ASKED)],
            Some(r#""2:mine""#),
        )]),
        say::steps([say::text("without its state")]),
        say::steps([say::result(r#"{"content":[],"resultType":"complete"}"#)]),
    ]);
    let service = room.fake("a").modern().tool("ask", rounds).listen(Wire::Http);
    let platform = room.platform(&[]);
    let id = platform.connected("a", &service);
    let key = platform.key("caller");
    let bearer = format!("Bearer {key}");
    let headers = [("Authorization", &bearer[..])];
    let call = r#"{"name":"a.ask","arguments":{}}"#;
    let stop = |platform: Platform| {
        platform.serve().process().signal(Signal::TERM);
        platform.serve().process().wait_exit(LIMIT);
    };
    let client = Modern::http_with(platform.serve().address(), ABLE, &headers);
    let round = client.ask("tools/call", call).round();
    stop(platform);
    let platform = room.platform(&[]);
    platform.wait_status(&id, "CONNECTED");
    let client = Modern::http_with(platform.serve().address(), ABLE, &headers);
    client.ask("tools/call", &round.answered(call, |_| ANSWER.to_owned())).result();
    let round = client.ask("tools/call", call).round();
    stop(platform);
    let mut rotate = Command::new(bin::trunkline());
    rotate.args(["key", "rotate", "--data-dir"]).arg(room.path("data"));
    let done = run::run(rotate, b"");
    assert_eq!(done.code, Some(0), "{done}");
    let platform = room.platform(&[]);
    platform.wait_status(&id, "CONNECTED");
    let client = Modern::http_with(platform.serve().address(), ABLE, &headers);
    client.ask("tools/call", &round.answered(call, |_| ANSWER.to_owned())).result();
}

#[test]
fn a_replica_that_does_not_hear_its_store_refuses_keys_after_a_while_and_takes_them_again() {
    let database = Database::new();
    let way = Way::to(database.behind());
    let room = Room::new();
    let service = echoing(&room, "a").listen(Wire::Http);
    let platform = room.platform(&["--store", &database.url(&way), "--max-stale", "5s"]);
    let id = platform.connected("a", &service);
    let key = platform.key("caller");
    let client = platform.mcp(&key);
    client.assert_echo("a", "echo", "{}");
    let address = platform.serve().address();
    let ready = || Connection::open(address).ask(&Ask::get("/readyz"));
    let call = || client.dress(Ask::post("/mcp", kit::mcp::call("9", "a.echo", "{}")));
    let status = || Connection::open(address).ask(&call()).status();
    assert_eq!((ready().status(), status()), (200, 200));
    way.cut();
    process::wait_until("the key is refused", 4 * LIMIT, || status() == 503);
    let answer = Connection::open(address).ask(&call());
    assert!(answer.text().contains("--max-stale"), "{}", answer.text());
    assert_eq!(answer.head.header("retry-after"), Some("5"));
    let unready = ready();
    assert_eq!(unready.status(), 503);
    assert!(unready.text().contains("degraded"), "{}", unready.text());
    let rest = platform.rest(Some(&key));
    rest.get("/api/v1/tools").problem(503, "store-unavailable");
    // Whoever runs it is let in, and sees why.
    assert_eq!(platform.server(&id)["status"], "CONNECTED");
    let metrics = platform.rest(Some(ADMIN)).get("/metrics");
    assert!(
        metrics.response.text().contains("trunkline_keys_stale 1"),
        "{}",
        metrics.response.text()
    );
    platform.serve().process().wait_stderr(&["API keys are refused"], LIMIT);
    way.join();
    process::wait_until("the key is taken again", 4 * LIMIT, || status() == 200);
    client.assert_echo("a", "echo", "{}");
    process::wait_until("it is ready again", 2 * LIMIT, || ready().status() == 200);
}

#[test]
fn what_was_written_at_one_replica_is_read_at_the_next() {
    let room = Room::new();
    let cluster = Cluster::start(&room, 3, &[]);
    let service = echoing(&room, "a").listen(Wire::Http);
    let through = kit::rest::Rest::new(cluster.balancer.address(), Some(ADMIN));
    for n in 0..9 {
        let mut body = remote(&format!("s{n}"), &service);
        body["auto_connect"] = json!(false);
        let id = id_of(&through.post(SERVERS, &body).is(201));
        assert_eq!(through.get(&format!("{SERVERS}/{id}")).is(200)["name"], format!("s{n}"));
    }
}
