//! Names of sets: tables for the cases one can think of, properties for the others.

use std::collections::HashMap;

use proptest::prelude::{Just, Strategy, any, prop};
use proptest::{prop_assert, prop_assert_eq, prop_oneof, proptest};

use super::{Assignment, NameWarning, assign};
use crate::client::Client;
use crate::name::{Identity, Naming};

fn named(tools: &[(&str, &str)], naming: &Naming) -> Assignment {
    let tools: Vec<Identity<'_>> = tools.iter().map(|(s, t)| Identity::of(s, t)).collect();
    assign(&tools, naming)
}

fn wire(tools: &[(&str, &str)], naming: &Naming) -> Vec<String> {
    named(tools, naming).names.into_iter().map(|name| name.wire.to_string()).collect()
}

#[test]
fn without_a_profile_every_name_is_canonical_whatever_it_contains() {
    let long = "x".repeat(300);
    let tools = [("fs", "read"), ("fs", "a b"), ("a:b", "c"), ("A", "日本"), ("s", long.as_str())];
    let names = named(&tools, &Naming::default());
    for (name, (server, tool)) in names.names.iter().zip(tools) {
        assert_eq!(*name.wire, *format!("{server}:{tool}"));
        assert_eq!(name.canonical.as_ref(), Some(&name.wire));
    }
    assert_eq!(names.warnings, []);
}

#[test]
fn sc_006_the_same_tool_on_two_servers_has_two_names() {
    let naming = Naming::for_client(":", Client::ClaudeDesktop);
    assert_eq!(wire(&[("a", "read"), ("b", "read")], &naming), ["a__read", "b__read"]);
}

#[test]
fn two_servers_whose_names_read_the_same_are_both_marked_and_the_shared_name_calls_neither() {
    let names = named(&[("a", "b:c"), ("a:b", "c"), ("a", "d")], &Naming::default());
    let [one, two, three] = names.names.as_slice() else { panic!("three names") };
    assert!(one.wire.starts_with("a:b:c_") && two.wire.starts_with("a:b:c_"));
    assert_ne!(one.wire, two.wire);
    assert_eq!((&one.canonical, &two.canonical), (&None, &None));
    assert_eq!(*three.wire, *"a:d");
    assert_eq!(
        names.warnings,
        [NameWarning::Ambiguous { names: vec!["a:b:c".to_owned()] }],
        "one warning for the pair"
    );
}

#[test]
fn names_the_client_would_confuse_are_both_marked_and_nobody_else_is() {
    let naming = Naming::for_client(":", Client::Codex);
    let table: [[(&str, &str); 2]; 5] = [
        [("s", "get-it"), ("s", "get_it")],
        [("s", "GetIt"), ("s", "getit")],
        [("s", "a.b"), ("s", "a:b")],
        [("a", "b__c"), ("a__b", "c")],
        [("s", "読む"), ("s", "書く")],
    ];
    for [one, two] in table {
        let names = wire(&[one, ("s", "other"), two], &naming);
        let [first, other, second] = names.as_slice() else { panic!("three names") };
        assert_eq!(other, "s__other");
        assert_ne!(first, second, "{one:?} {two:?}");
        for name in [first, second] {
            assert!(super::Spelling::Client(&Client::Codex.spec().names).must_mark(name), "{name}");
        }
    }
}

#[test]
fn the_collision_warning_lists_the_tools_by_their_canonical_names() {
    let naming = Naming::for_client(":", Client::ClaudeDesktop);
    let warnings = named(&[("s", "b.c"), ("s", "b:c"), ("s", "x")], &naming).warnings;
    let [warning] = warnings.as_slice() else { panic!("one warning, not {warnings:?}") };
    assert_eq!(
        warning.to_string(),
        "Claude Desktop cannot tell these tools apart, each got a hash in its name: \
         \"s:b.c\", \"s:b:c\""
    );
}

#[test]
fn a_plain_name_that_looks_marked_cannot_take_a_marked_one() {
    let naming = Naming::for_client(":", Client::ClaudeDesktop);
    let marked = wire(&[("s", "a.b"), ("s", "a:b")], &naming);
    let (_, thief) = marked[0].split_once("__").unwrap();
    let names = wire(&[("s", "a.b"), ("s", "a:b"), ("s", thief)], &naming);
    assert_eq!(names[..2], marked);
    assert_ne!(names[2], names[0]);
}

#[test]
fn a_canonical_name_always_wins_over_another_tools_wire_name() {
    // with this separator the canonical name of the first is the wire name of the second
    let naming = Naming::for_client("_", Client::ClaudeDesktop);
    let names = named(&[("a_", "b"), ("a", "b")], &naming);
    assert_eq!(**names.names[0].canonical.as_ref().unwrap(), *"a__b");
    assert!(names.names[1].wire.starts_with("a__b_"));
}

#[test]
fn the_same_tool_given_twice_is_one_tool() {
    let naming = Naming::for_client(":", Client::Cursor);
    let names = named(&[("s", "t"), ("s", "t")], &naming);
    assert_eq!(names.names[0], names.names[1]);
    assert_eq!(*names.names[0].wire, *"s__t");
    assert_eq!(names.warnings, []);
}

#[test]
fn tools_without_a_server_carry_no_prefix() {
    let own = [Identity::unprefixed("search_tools"), Identity::of("s", "t")];
    let names = assign(&own, &Naming::default()).names;
    assert_eq!(*names[0].wire, *"search_tools");
    let names = assign(&own, &Naming::for_client(":", Client::Codex)).names;
    assert_eq!(*names[0].wire, *"search_tools");
}

