//! `presets` and `clients`: what they take and hide, and what can be wrong with them.

use super::Rules::{Full, Simple};
use super::{check, check_rows, read};
use crate::client::Client;

/// A file with three servers, a custom tool and these members on its second line.
fn file(members: &str) -> String {
    format!(
        r#"{{"mcpServers": {{"git": {{"command": "g"}}, "git:hub": {{"command": "h"}}, "jira": {{"url": "https://j/mcp"}}}}, "tools": {{"office": {{"description": "", "subtools": {{"git": {{"tools": ["log"]}}}}}}}},
{members}}}"#
    )
}

#[test]
fn presets_and_clients_choose_servers_tools_and_custom_tools() {
    let text = file(
        r#""presets": {"work": ["git", "jira:search_*", "office"], "few": ["git.log", "git:hub:x"]},
           "clients": {"cursor": {"preset": "few"}, "zed": {"hiddenTools": ["git:push", "jira", "office"]}}"#,
    );
    let config = read(&text, Full).unwrap();
    assert_eq!(config.presets, ["work", "few"]);
    let shown = |client: Option<Client>, preset: Option<&str>| -> Vec<String> {
        let tools = ["log", "push", "x", "search_issues", "delete"];
        let servers = config.servers.iter().flat_map(|server| {
            let seen = server.filter.seen_by(client, preset);
            let seen = tools.iter().filter(move |tool| seen.shows(tool));
            seen.map(|tool| format!("{}:{tool}", server.key)).collect::<Vec<_>>()
        });
        let custom = config.custom.iter().filter(|tool| {
            let selection = tool.selection.as_ref().unwrap();
            !selection.seen_by(client, preset).is_nothing()
        });
        servers.chain(custom.map(|tool| tool.name.clone())).collect()
    };
    assert_eq!(shown(None, None).len(), 16);
    let work = ["git:log", "git:push", "git:x", "git:search_issues", "git:delete"];
    let work = [&work[..], &["jira:search_issues", "office"]].concat();
    assert_eq!(shown(None, Some("work")), work);
    assert_eq!(shown(None, Some("few")), ["git:log", "git:hub:x"]);
    assert_eq!(shown(Some(Client::Cursor), None), ["git:log", "git:hub:x"]);
    assert_eq!(shown(Some(Client::Cursor), Some("work")), work);
    let zed = shown(Some(Client::Zed), None);
    assert!(
        zed.contains(&"git:log".to_owned()) && !zed.contains(&"git:push".to_owned()),
        "{zed:?}"
    );
    assert!(!zed.iter().any(|name| name.starts_with("jira") || name == "office"), "{zed:?}");
}

#[test]
fn what_is_wrong_with_presets_and_clients() {
    let table = r#"
        "presets": []                               => presets 2:12 `presets` must be an object of lists, found an array
        "presets": {"w": "git"}                     => presets.w 2:18 `w` must be an array of servers and tools, found a string
        "presets": {"w": [5]}                       => presets.w[0] 2:19 an entry must be a string, found a number
        "presets": {"": ["git"]}                    => presets[""] 2:13 the name of a preset is empty or has control characters
        "presets": {"w": ["gti:push"]}              => presets.w[0] 2:19 there is no server or custom tool of this name in the file | did you mean `git:push`?
        "presets": {"w": ["offise"]}                => presets.w[0] 2:19 there is no server or custom tool of this name in the file | did you mean `office`?
        "presets": {"w": ["weather"]}               => presets.w[0] 2:19 there is no server or custom tool of this name in the file | the servers of this file are `git`, `git:hub`, `jira`
        "clients": 5                                => clients 2:12 `clients` must be an object of clients, found a number
        "clients": {"cursr": {}}                    => clients.cursr 2:13 `cursr` is not a client that Trunkline knows | did you mean `cursor`?
        "clients": {"cursor": "work"}               => clients.cursor 2:23 a client must be an object, found a string
        "clients": {"cursor": {"preset": "work"}}   => clients.cursor.preset 2:34 there is no preset `work` | add `presets` beside `clients`: write {"NAME": ["SERVER", "SERVER:TOOL", …]}
        "presets": {"work": ["git"]}, "clients": {"cursor": {"preset": "wrok"}} => clients.cursor.preset 2:64 there is no preset `wrok` | did you mean `work`?
        "clients": {"cursor": {"hiddenTools": ["jirra:x"]}} => clients.cursor.hiddenTools[0] 2:40 there is no server or custom tool of this name in the file | did you mean `jira:x`?
    "#;
    check_rows(&[Full], file, "invalid_schema $.", table);
    let table = r#"
        "presets": {"w": []}                        => presets.w 2:18 the preset `w` is empty: it shows nothing
        "clients": {"cursor": {"presett": "w"}}     => clients.cursor.presett 2:24 `presett` is not a known key and is ignored | did you mean `preset`?
    "#;
    check_rows(&[Full], file, "warning $.", table);
    let refused = "invalid_schema $.presets 1:41 `presets` is not in the standard config";
    check(r#"{"mcpServers": {"s": {"command": "a"}}, "presets": {}}"#, Simple, &[refused]);
}
