//! Lists that do not show every tool.

use trunkline_wire::{decode, elements, member};

use super::{Server, assemble_exposing, server, stopped};
use crate::assemble::{Catalog, Exposure, ToolRoute};
use crate::client::Client;
use crate::config::{CustomTool, Subtool};
use crate::listing::ListKind;
use crate::name::Naming;

const OWN: &str = "call_read_only_tool call_tool describe_tools search_tools";

/// A server with so many tools: `t0`, `t1`, …
fn many(key: &'static str, count: usize) -> Server {
    let tools: Vec<String> = (0..count).map(tool).collect();
    server(key, ListKind::Tools, &format!("[{}]", tools.join(",")))
}

fn tool(number: usize) -> String {
    format!(r#"{{"name":"t{number}","inputSchema":{{"type":"object"}}}}"#)
}

fn names(catalog: &Catalog) -> String {
    let list = member(catalog.list(ListKind::Tools), "tools").unwrap();
    let names = elements(list).map(|at| member(at.of(list), "name").and_then(decode).unwrap());
    names.collect::<Vec<_>>().join(" ")
}

fn searched(servers: &[Server], naming: &Naming) -> Catalog {
    assemble_exposing(Exposure::Search, servers, &[], naming)
}

#[test]
fn what_is_not_pinned_is_behind_and_can_be_called() {
    let mut pinning = many("a", 3);
    pinning.filter.pinned = vec!["t1".to_owned()];
    let catalog = searched(&[pinning, many("b", 1)], &Naming::default());
    assert_eq!(names(&catalog), format!("a:t1 {OWN}"));
    for name in ["a:t0", "a:t1", "b:t0"] {
        assert!(matches!(catalog.route(name), Some(ToolRoute::Server(_))), "{name}");
    }
    assert!(matches!(catalog.route("call_tool"), Some(ToolRoute::Meta(_))));
    let behind = catalog.behind().unwrap();
    let definition = br#"{"name":"b:t0","inputSchema":{"type":"object"}}"#;
    assert_eq!(behind.definition("b:t0"), Some(&definition[..]));
    assert_eq!((behind.called(Some(1), "t0"), behind.called(Some(0), "x")), (Some("b:t0"), None));
}

#[test]
fn the_list_is_the_same_whoever_comes_and_goes() {
    let naming = Naming::default();
    let one = searched(&[many("a", 3), many("b", 1)], &naming);
    let other = searched(&[many("a", 1), stopped("b")], &naming);
    assert_eq!(one.list(ListKind::Tools), other.list(ListKind::Tools));
}

#[test]
fn names_of_our_own_give_way_to_those_of_others() {
    let custom = CustomTool {
        name: "search_tools".to_owned(),
        description: String::new(),
        subtools: vec![Subtool {
            server: "a".to_owned(),
            tool: "t0".to_owned(),
            description: None,
        }],
        selection: None,
    };
    let servers = [many("a", 1)];
    let catalog = assemble_exposing(Exposure::Search, &servers, &[custom], &Naming::default());
    let own = OWN.replace("call", "trunkline_call").replace(" des", " trunkline_des");
    let own = own.replace(" search", " trunkline_search");
    assert_eq!(names(&catalog), format!("search_tools {own}"));
    let behind = catalog.behind().unwrap();
    assert_eq!(behind.called(None, "search_tools"), Some("search_tools"));
}

#[test]
fn more_tools_than_a_client_carries_are_searched_of_themselves() {
    let cursor = Naming::for_client(":", Client::Cursor);
    let gone = stopped("b").knowing(&["x"], &[]);
    let narrow = || many("a", 81).seen_by(&["t1", "t2"]);
    for (exposure, servers, naming, expected) in [
        (Exposure::Auto, vec![many("a", 80)], &cursor, false),
        (Exposure::Auto, vec![many("a", 81)], &cursor, true),
        // What went away for a while does not change the list.
        (Exposure::Auto, vec![many("a", 80), gone], &cursor, true),
        // Who sees less has less to carry.
        (Exposure::Auto, vec![narrow()], &cursor, false),
        (Exposure::Auto, vec![many("a", 80).hiding(&["t1"]), many("b", 1)], &cursor, false),
        (Exposure::Auto, vec![many("a", 100), many("b", 100)], &Naming::default(), false),
        (Exposure::Full, vec![many("a", 81)], &cursor, false),
        (Exposure::Search, vec![many("a", 1)], &cursor, true),
    ] {
        let catalog = assemble_exposing(exposure, &servers, &[], naming);
        assert_eq!(catalog.behind().is_some(), expected, "{exposure:?}");
        let says = |text: &str| catalog.warnings.iter().any(|warning| warning.contains(text));
        let over = expected && exposure == Exposure::Auto;
        assert_eq!(says("found with `search_tools`"), over, "{:?}", catalog.warnings);
    }
}

#[test]
fn names_that_were_meant_are_told() {
    let catalog = super::assemble(&[many("files", 2)]);
    assert_eq!(catalog.near("file:t1"), ["files:t1"]);
    assert_eq!(catalog.near("other"), [""; 0]);
}
