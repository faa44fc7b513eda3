//! Policies in files: at the start, while it runs, and what is wrong with them.

use kit::mcp::Speak as _;
use kit::process::wait_until;
use kit::room::Room;
use kit::run::run;
use kit::scene::{Front, each_of};
use kit::{LIMIT, ledger};
use serde_json::json;

use super::{ALL, assert_forbidden, config, entry};

#[test]
fn policies_that_are_edited_hold_at_once_and_broken_ones_change_nothing() {
    each_of([Front::Stdio, Front::Http], |front| {
        let room = Room::new();
        config(&room, ALL);
        let scene = room.open_ready(front, &[]);
        let [look, act] = ["look", "act"].map(|tool| scene.tool("a", tool));
        scene.call(&act, "{}").result();
        let closed = format!(
            "{ALL}@id(\"closed\") forbid(principal, action == Trunkline::Action::\"call\", resource == Trunkline::Tool::\"a.act\");"
        );
        room.write("rules/one.cedar", &closed);
        wait_until("the edit holds", LIMIT, || scene.call(&act, "{}").try_error().is_some());
        assert_forbidden(&scene.call(&act, "{}"), &["closed"], "policy \"closed\"");
        scene.call(&look, "{}").result();
        // A list that changes is told and listed anew.
        room.write(
            "rules/two.cedar",
            "@id(\"gone\") forbid(principal, action, resource == Trunkline::Tool::\"a.look\");",
        );
        wait_until("it is hidden", LIMIT, || !scene.list_names().contains(&look));
        room.write("rules/two.cedar", "forbid(principal, action, resorce);");
        scene.process().wait_stderr(
            &[
                "the edited policies are not valid; those from before stay in force",
                "two.cedar:1: ",
            ],
            LIMIT,
        );
        assert!(!scene.list_names().contains(&look));
        assert_forbidden(&scene.call(&act, "{}"), &["closed"], "policy \"closed\"");
        std::fs::remove_file(room.path("rules/two.cedar")).expect("removed");
        wait_until("it is back", LIMIT, || scene.list_names().contains(&look));
        scene.call(&look, "{}").result();
        // A directory without a file is no reason to permit everything.
        std::fs::rename(room.path("rules/one.cedar"), room.path("rules/one.txt")).expect("renamed");
        scene.process().wait_stderr(&["no file there is called *.cedar"], LIMIT);
        assert_forbidden(&scene.call(&act, "{}"), &["closed"], "policy \"closed\"");
        assert_eq!(ledger::started(&room.ledger("a")).len(), 1, "no server is started anew");
    });
}

#[test]
fn policies_that_are_broken_at_the_start_are_told_with_their_lines_and_nothing_starts() {
    for (policies, words) in [
        ("permit(principal, action, resource)", "one.cedar:1: unexpected end of input"),
        (
            "\n\npermit(principal, action, resource) when { resource.nme == \"x\" };",
            "one.cedar:3: ",
        ),
        (
            "permit(principal, action == Trunkline::Action::\"cal\", resource);",
            "unrecognized action `Trunkline::Action::\"cal\"`",
        ),
        ("permit(principal, action, resource) when { context.now.hour > 8 };", "one.cedar:1: "),
    ] {
        let room = Room::new();
        config(&room, policies);
        for command in [room.trunkline(&[]), room.serve_command(&[])] {
            run(command, b"").bad(2, &[words]);
        }
        assert!(!room.ledger("a").exists() || ledger::started(&room.ledger("a")).is_empty());
    }
}

#[test]
fn a_directory_without_policies_is_a_mistake() {
    let room = Room::new();
    config(&room, ALL);
    std::fs::remove_file(room.path("rules/one.cedar")).expect("removed");
    for command in [room.trunkline(&[]), room.serve_command(&[])] {
        run(command, b"").bad(2, &["rules", "no file there is called *.cedar"]);
    }
}

#[test]
fn policies_of_the_command_line_are_added_and_a_set_that_permits_nothing_says_so() {
    let room = Room::new();
    room.config([("a", entry(&room, "a"))]);
    let file = room.write(
        "more.cedar",
        "@id(\"closed\") forbid(principal, action, resource == Trunkline::Tool::\"a.act\");",
    );
    let file = file.to_str().expect("UTF-8");
    let serve = room.serve(&["--policies", file]);
    serve.process().wait_stderr(
        &["1 policies hold, and none of them permits anybody to list, call, read, get"],
        LIMIT,
    );
    let client = serve.http();
    assert_eq!(client.list_names(), Vec::<String>::new());
    drop(serve);
    let all = room.write("all.cedar", ALL);
    let serve = room.serve(&["--policies", file, "--policies", all.to_str().expect("UTF-8")]);
    let client = serve.http();
    client.wait_list("look is listed", LIMIT, |tools| tools.len() == 1);
    assert_eq!(client.list_names(), ["a.look"]);
}

#[test]
fn policies_of_a_token_are_those_of_the_key_token() {
    let room = Room::new();
    room.config([("a", entry(&room, "a"))]);
    let text = format!(
        "{ALL}@id(\"token\") forbid(principal == Trunkline::Key::\"token\", action == Trunkline::Action::\"call\", resource);\n@id(\"nobody\") forbid(principal is Trunkline::Anonymous, action, resource);"
    );
    let file = room.write("p.cedar", text);
    let flags = ["--policies", file.to_str().expect("UTF-8"), "--token", "a-token-of-the-tests"];
    let serve = room.serve(&flags);
    let headers = [("Authorization", "Bearer a-token-of-the-tests")];
    let client = kit::streamable::Streamable::with_headers(serve.address(), "/mcp", &headers);
    client.initialize("2025-11-25").result();
    client.wait_list("both are listed", LIMIT, |tools| tools.len() == 2);
    assert_forbidden(&client.call("a.look", "{}"), &["token"], "policy \"token\"");
    drop(serve);
    let serve = room.serve(&flags[..2]);
    assert_eq!(serve.http().list_names(), Vec::<String>::new());
}

#[test]
fn policies_that_are_named_later_need_a_restart_and_this_is_told() {
    let room = Room::new();
    room.config([("a", entry(&room, "a"))]);
    let scene = room.open_ready(Front::Stdio, &[]);
    let config = json!({ "mcpServers": { "a": entry(&room, "a") }, "policies": "rules" });
    room.write("mcp.json", config.to_string());
    scene
        .process()
        .wait_stderr(&["`policies` of the config has changed: restart Trunkline to use it"], LIMIT);
}
