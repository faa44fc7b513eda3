//! Custom tools: what they look like and what may be called through them.

use super::{Server, assemble_with, leads, offers, server, shown, stopped};
use crate::assemble::{Catalog, CustomRoute, ToolRoute, custom_tools};
use crate::client::Client;
use crate::config::{CustomTool, Subtool};
use crate::listing::ListKind::Tools;
use crate::name::Naming;

/// `server/tool`, or `server/tool: description`.
fn custom(name: &str, description: &str, subtools: &[&str]) -> CustomTool {
    let subtool = |text: &&str| {
        let (names, description) = match text.split_once(": ") {
            Some((names, description)) => (names, Some(description.to_owned())),
            None => (*text, None),
        };
        let (server, tool) = names.split_once('/').unwrap();
        Subtool { server: server.to_owned(), tool: tool.to_owned(), description }
    };
    CustomTool {
        name: name.to_owned(),
        description: description.to_owned(),
        subtools: subtools.iter().map(subtool).collect(),
        selection: None,
    }
}

fn catalog(servers: &[Server], tool: CustomTool) -> Catalog {
    assemble_with(servers, &[tool], &Naming::default())
}

fn route<'c>(catalog: &'c Catalog, name: &str) -> &'c CustomRoute {
    match catalog.route(name) {
        Some(ToolRoute::Custom(route)) => route,
        other => panic!("{other:?}"),
    }
}

#[test]
fn co_5_the_definition_is_made_of_the_subtools() {
    let fs = r#"[{"name":"read","inputSchema":{"type" : "object","properties":{"p":{"type":"string"}}}}]"#;
    let git = r#"[{"name":"log","inputSchema":{"title":"x","type":"object"}},{"name":"ref","inputSchema":{"type":"object","properties":{"a":{"$ref":"x"}}}},{"name":"any","inputSchema":{}}]"#;
    let servers = [
        server("git", Tools, git).hiding(&["log", "ref", "any"]),
        server("fs", Tools, fs).hiding(&["read"]),
    ];
    let subtools = ["fs/read: Reads", "git/log", "git/ref", "git/any", "git/gone", "off/x"];
    let catalog = catalog(&servers, custom("both", "Does \"both\".", &subtools));
    assert_eq!(
        shown(&catalog, Tools),
        concat!(
            r#"{"tools":[{"name":"both","description":"Does \"both\".\n- fs / read: Reads\n- git / log\n- git / ref\n- git / any\n- git / gone\n- off / x","#,
            r#""inputSchema":{"type":"object","properties":{"#,
            r#""server":{"type":"string","enum":["fs","git","off"]},"#,
            r#""tool":{"type":"string","enum":["read","log","ref","any","gone","x"]},"#,
            r#""args":{"type":"object","description":"the arguments of the tool","anyOf":["#,
            r#"{"title":"fs/read","type" : "object","properties":{"p":{"type":"string"}}},"#,
            r#"{"title":"git/log","type":"object"},{"title":"git/ref","type":"object"},"#,
            r#"{"title":"git/any","type":"object"},{"title":"git/gone","type":"object"},"#,
            r#"{"title":"off/x","type":"object"}]}},"#,
            r#""required":["server","tool"],"additionalProperties":false}}]}"#,
        )
    );
    let expected = r#"custom tool "both": server "git" offers no tool "gone""#;
    assert_eq!(catalog.warnings, [expected]);
    let list: serde_json::Value = serde_json::from_slice(catalog.list(Tools)).unwrap();
    assert_eq!(list["tools"].as_array().unwrap().len(), 1);
}

