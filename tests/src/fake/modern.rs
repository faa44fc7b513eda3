//! The stateless era of the scripted server: what it demands of requests and adds to results.

use std::sync::PoisonError;

use serde_json::json;

use super::Server;
use super::request::Request;
use super::usual;
use crate::modern::stamp::{CAPABILITIES, LEVEL, REVISION, SERVER, VERSION};
use crate::scan;

/// Which era a process on a pipe has been opened in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Era {
    Legacy,
    Modern,
}

/// Does the request belong to the stateless era, as far as it shows?
fn shows_modern(request: &Request) -> bool {
    request.method == "server/discover" || said(request, VERSION).is_some()
}

fn said<'a>(request: &'a Request, key: &str) -> Option<&'a [u8]> {
    scan::path(&request.params, &["_meta", key])
}

/// Decides the era of a request, and refuses what cannot be served in it. `false`: it has been.
pub(super) fn admit(server: &Server, request: &mut Request) -> bool {
    request.modern = match server.script["era"].as_str() {
        Some("modern") => true,
        Some(_) if request.outlet.reply().is_none() => match lock(server, request) {
            Ok(era) => era == Era::Modern,
            Err(refusal) => {
                refuse(request, -32600, refusal, "");
                return false;
            }
        },
        Some(_) => shows_modern(request),
        None => false,
    };
    let is_request = !request.id.is_empty() && !request.method.is_empty();
    !is_request || !request.modern || is_complete(request)
}

/// The first request decides for the whole process.
fn lock(server: &Server, request: &Request) -> Result<Era, &'static str> {
    let mut locked = server.era.lock().unwrap_or_else(PoisonError::into_inner);
    let shown = if shows_modern(request) { Era::Modern } else { Era::Legacy };
    match *locked.get_or_insert(shown) {
        Era::Legacy if shown == Era::Modern => Err("this connection serves the handshake era"),
        era => Ok(era),
    }
}

/// Does it say all that a request has to say?
fn is_complete(request: &Request) -> bool {
    let supported = r#""supported":["2026-07-28"]"#;
    let requested = |version: &str| format!("{{{supported},\"requested\":{version}}}");
    if request.method == "initialize" {
        let version = scan::get(&request.params, "protocolVersion").unwrap_or(b"null");
        let data = requested(&String::from_utf8_lossy(version));
        refuse(request, -32022, "the initialize handshake is not accepted", &data);
        return false;
    }
    for key in [VERSION, CAPABILITIES] {
        if said(request, key).is_none() {
            refuse(request, -32602, &format!("params._meta has no {key}"), "");
            return false;
        }
    }
    match said(request, VERSION).and_then(scan::text).as_deref() {
        Some(REVISION) => true,
        version => {
            let data = requested(&scan::quote(version.unwrap_or_default()));
            refuse(request, -32022, "Unsupported protocol version", &data);
            false
        }
    }
}

/// An error with its HTTP status, where there is one.
pub(super) fn refuse(request: &Request, code: i64, message: &str, data: &str) {
    let data = if data.is_empty() { String::new() } else { format!(r#","data":{data}"#) };
    let message = scan::quote(message);
    let error = format!(r#","error":{{"code":{code},"message":{message}{data}}}}}"#);
    let line = [&br#"{"jsonrpc":"2.0","id":"#[..], &request.id, error.as_bytes()].concat();
    match request.outlet.reply() {
        Some(reply) => {
            let status = if code == -32601 { 404 } else { 400 };
            reply.http(status, &json!([["Content-Type", "application/json"]]), &line);
        }
        None => request.outlet.message([&line[..]]),
    }
}

/// What a well-behaved server answers.
pub(super) fn answer(server: &Server, request: &Request) {
    if !knows(server, &request.method) {
        return refuse(request, -32601, "unknown method", &scan::quote(&request.method));
    }
    let line = match request.method.as_str() {
        "server/discover" => discovered(server, request),
        "resources/read" => {
            let error = br#","error":{"code":-32602,"message":"Resource not found"}}"#;
            [&br#"{"jsonrpc":"2.0","id":"#[..], &request.id, error].concat()
        }
        _ => usual::answer(server, request),
    };
    request.outlet.message([&adorned(server, request, line)[..]]);
}

/// Is the method part of what this server offers in the stateless era?
pub(super) fn knows(server: &Server, method: &str) -> bool {
    const GONE: [&str; 5] =
        ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"];
    let is_new = matches!(method, "server/discover" | "subscriptions/listen");
    is_new || usual::knows(&server.script, method) && !GONE.contains(&method)
}

fn discovered(server: &Server, request: &Request) -> Vec<u8> {
    let capabilities = usual::capabilities(&server.script);
    let instructions = server.script["instructions"].as_str().map(scan::quote);
    let instructions = instructions.map(|text| format!(r#","instructions":{text}"#));
    let versions = server.script["versions"].as_str().unwrap_or(r#"["2026-07-28"]"#);
    let result = format!(
        r#","result":{{"supportedVersions":{versions},"capabilities":{capabilities}{},"_meta":{{"{SERVER}":{}}}}}}}"#,
        instructions.unwrap_or_default(),
        usual::info(&server.script),
    );
    [&br#"{"jsonrpc":"2.0","id":"#[..], &request.id, result.as_bytes()].concat()
}

/// A result with `resultType`, and with cache hints where they belong. Whatever else a script says
/// goes as it is.
pub(super) fn adorned(server: &Server, request: &Request, line: Vec<u8>) -> Vec<u8> {
    if !request.modern || scan::get(&line, "method").is_some() {
        return line;
    }
    let result = scan::get(&line, "result").filter(|result| scan::members(result).is_some());
    let Some(result) = result else { return line };
    if scan::get(result, "resultType").is_some() {
        return line;
    }
    let is_cached = request.method.ends_with("/list")
        || matches!(request.method.as_str(), "server/discover" | "resources/read");
    let cache = server.script["cache"].as_str().unwrap_or(r#""ttlMs":0,"cacheScope":"private""#);
    let hints = if is_cached { format!(",{cache}") } else { String::new() };
    let result = scan::with_first(result, &format!(r#""resultType":"complete"{hints}"#));
    scan::replace(&line, "result", &result).unwrap_or(line)
}

/// Has the request asked for messages of this level?
pub(super) fn wants_log(request: &Request, level: &str) -> bool {
    const LEVELS: [&str; 8] =
        ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];
    let rank = |level: &str| LEVELS.iter().position(|known| *known == level);
    match said(request, LEVEL).and_then(scan::text) {
        Some(wanted) => rank(level) >= rank(&wanted),
        None => !request.modern,
    }
}
