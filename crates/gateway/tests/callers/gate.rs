//! Who is let in, and what becomes of what they have open.

use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::scene::{Scene, Test, fields, request, stateless};

pub(crate) const TESTS: &[Test] = &[
    ("who_is_not_let_in_is_told_what_is_needed", who_is_not_let_in_is_told_what_is_needed),
    ("the_gate_is_asked_once_for_the_same_words", the_gate_is_asked_once_for_the_same_words),
    (
        "a_key_that_is_taken_opens_nothing_from_then_on",
        a_key_that_is_taken_opens_nothing_from_then_on,
    ),
    ("a_session_is_nobody_elses", a_session_is_nobody_elses),
    ("the_session_of_an_old_client_is_nobody_elses", the_session_of_an_old_client_is_nobody_elses),
    ("what_is_open_ends_with_the_key", what_is_open_ends_with_the_key),
    ("what_is_open_ends_when_the_pass_expires", what_is_open_ends_when_the_pass_expires),
    ("what_has_to_be_looked_up_is_waited_for", what_has_to_be_looked_up_is_waited_for),
    ("other_rights_need_another_session", other_rights_need_another_session),
    ("whether_it_lives_is_told_to_all", whether_it_lives_is_told_to_all),
];

const PING: (&str, &str) = ("ping", "{}");

fn who_is_not_let_in_is_told_what_is_needed(scene: &Scene) {
    for (head, fields) in [
        ("POST /mcp", ""),
        ("POST /mcp", "Authorization: Bearer nobody\r\n"),
        ("GET /mcp", "Authorization: Basic nobody\r\n"),
        ("GET /sse", ""),
        ("POST /messages?sessionId=1", ""),
        ("GET /nothing", ""),
        ("DELETE /mcp/for/cursor", ""),
    ] {
        let answer = scene.wire().ask(head, fields, "{}");
        assert_eq!(answer.status, 401, "{head} {answer:?}");
        let challenge = answer.header("WWW-Authenticate");
        assert_eq!(challenge, Some("Bearer realm=\"test\", error=\"invalid_token\""), "{head}");
        assert!(answer.body.contains("this key opens nothing"), "{answer:?}");
    }
    scene.keys.give("twice", None);
    let twice = "Authorization: Bearer twice\r\n".repeat(2);
    // Which of the two counts, a proxy and we might see differently.
    assert_eq!(scene.wire().ask("GET /nothing", &twice, "").status, 400);
    assert_eq!(scene.wire().ask("GET /nothing", &fields("twice"), "").status, 404);
}

fn the_gate_is_asked_once_for_the_same_words(scene: &Scene) {
    scene.keys.give("steady", None);
    let mut session = scene.session("steady");
    session.said(PING.0, PING.1);
    let before = scene.keys.asked.load(Ordering::Relaxed);
    for _ in 0..20 {
        session.said(PING.0, PING.1);
    }
    // The same connection, another head.
    let fields = format!("{}X-Other: 1\r\n", session.fields());
    assert_eq!(session.wire.ask("POST /mcp", &fields, &request("ping", "{}")).status, 200);
    assert_eq!(scene.keys.asked.load(Ordering::Relaxed), before);
}

fn a_key_that_is_taken_opens_nothing_from_then_on(scene: &Scene) {
    scene.keys.give("taken", None);
    let mut session = scene.session("taken");
    for _ in 0..3 {
        session.said(PING.0, PING.1);
    }
    assert_eq!(scene.stateless("taken", "tools/list", "").status, 200);
    scene.keys.take("taken");
    assert_eq!(session.ask(PING.0, PING.1).status, 401, "the very next request");
    assert_eq!(scene.stateless("taken", "tools/list", "").status, 401);
}

fn a_session_is_nobody_elses(scene: &Scene) {
    scene.keys.give("mine", None);
    scene.keys.give("yours", None);
    let mut mine = scene.session("mine");
    let stolen = format!("{}Mcp-Session-Id: {}\r\n", fields("yours"), mine.id);
    for (head, body) in
        [("POST /mcp", &*request("ping", "{}")), ("GET /mcp", ""), ("DELETE /mcp", "")]
    {
        assert_eq!(scene.wire().ask(head, &stolen, body).status, 404, "{head}");
    }
    // Also on the connection that it is used on.
    assert_eq!(mine.wire.ask("POST /mcp", &stolen, &request("ping", "{}")).status, 404);
    mine.said(PING.0, PING.1);
}

fn the_session_of_an_old_client_is_nobody_elses(scene: &Scene) {
    scene.keys.give("old", None);
    scene.keys.give("new", None);
    let mut stream = scene.wire();
    stream.send("GET /sse", &fields("old"), "");
    let text = stream.until("sessionId=");
    let text = if text.ends_with("sessionId=") { text + &stream.until("\n\n") } else { text };
    let id = text.split("sessionId=").nth(1).unwrap().split('\n').next().unwrap();
    let post = format!("POST /messages?sessionId={id}");
    let body = request("ping", "{}");
    assert_eq!(scene.wire().ask(&post, &fields("new"), &body).status, 404);
    assert_eq!(scene.wire().ask(&post, &fields("old"), &body).status, 202);
    stream.until("\"result\":{}");
    scene.keys.take("old");
    stream.rest();
    assert_eq!(scene.wire().ask(&post, &fields("new"), &body).status, 404);
}

