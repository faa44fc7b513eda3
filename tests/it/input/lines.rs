//! How messages arrive: line ends, limits, and the end of the input.

use std::io::Write;
use std::process::Stdio;
use std::time::Duration;

use kit::client::Client;
use kit::{LIMIT, SOON, mcp};

use super::{answers, room};

#[test]
fn blank_lines_and_line_ends_of_every_kind_are_taken() {
    let room = room();
    let client = room.start_ready(&[]);
    assert_eq!(answers(&client, b"\n\n\r\n \n\t\r\n"), []);
    let call = |id: &str| mcp::call(id, "a:mirror", "{}");
    for (id, line) in [
        ("\"crlf\"", format!("{}\r\n", call("\"crlf\""))),
        ("\"space\"", format!(" \t{} \t\n", call("\"space\""))),
        ("\"cr\"", format!("\r{}\n", call("\"cr\""))),
    ] {
        client.send(line);
        assert_eq!(client.answer(id.as_bytes(), LIMIT).result(), b"{}", "{id}");
    }
    let both = format!("{}\n{}\n", call("\"one\""), call("\"two\""));
    client.send(both);
    client.answer(b"\"one\"", LIMIT).result();
    client.answer(b"\"two\"", LIMIT).result();
    let slow = format!("{}\n", call("\"pieces\""));
    for byte in slow.as_bytes() {
        client.send([*byte]);
    }
    client.answer(b"\"pieces\"", LIMIT).result();
}

#[test]
fn a_bom_before_the_first_message_is_settled() {
    let room = room();
    let client = Client::spawn(room.trunkline(&[]));
    client.send(format!("\u{feff}{}\n", mcp::initialize("1", "2025-11-25")));
    client
        .wait_for("an answer", SOON, |line| line.is_answer_to(b"1") || line.is_answer_to(b"null"));
    client.initialize("2025-11-25");
    client.list();
    client.assert_echo("a", "echo", "{}");
}

#[test]
fn a_line_over_the_limit_is_refused_and_the_next_one_is_read() {
    let room = room();
    let client = room.start_ready(&["--max-message", "1048576"]);
    let large = "z".repeat(3 << 20);
    client.send_line(mcp::call("\"large\"", "a:mirror", &format!(r#"{{"z":"{large}"}}"#)));
    let refused = client.wait_for("the refusal", SOON, |line| {
        line.is_answer_to(b"\"large\"") || line.is_answer_to(b"null")
    });
    let message = refused.message();
    assert!(message.contains("large") || message.contains("limit"), "{refused}");
    client.assert_echo("a", "echo", "{}");
    // The id at the end of the line, and a line that is not even JSON.
    client.send_line(format!(
        r#"{{"jsonrpc":"2.0","method":"tools/call","params":{{"name":"a:mirror","arguments":{{"z":"{large}"}}}},"id":"late"}}"#
    ));
    client.wait_for("the refusal", SOON, |line| {
        line.is_answer_to(b"\"late\"") || line.is_answer_to(b"null")
    });
    client.send_line(large);
    client.wait_for("the refusal", SOON, |line| line.is_answer_to(b"null"));
    client.assert_echo("a", "echo", "{}");
    let mirrored = kit::ledger::calls(&room.ledger("a"));
    assert!(!mirrored.iter().any(|call| call.len() > 1 << 20));
    client.assert_only_protocol();
}

#[test]
fn calls_in_flight_when_the_client_closes_stdin_are_still_answered() {
    let room = room();
    let client = room.start_ready(&[]);
    let ids: Vec<_> = (0..20).map(|_| client.begin("a:mirror", r#"{"x":1}"#)).collect();
    client.close_stdin();
    for id in ids {
        client.answer(&id, LIMIT).result();
    }
    assert!(client.wait_exit(LIMIT).success());
}

#[test]
fn calls_that_are_never_answered_have_one_outcome_when_the_client_closes_stdin() {
    let room = room();
    let client = room.start_ready(&[]);
    let ids: Vec<_> = (0..20).map(|_| client.begin("a:wait", "{}")).collect();
    client.assert_echo("a", "echo", "{}");
    client.close_stdin();
    client.wait_exit(LIMIT);
    assert!(client.stdout_ended(LIMIT));
    for id in ids {
        let outcome = || client.try_wait_for(Duration::ZERO, |line| line.is_answer_to(&id));
        assert!(outcome().is_some(), "no outcome");
        assert_eq!(outcome(), None, "a second outcome");
    }
}

#[test]
fn a_whole_session_may_come_in_one_write_and_end_at_once() {
    let room = room();
    let client = Client::spawn(room.trunkline(&[]));
    client.send(format!(
        "{}\n{}\n{}\n{}\n",
        mcp::initialize("1", "2025-11-25"),
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#,
        r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#,
    ));
    client.close_stdin();
    for id in ["1", "2", "3"] {
        client.answer(id.as_bytes(), LIMIT).result();
    }
    assert!(client.wait_exit(LIMIT).success());
    client.assert_only_protocol();
}

#[test]
fn a_last_line_without_its_newline_is_settled() {
    let room = room();
    let client = room.start_ready(&[]);
    client.send(mcp::call("\"last\"", "a:mirror", r#"{"x":1}"#));
    client.close_stdin();
    let answer = client.wait_for("an outcome", LIMIT, |line| {
        line.is_answer_to(b"\"last\"") || line.is_answer_to(b"null")
    });
    if let Some(result) = answer.try_result() {
        assert_eq!(result, br#"{"x":1}"#);
    }
    assert!(client.wait_exit(LIMIT).success());
    client.assert_only_protocol();
}

#[test]
fn a_client_that_goes_away_without_reading_ends_the_program() {
    let room = room();
    let mut command = room.trunkline(&[]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("it starts");
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().expect("a pipe");
    let line = format!("{}\n", mcp::initialize("1", "2025-11-25"));
    stdin.write_all(line.as_bytes()).expect("the pipe takes a line");
    drop(stdin);
    kit::process::wait_until("it ends", LIMIT, || matches!(child.try_wait(), Ok(Some(_))));
    kit::process::wait_gone(room.marker(), LIMIT).expect("and leaves nothing");
}
