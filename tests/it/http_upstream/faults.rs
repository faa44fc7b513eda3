//! K33: what an HTTP server can do to a call, as rows of the fault table.

use kit::config::Upstream;
use kit::mcp::Speak;
use kit::room::Room;
use kit::say::{self, net};
use kit::scene::{Front, each_of};
use kit::service::Wire;
use kit::{LIMIT, SOON, ledger, process};
use serde_json::{Value, json};

use crate::faults::{After, Caller, Row, TOO_LARGE, assert_own_error, check_over};

const FINE: &str = r#"{"content":[{"type":"text","text":"fine"}]}"#;

fn row(name: &'static str, bad: Value, parts: &'static [&'static str]) -> Row {
    Row { name, flags: &[], bad, caller: Caller::OwnError(parts), after: After::Lives }
}

fn harmless(name: &'static str, bad: Value) -> Row {
    Row { name, flags: &[], bad, caller: Caller::Result(FINE.to_owned()), after: After::Lives }
}

/// A whole answer with its head, framed by hand.
fn answer(head: &str, body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n{head}\r\n{body}")
}

fn fine_body() -> String {
    format!(r#"{{"jsonrpc":"2.0","id":@ID@,"result":{FINE}}}"#)
}

#[test]
fn k33_statuses_and_types_that_are_no_answer_fail_the_call() {
    let html = "<html><body>Internal Server Error</body></html>";
    let status =
        |status, headers: &[(&str, &str)], body| say::steps([net::http(status, headers, body)]);
    let web = [("Content-Type", "text/html")];
    each_of(Front::ALL, |front| {
        check_over(
            front,
            Upstream::Http,
            vec![
                row("401", status(401, &[("WWW-Authenticate", "Bearer")], ""), &["401"]),
                row("403", status(403, &web, html), &["403"]),
                row("500 with HTML", status(500, &web, html), &["500"]),
                row("502 without a body", status(502, &[], ""), &["502"]),
                row("200 with HTML", status(200, &web, html), &["text/html|content type"]),
                row("200 without a type", status(200, &[], "{}"), &[]),
                row(
                    "200 without a body",
                    say::steps([net::http(200, &[("Content-Type", "application/json")], "")]),
                    &[],
                ),
                row(
                    "202 for a request",
                    status(202, &[], ""),
                    &["202|without an answer|no answer"],
                ),
                row("204 for a request", status(204, &[], ""), &[]),
                row("302 without a place", status(302, &[], ""), &["302|redirect"]),
                row("a status of its own", status(799, &[], ""), &[]),
            ],
        );
    });
}

#[test]
fn k4_an_unreadable_error_in_the_body_of_a_refusal_is_a_broken_answer() {
    let json = [("Content-Type", "application/json")];
    let body = |error: &str| format!(r#"{{"jsonrpc":"2.0","id":@ID@,"error":{error}}}"#);
    let refusal = |name, status, error: &str| {
        row(name, say::steps([net::http(status, &json, &body(error))]), &["-31005", "`error`"])
    };
    each_of([Upstream::Http, Upstream::ModernHttp], |upstream| {
        check_over(
            Front::Stdio,
            upstream,
            vec![
                refusal("400 without a message", 400, r#"{"code":-32602}"#),
                refusal("404 without a message", 404, r#"{"code":-32001}"#),
                refusal("422 with a code that is text", 422, r#"{"code":"x","message":"m"}"#),
                refusal("400 with an error that is text", 400, r#""no""#),
                refusal("500 with an empty error", 500, "{}"),
            ],
        );
    });
}

#[test]
fn k33_broken_bodies_and_connections_fail_the_call_and_not_the_next() {
    let whole = fine_body();
    let length = |n: usize| format!("Content-Length: {n}\r\n");
    let cut = answer(&length(9_999), &whole);
    let chunk_cut = answer("Transfer-Encoding: chunked\r\n", "fff\r\n{\"jsonrpc\"");
    let chunk_bad = answer("Transfer-Encoding: chunked\r\n", "zzz\r\nx\r\n0\r\n\r\n");
    let raw = |text: String| say::steps([net::raw(text), net::hang_up()]);
    each_of(Front::ALL, |front| {
        check_over(
            front,
            Upstream::Http,
            vec![
                row("closed at once", say::steps([net::hang_up()]), &["may have run"]),
                row(
                    "closed in the head",
                    raw("HTTP/1.1 200 OK\r\nConte".to_owned()),
                    &["may have run"],
                ),
                row("a cut body", raw(cut.clone()), &["may have run"]),
                row("a cut chunk", raw(chunk_cut.clone()), &["may have run"]),
                row("a bad chunk", raw(chunk_bad.clone()), &["may have run"]),
                row(
                    "no HTTP at all",
                    raw("SSH-2.0-OpenSSH_9\r\n\r\n".to_owned()),
                    &["may have run"],
                ),
                row("a stream without an answer", say::steps([net::end()]), &["may have run"]),
                row(
                    "a stream cut after progress",
                    say::steps([say::progress(1), net::hang_up()]),
                    &["may have run"],
                ),
                row(
                    "both framings at once",
                    raw(answer("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n")),
                    &[],
                ),
            ],
        );
    });
}

#[test]
fn k33_odd_but_legal_framing_is_understood() {
    let whole =
        r#"{"jsonrpc":"2.0","id":@ID@,"result":{"content":[{"type":"text","text":"fine"}]}}"#;
    let event = format!("event: message\r\nid: 1\r\ndata: {whole}\r\n\r\n");
    let noisy = format!(": hello\n\nretry: 10\n\nevent: other\ndata: x\n\ndata:{whole}\n\n");
    let bom = format!("\u{feff}data: {whole}\n\n");
    let until_close = answer("Connection: close\r\n", whole);
    let informed = format!(
        "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n{}",
        answer("Connection: close\r\n", whole)
    );
    check_over(
        Front::Stdio,
        Upstream::Http,
        vec![
            harmless("an event in pieces of one byte", say::steps([say::pieces(1, whole)])),
            harmless(
                "CRLF and an event name",
                say::steps([net::as_stream(), say::raw(event), net::end()]),
            ),
            harmless(
                "comments and other events",
                say::steps([net::as_stream(), say::raw(noisy), net::end()]),
            ),
            harmless("a BOM", say::steps([net::as_stream(), say::raw(bom), net::end()])),
            harmless("a body until the end", say::steps([net::raw(until_close), net::hang_up()])),
            harmless("an interim answer", say::steps([net::raw(informed), net::hang_up()])),
            harmless(
                "a slow head",
                say::steps([
                    net::slow(
                        5,
                        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: application/json\r\n\r\n",
                    ),
                    net::raw(whole),
                    net::hang_up(),
                ]),
            ),
            harmless(
                "a type with parameters",
                say::steps([net::http(
                    200,
                    &[("Content-Type", "application/json; charset=utf-8")],
                    whole,
                )]),
            ),
            harmless(
                "a priming event",
                say::steps([net::as_stream(), say::raw("id: 0\ndata:\n\n"), say::line(whole)]),
            ),
            harmless(
                "a stream that does not end",
                say::steps([net::as_stream(), say::raw(format!("data: {whole}\n\n"))]),
            ),
        ],
    );
}

#[test]
fn k33_events_and_bodies_without_end_stop_at_the_limit() {
    let endless_event = say::steps([say::raw("data: {\"jsonrpc\":\"2.0\","), say::fill(8 << 20)]);
    let head =
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n";
    let announced = say::steps([net::raw(head), net::raw("{"), say::pause(60_000)]);
    each_of(Front::ALL, |front| {
        let row = |name, bad: &Value| Row {
            name,
            flags: &["--max-message", "1048576"],
            bad: bad.clone(),
            caller: Caller::OwnError(TOO_LARGE),
            after: After::Lives,
        };
        let rows = vec![
            row("an event without end", &endless_event),
            row("a body without end", &announced),
        ];
        check_over(front, Upstream::Http, rows);
    });
}

#[test]
fn k33_a_redirect_to_another_origin_is_not_followed() {
    for status in [301, 302, 303, 307, 308] {
        let room = Room::new();
        let sink = room.fake("sink").tool("bad", say::echo()).listen(Wire::Http);
        let moved = say::steps([net::http(status, &[("Location", sink.url())], "")]);
        let a = room.fake("a").tool("bad", moved).tool("echo", say::echo());
        let mut entry = a.over(Upstream::Http);
        entry["headers"] = json!({ "Authorization": "Bearer secret" });
        room.config([("a", entry)]);
        let scene = room.open_ready(Front::Stdio, &[]);
        let answer = scene.call_within("a:bad", "{}", SOON);
        assert_own_error(&answer, &[]);
        scene.assert_echo("a", "echo", "{}");
        assert!(ledger::heads(&room.ledger("sink")).is_empty(), "{status}: nothing goes there");
    }
}

#[test]
fn k33_a_redirect_in_the_handshake_is_not_followed_to_another_origin() {
    each_of(Upstream::NETWORK, |upstream| {
        let room = Room::new();
        let wire = if upstream == Upstream::Http { Wire::Http } else { Wire::Sse };
        let sink = room.fake("sink").tool("echo", say::echo()).listen(wire);
        let moved = say::steps([net::http(307, &[("Location", sink.url())], "")]);
        let a = room.fake("a").on("POST", moved.clone()).on("GET", moved);
        let mut entry = a.over(upstream);
        entry["headers"] = json!({ "Authorization": "Bearer secret" });
        let ok = room.fake("ok").tool("echo", say::echo()).entry();
        room.config([("a", entry), ("ok", ok)]);
        let scene = room.open_ready(Front::Stdio, &[]);
        assert_eq!(scene.list_names(), ["ok:echo"]);
        let said = || ["redirect", "307"].iter().any(|p| scene.process().stderr().contains(p));
        process::wait_until("it says why", LIMIT, said);
        assert!(ledger::heads(&room.ledger("sink")).is_empty(), "credentials stay at home");
    });
}

#[test]
fn k33_an_endpoint_on_another_origin_is_refused() {
    let room = Room::new();
    let sink = room.fake("sink").listen(Wire::Sse);
    let elsewhere = format!("http://{}/messages?sessionId=x", sink.address());
    for endpoint in [elsewhere, format!("//{}/messages", sink.address())] {
        let a = room.fake("a").tool("echo", say::echo()).http(json!({ "endpoint": endpoint }));
        let entry = a.over(Upstream::Sse);
        let ok = room.fake("ok").tool("echo", say::echo()).entry();
        room.config([("a", entry), ("ok", ok)]);
        let scene = room.open_ready(Front::Stdio, &[]);
        assert_eq!(scene.list_names(), ["ok:echo"]);
        scene.process().wait_stderr(&["a", "endpoint"], LIMIT);
        assert!(ledger::heads(&room.ledger("sink")).is_empty(), "{endpoint}");
    }
}

#[test]
fn k33_odd_endpoints_on_the_same_origin_are_understood() {
    for endpoint in [
        "/messages?sessionId=@SESSION@",
        "messages?sessionId=@SESSION@",
        "./messages?sessionId=@SESSION@&x=1",
        "/x/../messages?a=b&sessionId=@SESSION@",
    ] {
        let room = Room::new();
        let a = room.fake("a").tool("echo", say::echo()).http(json!({ "endpoint": endpoint }));
        room.config([("a", a.over(Upstream::Sse))]);
        let scene = room.open_ready(Front::Stdio, &[]);
        scene.assert_echo("a", "echo", "{}");
    }
}

#[test]
fn k33_a_post_that_a_legacy_server_refuses_fails_its_call_at_once() {
    for (status, parts) in [(400, &["400"]), (404, &["404"]), (413, &["413"]), (500, &["500"])] {
        let room = Room::new();
        let bad = say::steps([net::http(status, &[], "no")]);
        let a = room.fake("a").tool("bad", bad).tool("echo", say::echo());
        room.config([("a", a.over(Upstream::Sse))]);
        let scene = room.open_ready(Front::Stdio, &[]);
        assert_own_error(&scene.call_within("a:bad", "{}", SOON), parts);
        let back = || scene.call("a:echo", "{}").try_result().is_some();
        process::wait_until("the next call is served", LIMIT, back);
    }
}

#[test]
fn k33_a_login_page_in_the_handshake_is_reported_as_what_it_is() {
    for (status, part) in [(401, "401"), (403, "403")] {
        let room = Room::new();
        let refuse = say::steps([net::http(status, &[("WWW-Authenticate", "Bearer")], "")]);
        let a = room.fake("a").on("POST", refuse.clone()).on("GET", refuse).over(Upstream::Http);
        room.config([("a", a)]);
        let scene = room.open(Front::Http, &[]);
        scene.process().wait_stderr(&["a", part], LIMIT);
        let asked = ledger::heads(&room.ledger("a")).len();
        assert!(asked <= 10, "no loop: {asked} requests");
    }
}
