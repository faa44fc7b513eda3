//! Good tokens: in both eras and over REST, for what their scopes say, and nowhere but here.

use kit::http::{Ask, Connection};
use kit::mcp::Speak as _;
use kit::process::wait_until;
use kit::room::Room;
use kit::serve::Serve;
use kit::service::Wire;
use kit::streamable::Streamable;
use kit::{LIMIT, ledger, mcp, say, scan};
use serde_json::json;

use super::issuer::{Issuer, now};
use super::{INITIALIZE, ME, Scene, challenge, command, json_of, pause, shows};

const CALL: &str = "/api/v1/tools/call";

#[test]
fn a_good_token_is_good_in_both_eras_and_over_rest() {
    let scene = Scene::new();
    let token = scene.token(&json!({}));
    let bearer = format!("Bearer {token}");
    let headers = [("Authorization", &bearer[..])];
    let session = Streamable::with_headers(scene.serve.address(), "/mcp", &headers);
    session.initialize("2025-11-25").result();
    assert_eq!(session.listen(), 200);
    let answered = session.call("a.echo", r#"{"x":1}"#);
    assert!(scan::get(answered.result(), "content").is_some(), "{answered}");

    let modern = scene.serve.modern("{}");
    let ask = modern.dress(mcp::call("7", "a.echo", r#"{"x":2}"#));
    let refused = modern.post(&ask);
    assert_eq!(refused.status(), 401, "{}", refused.text());
    let answered = modern.post(&shows(ask, &token));
    assert_eq!(answered.status(), 200, "{}", answered.text());
    assert!(answered.text().contains(r#""content""#), "{}", answered.text());

    let me = json_of(&scene.get(ME, &token));
    assert_eq!((&me["name"], &me["role"]), (&json!("alice"), &json!("caller")), "{me}");
    let called = scene.post(CALL, &json!({"name": "a.echo", "arguments": {"x": 3}}), &token);
    assert_eq!(called.status(), 200, "{}", called.text());
    assert_eq!(scene.issuer.fetches(), 1);
}

#[test]
fn every_way_to_sign_that_is_accepted() {
    let scene = Scene::new();
    for (algorithm, kid, kind) in [
        ("RS256", "rsa", json!("JWT")),
        ("PS256", "rsa", json!("at+jwt")),
        ("ES256", "p256", json!("application/at+jwt")),
        ("EdDSA", "ed", json!("AT+JWT")),
    ] {
        let header = json!({"alg": algorithm, "kid": kid, "typ": kind}).to_string();
        let claims = scene.issuer.claims(&scene.audience(), &json!({}));
        let token = scene.issuer.signer.sign(algorithm, &header, &claims);
        assert_eq!(scene.mcp(&token).status(), 200, "{algorithm}");
        assert_eq!(scene.get(ME, &token).status(), 200, "{algorithm}");
    }
    // Clocks may be a minute apart, and a token be for several.
    for other in [
        json!({"exp": now() - 30}),
        json!({"nbf": now() + 30}),
        json!({"aud": ["https://other.example.com", scene.audience()]}),
        json!({"scope": null, "scp": ["mcp:call"]}),
    ] {
        assert_eq!(scene.get(ME, &scene.token(&other)).status(), 200, "{other}");
    }
}

#[test]
fn scopes_are_roles() {
    let scene = Scene::new();
    let server = json!({
        "name": "b", "transport_type": "HTTP", "auto_connect": false,
        "connection_config": {"url": "https://tools.example.com/mcp"},
    });
    let call = json!({"name": "a.echo", "arguments": {}});
    let key = json!({"name": "k", "role": "viewer"});
    let at = format!(r#"resource_metadata="{}""#, scene.metadata_url());
    // What each may: see tools, speak MCP, call, register a server, make a key.
    for (scope, role, expected) in [
        ("", None, [403, 403, 403, 403, 403]),
        ("openid profile", None, [403, 403, 403, 403, 403]),
        ("mcp:read", Some("viewer"), [200, 403, 403, 403, 403]),
        ("admin:read openid", Some("viewer"), [200, 403, 403, 403, 403]),
        ("mcp:call", Some("caller"), [200, 200, 200, 403, 403]),
        ("mcp:read admin:write", Some("operator"), [200, 200, 200, 201, 403]),
        ("admin:full", Some("admin"), [200, 200, 200, 409, 201]),
    ] {
        let token = scene.scoped(scope);
        let answers = [
            scene.get("/api/v1/tools", &token),
            scene.mcp(&token),
            scene.post(CALL, &call, &token),
            scene.post("/api/v1/aggregator/servers", &server, &token),
            scene.post("/api/v1/keys", &key, &token),
        ];
        assert_eq!(answers.each_ref().map(|answer| answer.status()), expected, "{scope}");
        let needed = ["mcp:read", "mcp:call", "mcp:call", "admin:write", "admin:full"];
        for (answer, needed) in answers.iter().zip(needed) {
            let told = challenge(answer);
            let wanted = format!(r#"error="insufficient_scope", scope="{needed}", {at}"#);
            assert_eq!(answer.status() == 403, told.contains(&wanted), "{scope}: {told}");
        }
        let me = json_of(&scene.get(ME, &token));
        assert_eq!(me["role"].as_str(), role, "{me}");
    }
}

#[test]
fn a_session_is_its_subjects_and_ends_with_the_token() {
    let scene = Scene::new();
    // Good for about ten seconds more.
    let token = scene.token(&json!({"exp": now() - 50}));
    let begun = scene.mcp(&token);
    assert_eq!(begun.status(), 200, "{}", begun.text());
    let id = begun.head.header("mcp-session-id").unwrap().to_owned();
    let list = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;
    let list = Ask::post("/mcp", list).header("Mcp-Session-Id", &id);
    assert_eq!(scene.ask(&shows(list.clone(), &token)).status(), 200);
    let bobs = scene.token(&json!({"sub": "bob"}));
    assert_eq!(scene.ask(&shows(list.clone(), &bobs)).status(), 404);

    let listen = Ask::get("/mcp").header("Accept", "text/event-stream");
    let listen = listen.header("Mcp-Session-Id", &id);
    let mut stream = Connection::open(scene.serve.address());
    stream.begin(&shows(listen, &token));
    assert_eq!(stream.head(LIMIT).status, 200);
    while stream.event(LIMIT).is_some() {}
    // The stream has ended, and with it the session: it was not renewed in time.
    assert_eq!(scene.mcp(&token).status(), 401);
    assert_eq!(scene.ask(&shows(list, &scene.token(&json!({})))).status(), 404);
}

#[test]
fn a_session_goes_on_with_a_new_token_of_the_same_subject() {
    let scene = Scene::new();
    let short = scene.token(&json!({"exp": now() - 50}));
    let begun = scene.mcp(&short);
    let id = begun.head.header("mcp-session-id").unwrap().to_owned();
    let list = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;
    let list = Ask::post("/mcp", list).header("Mcp-Session-Id", &id);
    let fresh = scene.token(&json!({}));
    assert_eq!(scene.ask(&shows(list.clone(), &fresh)).status(), 200);
    wait_until("the old token is over", LIMIT, || {
        pause();
        scene.mcp(&short).status() == 401
    });
    assert_eq!(scene.ask(&shows(list, &fresh)).status(), 200);
}

#[test]
fn a_token_travels_no_further() {
    let (room, issuer) = (Room::new(), Issuer::start());
    let env = say::steps([say::result(r#"{"content":[],"env":@ENV@,"argv":@ARGV@}"#)]);
    let remote = room.fake("remote").tool("echo", say::echo()).listen(Wire::Http);
    let old = room.fake("old").tool("echo", say::echo()).listen(Wire::Sse);
    let local = room.fake("local").tool("echo", say::echo()).tool("env", env);
    room.config([("local", local.entry()), ("remote", remote.entry()), ("old", old.entry())]);
    let flags = ["--issuer", &issuer.url(), "--debug"];
    let serve = Serve::start(command(&room, &flags));
    let token = issuer.token(&format!("http://{}/mcp", serve.address()), &json!({}));
    let bearer = format!("Bearer {token}");

    let headers = [("Authorization", &bearer[..])];
    let session = Streamable::with_headers(serve.address(), "/mcp", &headers);
    session.initialize("2025-11-25").result();
    for tool in ["local.echo", "remote.echo", "old.echo"] {
        session.call(tool, "{}").result();
        let modern = serve.modern("{}");
        let answered = modern.post(&shows(modern.dress(mcp::call("7", tool, "{}")), &token));
        assert_eq!(answered.status(), 200, "{tool}: {}", answered.text());
        let body = json!({"name": tool, "arguments": {}}).to_string();
        let ask = shows(Ask::post(CALL, body), &token);
        let answered = Connection::open(serve.address()).ask(&ask);
        assert_eq!(answered.status(), 200, "{tool}: {}", answered.text());
    }
    let seen = session.call("local.env", "{}");
    let mut places = vec![("the environment", seen.result().to_vec())];
    for server in ["local", "remote", "old"] {
        assert!(ledger::calls(&room.ledger(server)).len() >= 3, "{server} was called");
        places.push((server, std::fs::read(room.ledger(server)).unwrap()));
    }
    for head in ledger::heads_of(&room.ledger("remote"), "tools/call") {
        assert_eq!(head.header("authorization"), None);
    }
    places.push(("the log", serve.process().stderr().into_bytes()));
    let mut folders = vec![room.path("data")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            match entry.file_type().unwrap().is_dir() {
                true => folders.push(entry.path()),
                false => places.push(("the data directory", std::fs::read(entry.path()).unwrap())),
            }
        }
    }
    // Each part of it alone would be too much.
    for part in token.split('.') {
        for (place, bytes) in &places {
            let found = bytes.windows(part.len()).any(|window| window == part.as_bytes());
            assert!(!found, "{place}");
        }
    }
}

#[test]
fn other_credentials_are_as_good_as_before() {
    let scene = Scene::with(Issuer::start(), &["--token", "s3cret-of-the-tests"]);
    assert_eq!(scene.get(ME, super::ADMIN).status(), 200);
    assert_eq!(scene.mcp("s3cret-of-the-tests").status(), 200);
    let made = scene.post("/api/v1/keys", &json!({"name": "k", "role": "caller"}), super::ADMIN);
    let key = json_of(&made)["key"].as_str().unwrap().to_owned();
    assert_eq!(scene.mcp(&key).status(), 200);
    // Without any, clients on this machine hear who gives them some.
    let none = scene.ask(&Ask::post("/mcp", INITIALIZE));
    assert_eq!(none.status(), 401);
    let at = scene.metadata_url();
    let expected =
        format!(r#"Bearer realm="trunkline", scope="mcp:call", resource_metadata="{at}""#);
    assert_eq!(challenge(&none), expected);
}
