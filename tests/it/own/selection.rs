//! Tools switched off and presets, as clients see them: in lists and in calls.

use kit::LIMIT;
use kit::client::Client;
use kit::mcp::Speak;
use kit::room::Room;
use kit::run::run;
use kit::serve::Serve;
use kit::streamable::Streamable;
use serde_json::json;

use super::{add, done, good, put, session, text, trunkline};

/// Neither listed nor called: the usual answer to a name that no tool has.
#[track_caller]
fn assert_off(client: &Client, tool: &str) {
    assert!(!client.list_names().contains(&tool.to_owned()));
    let (answer, usual) = (client.call(tool, "{}"), client.call("nobody:nothing", "{}"));
    assert_eq!(answer.code(), usual.code(), "{answer}");
    assert!(answer.message().starts_with(&format!("Tool not found: {tool}")), "{answer}");
}

#[test]
fn a_tool_is_switched_off_and_on_for_everybody_also_while_a_client_is_there() {
    let room = Room::new();
    add(&room, "git", &["log", "push", "push_tags"]).good();
    let before = text(&room);
    let client = session(&room, &[]);
    assert_eq!(client.list_names(), ["git:log", "git:push", "git:push_tags"]);
    good(&room, &["tools", "disable", "git:push"]);
    client.notification("notifications/tools/list_changed", LIMIT);
    client.wait_list("the tool goes", LIMIT, |names| names == ["git:log", "git:push_tags"]);
    assert_off(&client, "git:push");
    let listed = good(&room, &["tools"]);
    assert!(listed.contains("git:push  (off)\n") && listed.starts_with("git:log\n"), "{listed}");
    done(&room, &["call", "git:push"]).bad(1, &["no tool `git:push`", "switches it off"]);
    good(&room, &["tools", "disable", "git:push*"]);
    client.wait_list("both go", LIMIT, |names| names == ["git:log"]);
    good(&room, &["tools", "enable", "git:push", "git:push_tags"]);
    client.wait_list("both come back", LIMIT, |names| names.len() == 3);
    assert_eq!(text(&room), before);
    client.assert_echo("git", "push", "{}");
    done(&room, &["tools", "disable", "git:psh"]).bad(2, &["no tool `psh`", "`push`"]);
    done(&room, &["tools", "disable", "gti:push"]).bad(2, &["did you mean `git`?"]);
    done(&room, &["tools", "disable", "git"]).bad(2, &["trunkline disable git"]);
    assert_eq!(text(&room), before);
}

#[test]
fn a_tool_is_switched_off_for_one_client() {
    let room = Room::new();
    add(&room, "git", &["log", "push"]).good();
    add(&room, "jira", &["search"]).good();
    let before = text(&room);
    good(&room, &["tools", "disable", "git:push", "jira", "--for", "cursor"]);
    let cursor = session(&room, &["--for", "cursor"]);
    assert_eq!(cursor.list_names(), ["git__log"]);
    for tool in ["git__push", "git:push", "jira__search", "jira:search"] {
        assert_off(&cursor, tool);
    }
    assert_eq!(session(&room, &["--for", "zed"]).list_names().len(), 3);
    assert_eq!(session(&room, &[]).list_names().len(), 3);
    done(&room, &["tools", "enable", "jira:search", "--for", "cursor"]).bad(2, &["stays off"]);
    done(&room, &["tools", "disable", "git:push", "--for", "cursr"]).bad(2, &["`cursor`"]);
    good(&room, &["tools", "enable", "git:push", "jira", "--for", "cursor"]);
    assert_eq!(text(&room), before);
}

fn work(room: &Room) {
    for (name, tools) in
        [("git", &["log"][..]), ("jira", &["search_issues", "delete"]), ("mail", &["send"])]
    {
        add(room, name, tools).good();
    }
    let config = text(room);
    let more = r#""presets": {"work": ["git", "jira:search_*"], "none": []},
  "clients": {"cursor": {"preset": "work"}}"#;
    let open = config.rfind('}').unwrap();
    put(room, &format!("{},\n  {more}\n}}\n", config[..open].trim_end()));
}

