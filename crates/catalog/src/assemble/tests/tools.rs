//! Tools: sorted, filtered, renamed, and never another's.

use super::{Server, assemble, assemble_with, leads, server, shown, stopped};
use crate::assemble::{Catalog, ToolRoute};
use crate::client::Client;
use crate::listing::ListKind::Tools;
use crate::name::Naming;

fn route(catalog: &Catalog, name: &str) -> Option<String> {
    match catalog.route(name)? {
        ToolRoute::Server(route) => Some(leads(route)),
        ToolRoute::Custom(_) => Some("custom".to_owned()),
        ToolRoute::Meta(_) => Some("own".to_owned()),
    }
}

fn names(catalog: &Catalog) -> Vec<String> {
    let list: serde_json::Value = serde_json::from_slice(catalog.list(Tools)).unwrap();
    let tools = list["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn definitions_change_in_their_name_only_and_are_sorted() {
    let one =
        r#"[{"z":1e2,"name":"search", "inputSchema":{"type":"object"},"q":[ ]},{"name":"a"}]"#;
    let two = r#"[{"name":"search"}]"#;
    let catalog = assemble(&[server("s2", Tools, one), server("s1", Tools, two)]);
    assert_eq!(
        shown(&catalog, Tools),
        concat!(
            r#"{"tools":[{"name":"s1:search","inputSchema":{"type":"object"}},"#,
            r#"{"name":"s2:a","inputSchema":{"type":"object"}},"#,
            r#"{"z":1e2,"name":"s2:search", "inputSchema":{"type":"object"},"q":[ ]}]}"#
        )
    );
    assert_eq!(route(&catalog, "s2:search").as_deref(), Some("0 \"search\""));
    assert_eq!(route(&catalog, "s1:search").as_deref(), Some("1 \"search\""));
    assert_eq!(route(&catalog, "search"), None);
    assert_eq!(catalog.count(Tools), 3);
}

#[test]
fn keys_and_names_may_contain_the_separator() {
    let catalog = assemble(&[server("a:x", Tools, r#"[{"name":"b:c"}]"#)]);
    assert_eq!(route(&catalog, "a:x:b:c").as_deref(), Some("0 \"b:c\""));
}

#[test]
fn k24_a_name_never_changes_its_owner() {
    let echo = r#"[{"name":"echo"}]"#;
    let both = [server("a", Tools, r#"[{"name":"b:echo"}]"#), server("a:b", Tools, echo)];
    assert_eq!(route(&assemble(&both), "a:b:echo"), None, "two tools want it");
    let gone = [
        stopped("a").knowing(&["b:echo"], &[]),
        server("a:b", Tools, echo).knowing(&["echo"], &[]),
    ];
    assert_eq!(route(&assemble(&gone), "a:b:echo"), None, "it was the other's, too");
    assert_eq!(assemble(&gone).count(Tools), 1);
}

fn three(key: &'static str) -> Server {
    server(key, Tools, r#"[{"name":"a"},{"name":"b"},{"name":"c"}]"#)
}

#[test]
fn co_4_a_filter_holds_in_the_list_and_for_calls() {
    let table: [(Server, &[&str], &[&str]); 6] = [
        (three("s").exposing(&["b"]), &["s:b"], &["s:a", "s:c"]),
        (three("s").hiding(&["b"]), &["s:a", "s:c"], &["s:b"]),
        (three("s").exposing(&["a", "b"]).hiding(&["b"]), &["s:a"], &["s:b", "s:c"]),
        (three("s").exposing(&["a=x", "b"]), &["s:b", "s:x"], &["s:a", "s:c"]),
        (three("s").exposing(&["a=b", "b=a"]), &["s:a", "s:b"], &["s:c"]),
        (three("s").exposing(&[]), &[], &["s:a", "s:b", "s:c"]),
    ];
    for (server, listed, refused) in table {
        let filter = server.filter.clone();
        let catalog = assemble(&[server]);
        assert_eq!(names(&catalog), listed, "{filter:?}");
        for name in listed {
            assert!(route(&catalog, name).is_some(), "{name} {filter:?}");
        }
        for name in refused {
            assert_eq!(route(&catalog, name), None, "{name} {filter:?}");
        }
        assert!(catalog.warnings.is_empty(), "{:?}", catalog.warnings);
    }
}

#[test]
fn co_4_a_renamed_tool_is_called_by_its_own_name() {
    let catalog = assemble(&[three("s").exposing(&["a=b", "b=a"])]);
    assert_eq!(route(&catalog, "s:a").as_deref(), Some("0 \"b\""));
    assert_eq!(route(&catalog, "s:b").as_deref(), Some("0 \"a\""));
    let naming = Naming::for_client(":", Client::ClaudeDesktop);
    let catalog = assemble_with(&[three("s").exposing(&["a=x.y"])], &[], &naming);
    assert_eq!(names(&catalog), ["s__x_y"]);
    assert_eq!(route(&catalog, "s__x_y").as_deref(), Some("0 \"a\""));
    assert_eq!(route(&catalog, "s:x.y").as_deref(), Some("0 \"a\""));
}

#[test]
fn co_4_hidden_tools_take_no_name_from_others() {
    let hidden = server("a", Tools, r#"[{"name":"b:echo"}]"#).hiding(&["b:echo"]);
    let hidden = hidden.knowing(&["b:echo"], &[]);
    let catalog = assemble(&[hidden, server("a:b", Tools, r#"[{"name":"echo"}]"#)]);
    assert_eq!(route(&catalog, "a:b:echo").as_deref(), Some("1 \"echo\""));
}

#[test]
fn co_4_a_name_that_is_no_tools_is_a_warning() {
    let catalog = assemble(&[
        three("s").exposing(&["a", "x=b"]).hiding(&["y"]),
        stopped("t").exposing(&["z"]),
    ]);
    let expected = [
        r#"the tool "x" to be exposed is not one of server "s""#,
        r#"the tool "y" to be hidden is not one of server "s""#,
    ];
    assert_eq!(catalog.warnings, expected);
}

#[test]
fn a_route_knows_the_headers_of_its_tool() {
    let page = r#"[{"name":"a","inputSchema":{"properties":{"p":{"properties":{"q":{"type":"string","x-mcp-header":"Q"}}}}}},{"name":"b"},{"name":"c","inputSchema":{"x-mcp-header":"C"}}]"#;
    let naming = Naming::for_client(":", Client::OpenAi);
    let servers = [server("s", Tools, page).exposing(&["a=x", "b", "c"])];
    let catalog = assemble_with(&servers, &[], &naming);
    for (name, expected) in [("s:x", "Q p.q"), ("s__x", "Q p.q"), ("s:b", ""), ("s:c", "")] {
        let Some(ToolRoute::Server(route)) = catalog.route(name) else { panic!("{name}") };
        let headers = route.headers.iter().flat_map(|headers| headers.iter());
        let headers: Vec<_> =
            headers.map(|header| format!("{} {}", header.name, header.path.join("."))).collect();
        assert_eq!(headers.join(","), expected, "{name}");
    }
    assert!(catalog.mirrors_arguments());
    let servers = [server("s", Tools, page).exposing(&["b", "c"])];
    assert!(!assemble_with(&servers, &[], &naming).mirrors_arguments());
}

#[test]
fn a_tool_is_found_in_the_list_by_every_name_it_has() {
    let naming = Naming::for_client(":", Client::OpenAi);
    let servers = [three("s").exposing(&["a=x", "b"]), three("t")];
    let catalog = assemble_with(&servers, &[], &naming);
    for (name, expected) in [
        ("s:x", Some("s__x")),
        ("s__x", Some("s__x")),
        ("t:a", Some("t__a")),
        ("s:a", None),
        ("x", None),
    ] {
        assert_eq!(catalog.listed(Tools, name).as_deref(), expected, "{name}");
    }
    assert_eq!((catalog.tools_of(0), catalog.tools_of(1), catalog.tools_of(2)), (2, 3, 0));
}
