//! What is left of a catalog for those who may not see all of it.

use super::{Server, assemble, assemble_with, leads, server, shown};
use crate::assemble::Catalog;
use crate::config::CustomTool;
use crate::listing::ListKind::{Prompts, Resources, Templates, Tools};
use crate::name::Naming;

const TOOLS: &str = r#"[{"name":"log"},{"name":"push"}]"#;

/// A server that has everything.
fn full(key: &'static str) -> Server {
    server(key, Tools, TOOLS)
        .and(Resources, r#"[{"uri":"a://x","name":"x"}]"#)
        .and(Templates, r#"[{"uriTemplate":"a://t/{id}","name":"t"}]"#)
        .and(Prompts, r#"[{"name":"hi"}]"#)
        .knowing(&["log", "push"], &["hi"])
}

fn names(catalog: &Catalog) -> Vec<&str> {
    let names = ["git:log", "git:push", "fs:log", "fs:push"];
    names.into_iter().filter(|name| catalog.route(name).is_some()).collect()
}

#[test]
fn tools_out_of_sight_are_neither_listed_nor_found() {
    for (seen, expected) in [
        (&[][..], vec!["fs:log", "fs:push"]),
        (&["log"], vec!["git:log", "fs:log", "fs:push"]),
        (&["nothing"], vec!["fs:log", "fs:push"]),
        (&["log", "push"], vec!["git:log", "git:push", "fs:log", "fs:push"]),
    ] {
        let catalog = assemble(&[full("git").seen_by(seen), full("fs")]);
        assert_eq!(names(&catalog), expected, "{seen:?}");
        assert_eq!(catalog.count(Tools), expected.len(), "{seen:?}");
    }
}

#[test]
fn a_rename_is_seen_by_what_the_server_calls_the_tool() {
    let git = || full("git").exposing(&["log=history", "push"]);
    let catalog = assemble(&[git().seen_by(&["log"])]);
    assert!(catalog.route("git:history").is_some() && catalog.route("git:push").is_none());
    assert!(assemble(&[git().seen_by(&["history"])]).route("git:history").is_none());
}

#[test]
fn everything_else_is_seen_only_with_the_whole_server() {
    let catalog = assemble(&[full("git").seen_by(&["log"]), full("fs")]);
    assert_eq!(shown(&catalog, Resources).matches("\"uri\"").count(), 1);
    assert_eq!(shown(&catalog, Templates).matches("\"uriTemplate\"").count(), 1);
    assert_eq!(catalog.count(Prompts), 1);
    for uri in ["a://x", "a://t/5", "a://other"] {
        assert!(leads(&catalog.resource(uri).unwrap()).starts_with("1 "), "{uri}");
    }
    assert!(catalog.resource("trunkline://fs/a://x").is_some());
    assert!(!leads(&catalog.resource("trunkline://git/a://x").unwrap()).starts_with("0 "));
    assert!(catalog.prompt("git:hi").is_none() && catalog.prompt("fs:hi").is_some());
    let nothing = assemble(&[full("git").seen_by(&["log"])]);
    for uri in ["a://x", "a://t/5", "trunkline://git/a://x"] {
        assert_eq!(nothing.resource(uri), None, "{uri}");
        assert_eq!(nothing.template(uri), None, "{uri}");
    }
}

#[test]
fn who_sees_less_sees_the_same_names() {
    // Both would be `a:b:c`: they are told apart whether both are seen or not.
    let servers = || {
        [
            server("a", Tools, r#"[{"name":"b:c"}]"#).knowing(&["b:c"], &[]),
            server("a:b", Tools, r#"[{"name":"c"}]"#).knowing(&["c"], &[]),
        ]
    };
    let [one, other] = servers();
    let all = assemble(&servers());
    let less = assemble(&[one, other.seen_by(&[])]);
    let listed = shown(&less, Tools);
    let entry = listed.trim_start_matches(r#"{"tools":["#).trim_end_matches("]}");
    assert!(shown(&all, Tools).contains(entry), "{listed}");
}

#[test]
fn a_custom_tool_without_subtools_is_not_there() {
    let custom = CustomTool {
        name: "work".to_owned(),
        description: String::new(),
        subtools: Vec::new(),
        selection: None,
    };
    let catalog = assemble_with(&[full("git")], &[custom], &Naming::default());
    assert_eq!(catalog.route("work"), None);
    assert_eq!(catalog.count(Tools), 2);
}
