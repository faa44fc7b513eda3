//! A small MCP server: what it offers carries its key.

use std::io::{BufRead as _, Write as _};
use std::process::ExitCode;

use trunkline_wire::{Kind, Message, encode, scan, write_error, write_result};

pub(crate) const WORD: &str = "be-a-server";

pub(crate) fn run(key: &str) -> ExitCode {
    let stdin = std::io::stdin().lock();
    for line in stdin.lines() {
        let Ok(line) = line else { break };
        let message = scan(line.as_bytes()).unwrap();
        if message.kind == Kind::Request {
            answer(key, &message);
        }
    }
    ExitCode::SUCCESS
}

fn answer(key: &str, message: &Message<'_>) {
    let method = message.method();
    let method = std::str::from_utf8(&method).unwrap();
    let name = String::from_utf8_lossy(message.text(message.params.name)).into_owned();
    let result = match (method, &*name) {
        ("initialize", _) => format!(
            r#"{{"protocolVersion":"2025-11-25","capabilities":{{"tools":{{}},"resources":{{}},"prompts":{{}},"logging":{{}}}},"serverInfo":{{"name":"{key}","version":"1"}},"instructions":"words of {key}"}}"#
        ),
        ("tools/list", _) => r#"{"tools":[{"name":"read","inputSchema":{"type":"object"}},{"name":"write","inputSchema":{"type":"object"}},{"name":"shout","inputSchema":{"type":"object"}},{"name":"wait","inputSchema":{"type":"object"}}]}"#.to_owned(),
        ("tools/call", "\"wait\"") => return wait(message),
        ("resources/list", _) => {
            format!(r#"{{"resources":[{{"uri":"{key}://thing","name":"thing of {key}"}}]}}"#)
        }
        ("resources/templates/list", _) => {
            format!(r#"{{"resourceTemplates":[{{"uriTemplate":"{key}://t/{{id}}","name":"t"}}]}}"#)
        }
        ("prompts/list", _) => format!(r#"{{"prompts":[{{"name":"greet-{key}"}}]}}"#),
        ("server/discover", _) => return say(|out| write_error(message.id(), -32601, "no", b"", out)),
        _ => {
            let words = format!("{key} was asked {method} {name}");
            format!(
                r#"{{"content":[{{"type":"text","text":{}}}]}}"#,
                String::from_utf8(encode(&words)).unwrap()
            )
        }
    };
    say(|out| write_result(message.id(), result.as_bytes(), out));
    if name == "\"shout\"" {
        let words = format!("shouted by {key}");
        say(|out| {
            out.extend_from_slice(
                format!(r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"level":"error","data":"{words}"}}}}"#)
                    .as_bytes(),
            );
        });
    }
}

/// Says that it has been asked, if that is wanted, and nothing more.
fn wait(message: &Message<'_>) {
    let Some(token) = message.params.meta.progress_token else { return };
    let token = String::from_utf8_lossy(token.of(message.bytes)).into_owned();
    say(|out| {
        out.extend_from_slice(
            format!(r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":1}}}}"#)
                .as_bytes(),
        );
    });
}

fn say(write: impl FnOnce(&mut Vec<u8>)) {
    let mut out = Vec::new();
    write(&mut out);
    out.push(b'\n');
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(&out).unwrap();
    stdout.flush().unwrap();
}
