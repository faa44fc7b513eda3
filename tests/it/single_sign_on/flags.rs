//! Command lines that would let in nobody, or the wrong ones, are refused before anything is opened.

use kit::room::Room;
use kit::run::run;

const GOOD: [&str; 6] = [
    "--oidc-issuer",
    "https://id.example.com",
    "--oidc-client-id",
    "trunkline",
    "--oidc-role",
    "ops=operator",
];

#[test]
fn flags_that_cannot_be_meant_are_refused_with_the_remedy() {
    let room = Room::new();
    std::fs::write(room.path("empty"), "\n").unwrap();
    let empty = room.path("empty").to_string_lossy().into_owned();
    for (flags, words) in [
        (&["--oidc-issuer", "https://id.example.com"][..], "--oidc-client-id"),
        (&GOOD[..4], "--oidc-role GROUP=ROLE"),
        (&GOOD[4..], "--oidc-issuer"),
        (&["--oidc-role", "ops=root"], "viewer, caller, operator and admin"),
        (&["--oidc-role", "ops"], "GROUP=ROLE"),
        (&["--oidc-session", "13h"], "at most 12h"),
        (&[&GOOD[..], &["--oidc-groups-claim", "a..b"]].concat(), "realm_access.roles"),
        (&[&GOOD[..], &["--oidc-scope", "a b"]].concat(), "without blanks"),
        (&[&GOOD[..], &["--oidc-client-secret-file", "/nowhere"]].concat(), "/nowhere"),
        (&[&GOOD[..], &["--oidc-client-secret-file", &empty]].concat(), "one line"),
        (&[&GOOD[..], &["--listen", "0.0.0.0:0"]].concat(), "--public-url"),
        (
            &[
                "--oidc-issuer",
                "http://id.example.com",
                "--oidc-client-id",
                "a",
                "--oidc-role",
                "*=viewer",
            ],
            "must be https",
        ),
    ] {
        run(room.platform_command(flags), b"").bad(2, &[words]);
    }
    room.config([]);
    run(room.serve_command(&GOOD), b"").bad(2, &["--data-dir"]);
}
