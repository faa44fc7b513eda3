//! What happens to requests, as tables.

use std::collections::BTreeSet;

use trunkline_catalog::name::Naming;
use trunkline_catalog::{Catalog, Exposure, ListKind, Listing, Offer, Scope};
use trunkline_wire::scan;

use super::route::{Route, route};

const PAGES: [(ListKind, &str); 4] = [
    (
        ListKind::Tools,
        r#"{"tools":[{"name":"log"},{"name":"show","annotations":{"readOnlyHint":true}}]}"#,
    ),
    (ListKind::Resources, r#"{"resources":[{"uri":"a://x","name":"x"}]}"#),
    (ListKind::Templates, r#"{"resourceTemplates":[{"uriTemplate":"a://t/{id}","name":"t"}]}"#),
    (ListKind::Prompts, r#"{"prompts":[{"name":"hi"}]}"#),
];

/// The one place that knows how to ask; the tests below are data.
#[track_caller]
fn check(method: &str, params: &str, expected: &str) {
    check_exposing(Exposure::Full, method, params, expected);
}

#[track_caller]
fn check_exposing(exposure: Exposure, method: &str, params: &str, expected: &str) {
    assert_eq!(routed(exposure, method, params), expected);
}

fn routed(exposure: Exposure, method: &str, params: &str) -> String {
    let mut listing = Listing::default();
    for (kind, page) in PAGES {
        listing.add_page(kind, page.as_bytes(), 9).unwrap();
    }
    let (known, filter) = (BTreeSet::new(), trunkline_catalog::config::ToolFilter::default());
    let everything = trunkline_catalog::config::SelectedTools::default();
    let offer = Offer {
        server: 7,
        key: "git",
        listing: Some(&listing),
        known: &known,
        known_prompts: &known,
        filter: &filter,
        selected: &everything,
        scope: Scope::Whole,
    };
    let catalog = Catalog::exposing(exposure, &[offer], &[], &Naming::default());
    let params = if params.is_empty() { String::new() } else { format!(",\"params\":{params}") };
    let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"{params}}}"#);
    let message = scan(text.as_bytes()).unwrap();
    match route(&message, &catalog) {
        Ok(Route::Call(route)) => format!("server {}", route.server),
        Ok(Route::Subtool(to)) => format!(
            "{} at {} with {}",
            String::from_utf8_lossy(&to.owner.name_token),
            to.owner.server,
            String::from_utf8_lossy(to.args)
        ),
        Ok(Route::Forward(to)) => format!(
            "{} -> {} at {} {:?}",
            String::from_utf8_lossy(to.at.of(text.as_bytes())),
            String::from_utf8_lossy(&to.token),
            to.server,
            to.action
        ),
        Ok(route) => format!("{route:?}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn what_is_answered_here() {
    check("initialize", "{}", "Initialize");
    check("ping", "", "Ping");
    check("tools/list", "", "List(Tools)");
    check("tools/list", "{}", "List(Tools)");
    check("tools/list", r#"{"cursor":null}"#, "List(Tools)");
    check("tools/list", r#"{"cursor":"x"}"#, "Invalid params: unknown cursor");
    check("tools/list", r#"{"cursor":""}"#, "Invalid params: unknown cursor");
    check("resources/list", "{}", "List(Resources)");
    check("resources/templates/list", "{}", "List(Templates)");
    check("prompts/list", "{}", "List(Prompts)");
    check("logging/setLevel", r#"{"level":"debug"}"#, "SetLevel(Level(0))");
    check("tasks/get", "{}", "Other");
    check("server/discover", "{}", "Method not found: server/discover");
    check("subscriptions/listen", "{}", "Method not found: subscriptions/listen");
}

#[test]
fn a_call_goes_to_its_owner() {
    check("tools/call", r#"{"name":"git:log"}"#, "server 7");
    check("tools/call", r#"{"name":"git:\u006cog"}"#, "server 7");
}

#[test]
fn a_call_through_one_of_our_own_is_a_call() {
    let check = |tool: &str, arguments: &str, expected: &str| {
        let params = format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#);
        check_exposing(Exposure::Search, "tools/call", &params, expected);
    };
    let args = r#"{ "n": 1.0,"a":"\u0061"}"#;
    let log = format!(r#"{{"name":"git:log","arguments":{args}}}"#);
    check("call_tool", &log, &format!(r#""log" at 7 with {args}"#));
    check("call_tool", r#"{"name":"git:log"}"#, r#""log" at 7 with {}"#);
    check("call_tool", r#"{"name":"git:log","arguments":null}"#, r#""log" at 7 with {}"#);
    check("call_read_only_tool", r#"{"name":"git:show"}"#, r#""show" at 7 with {}"#);
    check("call_tool", r#"{"name":"git:x"}"#, r#"UnknownBehind("git:x")"#);
    for (tool, arguments, expected) in [
        ("call_tool", "{}", r#"None, why: "the arguments of this tool are"#),
        ("call_tool", "[]", r#"None, why: "the arguments of this tool are"#),
        ("call_tool", r#"{"name":"git:log","arguments":"{}"}"#, "`arguments` is an object"),
        ("call_tool", r#"{"name":"search_tools"}"#, "is called directly"),
        ("call_read_only_tool", r#"{"name":"git:log"}"#, "call it with `call_tool`"),
        ("search_tools", "{}", "the arguments of this tool are"),
        ("search_tools", r#"{"query":"x","limit":0}"#, "from 1 to 50"),
        ("search_tools", r#"{"query":"x","limit":"5"}"#, "from 1 to 50"),
        ("describe_tools", r#"{"names":[]}"#, "the arguments of this tool are"),
        ("describe_tools", r#"{"names":[1]}"#, "the arguments of this tool are"),
    ] {
        let got = routed(
            Exposure::Search,
            "tools/call",
            &format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#),
        );
        assert!(got.starts_with("Mistaken") && got.contains(expected), "{arguments}: {got}");
    }
    check(
        "search_tools",
        r#"{"query":"a\u0062","limit":5.0,"server":"git"}"#,
        r#"Seek(Search { text: "ab", limit: 5, server: Some("git") })"#,
    );
    check(
        "search_tools",
        r#"{"query":"x"}"#,
        r#"Seek(Search { text: "x", limit: 10, server: None })"#,
    );
    check("describe_tools", r#"{"names":["a","b"]}"#, r#"Seek(Describe { names: ["a", "b"] })"#);
    check("describe_tools", r#"{"names":"a"}"#, r#"Seek(Describe { names: ["a"] })"#);
}

#[test]
fn what_is_no_call_goes_to_its_owner() {
    check("resources/read", r#"{"uri":"a://x"}"#, r#""a://x" -> "a://x" at 7 Plain"#);
    check("resources/read", r#"{"uri":"a://t/5"}"#, r#""a://t/5" -> "a://t/5" at 7 Plain"#);
    check("resources/subscribe", r#"{"uri":"a://x"}"#, r#""a://x" -> "a://x" at 7 Subscribe"#);
    let alias = r#"{"uri":"trunkline://git/a://x"}"#;
    let expected = r#""trunkline://git/a://x" -> "a://x" at 7 Unsubscribe"#;
    check("resources/unsubscribe", alias, expected);
    check("prompts/get", r#"{"name":"hi"}"#, r#""hi" -> "hi" at 7 Plain"#);
    check("prompts/get", r#"{"name":"git:hi"}"#, r#""git:hi" -> "hi" at 7 Plain"#);
    check(
        "completion/complete",
        r#"{"ref":{"type":"ref/prompt","name":"git:hi"}}"#,
        r#""git:hi" -> "hi" at 7 Plain"#,
    );
    check(
        "completion/complete",
        r#"{"ref":{"type":"ref/resource","uri":"a://t/{id}"}}"#,
        r#""a://t/{id}" -> "a://t/{id}" at 7 Plain"#,
    );
}

#[test]
fn what_is_wrong_with_a_request() {
    check("tools/call", r#"{"name":"git:nope"}"#, r#"UnknownTool("git:nope")"#);
    check("tools/call", "", "Invalid params: tools/call needs `params`, an object");
    check("tools/call", "[]", "Invalid params: tools/call needs `params`, an object");
    check("tools/call", "{}", "Invalid params: tools/call needs `name`, a string");
    check("tools/call", r#"{"name":5}"#, "Invalid params: tools/call needs `name`, a string");
    check("prompts/get", r#"{"name":"no"}"#, r#"Missing(UnknownPrompt("no"))"#);
    check("prompts/get", "", "Invalid params: prompts/get needs `name`, a string");
    check("resources/read", "{}", "Invalid params: resources/read needs `uri`, a string");
    let level = "Invalid params: logging/setLevel needs `level`: debug, info, notice, warning, \
                 error, critical, alert or emergency";
    check("logging/setLevel", r#"{"level":"loud"}"#, level);
    let completion =
        "Invalid params: completion/complete needs `ref` of type ref/prompt or ref/resource";
    check("completion/complete", r#"{"ref":{}}"#, completion);
}