#[test]
fn co_5_only_listed_subtools_may_be_called() {
    let page = r#"[{"name":"r\u0065ad"},{"name":"write"}]"#;
    let servers = [server("fs", Tools, page).exposing(&["read=look"]), stopped("git")];
    let catalog = catalog(&servers, custom("both", "", &["fs/read", "fs/gone", "git/log", "no/x"]));
    let route = route(&catalog, "both");
    let called = |server: &str, tool: &str| match route.subtool(server, tool) {
        Ok(route) => leads(route),
        Err(refusal) => refusal.to_string(),
    };
    assert_eq!(called("fs", "read"), r#"0 "r\u0065ad""#, "whatever the filter calls it");
    assert_eq!(called("git", "log"), r#"server "git" is not running"#);
    assert_eq!(called("no", "x"), r#"server "no" is not running"#);
    assert_eq!(called("fs", "gone"), r#"server "fs" does not offer the tool "gone" now"#);
    let has = r#"it has "read" of "fs", "gone" of "fs", "log" of "git", "x" of "no""#;
    for (server, tool) in [("fs", "write"), ("git", "read"), ("fs", "look"), ("", "")] {
        let expected =
            format!(r#"custom tool "both" has no subtool "{tool}" of server "{server}"; {has}"#);
        assert_eq!(called(server, tool), expected);
    }
    assert!(called("fs", "a\u{202e}\n").contains(r#""a\u{202e}\u{a}""#), "nothing hidden in it");
}

#[test]
fn co_5_headers_of_a_subtool_are_known_and_not_listed() {
    let table = [("string", "P", true), ("number", "P", false), ("string", "", false)];
    for (type_of, name, proper) in table {
        let property = format!(r#"{{"type":"{type_of}","x-mcp-header":"{name}"}}"#);
        let schema = format!(r#"{{"type":"object","properties":{{"p":{property}}}}}"#);
        let page = format!(r#"[{{"name":"read","inputSchema":{schema}}}]"#);
        let servers = [server("fs", Tools, &page).hiding(&["read"])];
        let catalog = catalog(&servers, custom("both", "", &["fs/read"]));
        let shown = shown(&catalog, Tools);
        assert!(shown.contains(r#""anyOf":[{"title":"fs/read","type":"object"}]"#), "{shown}");
        assert!(!shown.contains("x-mcp-header"), "{shown}");
        let subtool = route(&catalog, "both").subtool("fs", "read").unwrap();
        let headers = subtool.headers.as_deref().unwrap_or_default();
        let names: Vec<_> = headers.iter().map(|header| header.name.as_str()).collect();
        assert_eq!(names, if proper { vec!["P"] } else { vec![] }, "{property}");
    }
}

#[test]
fn co_5_a_custom_tool_is_listed_while_one_of_its_subtools_can_be_called() {
    let tool = custom("both", "", &["fs/read", "git/log"]);
    let none = catalog(&[stopped("fs"), stopped("git")], tool.clone());
    assert_eq!(none.count(Tools), 0);
    assert!(route(&none, "both").subtool("fs", "read").is_err(), "the call says why");
    let one = catalog(&[stopped("fs"), server("git", Tools, r#"[{"name":"log"}]"#)], tool);
    assert_eq!(one.count(Tools), 2);
}

#[test]
fn co_5_custom_tools_are_sorted_with_the_others_and_named_for_the_client() {
    let servers = [server("b", Tools, r#"[{"name":"x"}]"#)];
    let tools = [custom("c.d", "", &["b/x"]), custom("a", "", &["b/x"])];
    let names = |naming: &Naming| -> Vec<String> {
        let catalog = assemble_with(&servers, &tools, naming);
        let list: serde_json::Value = serde_json::from_slice(catalog.list(Tools)).unwrap();
        let tools = list["tools"].as_array().unwrap();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&Naming::default()), ["a", "b:x", "c.d"]);
    let naming = Naming::for_client(":", Client::ClaudeDesktop);
    assert_eq!(names(&naming), ["a", "b__x", "c_d"]);
    let catalog = assemble_with(&servers, &tools, &naming);
    assert_eq!(route(&catalog, "c_d"), route(&catalog, "c.d"));
}

#[test]
fn co_5_custom_tools_alone_are_what_the_catalog_lists_of_them() {
    let servers =
        [server("b", Tools, r#"[{"name":"x","inputSchema":{"type":"object"}}]"#), stopped("off")];
    let tools = [
        custom("c.d", "Does it.", &["b/x: Well"]),
        custom("a", "", &["b/x", "off/y"]),
        custom("gone", "", &["off/y"]),
    ];
    let alone = custom_tools(&offers(&servers), &tools);
    let names: Vec<&str> = alone.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["a", "c.d"]);
    let catalog = assemble_with(&servers, &tools, &Naming::default());
    let list = shown(&catalog, Tools);
    for (name, definition) in alone {
        assert!(list.contains(&String::from_utf8(definition).unwrap()), "{name}: {list}");
    }
}
