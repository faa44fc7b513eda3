//! K19: ids come back as they were spelled, and never under the name of another.

use kit::{LIMIT, SOON, mcp};

use super::{only_answer, room};

#[test]
fn half_an_id_is_never_taken_for_an_id() {
    let room = room();
    let client = room.start_ready(&[]);
    // Answering under a wrong id could settle another open call of this client.
    for bad in [
        r#"{"jsonrpc":"2.0","method":"ping","id":12"#,
        r#"{"jsonrpc":"2.0","id":01,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1.,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1e,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1x,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":--1,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":"1,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":"1\x","method":"ping"}"#,
        r#"{"jsonrpc":"2.0","params":{"id":1},"method":"ping""#,
        r#"{"jsonrpc":"2.0","params":"\"id\":1","method":"ping""#,
    ] {
        let answer = only_answer(&client, format!("{bad}\n").as_bytes());
        assert_eq!(answer.code(), -32700, "{bad}: {answer}");
        assert_eq!(answer.id(), Some(&b"null"[..]), "{bad}: {answer}");
    }
}

#[test]
fn k19_ids_come_back_as_they_were_spelled() {
    let room = room();
    let client = room.start_ready(&[]);
    let long_string = format!("\"{}\"", "i".repeat(10_000));
    let long_number = "1".repeat(400);
    for id in [
        "0",
        "-0",
        "-1",
        "1",
        "1.0",
        "1.5",
        "1e2",
        "1E+2",
        "9007199254740993",
        "18446744073709551616",
        "1e400",
        "\"\"",
        "\"1\"",
        "\"1.0\"",
        "\"é\"",
        "\"\\u00e9\"",
        "\"\\/\"",
        "\"null\"",
        "\"\\ud800\"",
        "\"a b\"",
        &long_string,
        &long_number,
    ] {
        client.send_line(mcp::call(id, "a:mirror", r#"{"x":1}"#));
        let shown = &id[..id.len().min(40)];
        let answer = client.wait_for(shown, LIMIT, |line| line.is_answer_to(id.as_bytes()));
        assert_eq!(answer.result(), br#"{"x":1}"#, "{shown}");
        let ping = client.request(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#));
        assert_eq!(ping.id(), Some(id.as_bytes()));
    }
}

#[test]
fn k19_ids_of_different_types_are_different_ids() {
    let room = room();
    let client = room.start_ready(&[]);
    let ids = ["1", "\"1\"", "1.0", "10e-1", "\"1.0\""];
    for id in ids {
        client.send_line(mcp::call(id, "a:wait", &format!(r#"{{"id":{id}}}"#)));
    }
    client.assert_echo("a", "echo", "{}");
    room.open_gate("go");
    for id in ids {
        let answer = client.answer(id.as_bytes(), LIMIT);
        assert_eq!(answer.result(), format!(r#"{{"id":{id}}}"#).as_bytes());
    }
}

#[test]
fn k19_an_id_that_is_in_use_is_refused_and_the_first_call_is_not_disturbed() {
    let room = room();
    let client = room.start_ready(&[]);
    for (id, again) in [("7", "7"), ("\"x\"", "\"x\""), ("\"caf\u{e9}\"", "\"caf\u{e9}\"")] {
        client.send_line(mcp::call(id, "a:wait", r#"{"which":"first"}"#));
        client.assert_echo("a", "echo", "{}");
        client.send_line(mcp::call(again, "a:mirror", r#"{"which":"second"}"#));
        let refused = client.answer(again.as_bytes(), SOON);
        assert_eq!(refused.code(), -32600, "{refused}");
        room.open_gate("go");
        let first = client.answer(id.as_bytes(), LIMIT);
        assert_eq!(first.result(), br#"{"which":"first"}"#);
        // Settled, so free again.
        client.send_line(mcp::call(id, "a:mirror", r#"{"which":"third"}"#));
        assert_eq!(client.answer(id.as_bytes(), LIMIT).result(), br#"{"which":"third"}"#);
        std::fs::remove_file(room.path("go")).expect("the gate was open");
    }
    let seconds = kit::ledger::calls(&room.ledger("a"));
    assert!(!seconds.iter().any(|call| String::from_utf8_lossy(call).contains("second")));
}