fn what_is_open_ends_with_the_key(scene: &Scene) {
    scene.keys.give("other", None);
    scene.keys.give("gone", None);
    let (session, mut stays) = (scene.session("gone"), scene.session("other"));
    let mut stream = scene.wire();
    stream.send("GET /mcp", &session.fields(), "");
    stream.until("retry:");
    let mut call = scene.wire();
    let body = request("tools/call", r#"{"name":"alpha:wait","arguments":{}}"#);
    call.send("POST /mcp", &session.fields(), &body);
    let mut listener = scene.wire();
    let wanted = r#""notifications":{"toolsListChanged":true}"#;
    let (head, body) = stateless("gone", "subscriptions/listen", wanted);
    listener.send("POST /mcp", &head, &body);
    listener.until("acknowledged");
    let mut alone = scene.wire();
    let (head, body) = stateless("gone", "tools/call", r#""name":"alpha:wait","arguments":{}"#);
    alone.send("POST /mcp", &head, &body);
    // What was sent before has arrived when this one has.
    let mut last = scene.wire();
    let params = r#"{"name":"alpha:wait","arguments":{},"_meta":{"progressToken":5}}"#;
    let body = request("tools/call", params).replace("\"id\":7", "\"id\":8");
    last.send("POST /mcp", &session.fields(), &body);
    last.until("notifications/progress");
    scene.keys.take("gone");
    for (name, open) in [
        ("stream", &mut stream),
        ("call", &mut call),
        ("listener", &mut listener),
        ("call that stands for itself", &mut alone),
        ("call that has begun to be answered", &mut last),
    ] {
        let rest = open.rest();
        assert!(!rest.contains("\"result\":{\"content"), "{name}: {rest}");
    }
    stays.said(PING.0, PING.1);
    // The session is over for good.
    scene.keys.give("gone", None);
    assert_eq!(
        scene.wire().ask("POST /mcp", &session.fields(), &request("ping", "{}")).status,
        404
    );
}

fn what_is_open_ends_when_the_pass_expires(scene: &Scene) {
    // Long enough for a session and its stream to be opened on a busy machine.
    scene.keys.give_for("short", Duration::from_secs(4));
    let session = scene.session("short");
    let mut stream = scene.wire();
    stream.send("GET /mcp", &session.fields(), "");
    stream.until("retry:");
    stream.rest();
    let answer = scene.wire().ask("POST /mcp", &session.fields(), &request("ping", "{}"));
    assert_eq!(answer.status, 401, "{answer:?}");
}

fn what_has_to_be_looked_up_is_waited_for(scene: &Scene) {
    scene.keys.give("later", None);
    let mut session = scene.session("later");
    assert!(session.said("tools/call", r#"{"name":"alpha:read"}"#).contains("alpha was asked"));
    let large = format!(r#"{{"name":"alpha:read","arguments":{{"a":"{}"}}}}"#, "x".repeat(1 << 20));
    assert!(session.said("tools/call", &large).contains("alpha was asked"));
    let listed = scene.stateless("later", "tools/list", "");
    assert_eq!((listed.status, listed.body.contains("alpha:read")), (200, true), "{listed:?}");
    for (key, status) in [("late but unknown", 401), ("never", 503)] {
        let answer = scene.wire().ask("POST /mcp", &fields(key), &request("ping", "{}"));
        assert_eq!(answer.status, status, "{answer:?}");
    }
    // Requests that follow at once wait for their turn.
    let mut wire = scene.wire();
    for _ in 0..3 {
        wire.send("GET /nothing", &fields("later"), "");
    }
    for _ in 0..3 {
        assert_eq!(wire.answer(false).status, 404);
    }
}

fn other_rights_need_another_session(scene: &Scene) {
    scene.keys.give("changing", Some(&["alpha"]));
    let mut session = scene.session("changing");
    assert!(session.said("tools/list", "{}").contains("alpha:read"));
    scene.keys.give("changing", Some(&["beta"]));
    assert_eq!(session.ask("tools/list", "{}").status, 404);
    let listed = scene.session("changing").said("tools/list", "{}");
    assert!(listed.contains("beta:read") && !listed.contains("alpha:"), "{listed}");
    assert!(!scene.stateless("changing", "tools/list", "").body.contains("alpha:"));
}

fn whether_it_lives_is_told_to_all(scene: &Scene) {
    assert_eq!(scene.wire().ask("GET /healthz", "", "").status, 200);
    scene.session("steady").said("tools/list", "{}"); // waits until the servers have started
    assert_eq!(scene.wire().ask("GET /readyz", "", "").status, 200);
}
