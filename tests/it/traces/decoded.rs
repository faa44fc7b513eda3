//! Spans in the hands of a decoder nobody here wrote: the message types of OpenTelemetry itself.

use std::process::Command;

use kit::collector::{Collector, Mood};
use kit::mcp::Speak;
use kit::process::wait_until;
use kit::room::Room;
use kit::serve::Serve;
use kit::{LIMIT, ledger, say, scan};
use serde_json::{Value, json};

use super::{PARENT, PARENT_SPAN, PARENT_TRACE};
use crate::peers::python;

#[test]
fn opentelemetrys_own_types_read_what_is_sent_in_both_ways_of_writing_it() {
    for (protocol, kind) in
        [(None, "application/x-protobuf"), (Some("http/json"), "application/json")]
    {
        let (room, collector) = (Room::new(), Collector::start(Mood::Taking));
        let failing = json!([say::error(r#"{"code":-32603,"message":"no"}"#)]);
        room.config([("ä", room.fake("ä").tool("bad", failing).entry())]);
        let mut command = room.serve_command(&["--otlp-endpoint", &collector.url()]);
        if let Some(protocol) = protocol {
            command.env("OTEL_EXPORTER_OTLP_PROTOCOL", protocol);
        }
        let serve = Serve::start(command);
        let params = format!(r#"{{"name":"ä.bad","_meta":{{"traceparent":"{PARENT}"}}}}"#);
        serve.http().ask("tools/call", &params).error();
        wait_until("spans are sent", LIMIT, || !collector.posted().is_empty());
        let posted = &collector.posted()[0];
        assert_eq!(posted.header("content-type"), Some(kind));
        let read = decoded(&room, &posted.body, kind);
        let onward = &ledger::calls(&room.ledger("ä"))[0];
        let onward = scan::path(onward, &["params", "_meta", "traceparent"]).and_then(scan::text);
        let onward = onward.expect("a parent for the server");
        let [_, trace, way, _] = onward.split('-').collect::<Vec<_>>()[..] else {
            panic!("{onward}")
        };
        assert_eq!(trace, PARENT_TRACE);
        assert_eq!(read["resource"]["service.name"], "trunkline");
        assert_eq!(read["scope"], "trunkline");
        let spans = read["spans"].as_array().expect("spans");
        let [server, client] = &spans[..] else { panic!("{read:#}") };
        let server_id = server["id"].clone();
        for (span, kind, parent, flags, name) in [
            (server, "SPAN_KIND_SERVER", json!(PARENT_SPAN), 0x301, "tools/call ä.bad"),
            (client, "SPAN_KIND_CLIENT", server_id, 0x101, "tools/call bad"),
        ] {
            assert_eq!(span["trace"], PARENT_TRACE);
            assert_eq!((&span["kind"], &span["parent"]), (&json!(kind), &parent));
            assert_eq!((&span["name"], &span["flags"]), (&json!(name), &json!(flags)));
            assert_eq!(span["status"], json!(["STATUS_CODE_ERROR", "-32603"]));
            assert_eq!(span["attributes"]["rpc.response.status_code"], "-32603");
            assert_eq!(span["attributes"]["trunkline.server"], "ä");
            let (start, end) = (span["start"].as_u64(), span["end"].as_u64());
            assert!(start > Some(1_700_000_000_000_000_000) && start <= end, "{span}");
        }
        assert_eq!(client["id"], way);
    }
}

/// What the decoder has read.
#[track_caller]
fn decoded(room: &Room, body: &[u8], kind: &str) -> Value {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/platform/otlp.py");
    let mut command = Command::new(python());
    command.arg(script).arg(room.write("spans", body)).arg(kind);
    let output = command.output().expect("the decoder starts");
    let cried = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{cried}");
    serde_json::from_slice(&output.stdout).expect("a report")
}
