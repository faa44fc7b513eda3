//! Templates: text, bytes or a list of both, with the parts of the request filled in.

use serde_json::{Map, Value};

use super::Server;
use super::request::Request;
use crate::scan;

/// Fills a template in one pass, so what a request brings in is never taken for a placeholder.
pub(super) fn fill(server: &Server, template: &Value, request: &Request, answer: &[u8]) -> Vec<u8> {
    match template {
        Value::String(text) => fill_text(server, text, request, answer),
        Value::Array(parts) => {
            parts.iter().flat_map(|part| fill(server, part, request, answer)).collect()
        }
        Value::Object(part) => unhex(part["hex"].as_str().expect("bytes are given in hex")),
        other => panic!("not a template: {other}"),
    }
}

fn fill_text(server: &Server, text: &str, request: &Request, answer: &[u8]) -> Vec<u8> {
    let mut filled = Vec::with_capacity(text.len() + request.arguments.len());
    let mut rest = text;
    while let Some(at) = rest.find('@') {
        filled.extend_from_slice(&rest.as_bytes()[..at]);
        let after = &rest[at + 1..];
        let word = after.split('@').next().unwrap_or_default();
        match (after.as_bytes().get(word.len()), value(server, word, request, answer)) {
            (Some(b'@'), Some(value)) => {
                filled.extend_from_slice(&value);
                rest = &after[word.len() + 1..];
            }
            _ => {
                filled.push(b'@');
                rest = after;
            }
        }
    }
    filled.extend_from_slice(rest.as_bytes());
    filled
}

fn value(server: &Server, word: &str, request: &Request, answer: &[u8]) -> Option<Vec<u8>> {
    Some(match word {
        "ID" => request.id.clone(),
        "ARGS" if request.arguments.is_empty() => b"null".to_vec(),
        "ARGS" => request.arguments.clone(),
        "PARAMS" => request.params.clone(),
        "NAME" => request.name.clone(),
        "URI" => request.uri.clone(),
        "RESPONSES" => part(request, "inputResponses"),
        "STATE" => part(request, "requestState"),
        "META" => part(request, "_meta"),
        "SESSION" => request.session.clone().into_bytes(),
        "TOKEN" => request.token.clone(),
        "LINE" => scan::quote(&String::from_utf8_lossy(&request.line)).into_bytes(),
        "ANSWER" => answer.to_vec(),
        "SERVER" => server.script["name"].as_str().unwrap_or_default().into(),
        "PID" => std::process::id().to_string().into(),
        "CWD" => {
            let cwd = std::env::current_dir().unwrap_or_default();
            scan::quote(&cwd.to_string_lossy()).into()
        }
        "ARGV" => Value::from(std::env::args().collect::<Vec<_>>()).to_string().into(),
        "ENV" => {
            let lossy = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
            let all: Map<String, Value> =
                std::env::vars_os().map(|(k, v)| (lossy(k), lossy(v).into())).collect();
            Value::Object(all).to_string().into()
        }
        _ => return None,
    })
}

/// A member of the params as written.
fn part(request: &Request, key: &str) -> Vec<u8> {
    scan::get(&request.params, key).unwrap_or(b"null").to_vec()
}

fn unhex(hex: &str) -> Vec<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).expect("a hex digit") as u8;
    hex.as_bytes().chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}
