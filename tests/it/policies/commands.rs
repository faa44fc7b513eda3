//! `trunkline policy`: check, test and schema; and the examples of the documentation.

use kit::room::Room;
use kit::run::{Done, run};
use serde_json::Value;

use super::ALL;

fn policy(room: &Room, arguments: &[&str]) -> Done {
    let mut command = std::process::Command::new(kit::bin::trunkline());
    command.arg("policy").args(arguments).current_dir(room.path(""));
    run(command, b"")
}

/// The exit code of a test, and what it says.
#[track_caller]
fn tested(room: &Room, arguments: &[&str]) -> (i32, String) {
    let done = policy(room, &[&["test", "--policies", "p.cedar"], arguments].concat());
    let said = String::from_utf8_lossy(&done.stdout).into_owned() + &done.stderr;
    (done.code.unwrap_or(-1), said)
}

const CALL: [&str; 4] = ["--action", "call", "--resource", "tool:files.read"];

#[test]
fn policy_test_says_what_decides() {
    let room = Room::new();
    let text = format!(
        "{ALL}@id(\"etc\") @reason(\"not there\") forbid(principal, action == Trunkline::Action::\"call\", resource) when {{ context.arguments has path && context.arguments.path like \"/etc/*\" }};\n@id(\"hidden\") forbid(principal, action, resource in Trunkline::Server::\"git\");"
    );
    room.write("p.cedar", text);
    let alice = ["--principal", "user:alice"];
    for (more, code, words) in [
        (&[][..], 0, "allowed: policy \"all\" permits the caller to call it"),
        (
            &["--arguments", r#"{"path":"/etc/x"}"#],
            1,
            "refused: policy \"etc\" forbids the caller to call; its reason: not there",
        ),
        (&["--role", "viewer"], 1, "refused: the role viewer may look and use nothing"),
        (&["--tools", "git.*"], 1, "refused: the patterns of the key leave it out"),
        (&["--tools", "git"], 2, "--tools: git: a pattern is"),
        (&["--arguments", "[]"], 2, "--arguments has to be a JSON object"),
        (&["--claims", "{"], 2, "--claims: "),
    ] {
        let (ended, said) = tested(&room, &[&alice[..], &CALL, more].concat());
        assert!(ended == code && said.contains(words), "{more:?}: {ended} {said}");
    }
    let git = ["--action", "call", "--resource", "tool:git.log"];
    let (code, said) = tested(&room, &[&alice[..], &git].concat());
    assert!(
        code == 1 && said.contains("policy \"hidden\" forbids the caller to list it"),
        "{said}"
    );
    let (code, said) = tested(&room, &[&alice[..], &CALL, &["--json"]].concat());
    let shown: Value = serde_json::from_str(&said).expect("JSON");
    assert_eq!(
        (code, &shown["allowed"], &shown["policies"][0]),
        (0, &Value::Bool(true), &Value::from("all"))
    );
    let (code, said) =
        tested(&room, &["--principal", "alice", "--action", "call", "--resource", "tool:a.b"]);
    assert!(code == 2 && said.contains("user:SUBJECT"), "{said}");
    let (code, said) =
        tested(&room, &["--principal", "admin", "--action", "read", "--resource", "tool:a.b"]);
    assert!(code == 2 && said.contains("nobody can read that"), "{said}");
}

/// As at a start: a text without a policy permits nothing, and a directory without a text is a mistake.
#[test]
fn policy_test_of_a_text_without_policies_is_refused_as_it_would_be() {
    let room = Room::new();
    room.write("p.cedar", "// nothing yet");
    let asked = [&["--principal", "anonymous"][..], &CALL].concat();
    let (code, said) = tested(&room, &asked);
    assert!(code == 1 && said.contains("refused: no policy permits"), "{code} {said}");
    std::fs::create_dir_all(room.path("none")).expect("a directory");
    let done = policy(&room, &[&["test", "--policies", "none"][..], &asked].concat());
    done.bad(2, &["none: no file there is called *.cedar"]);
}

#[test]
fn policy_check_and_schema() {
    let room = Room::new();
    room.write("p.cedar", "forbid(principal, action, resource);");
    let said = policy(&room, &["check", "p.cedar"]).text().to_owned();
    assert!(
        said.contains("1 policies are right") && said.contains("nobody may list, call, read, get"),
        "{said}"
    );
    room.write("p.cedar", format!("{ALL}\nforbid(principal is Trunkline::Usr, action, resource);"));
    policy(&room, &["check", "p.cedar"]).bad(2, &["p.cedar:3: ", "Trunkline::Usr"]);
    policy(&room, &["check", "none.cedar"]).bad(2, &["none.cedar: "]);
    let schema = policy(&room, &["schema"]).text().to_owned();
    assert!(schema.contains("entity User in [Role, Group]"), "{schema}");
}

/// The sets under "Examples", in their order, each with requests that it allows and refuses.
#[test]
fn policy_examples_of_the_documentation_do_what_they_say() {
    let page = include_str!("../../../docs/policies.md");
    let examples = page.split("## Examples").nth(1).expect("examples");
    let examples: Vec<&str> = examples.split("```").skip(1).step_by(2).collect();
    let read_only = ["--annotations", r#"{"readOnlyHint":true}"#];
    let wednesday = "1794996000"; // 2026-11-18, 10:00 UTC
    let asked: [(&[&str], &[&str]); 8] = [
        (
            &[&["--principal", "anonymous"], &CALL[..], &read_only].concat(),
            &[&["--principal", "anonymous"], &CALL[..]].concat(),
        ),
        (
            &[
                "--principal",
                "user:a",
                "--claims",
                r#"{"groups":["dev"]}"#,
                "--action",
                "call",
                "--resource",
                "tool:git.log",
            ],
            &[
                "--principal",
                "user:a",
                "--claims",
                r#"{"groups":["dev"]}"#,
                "--action",
                "call",
                "--resource",
                "tool:jira.log",
            ],
        ),
        (
            &[&["--principal", "user:a", "--claims", r#"{"team":"blue"}"#], &CALL[..]].concat(),
            &[&["--principal", "user:a", "--claims", r#"{"team":"red"}"#], &CALL[..]].concat(),
        ),
        (
            &[&["--principal", "key:abc", "--name", "ci"], &CALL[..], &read_only].concat(),
            &[&["--principal", "key:abc", "--name", "ci"], &CALL[..]].concat(),
        ),
        (
            &[&["--principal", "anonymous", "--arguments", r#"{"path":"/srv/x"}"#], &CALL[..]]
                .concat(),
            &[&["--principal", "anonymous", "--arguments", r#"{"path":"/srv/../etc"}"#], &CALL[..]]
                .concat(),
        ),
        (
            &[
                "--principal",
                "admin",
                "--action",
                "call",
                "--resource",
                "tool:billing.pay",
                "--now",
                wednesday,
            ],
            &[
                "--principal",
                "admin",
                "--action",
                "call",
                "--resource",
                "tool:billing.pay",
                "--now",
                "1795255200",
            ],
        ),
        (
            &[&["--principal", "anonymous", "--address", "10.1.2.3"], &CALL[..]].concat(),
            &[&["--principal", "anonymous", "--address", "192.0.2.1"], &CALL[..]].concat(),
        ),
        (
            &[
                "--principal",
                "anonymous",
                "--action",
                "call",
                "--resource",
                "tool:bank.pay",
                "--arguments",
                r#"{"amount":1000}"#,
            ],
            &[
                "--principal",
                "anonymous",
                "--action",
                "call",
                "--resource",
                "tool:bank.pay",
                "--arguments",
                r#"{"amount":"1"}"#,
            ],
        ),
    ];
    assert_eq!(examples.len(), asked.len());
    let room = Room::new();
    for (example, (allowed, refused)) in examples.iter().zip(asked) {
        room.write("p.cedar", example);
        for (arguments, expected) in [(allowed, 0), (refused, 1)] {
            let (code, said) = tested(&room, arguments);
            assert_eq!(code, expected, "{example} {arguments:?}: {said}");
        }
    }
}
