//! Who may come in: the token, and a bind that others can reach.

use kit::client::Client;
use kit::http::{Ask, Connection};
use kit::legacy_sse::LegacySse;
use kit::mcp::{self, Speak};
use kit::serve::Serve;
use kit::streamable::Streamable;
use kit::{LIMIT, ledger};

use super::room;

const TOKEN: &str = "correct-horse-battery";

#[test]
fn without_the_token_every_way_in_is_closed() {
    let room = room();
    let from_flag = room.serve(&["--token", TOKEN]);
    let mut command = room.serve_command(&[]);
    command.env("TRUNKLINE_TOKEN", TOKEN);
    let from_environment = Serve::start(command);
    for serve in [from_flag, from_environment] {
        let initialize = mcp::initialize("1", "2025-11-25");
        for ask in [
            Ask::post("/mcp", initialize.clone()),
            Ask::get("/mcp").header("Accept", "text/event-stream"),
            Ask::new("DELETE", "/mcp").header("Mcp-Session-Id", "x"),
            Ask::get("/sse").header("Accept", "text/event-stream"),
            Ask::post("/messages?sessionId=x", initialize),
        ] {
            for token in [
                None,
                Some("Bearer wrong".to_owned()),
                Some("Bearer".to_owned()),
                Some("Bearer ".to_owned()),
                Some(format!("Basic {TOKEN}")),
                Some(TOKEN.to_owned()),
                Some(format!("Bearer {TOKEN}x")),
                Some(format!("Bearer {}", &TOKEN[..TOKEN.len() - 1])),
                Some(format!("Bearer {}", TOKEN.to_uppercase())),
            ] {
                let ask = match &token {
                    Some(token) => ask.clone().header("Authorization", token),
                    None => ask.clone(),
                };
                let response = Connection::open(serve.address()).ask(&ask);
                assert_eq!(response.status(), 401, "{ask:?}");
                let challenge = response.head.header("www-authenticate").unwrap_or_default();
                assert!(challenge.starts_with("Bearer"), "{}", response.head.raw);
            }
        }
        let bearer = format!("Bearer {TOKEN}");
        let headers = [("Authorization", &bearer[..])];
        let http = Streamable::with_headers(serve.address(), "/mcp", &headers);
        http.initialize("2025-11-25").result();
        http.assert_echo("a", "echo", "{}");
        assert_eq!(http.listen(), 200);
        let sse = LegacySse::with_headers(serve.address(), "/sse", &headers);
        sse.initialize("2025-11-25").result();
        sse.assert_echo("a", "echo", "{}");
    }
}

#[test]
fn the_token_is_neither_logged_nor_passed_on() {
    let room = room();
    let mut command = room.serve_command(&["--debug"]);
    command.env("TRUNKLINE_TOKEN", TOKEN);
    let serve = Serve::start(command);
    let bearer = format!("Bearer {TOKEN}");
    let client = Streamable::with_headers(serve.address(), "/mcp", &[("Authorization", &bearer)]);
    client.initialize("2025-11-25").result();
    client.assert_echo("a", "echo", "{}");
    let [pid] = ledger::started(&room.ledger("a"))[..] else { panic!("one process") };
    let environment = std::fs::read(format!("/proc/{pid}/environ")).expect("its environment");
    assert!(
        !String::from_utf8_lossy(&environment).contains(TOKEN),
        "a child has no business with it"
    );
    assert!(!serve.process().stderr().contains(TOKEN), "{}", serve.process().stderr());
    for line in ledger::received(&room.ledger("a")) {
        assert!(!String::from_utf8_lossy(&line).contains(TOKEN));
    }
}

#[test]
fn a_bind_that_others_can_reach_is_refused_without_a_token() {
    let room = room();
    for listen in ["0.0.0.0:0", "[::]:0"] {
        let end = Client::run(room.serve_command(&["--listen", listen]));
        assert_eq!(end.code, Some(2), "{listen}: {end:?}");
        assert!(end.stderr.contains("--token"), "it says what to do: {end:?}");
        let end = Client::run(room.serve_command(&["--listen", listen, "--token", ""]));
        assert_eq!(end.code, Some(2), "an empty token is none: {end:?}");
        for short in ["x", "fifteen-letters"] {
            let end = Client::run(room.serve_command(&["--listen", listen, "--token", short]));
            assert_eq!(end.code, Some(2), "{short:?} can be guessed: {end:?}");
            assert!(end.stderr.contains("at least 16"), "it says what to do: {end:?}");
            assert!(!end.stderr.contains("fifteen"), "the token is not shown: {end:?}");
        }
    }
    for behind in [["--public-url", "https://a.example"], ["--allow-host", "a.example"]] {
        let end = Client::run(room.serve_command(&[&["--token", "0731"], &behind[..]].concat()));
        assert_eq!(end.code, Some(2), "a proxy lets others in: {end:?}");
        assert!(end.stderr.contains("at least 16") && end.stderr.contains(behind[0]), "{end:?}");
    }
    assert!(ledger::started(&room.ledger("a")).is_empty(), "nothing was started");
    let serve = room.serve(&["--listen", "0.0.0.0:0", "--token", TOKEN]);
    let port = serve.address().port();
    let address = std::net::SocketAddr::from(([127, 0, 0, 1], port));
    let initialize = Ask::post("/mcp", mcp::initialize("1", "2025-11-25"));
    assert_eq!(Connection::open(address).ask(&initialize).status(), 401);
    let bearer = format!("Bearer {TOKEN}");
    let ask = initialize.header("Authorization", &bearer);
    assert_eq!(Connection::open(address).ask(&ask).status(), 200);
    serve.process().signal(rustix::process::Signal::TERM);
    serve.process().wait_exit(LIMIT);
}
