//! Command lines that would let in the wrong ones are refused before anything is opened.

use kit::room::Room;
use kit::run::run;

use super::command;

const ISSUER: &str = "https://id.example.com";

#[test]
fn flags_that_cannot_be_meant_are_refused() {
    let room = Room::new();
    room.config([]);
    for (flags, words) in [
        (&["--issuer", "http://id.example.com"][..], "must be https"),
        (&["--issuer", "http://10.0.0.1"], "must be https"),
        (&["--issuer", "id.example.com"], "http:// or https://"),
        (&["--issuer", "https://id.example.com/?tenant=1"], "no query"),
        (&["--issuer", ISSUER, "--jwks-url", "http://id.example.com/keys"], "must be https"),
        (&["--issuer", ISSUER, "--jwks-url", "file:///keys"], "--jwks-url"),
        (&["--issuer", ISSUER, "--audience", ""], "audience"),
        (&["--issuer", ISSUER, "--public-url", "tools.example.com"], "--public-url"),
        (&["--issuer", ISSUER, "--listen", "0.0.0.0:0"], "--public-url"),
        (&["--audience", "https://a/mcp"], "--issuer"),
        (&["--public-url", "a"], "--public-url"),
        (&["--jwks-url", "https://a/keys"], "--issuer"),
    ] {
        run(command(&room, flags), b"").bad(2, &[words]);
    }
}

#[test]
fn an_issuer_needs_a_platform() {
    let room = Room::new();
    room.config([]);
    run(room.serve_command(&["--issuer", ISSUER]), b"").bad(2, &["--data-dir"]);
}
