//! Prompts: their own names where they are free, their server in the description.

use super::{assemble, assemble_with, leads, server, shown, stopped};
use crate::assemble::Catalog;
use crate::client::Client;
use crate::listing::ListKind::Prompts;
use crate::name::Naming;

fn prompt(catalog: &Catalog, name: &str) -> Option<String> {
    catalog.prompt(name).map(leads)
}

fn names(catalog: &Catalog) -> Vec<String> {
    let list: serde_json::Value = serde_json::from_slice(catalog.list(Prompts)).unwrap();
    let prompts = list["prompts"].as_array().unwrap();
    prompts.iter().map(|prompt| prompt["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn co_3_the_description_carries_the_server_and_nothing_else_changes() {
    let table = [
        (
            r#"{"x":1.0, "description" : "Does \"it\"","name":"p", "title":"P"}"#,
            r#"{"x":1.0, "description" : "[my server] Does \"it\"","name":"p", "title":"P"}"#,
        ),
        (r#"{"name":"p"}"#, r#"{"name":"p","description":"[my server]"}"#),
        (r#"{"name":"p" }"#, r#"{"name":"p" ,"description":"[my server]"}"#),
        (r#"{"name":"p","description":""}"#, r#"{"name":"p","description":"[my server]"}"#),
        (r#"{"name":"p","description":null}"#, r#"{"name":"p","description":"[my server]"}"#),
    ];
    for (written, listed) in table {
        let catalog = assemble(&[server("my server", Prompts, &format!("[{written}]"))]);
        assert_eq!(shown(&catalog, Prompts), format!("{{\"prompts\":[{listed}]}}"));
    }
}

#[test]
fn co_3_prompts_are_listed_bare_where_free_and_found_by_both_names() {
    let servers = [
        server("b", Prompts, r#"[{"name":"x"},{"name":"only"}]"#),
        server("a", Prompts, r#"[{"name":"\u0078"}]"#),
        server("c", Prompts, r#"[{"name":"x"}]"#),
    ];
    let table = [
        ("x", Some("0 \"x\"")),
        ("b:x", Some("0 \"x\"")),
        ("a:x", Some(r#"1 "\u0078""#)),
        ("c:x", Some("2 \"x\"")),
        ("only", Some("0 \"only\"")),
        ("b:only", Some("0 \"only\"")),
        ("c:only", None),
    ];
    let naming = Naming::for_client(":", Client::ClaudeCode);
    for catalog in [assemble(&servers), assemble_with(&servers, &[], &naming)] {
        assert_eq!(names(&catalog), ["a:x", "c:x", "only", "x"]);
        for (name, expected) in table {
            assert_eq!(prompt(&catalog, name).as_deref(), expected, "{name}");
        }
        assert!(catalog.warnings.is_empty());
    }
}

#[test]
fn co_3_without_prefixes_a_prompt_is_listed_and_found_by_its_own_name() {
    let only = [server("host:80", Prompts, r#"[{"name":"p","description":"Does it"}]"#)];
    let catalog = assemble_with(&only, &[], &Naming::bare());
    let list = r#"{"prompts":[{"name":"p","description":"Does it"}]}"#;
    assert_eq!(shown(&catalog, Prompts), list);
    assert_eq!(prompt(&catalog, "p").as_deref(), Some("0 \"p\""));
}

#[test]
fn co_3_a_prompt_never_changes_its_owner() {
    let gone = [stopped("a").knowing(&[], &["x"]), server("b", Prompts, r#"[{"name":"x"}]"#)];
    let catalog = assemble(&gone);
    assert_eq!(names(&catalog), ["b:x"]);
    assert_eq!(prompt(&catalog, "x"), None, "it is the other's");
    assert_eq!(prompt(&catalog, "b:x").as_deref(), Some("1 \"x\""));
    let changed = [
        server("a", Prompts, r#"[{"name":"y"}]"#).knowing(&[], &["x", "y"]),
        server("b", Prompts, r#"[{"name":"x"}]"#).knowing(&[], &["x"]),
    ];
    assert_eq!(names(&assemble(&changed)), ["b:x", "y"]);
}

#[test]
fn co_3_a_name_that_reads_like_anothers_full_one_is_not_bare() {
    let servers = [
        server("x", Prompts, r#"[{"name":"a:foo"},{"name":"foo"}]"#),
        server("a", Prompts, r#"[{"name":"foo"}]"#),
    ];
    let catalog = assemble(&servers);
    assert_eq!(names(&catalog), ["a:foo", "foo", "x:a:foo"]);
    assert_eq!(prompt(&catalog, "a:foo").as_deref(), Some("1 \"foo\""));
    assert_eq!(prompt(&catalog, "x:a:foo").as_deref(), Some("0 \"a:foo\""));
    let servers = [
        server("a", Prompts, r#"[{"name":"b:c"},{"name":"c"}]"#),
        server("a:b", Prompts, r#"[{"name":"c"}]"#),
        server("x", Prompts, r#"[{"name":"a:b:c"}]"#),
    ];
    let catalog = assemble(&servers);
    assert_eq!(prompt(&catalog, "a:b:c"), None, "two prompts have this name");
    assert_eq!(catalog.warnings.len(), 1);
    for name in names(&catalog) {
        assert!(catalog.prompt(&name).is_some(), "{name}");
    }
}
