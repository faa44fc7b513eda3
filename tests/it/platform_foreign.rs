//! The REST API in the hands of programs nobody here wrote, which know nothing but its `OpenAPI`:
//! a fuzzer that doubts all of it, and a client that was made from it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use kit::ledger;
use kit::platform::{ADMIN, Platform, SERVERS};
use kit::room::{MARK, Room};
use kit::say;
use kit::service::Wire;
use serde_json::{Value, json};

use crate::peers::{installed, python};

const OPENAPI: &str = "/api/v1/openapi.json";

#[test]
fn a_fuzzer_with_the_admin_token_finds_no_answer_that_the_document_does_not_promise() {
    let room = Room::new();
    let platform = serve(&room);
    fuzz(&room, &platform, ADMIN);
    // It was not refused everything.
    let servers = platform.admin().get(SERVERS).is(200);
    assert!(servers["total"].as_u64() > Some(1), "nothing was registered: {servers:#}");
    assert!(calls(&room) > 0, "no call has arrived");
}

#[test]
fn a_fuzzer_with_a_viewers_key_finds_no_answer_that_the_document_does_not_promise() {
    let room = Room::new();
    let platform = serve(&room);
    fuzz(&room, &platform, &platform.key("viewer"));
    let servers = platform.admin().get(SERVERS).is(200);
    assert_eq!(servers["total"], 1, "a viewer has registered a server: {servers:#}");
    assert_eq!(calls(&room), 0, "a viewer has called a tool");
}

#[test]
fn a_generated_client_registers_connects_lists_calls_and_removes() {
    let room = Room::new();
    let service = room.fake("far").tool("echo", say::echo()).listen(Wire::Http);
    let platform = serve(&room);
    generate(&room, &platform);
    let mut command = tool(&room, &python());
    command.arg(script("generated_client.py")).env("PYTHONPATH", room.path(""));
    command.args([&url(&platform), ADMIN, service.url()]);
    let said = succeeded(command).stdout;
    let report: Value = serde_json::from_slice(&said).expect("a report");
    let expected = json!({
        "registered": {
            "etag": "\"1", "revision": 1, "status": "DISCONNECTED", "transport_type": "HTTP",
        },
        "twice": { "status": 409, "type": "urn:trunkline:problem:name-taken" },
        "connected": "CONNECTED",
        "tools": { "far": ["far.echo"] },
        "called": { "arguments": { "n": 1, "text": "ä" }, "from": "far", "routed_to": "far" },
        "removed": 204,
        "gone": { "status": 404, "type": "urn:trunkline:problem:no-such-server" },
    });
    assert_eq!(report, expected);
}

/// Every operation, every check; `schemathesis.toml` has what is expected, and why.
#[track_caller]
fn fuzz(room: &Room, platform: &Platform, token: &str) {
    let mut command = tool(room, &installed("venv/bin/schemathesis"));
    command.arg("--config-file").arg(script("schemathesis.toml"));
    command.args(["run", "--no-color", "--url", &url(platform)]).arg(document(room, platform));
    command.current_dir(room.path(""));
    command.env("PYTHONPATH", script("")).env("TOKEN", token).env("TOOL", "near.echo");
    let said = String::from_utf8_lossy(&succeeded(command).stdout).into_owned();
    let all = operations(platform);
    assert!(said.contains(&format!("Tested: {all}\n")), "not all {all}: {said}");
    platform.admin().get("/healthz").is(200);
    let stderr = platform.serve().process().stderr();
    assert!(!stderr.contains("panicked"), "{stderr}");
}

/// How many the document has.
#[track_caller]
fn operations(platform: &Platform) -> usize {
    let document = platform.admin().get(OPENAPI).is(200);
    let paths = document["paths"].as_object().expect("paths").values();
    paths.map(|path| path.as_object().map_or(0, serde_json::Map::len)).sum()
}

/// A package called `made`. What the generator did not understand it would leave out with a
/// warning.
#[track_caller]
fn generate(room: &Room, platform: &Platform) {
    let mut command = tool(room, &installed("venv/bin/openapi-python-client"));
    command.args(["generate", "--meta", "none", "--fail-on-warning"]);
    command.arg("--path").arg(document(room, platform));
    command.arg("--output-path").arg(room.path("made"));
    succeeded(command);
}

/// With a server of the config file.
#[track_caller]
fn serve(room: &Room) -> Platform {
    let config = room.config([("near", room.fake("near").tool("echo", say::echo()).entry())]);
    room.platform(&["--config", config.to_str().expect("a path of text")])
}

/// A program of the environment the tests have installed, at home in the room.
fn tool(room: &Room, program: &Path) -> Command {
    let mut command = Command::new(program);
    let bin = program.parent().expect("a program lies in a directory");
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", bin.display()));
    command.env("HOME", room.path("")).env(MARK, room.marker());
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

#[track_caller]
fn succeeded(mut command: Command) -> Output {
    let output = command.output().expect("the program can be started");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (said, cried) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{said}\n{cried}", output.status);
    output
}

/// Calls that the server of the config file has seen.
fn calls(room: &Room) -> usize {
    ledger::calls(&room.ledger("near")).len()
}

fn url(platform: &Platform) -> String {
    format!("http://{}", platform.serve().address())
}

/// The document as it is served, as a file.
#[track_caller]
fn document(room: &Room, platform: &Platform) -> PathBuf {
    let answer = platform.admin().get(OPENAPI);
    answer.is(200);
    room.write("openapi.json", &answer.response.body)
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/platform").join(name)
}