#[test]
fn more_tools_than_the_client_carries_is_one_warning_with_both_numbers() {
    let tools: Vec<String> = (0..81).map(|n| format!("t{n}")).collect();
    let tools: Vec<Identity<'_>> = tools.iter().map(|tool| Identity::of("s", tool)).collect();
    let warned =
        |client, count: usize| assign(&tools[..count], &Naming::for_client(":", client)).warnings;
    assert_eq!(warned(Client::Cursor, 80), []);
    assert_eq!(warned(Client::Zed, 81), []);
    assert_eq!(
        warned(Client::Cursor, 81)[0].to_string(),
        "81 tools: above 80 Cursor warns and may leave tools out; hide some with `hiddenTools`"
    );
}

#[test]
fn shortened_names_are_the_same_on_every_start() {
    // a permission a user gave to this name must survive: do not change these strings
    let naming = Naming::for_client(":", Client::ClaudeCode);
    let tool = "create_pull_request_review_comment_reply_in_thread";
    assert_eq!(
        wire(&[("github", tool)], &naming),
        ["github__create_pull_request_review_comm_dbaecd52"]
    );
}

#[test]
fn two_short_hashes_that_come_out_equal_become_long_ones() {
    // found by search: SHA-256 of both starts with d06bcf58
    let base = "a_tool_with_a_name_that_is_far_too_long_for_it_";
    let (one, two) = (format!("{base}46663"), format!("{base}75036"));
    let naming = Naming::for_client(":", Client::OpenAi);
    let alone = wire(&[("s", &one)], &naming);
    assert_eq!(alone, ["s__a_tool_with_a_name_that_is_far_too_l_d06bcf58"]);
    let both = wire(&[("s", &one), ("s", &two)], &naming);
    assert!(both[0].starts_with("s__a_tool_with__d06bcf58"), "{both:?}");
    assert!(both[0] != both[1] && both.iter().all(|name| name.len() == 48));
}

fn any_naming() -> impl Strategy<Value = Naming> {
    let separator = prop_oneof![Just(":"), Just("."), Just("_"), Just("__"), Just("-")];
    (separator, prop::option::of(prop::sample::select(Client::ALL.to_vec()))).prop_map(
        |(separator, client)| match client {
            Some(client) => Naming::for_client(separator, client),
            None => Naming::canonical(separator),
        },
    )
}

/// Few letters and many separators, so that sets collide; now and then anything, or very long.
fn any_part() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => "[abA_.:-]{1,4}",
        2 => "[a_]{0,2}_(0000000a|0000000b)",
        1 => any::<String>(),
        1 => "[ab]{40,44}",
        1 => "[a-c_]{45,300}",
    ]
}

fn any_tools() -> impl Strategy<Value = Vec<(String, String)>> {
    prop::collection::vec((any_part(), any_part()), 0..40)
}

proptest! {
    #[test]
    fn no_name_of_one_tool_is_a_name_of_another(tools in any_tools(), naming in any_naming()) {
        let tools: Vec<Identity<'_>> = tools.iter().map(|(s, t)| Identity::of(s, t)).collect();
        let mut owners = HashMap::new();
        for (tool, name) in tools.iter().zip(assign(&tools, &naming).names) {
            for name in [Some(name.wire), name.canonical].into_iter().flatten() {
                let owner = *owners.entry(name).or_insert(*tool);
                prop_assert_eq!(owner, *tool);
            }
        }
    }

    #[test]
    fn every_name_fits_the_client_and_differs_after_folding(
        tools in any_tools(), client in prop::sample::select(Client::ALL.to_vec())
    ) {
        let rules = &client.spec().names;
        let tools: Vec<Identity<'_>> = tools.iter().map(|(s, t)| Identity::of(s, t)).collect();
        let names = assign(&tools, &Naming::for_client(":", client)).names;
        let mut folded = HashMap::new();
        for (tool, name) in tools.iter().zip(names) {
            let name = &*name.wire;
            prop_assert!((1..=rules.max).contains(&name.len()), "{}", name);
            prop_assert!(name.chars().all(|c| rules.alphabet.allows(c)), "{}", name);
            prop_assert!(name.starts_with(|c| rules.alphabet.allows_first(c)), "{}", name);
            let folded_name = name.to_ascii_lowercase().replace('-', "_");
            prop_assert_eq!(*folded.entry(folded_name).or_insert(*tool), *tool);
        }
    }

    #[test]
    fn the_order_of_the_tools_does_not_matter(
        (tools, shuffled) in any_tools().prop_flat_map(|tools| {
            (Just(tools.clone()), Just(tools).prop_shuffle())
        }),
        naming in any_naming(),
    ) {
        let names_of = |tools: &[(String, String)]| {
            let ids: Vec<Identity<'_>> = tools.iter().map(|(s, t)| Identity::of(s, t)).collect();
            let assignment = assign(&ids, &naming);
            let names: HashMap<_, _> = tools.iter().cloned().zip(assignment.names).collect();
            (names, assignment.warnings)
        };
        prop_assert_eq!(names_of(&tools), names_of(&shuffled));
    }

    #[test]
    fn an_unrelated_tool_renames_nobody(tools in any_tools(), naming in any_naming()) {
        let mut ids: Vec<Identity<'_>> = tools.iter().map(|(s, t)| Identity::of(s, t)).collect();
        let before = assign(&ids, &naming).names;
        ids.push(Identity::of("zzz", "unrelated"));
        let after = assign(&ids, &naming).names;
        prop_assert_eq!(&before[..], &after[..before.len()]);
    }
}
