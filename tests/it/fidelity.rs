//! "Unchanged" means to the byte: a corpus of JSON values as arguments, results and error data.

use kit::client::Client;
use kit::corpus;
use kit::rng::Rng;
use kit::room::Room;
use kit::{LIMIT, ledger, say, scan};
use proptest::prelude::*;

/// `mirror` gives the arguments back as the result, `refuse` as the data of an error.
fn room() -> Room {
    furnished(Room::new())
}

/// A client with a gateway of its own, and one that shares a runtime.
fn rooms() -> [Room; 2] {
    [room(), furnished(Room::shared())]
}

fn furnished(room: Room) -> Room {
    let refuse = say::steps([say::error(r#"{"code":-32050,"message":"no","data":@ARGS@}"#)]);
    let a = room.fake("a").tool("mirror", say::mirror()).tool("refuse", refuse);
    room.config([("a", a.entry())]);
    room
}

/// For the message of a failed test.
fn shown(text: &[u8]) -> String {
    String::from_utf8_lossy(&text[..text.len().min(300)]).into_owned()
}

/// Sends every value as the arguments of `tool`, some hundred at a time, and gives the answers.
fn through(client: &Client, tool: &str, values: &[String]) -> Vec<kit::line::Line> {
    values
        .chunks(100)
        .flat_map(|chunk| {
            let ids: Vec<_> = chunk.iter().map(|value| client.begin(tool, value)).collect();
            ids.into_iter().map(|id| client.answer(&id, LIMIT)).collect::<Vec<_>>()
        })
        .collect()
}

/// Arguments and results are objects, so every value goes as a member of one.
fn objects() -> Vec<String> {
    corpus::values().into_iter().map(|value| format!(r#"{{"v":{value}}}"#)).collect()
}

#[test]
fn fr_007_fr_008_k5_a_corpus_of_values_passes_as_arguments_and_as_results() {
    for room in rooms() {
        let client = room.start_ready(&[]);
        let values = objects();
        assert!(values.len() >= 500);
        let answers = through(&client, "a:mirror", &values);
        let calls = ledger::calls(&room.ledger("a"));
        assert_eq!(calls.len(), values.len());
        for ((value, answer), call) in values.iter().zip(&answers).zip(&calls) {
            let arrived = scan::path(call, &["params", "arguments"]).unwrap_or_default();
            assert!(
                arrived == value.as_bytes(),
                "arguments: {} became {}",
                shown(value.as_bytes()),
                shown(arrived)
            );
            let result = answer.result();
            assert!(
                result == value.as_bytes(),
                "result: {} became {}",
                shown(value.as_bytes()),
                shown(result)
            );
        }
        client.assert_only_protocol();
    }
}

#[test]
fn proto_1_k5_a_corpus_of_values_passes_in_error_data() {
    for room in rooms() {
        let client = room.start_ready(&[]);
        let values = objects();
        for (value, answer) in values.iter().zip(through(&client, "a:refuse", &values)) {
            let expected = format!(r#"{{"code":-32050,"message":"no","data":{value}}}"#);
            assert!(
                answer.error() == expected.as_bytes(),
                "{} became {answer}",
                shown(value.as_bytes())
            );
        }
    }
}

#[test]
fn fr_008_a_corpus_of_values_passes_through_simple_too() {
    let room = room();
    let client = room.start_ready(&["--simple"]);
    let values = objects();
    for (value, answer) in values.iter().zip(through(&client, "a:mirror", &values)) {
        assert!(answer.result() == value.as_bytes(), "{} became {answer}", shown(value.as_bytes()));
    }
}

#[test]
fn fr_007_everything_in_params_but_the_name_arrives_as_written() {
    for room in rooms() {
        let client = room.start_ready(&[]);
        let mut rng = Rng::new(7);
        let mut expected = Vec::new();
        for _ in 0..200 {
            let (arguments, meta) = (corpus::object(&mut rng, 3), corpus::object(&mut rng, 2));
            let unknown = corpus::generate(&mut rng, 3);
            let mut members = [
                r#""name":"a:mirror""#.to_owned(),
                format!(r#" "arguments" : {arguments}"#),
                format!("\"_meta\":{meta}\t"),
                format!(r#""x-unknown":{unknown}"#),
            ];
            for last in (1..members.len()).rev() {
                members.swap(last, rng.below(last + 1));
            }
            let params = format!("{{{}}}", members.join(","));
            let id = client.fresh_id();
            // The envelope in any order and with any space, too.
            let mut envelope = [
                r#""jsonrpc" :"2.0""#.to_owned(),
                format!(r#""id": {id} "#),
                "\t\"method\":\"tools/call\"".to_owned(),
                format!(r#""params":{params}"#),
            ];
            for last in (1..envelope.len()).rev() {
                envelope.swap(last, rng.below(last + 1));
            }
            let answer = client.request(format!("{{{}}}", envelope.join(" ,")));
            assert_eq!(shown(answer.result()), shown(arguments.as_bytes()));
            expected.push(params.replace("a:mirror", "mirror"));
        }
        let calls = ledger::with_method(&room.ledger("a"), "tools/call");
        assert_eq!(calls.len(), expected.len());
        for (call, expected) in calls.iter().zip(expected) {
            let params = scan::get(call, "params").unwrap_or_default();
            assert_eq!(String::from_utf8_lossy(params), expected);
        }
    }
}

#[test]
fn fr_008_the_members_of_an_answer_may_stand_in_any_order() {
    let room = Room::new();
    let payload = r#"{ "id":5,"result":[1.0],"error":{ } }"#;
    let orders = [
        format!(r#"{{"result":{payload},"id":@ID@,"jsonrpc":"2.0"}}"#),
        format!(r#"{{"id":@ID@,"result":{payload},"jsonrpc":"2.0"}}"#),
        format!("  {{ \"jsonrpc\" : \"2.0\" , \"result\" : {payload}\t, \"id\" : @ID@ }}  "),
        format!(r#"{{"x":{{"id":1}},"jsonrpc":"2.0","id":@ID@,"unknown":[],"result":{payload}}}"#),
        format!(r#"{{"jsonrpc":"2.0","\u0069d":@ID@,"r\u0065sult":{payload}}}"#),
    ];
    let mut fake = room.fake("a");
    for (number, order) in orders.iter().enumerate() {
        fake = fake.tool(&format!("t{number}"), say::steps([say::line(order.as_str())]));
    }
    room.config([("a", fake.entry())]);
    let client = room.start_ready(&[]);
    for (number, order) in orders.iter().enumerate() {
        let answer = client.call_within(&format!("a:t{number}"), "{}", kit::SOON);
        assert_eq!(shown(answer.result()), payload, "{order}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// Whatever the seed, whatever the chunking of the client's writes.
    #[test]
    fn fr_007_fr_008_generated_values_in_generated_chunks_pass(seed: u64, chunk in 1usize..200) {
        // Over a shared runtime as over a gateway of one's own.
        let room = if seed % 2 == 0 { room() } else { furnished(Room::shared()) };
        let client = room.start_ready(&[]);
        let mut rng = Rng::new(seed);
        let values: Vec<String> = (0..40).map(|_| corpus::object(&mut rng, 6)).collect();
        let ids: Vec<String> = values.iter().map(|_| client.fresh_id()).collect();
        let lines: Vec<String> = ids
            .iter()
            .zip(&values)
            .map(|(id, value)| format!("{}\n", kit::mcp::call(id, "a:mirror", value)))
            .collect();
        for piece in lines.concat().as_bytes().chunks(chunk) {
            client.send(piece);
        }
        for (id, value) in ids.iter().zip(&values) {
            let answer = client.answer(id.as_bytes(), LIMIT);
            prop_assert_eq!(shown(answer.result()), shown(value.as_bytes()));
        }
    }
}
