//! Servers of the stateless era: what a request says besides its body, and how the era is found.

use trunkline_catalog::{ListKind, Listing};

use super::*;
use crate::upstream::lifecycle::handshake::HandshakeError;
use crate::upstream::lifecycle::probe::{self, Opening};

#[test]
fn a_stateless_call_says_what_it_is_about_and_opens_nothing() {
    let rig = Rig::speaking(Dialect::Modern);
    let mut listing = Listing::default();
    let tools = r#"{"tools":[{"name":"x","inputSchema":{"type":"object","properties":{"r":{"type":"string","x-mcp-header":"Region"}}}}]}"#;
    listing.add_page(ListKind::Tools, tools.as_bytes(), 9).unwrap();
    rig.line.learn(&listing);
    let mut server = rig.plug();
    let script = thread::spawn(move || {
        let mut heads = Vec::new();
        for _ in 0..2 {
            let (head, id) = asked(&mut server);
            heads.push(head);
            let response = format!("{JSON}\r\nMcp-Session-Id: s");
            server.write_all(sized(&response, &ANSWER.replace("ID", &id)).as_bytes()).unwrap();
        }
        (heads, server)
    });
    rig.call_with(r#"{"name":"x","arguments":{"r":"a\r\nb"}}"#).unwrap();
    rig.call_with(r#"{"name":"y","arguments":{"r":"eu"}}"#).unwrap();
    let (heads, server) = script.join().unwrap();
    for head in &heads {
        assert!(head.starts_with("POST /mcp HTTP/1.1\r\n"), "{head}");
        assert!(head.contains("\r\nMCP-Protocol-Version: 2026-07-28\r\n"), "{head}");
        assert!(head.contains("\r\nMcp-Method: tools/call\r\n"), "{head}");
        assert_eq!(session_of(head), None, "{head}");
    }
    assert!(heads[0].contains("\r\nMcp-Name: x\r\nMcp-Param-Region: =?base64?YQ0KYg==?=\r\n"));
    assert!(heads[1].contains("\r\nMcp-Name: y\r\n") && !heads[1].contains("Mcp-Param"));
    drop(server);
}

#[test]
fn a_stateless_answer_is_not_asked_for_again() {
    let rig = Rig::speaking(Dialect::Modern);
    let mut server = rig.plug();
    let script = thread::spawn(move || {
        asked(&mut server);
        let events = "id: e7\nretry: 1\ndata:\n\n";
        server.write_all(in_chunks(EVENTS, &[events]).as_bytes()).unwrap();
        server
    });
    let error = rig.call().unwrap_err();
    assert!(
        error.contains("ended its stream of events") && error.contains("may have run"),
        "{error}"
    );
    drop(script.join().unwrap());
    assert!(
        rig.line.connections.next_tick().is_none()
            || rig.line.connections.pool.lock().open_more() == 0
    );
}

#[test]
fn refusals_of_stateless_servers_are_answers() {
    let rig = Rig::speaking(Dialect::Modern);
    let mut server = rig.plug();
    let script = thread::spawn(move || {
        for status in ["404 Not Found", "400 Bad Request"] {
            let (_, id) = asked(&mut server);
            server.write_all(sized(status, &ERROR.replace("null", &id)).as_bytes()).unwrap();
        }
        server
    });
    for _ in 0..2 {
        assert!(rig.call().unwrap().contains("mine"));
    }
    drop(script.join().unwrap());
}

/// `then`: what the tool wants in headers once it is listed again. The heads of the calls that came.
fn mismatched(then: &str, again: bool) -> (Result<String, String>, Vec<String>) {
    let rig = Rig::speaking(Dialect::Modern);
    let mut server = rig.plug();
    let script = thread::spawn(move || {
        let (head, id) = asked(&mut server);
        let refusal = ERROR.replace("null", &id).replace("-5", "-32020");
        server.write_all(sized("400 Bad Request", &refusal).as_bytes()).unwrap();
        let mut heads = vec![head];
        if again {
            let (head, id) = asked(&mut server);
            heads.push(head);
            server.write_all(sized(JSON, &ANSWER.replace("ID", &id)).as_bytes()).unwrap();
        }
        (heads, server)
    });
    let mut listing = Listing::default();
    let tools =
        format!(r#"{{"tools":[{{"name":"x","inputSchema":{{"properties":{{"r":{then}}}}}}}]}}"#);
    listing.add_page(ListKind::Tools, tools.as_bytes(), 9).unwrap();
    let outcome = thread::scope(|scope| {
        scope.spawn(|| {
            let changed = async { timeout(PATIENCE, rig.connection.changes.taken()).await };
            assert!(rig.runtime.block_on(changed).unwrap()(ListKind::Tools));
            rig.line.learn(&listing);
        });
        rig.call_with(r#"{"name":"x","arguments":{"r":"eu"}}"#)
    });
    let (heads, server) = script.join().unwrap();
    drop(server);
    (outcome, heads)
}

#[test]
fn a_call_with_the_wrong_headers_is_made_again_once_the_tools_are_listed() {
    let (outcome, heads) = mismatched(r#"{"type":"string","x-mcp-header":"R"}"#, true);
    assert!(outcome.unwrap().contains("\"a\":1"));
    assert_eq!(heads.len(), 2);
    assert!(!heads[0].contains("Mcp-Param"), "{}", heads[0]);
    assert!(heads[1].contains("\r\nMcp-Param-R: eu\r\n"), "{}", heads[1]);
    let (outcome, heads) = mismatched(r#"{"type":"string"}"#, false);
    assert!(outcome.unwrap().contains("-32020"), "nothing else can be said");
    assert_eq!(heads.len(), 1);
}

#[test]
fn who_is_not_waited_for_any_more_learns_it_by_the_end_of_the_connection() {
    let rig = Rig::speaking(Dialect::Modern);
    let mut server = rig.plug();
    let (id, answer) = rig.connection.link.begin("subscriptions/listen", b"{}").unwrap();
    let (head, _) = asked(&mut server);
    assert!(head.contains("\r\nMcp-Method: subscriptions/listen\r\n"), "{head}");
    server.write_all(format!("HTTP/1.1 {EVENTS}\r\n\r\n: x\n\n").as_bytes()).unwrap();
    rig.connection.link.pending.lock().remove(id);
    let mut touched = FlushSet::default();
    rig.connection.link.call_off(id, "no longer wanted", &mut touched);
    touched.flush();
    let mut rest = Vec::new();
    server.read_to_end(&mut rest).unwrap();
    assert!(rest.is_empty(), "nothing is said besides");
    drop(answer);
}

/// As long as the id that comes in its place.
const PLACE: &str = "100000000";

/// What comes of the question for the era if it is answered like this: the protocol that is spoken,
/// or whether others are to be tried.
fn discovered(responses: &[String]) -> Result<String, bool> {
    let rig = Rig::speaking(Dialect::Modern);
    rig.connection.link.set_era(Era::Legacy);
    let mut server = rig.plug();
    let responses = responses.to_vec();
    let script = thread::spawn(move || {
        for response in responses {
            let (head, id) = asked(&mut server);
            assert!(head.contains("\r\nMcp-Method: server/discover\r\n"), "{head}");
            assert!(head.contains("\r\nMCP-Protocol-Version: 2026-07-28\r\n"), "{head}");
            server.write_all(response.replace(PLACE, &id).as_bytes()).unwrap();
        }
        server
    });
    let instance = Instance::new();
    let opened = rig.runtime.block_on(async {
        let trouble = async {
            loop {
                rig.line.connections.attention.notified().await;
                if let Some(trouble) = rig.line.connections.pool.lock().trouble.take() {
                    return trouble;
                }
            }
        };
        let opened = probe::open(&rig.connection, Opening::Discover, b"{}", &instance);
        timeout(PATIENCE, async {
            tokio::select! {
                opened = opened => match opened {
                    Ok(hello) => Ok(hello.protocol),
                    Err(error) => Err(error == HandshakeError::OtherEra),
                },
                trouble = trouble => Err(trouble.not_this_way),
            }
        })
        .await
        .unwrap()
    });
    drop(script.join().unwrap());
    opened
}

#[test]
fn what_a_server_in_the_network_says_about_its_era() {
    let answer = ANSWER.replace("ID", PLACE);
    let modern = answer.replace(r#"{"a":1}"#, r#"{"supportedVersions":["2026-07-28"]}"#);
    let events = format!("data: {modern}\n\n");
    let picky = ERROR.replace("-5", "-32022").replace("null", PLACE);
    let uncorrelated = ERROR.replace("null", "\"server-error\"");
    let yes = Ok("2026-07-28".to_owned());
    for (responses, expected) in [
        (vec![sized(JSON, &modern)], yes.clone()),
        (vec![format!("HTTP/1.1 {EVENTS}\r\n\r\n{events}")], yes.clone()),
        (vec![sized("400 No", &picky), sized(JSON, &modern)], yes),
        (vec![sized("400 No", &picky), sized("400 No", &picky)], Err(false)),
        (vec![sized(JSON, &answer)], Err(true)),
        (vec![sized("400 No", ERROR)], Err(true)),
        (vec![sized("400 No", &uncorrelated)], Err(true)),
        (vec![sized("400 No", "what?")], Err(true)),
        (vec![sized("404 No", &ERROR.replace("null", PLACE))], Err(true)),
        (vec![sized("404 No", "<html>")], Err(true)),
        (vec![sized("405 No", "")], Err(true)),
        (vec![sized("406 No", "")], Err(true)),
        (vec![sized("202 Accepted", "")], Err(true)),
        (vec![sized("200 OK\r\nContent-Type: text/html", "<p>")], Err(true)),
        (vec![sized("401 No", "")], Err(false)),
        (vec![sized("403 No", "")], Err(false)),
        (vec![sized("502 No", "")], Err(false)),
        (vec![sized("503 No", "")], Err(false)),
    ] {
        assert_eq!(discovered(&responses), expected, "{responses:?}");
    }
}