#[test]
fn a_preset_chooses_for_a_session_and_for_a_client() {
    let room = Room::new();
    work(&room);
    for (flags, expected) in [
        (&["--preset", "work"][..], &["git:log", "jira:search_issues"][..]),
        (&["--for", "cursor"], &["git__log", "jira__search_issues"]),
        (&["--for", "cursor", "--preset", "none"], &[]),
        (&[], &["git:log", "jira:delete", "jira:search_issues", "mail:send"]),
    ] {
        let client = session(&room, flags);
        assert_eq!(client.list_names(), expected, "{flags:?}");
        if flags == ["--preset", "work"] {
            assert_off(&client, "jira:delete");
            assert_off(&client, "mail:send");
            client.assert_echo("jira", "search_issues", r#"{"q":"x"}"#);
        }
    }
    done(&room, &["--preset", "wrok"]).bad(2, &["unknown preset `wrok`", "`work`"]);
    done(&room, &["tools", "--preset", "wrok"]).bad(2, &["unknown preset", "work, none"]);
    let listed = run(trunkline(&room, &["tools", "--preset", "work"]), b"");
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    assert!(listed.contains("mail:send  (off)"), "{listed}");
}

#[test]
fn serve_obeys_presets_for_all_and_for_each_kind_of_client() {
    let room = Room::new();
    work(&room);
    let serve = |flags: &[&str]| {
        let flags =
            [&["serve", "--listen", "127.0.0.1:0", "--start-timeout", "25"], flags].concat();
        let mut command = trunkline(&room, &flags);
        command.env_remove("PORT").env_remove("TRUNKLINE_TOKEN");
        Serve::start(command)
    };
    let all = serve(&[]);
    assert_eq!(all.http().list_names().len(), 4);
    let cursor = Streamable::new(all.address(), "/mcp/for/cursor");
    cursor.initialize("2025-11-25").result();
    assert_eq!(cursor.list_names(), ["git__log", "jira__search_issues"]);
    let refused = cursor.call("mail__send", "{}");
    assert!(refused.message().starts_with("Tool not found"), "{refused}");
    let some = serve(&["--preset", "work"]);
    let http = some.http();
    assert_eq!(http.list_names(), ["git.log", "jira.search_issues"]);
    assert!(http.call("mail.send", "{}").message().starts_with("Tool not found"));
}

#[test]
fn what_a_preset_leaves_out_is_not_seen_in_any_list() {
    let room = Room::new();
    let fake = |name: &str| {
        let fake = room.fake(name).tool("t", kit::say::echo());
        fake.resource(&format!("{name}://r"), "r").prompt("p", "P").entry()
    };
    let config =
        json!({"mcpServers": {"a": fake("a"), "b": fake("b")}, "presets": {"one": ["a:t"]}});
    put(&room, &config.to_string());
    let client = session(&room, &["--preset", "one"]);
    assert_eq!(client.list_names(), ["a:t"]);
    let resources = client.ask("resources/list", "{}");
    let prompts = client.ask("prompts/list", "{}");
    let both = [resources.result(), prompts.result()].concat();
    let both = String::from_utf8_lossy(&both).into_owned();
    assert!(both.contains("a://r") && !both.contains("b://r"), "{both}");
    assert!(both.contains("[a]") && !both.contains("[b]"), "{both}");
}

#[test]
fn what_a_preset_leaves_out_is_not_found_by_searching_either() {
    let room = Room::new();
    work(&room);
    let client = session(&room, &["--expose", "search", "--preset", "work"]);
    client.list();
    for query in ["mail:send", "send", "delete", "search_issues"] {
        let found = client.call("search_tools", &json!({ "query": query }).to_string());
        let found = String::from_utf8_lossy(found.result()).into_owned();
        assert!(!found.contains("mail:send") && !found.contains("jira:delete"), "{found}");
        assert!(query != "search_issues" || found.contains("jira:search_issues"), "{found}");
    }
    let called = client.call("call_tool", r#"{"name":"mail:send","arguments":{}}"#);
    let called = String::from_utf8_lossy(called.result()).into_owned();
    assert!(called.contains("Tool not found: mail:send"), "{called}");
}
