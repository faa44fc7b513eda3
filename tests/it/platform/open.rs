//! Who may speak MCP to a platform without a token: nobody, unless `--open` says so, and nobody once there is
//! a key.

use kit::http::{Ask, Connection};
use kit::mcp::{self, Speak};
use kit::platform::{KEYS, Platform, id_of};
use kit::process::wait_until;
use kit::room::{MARK, Room};
use kit::run::run;
use kit::{LIMIT, scan};
use serde_json::json;

/// Every way in.
fn ways() -> Vec<(&'static str, Ask)> {
    let initialize = mcp::initialize("1", "2025-11-25");
    let stateless = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    vec![
        ("POST /mcp", Ask::post("/mcp", initialize.clone())),
        ("POST /mcp/for/cursor", Ask::post("/mcp/for/cursor", initialize.clone())),
        ("stateless", Ask::post("/mcp", stateless).header("MCP-Protocol-Version", "2026-07-28")),
        ("GET /mcp", Ask::get("/mcp").header("Accept", "text/event-stream")),
        ("DELETE /mcp", Ask::new("DELETE", "/mcp").header("Mcp-Session-Id", "x")),
        ("GET /sse", Ask::get("/sse").header("Accept", "text/event-stream")),
        ("POST /messages", Ask::post("/messages?sessionId=x", initialize)),
    ]
}

#[track_caller]
fn status(platform: &Platform, ask: &Ask) -> u16 {
    let mut connection = Connection::open(platform.serve().address());
    connection.begin(ask);
    connection.head(LIMIT).status
}

fn initialize() -> Ask {
    Ask::post("/mcp", mcp::initialize("1", "2025-11-25"))
}

#[test]
fn trust_1_a_platform_takes_nobody_without_a_credential() {
    for flags in
        [&[][..], &["--public-url", "https://tools.example"], &["--allow-host", "tools.example"]]
    {
        let room = Room::new();
        let platform = room.platform(flags);
        for (way, ask) in ways() {
            for ask in [
                ask.clone(),
                // What a proxy on this machine passes on.
                ask.clone()
                    .header("X-Forwarded-For", "203.0.113.7")
                    .header("X-Forwarded-Proto", "https"),
                ask.clone()
                    .header("Host", "tools.example")
                    .header("Origin", "https://tools.example"),
            ] {
                let expected: &[u16] = if flags.is_empty() { &[401, 403] } else { &[401] };
                let got = status(&platform, &ask);
                assert!(expected.contains(&got), "{flags:?} {way}: {got}");
            }
        }
        let refused = Connection::open(platform.serve().address()).ask(&initialize());
        assert!(refused.head.header("www-authenticate").is_some(), "{}", refused.head.raw);
        let body = refused.text();
        for words in ["Authorization: Bearer", "/api/v1/keys", "dashboard"] {
            assert!(body.contains(words), "it says what to do: {body}");
        }
        assert!(!platform.serve().process().stderr().contains("MCP is open"), "it is not");
        assert_eq!(platform.admin().get("/api/v1/settings").is(200)["mcp_without_token"], false);
        platform.mcp(&platform.key("caller"));
    }
}

