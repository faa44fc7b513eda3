//! The SDKs against a front that speaks TLS: they see what they see without it.

use std::path::Path;

use kit::LIMIT;
use kit::certificates::Authority;
use kit::room::{MARK, Room};
use kit::serve::Serve;
use serde_json::{Value, json};

use super::stage::{Era, everything, node, play_with, python};
use super::{assert_reported, expected, name};

#[track_caller]
fn everything_over_tls(program: &Path, script: &str, era: Era) {
    let room = Room::new();
    let env = json!({ MARK: room.marker() });
    room.config([("everything", json!({ "command": node(), "args": [everything()], "env": env }))]);
    let authority = Authority::new();
    let files = authority.server().files(&room, "front");
    let text = |path: &Path| path.to_str().expect("text").to_owned();
    let (certificate, key) = (text(&files.certificate), text(&files.key));
    let serve: Serve = room.serve(&["--debug", "--tls-cert", &certificate, "--tls-key", &key]);
    // As on the plain stage: this server asks for roots of its own accord when it is up.
    serve.process().wait_stderr(&["request roots"], LIMIT);
    let base = format!("https://localhost:{}", serve.address().port());
    let fronts: &[(&str, &str)] = match era {
        Era::Legacy => &[("http", "mcp"), ("sse", "sse")],
        Era::Modern => &[("http", "mcp")],
    };
    let targets: Vec<Value> = fronts
        .iter()
        .map(|(front, path)| {
            json!({ "name": format!("{front}-over-tls"), "front": front, "url": format!("{base}/{path}"),
                    "prefix": "everything.", "deep": true, "era": era.word(), "asks": true })
        })
        .collect();
    let trusted = authority.file(&room, "authority.pem");
    let variables = ["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"].map(|name| (name, &*trusted));
    let report = play_with(program, script, &targets, &variables);
    assert_reported(&report, &targets, |target| {
        let mut expected = expected::report(era);
        // A server that serves several of our clients asks the first for its roots and keeps them.
        expected["roots"]["asked"] = report[name(target)]["roots"]["asked"].clone();
        expected
    });
}

#[test]
fn the_first_typescript_sdk_gets_everything_over_tls() {
    everything_over_tls(&node(), "sdk1.mjs", Era::Legacy);
}

#[test]
fn the_second_typescript_sdk_gets_everything_over_tls_in_both_eras() {
    everything_over_tls(&node(), "sdk2.mjs", Era::Legacy);
    everything_over_tls(&node(), "sdk2.mjs", Era::Modern);
}

#[test]
fn the_python_sdk_gets_everything_over_tls_in_both_eras() {
    everything_over_tls(&python(), "python_sdk.py", Era::Legacy);
    everything_over_tls(&python(), "python_sdk.py", Era::Modern);
}
