//! The steps of a script that only a network server can take.

use std::time::Duration;

use serde_json::Value;

use super::outlet::Outlet;
use super::request::Request;
use super::{Server, template};

/// Takes the step if it is one of these.
pub(super) fn act(
    server: &Server,
    kind: &str,
    what: &Value,
    request: &Request,
    answer: &[u8],
) -> bool {
    let fill = |template: &Value| template::fill(server, template, request, answer);
    match (kind, request.outlet.reply()) {
        ("http", Some(reply)) => {
            let status = what["status"].as_u64().and_then(|status| u16::try_from(status).ok());
            reply.http(status.expect("a status"), &what["headers"], &fill(&what["body"]));
        }
        ("http_raw", Some(reply)) => reply.raw(&fill(what)),
        ("http_over", Some(reply)) => reply.raw_over(),
        ("slow", Some(reply)) => {
            let pause = Duration::from_millis(what["ms"].as_u64().expect("milliseconds"));
            for piece in fill(&what["of"]).chunks(1) {
                reply.raw(piece);
                std::thread::sleep(pause);
            }
        }
        ("reply", Some(reply)) => reply.as_stream(what == "sse"),
        ("end", Some(reply)) => reply.end(),
        ("drop_stream", Some(reply)) => reply.drop_stream(what.as_u64()),
        ("hang_up", Some(reply)) => reply.hang_up(),
        ("end" | "drop_stream" | "hang_up", None) => match &request.outlet {
            Outlet::Stream(stream) if kind == "hang_up" => stream.hang_up(),
            Outlet::Stream(stream) => stream.detach(),
            _ => {}
        },
        // Over stdio and the legacy transport there is nothing to choose.
        ("reply", None) => {}
        ("push_hang_up", _) => {
            for session in server.sessions.all() {
                session.push.hang_up();
            }
        }
        ("push_detach", _) => {
            for session in server.sessions.all() {
                session.push.detach();
            }
        }
        ("forget", _) => server.sessions.forget(),
        _ => return false,
    }
    true
}