#[test]
fn trust_1_an_open_platform_says_so_and_a_key_closes_it_at_once() {
    let room = Room::new();
    room.config([("a", super::echoing(&room, "a").entry())]);
    let config = room.path("mcp.json");
    let config = ["--open", "--config", config.to_str().expect("UTF-8")];
    let platform = room.platform(&config);
    let told = |words: &str| platform.serve().process().stderr().matches(words).count();
    assert_eq!(told("MCP is open: every user and program of this machine"), 1);
    assert_eq!(platform.admin().get("/api/v1/settings").is(200)["mcp_without_token"], true);
    let session = platform.serve().http();
    session.assert_echo("a", "echo", "{}");
    let wrong = initialize().header("Authorization", "Bearer wrong");
    assert_eq!(status(&platform, &wrong), 401, "a wrong token is not as good as none");

    let made = platform.make_key(&json!({ "name": "ci", "role": "caller", "tools": ["b.*"] }));
    assert_eq!(
        status(&platform, &initialize()),
        401,
        "whoever has a key must not get more without it"
    );
    wait_until("it is told", LIMIT, || told("MCP is closed from now on") == 1);
    assert_eq!(platform.admin().get("/api/v1/settings").is(200)["mcp_without_token"], false);
    // What was open ends as that of a revoked key does.
    let ask = session.dress(Ask::post("/mcp", r#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#));
    assert_eq!(status(&platform, &ask), 401);

    let again = room.platform(&config);
    assert_eq!(status(&again, &initialize()), 401, "a key that was there before");
    let stderr = again.serve().process().stderr();
    assert!(stderr.contains("MCP is closed although it was to be open"), "{stderr}");
    drop(again);

    platform.admin().delete(&format!("{KEYS}/{}", id_of(&made)));
    wait_until("it is open again", LIMIT, || status(&platform, &initialize()) == 200);
    wait_until("it is told", LIMIT, || told("MCP is open again") == 1);
}

#[test]
fn trust_1_what_others_reach_cannot_be_open() {
    let room = Room::new();
    for (flags, words) in [
        (&["--open", "--public-url", "https://tools.example"][..], ["--public-url", "a proxy"]),
        (&["--open", "--allow-host", "tools.example"], ["--allow-host", "API key"]),
        (&["--open", "--proxy-protocol", "127.0.0.2/32"], ["--proxy-protocol", "API key"]),
        (&["--open", "--issuer", "https://id.example"], ["--issuer", "API key"]),
        (&["--open", "--token", "sixteen-letters!"], ["--token", "Leave --open away"]),
        (&["--open", "--listen", "0.0.0.0:0"], ["reached from other machines", "token"]),
    ] {
        run(room.platform_command(flags), b"").bad(2, &words);
    }
    assert!(!room.path("data").exists(), "nothing was started");
    room.config([("a", super::echoing(&room, "a").entry())]);
    for flags in [
        &["--public-url", "https://tools.example"],
        &["--allow-host", "tools.example"],
        &["--proxy-protocol", "127.0.0.2/32"],
    ] {
        run(room.serve_command(flags), b"").bad(2, &[flags[0], "TRUNKLINE_TOKEN", "--data-dir"]);
    }
    let token = "correct-horse-battery";
    let serve = room.serve(&["--allow-host", "tools.example", "--token", token]);
    let ask = initialize().header("Host", "tools.example");
    assert_eq!(Connection::open(serve.address()).ask(&ask).status(), 401);
    let ask = ask.header("Authorization", &format!("Bearer {token}"));
    assert_eq!(Connection::open(serve.address()).ask(&ask).status(), 200);
}

#[test]
fn trust_1_two_authorization_headers_are_a_bad_request() {
    let room = Room::new();
    room.config([("a", super::echoing(&room, "a").entry())]);
    let plain = room.serve(&[]);
    let (platform, bearer) =
        (room.platform(&["--open"]), format!("Bearer {}", kit::platform::ADMIN));
    let mut asked = ways();
    asked.push(("GET /api/v1/me", Ask::get("/api/v1/me")));
    asked.push(("GET /", Ask::get("/")));
    for address in [plain.address(), platform.serve().address()] {
        for (way, ask) in &asked {
            for (one, other) in
                [(&*bearer, &*bearer), ("Bearer x", &bearer), ("Bearer x", "Bearer y")]
            {
                let ask = ask.clone().another("Authorization", one).another("Authorization", other);
                let answer = Connection::open(address).ask(&ask);
                assert_eq!(answer.status(), 400, "{way}");
                assert!(answer.text().contains("authorization"), "{way}: {}", answer.text());
            }
        }
    }
}

#[test]
fn trust_1_the_packaged_service_is_closed() {
    let unit = concat!(env!("CARGO_MANIFEST_DIR"), "/../packaging/trunkline.service");
    let unit = std::fs::read_to_string(unit).expect("the unit");
    let start = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).expect("a command");
    assert!(start.contains(" serve ") && start.contains("--data-dir"), "{start}");
    assert!(!start.contains("--open"), "{start}");
}

#[test]
fn trust_1_the_demo_is_open_on_this_machine_only() {
    let room = Room::new();
    let demo = |flags: &[&str]| {
        let mut command = std::process::Command::new(kit::bin::trunkline());
        command.args(["serve", "--demo", "--listen", "127.0.0.1:0"]).args(flags);
        command.env("TMPDIR", room.path("")).env_remove("TRUNKLINE_TOKEN").env_remove("PORT");
        command.env(MARK, room.marker());
        kit::serve::Serve::start(command)
    };
    let open = demo(&[]);
    assert_eq!(Connection::open(open.address()).ask(&initialize()).status(), 200);
    assert!(open.process().stderr().contains("MCP is open"), "{}", open.process().stderr());
    let public = demo(&["--public-url", "https://tools.example"]);
    let refused = Connection::open(public.address()).ask(&initialize());
    assert_eq!(refused.status(), 401);
    assert!(scan::is_json(&refused.body), "{}", refused.text());
}
