//! FR-007, FR-008: the corpus as arguments, results and error data over every front and upstream.

use kit::config::Upstream;
use kit::corpus;
use kit::line::Line;
use kit::mcp::Speak;
use kit::room::Room;
use kit::scene::{Front, each, each_legacy_to_modern, each_modern, each_modern_to_legacy, each_of};
use kit::{LIMIT, ledger, say, scan};
use serde_json::json;

/// For the message of a failed test.
fn shown(text: &[u8]) -> String {
    String::from_utf8_lossy(&text[..text.len().min(300)]).into_owned()
}

fn objects() -> Vec<String> {
    corpus::values().into_iter().map(|value| format!(r#"{{"v":{value}}}"#)).collect()
}

#[test]
fn fr_007_fr_008_k5_the_corpus_passes_unchanged() {
    let values = objects();
    each(|front, upstream| the_corpus_passes(front, upstream, &values));
}

#[test]
fn fr_007_fr_008_k5_the_corpus_passes_unchanged_from_one_era_to_the_other() {
    let values = objects();
    each_modern_to_legacy(|front, upstream| the_corpus_passes(front, upstream, &values));
    each_legacy_to_modern(|front, upstream| the_corpus_passes(front, upstream, &values));
}

#[test]
fn fr_007_fr_008_k5_the_corpus_passes_unchanged_within_the_stateless_era() {
    let values = objects();
    each_modern(|front, upstream| the_corpus_passes(front, upstream, &values));
}

#[test]
fn fr_007_fr_008_k5_the_corpus_passes_unchanged_through_a_shared_runtime() {
    let values = objects();
    let all = [Upstream::ALL.as_slice(), &Upstream::MODERN].concat();
    each_of(all, |upstream| the_corpus_passes(Front::Shared, upstream, &values));
}

fn the_corpus_passes(front: Front, upstream: Upstream, values: &[String]) {
    let room = if front == Front::Shared { Room::shared() } else { Room::threaded() };
    let refuse = say::steps([say::error(r#"{"code":-32050,"message":"no","data":@ARGS@}"#)]);
    let a = room.fake("a").tool("mirror", say::mirror()).tool("refuse", refuse);
    room.config([("a", a.over(upstream))]);
    let scene = room.open_ready(front, &[]);
    let (mirror, refuse) = (scene.tool("a", "mirror"), scene.tool("a", "refuse"));
    for chunk in values.chunks(40) {
        let begin = |value: &String| (scene.begin(&mirror, value), scene.begin(&refuse, value));
        let ids: Vec<_> = chunk.iter().map(begin).collect();
        for ((good, bad), value) in ids.into_iter().zip(chunk) {
            let answer = scene.answer(&good, LIMIT);
            let result = given(front, upstream, &answer);
            assert!(result == value.as_bytes(), "{value} became {}", shown(&result));
            let answer = scene.answer(&bad, LIMIT);
            let data = scan::get(answer.error(), "data").unwrap_or_default();
            assert!(data == value.as_bytes(), "{value} became {}", shown(data));
        }
    }
    let mut arrived: Vec<Vec<u8>> = ledger::calls(&room.ledger("a"))
        .iter()
        .map(|call| scan::path(call, &["params", "arguments"]).unwrap_or_default().to_vec())
        .collect();
    let mut sent: Vec<&[u8]> = values.iter().chain(values).map(|value| value.as_bytes()).collect();
    arrived.sort();
    sent.sort();
    assert!(arrived == sent, "arguments arrive as they were sent");
    scene.assert_only_protocol();
}

/// The result as the script gives it: in the stateless era it has a type besides.
fn given(front: Front, upstream: Upstream, answer: &Line) -> Vec<u8> {
    match front.is_modern() || upstream.is_modern() {
        true => answer.payload(),
        false => answer.result().to_vec(),
    }
}

#[test]
fn fr_008_a_server_that_always_streams_is_passed_on_unchanged() {
    let values = objects();
    each_of(Front::ALL, |front| {
        let room = Room::threaded();
        let a = room.fake("a").tool("mirror", say::mirror()).http(json!({ "reply": "sse" }));
        room.config([("a", a.over(kit::config::Upstream::Http))]);
        let scene = room.open_ready(front, &[]);
        let mirror = scene.tool("a", "mirror");
        for value in values.iter().step_by(3) {
            let answer = scene.call(&mirror, value);
            assert!(answer.result() == value.as_bytes(), "{value} became {answer}");
        }
    });
}

#[test]
fn fr_008_newlines_between_tokens_are_dropped_where_a_line_is_a_message() {
    let pretty = "{\r\n  \"jsonrpc\": \"2.0\",\n  \"id\": @ID@,\n  \"result\": {\n    \"a\": [\n      1.0,\r\n      \"x\\n y\"\n    ]\n  }\n}";
    let expected = br#"{    "a": [      1.0,      "x\n y"    ]  }"#;
    each_of(Front::ALL, |front| {
        for reply in ["json", "sse"] {
            let room = Room::threaded();
            let a = room.fake("a").tool("pretty", say::steps([say::line(pretty)]));
            let a = a.http(json!({ "reply": reply }));
            room.config([("a", a.over(kit::config::Upstream::Http))]);
            let scene = room.open_ready(front, &[]);
            let answer = scene.call(&scene.tool("a", "pretty"), "{}");
            let result = String::from_utf8_lossy(answer.result()).replace(['\r', '\n'], "");
            assert_eq!(result.as_bytes(), expected, "{front:?} {reply}");
            if front != Front::Http {
                assert!(!answer.0.contains(&b'\n'), "{answer}");
            }
        }
    });
}

#[test]
fn fr_007_a_pretty_printed_request_over_http_reaches_a_stdio_child_as_one_line() {
    let room = Room::threaded();
    room.config([("a", room.fake("a").tool("mirror", say::mirror()).entry())]);
    let serve = room.serve(&[]);
    for client in
        [kit::scene::Talk::Http(serve.http()), kit::scene::Talk::Sse(Box::new(serve.sse()))]
    {
        client.list();
        let request = "{\n \"jsonrpc\":\"2.0\",\r\n \"id\":\"pretty\",\n \"method\":\"tools/call\",\n \"params\":{\n  \"name\":\"a.mirror\",\n  \"arguments\":{\n   \"x\" : 1.0\n  }\n }\n}\n";
        client.send_line(request);
        let answer = client.answer(b"\"pretty\"", LIMIT);
        assert_eq!(answer.result(), br#"{   "x" : 1.0  }"#);
    }
}
