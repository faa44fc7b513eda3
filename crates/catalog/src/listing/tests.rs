//! What a listing takes from a server's pages, and what it leaves out.

use super::*;

#[track_caller]
fn check(page: &str, tools: &[&str], warnings: usize, cursor: Option<&str>) {
    let mut listing = Listing::default();
    let next = listing.add_page(ListKind::Tools, page.as_bytes(), 3).unwrap();
    assert_eq!(next.map(|c| String::from_utf8_lossy(c).into_owned()).as_deref(), cursor);
    let names: Vec<_> = listing.tools().iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, tools);
    assert_eq!(listing.warnings.len(), warnings, "{:?}", listing.warnings);
}

#[test]
fn tools_are_kept_verbatim() {
    let mut listing = Listing::default();
    let definition = r#"{"x":1.0, "name" : "a\u0062","inputSchema":{"type" : "object","n":1e400}}"#;
    let page = format!("{{\"tools\":[ {definition} ]}}");
    assert_eq!(listing.add_page(ListKind::Tools, page.as_bytes(), 9), Ok(None));
    let tool = &listing.tools()[0];
    assert_eq!(&*tool.definition, definition.as_bytes());
    assert_eq!(tool.name, "ab");
    assert_eq!(tool.name_token(), br#""a\u0062""#);
}

#[test]
fn every_kind_has_its_method_its_member_and_its_identity() {
    let table = [
        (ListKind::Tools, "tools/list", r#"{"tools":[{"name":"n"}]}"#, "n"),
        (ListKind::Prompts, "prompts/list", r#"{"prompts":[{"name":"n"}]}"#, "n"),
        (
            ListKind::Resources,
            "resources/list",
            r#"{"resources":[{"name":"n","uri":"a:b"}]}"#,
            "a:b",
        ),
        (
            ListKind::Templates,
            "resources/templates/list",
            r#"{"resourceTemplates":[{"uriTemplate":"a:{b}","name":"n"}]}"#,
            "a:{b}",
        ),
    ];
    for (kind, method, page, name) in table {
        let mut listing = Listing::default();
        assert_eq!(kind.method(), method);
        assert_eq!(listing.add_page(kind, page.as_bytes(), 9), Ok(None));
        let names: Vec<_> = listing.entries(kind).iter().map(|e| e.name.as_str()).collect();
        assert_eq!(names, [name]);
        let others = ListKind::ALL.into_iter().filter(|other| *other != kind);
        assert!(others.into_iter().all(|other| listing.entries(other).is_empty()));
    }
}

#[test]
fn a_fresh_list_takes_the_place_of_the_old_one_of_its_kind_only() {
    let mut listing = Listing::default();
    listing.add_page(ListKind::Tools, br#"{"tools":[{"name":"a"}, 5]}"#, 9).unwrap();
    listing.add_page(ListKind::Prompts, br#"{"prompts":[{"name":"p"}]}"#, 9).unwrap();
    let mut fresh = Listing::default();
    let page = br#"{"tools":[{"name":"b","inputSchema":{"type":"object"}},{"name":"b"}]}"#;
    fresh.add_page(ListKind::Tools, page, 9).unwrap();
    listing.replace(ListKind::Tools, fresh);
    let names = |kind| -> Vec<&str> {
        listing.entries(kind).iter().map(|entry| entry.name.as_str()).collect()
    };
    assert_eq!(names(ListKind::Tools), ["b"]);
    assert_eq!(names(ListKind::Prompts), ["p"]);
    assert_eq!(listing.warnings, ["it offers the tool `b` more than once; only the first is used"]);
}

#[test]
fn cursors() {
    check(r#"{"tools":[],"nextCursor":""}"#, &[], 0, Some("\"\""));
    check(r#"{"tools":[],"nextCursor":"p2"}"#, &[], 0, Some("\"p2\""));
    check(r#"{"tools":[],"nextCursor":null}"#, &[], 0, None);
    for cursor in ["7", "{}", r#"["p2"]"#, "true"] {
        check(&format!(r#"{{"tools":[],"nextCursor":{cursor}}}"#), &[], 1, None);
    }
}

#[test]
fn edge_3_of_duplicates_the_first_wins() {
    let page = r#"{"tools":[{"name":"a","inputSchema":{"type":"object"}},{"name":"a","v":2}]}"#;
    check(page, &["a"], 1, None);
}

#[test]
fn what_is_no_tool_is_left_out() {
    check(r#"{"tools":[5,{},{"name":7},{"name":""},{"name":"a","name":"b"}]}"#, &[], 5, None);
    check(
        r#"{"tools":[{"name":"a"},{"name":"b"},{"name":"c"},{"name":"d"}],"nextCursor":"x"}"#,
        &["a", "b", "c"],
        2,
        None,
    );
}

#[test]
fn a_bad_definition_is_repaired_with_one_warning() {
    let page = br#"{"tools":[{"inputSchema":5,"name":"a\u0062"},{"name":"b"},{"name":"c"}]}"#;
    let mut listing = Listing::default();
    listing.add_page(ListKind::Tools, page, 9).unwrap();
    let tool = &listing.tools()[0];
    let expected = br#"{"inputSchema":{"type":"object"},"name":"a\u0062"}"#;
    assert_eq!(&*tool.definition, expected);
    assert_eq!(tool.name_token(), br#""a\u0062""#, "the name is found in its new place");
    let expected = "its tool \"ab\" has an `inputSchema` that is not a schema; it is repaired in the list (and 2 more like it)";
    assert_eq!(listing.warnings, [expected]);
    let mut listing = Listing::verbatim();
    listing.add_page(ListKind::Tools, page, 9).unwrap();
    assert_eq!(&*listing.tools()[1].definition, br#"{"name":"b"}"#);
    assert!(listing.warnings.is_empty());
}

#[test]
fn a_uri_is_called_one() {
    let mut listing = Listing::default();
    listing.add_page(ListKind::Resources, br#"{"resources":[{"uri":""}]}"#, 9).unwrap();
    let page = br#"{"resourceTemplates":[{"uriTemplate":"a\u0000"}]}"#;
    listing.add_page(ListKind::Templates, page, 9).unwrap();
    let expected = [
        "a resource is left out: the URI is empty",
        "a resource template is left out: the URI template \"a\\u{0}\" has a control character (U+0000) at character 2",
    ];
    assert_eq!(listing.warnings, expected);
}

const HEADERS: &[u8] = br#"{"tools":[
    {"name":"good","inputSchema":{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}},
    {"name":"b\"ad","inputSchema":{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}},
    {"name":"plain","inputSchema":{"type":"object"},"outputSchema":{"x-mcp-header":""}}]}"#;
const LEFT_OUT: &str = "its tool \"b\\\"ad\" is left out: \"a\" has an `x-mcp-header` and is not of type string, integer or boolean";

#[test]
fn a_tool_with_impossible_headers_is_left_out_where_it_must_be() {
    let strict: &[&str] = &["good", "plain"];
    let all: &[&str] = &["good", "b\"ad", "plain"];
    let table: [(Listing, &[&str], &[&str]); 3] = [
        (Listing::default(), all, &[]),
        (Listing::verbatim(), all, &[]),
        (Listing::default().strict_headers(), strict, &[LEFT_OUT]),
    ];
    for (mut listing, tools, warnings) in table {
        listing.add_page(ListKind::Tools, HEADERS, 9).unwrap();
        let names: Vec<_> = listing.tools().iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, tools);
        assert_eq!(listing.warnings, warnings);
        let expected = [ParamHeader { name: "A".to_owned(), path: vec!["a".to_owned()] }];
        for tool in listing.tools() {
            let headers = tool.headers.as_deref();
            assert_eq!(headers, (tool.name == "good").then_some(&expected[..]));
        }
    }
}

#[test]
fn a_fresh_list_leaves_out_what_it_must() {
    let mut listing = Listing::default().strict_headers();
    listing.add_page(ListKind::Tools, br#"{"tools":[{"name":"x"}],"ttlMs":5}"#, 9).unwrap();
    let mut fresh = Listing::default().strict_headers();
    fresh.add_page(ListKind::Tools, HEADERS, 9).unwrap();
    listing.replace(ListKind::Tools, fresh);
    let names: Vec<_> = listing.tools().iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["good", "plain"]);
    assert!(listing.tools()[0].headers.is_some());
    assert_eq!(listing.warnings, [LEFT_OUT]);
    assert_eq!(listing.cache(ListKind::Tools), Some(CacheHint { ttl_ms: 0, private: true }));
}

#[test]
fn the_strictest_page_says_how_a_list_is_kept() {
    let hint = |ttl_ms, private| Some(CacheHint { ttl_ms, private });
    let long = r#"{"tools":[],"ttlMs":9,"cacheScope":"public"}"#;
    let short = r#"{"tools":[],"ttlMs":4,"cacheScope":"public"}"#;
    let private = r#"{"tools":[],"ttlMs":6,"cacheScope":"private"}"#;
    let table: [(&[&str], Option<CacheHint>); 5] = [
        (&[], None),
        (&[long], hint(9, false)),
        (&[long, short, long], hint(4, false)),
        (&[private, long], hint(6, true)),
        (&[long, r#"{"tools":[]}"#], hint(0, true)),
    ];
    for (pages, expected) in table {
        let mut listing = Listing::default();
        for page in pages {
            listing.add_page(ListKind::Tools, page.as_bytes(), 9).unwrap();
        }
        assert_eq!(listing.cache(ListKind::Tools), expected, "{pages:?}");
        assert_eq!(listing.cache(ListKind::Prompts), None);
    }
    let mut listing = Listing::default();
    assert!(listing.add_page(ListKind::Tools, br#"{"ttlMs":9}"#, 9).is_err());
    assert_eq!(listing.cache(ListKind::Tools), None, "that was no list");
}

#[test]
fn an_answer_without_a_list_is_refused() {
    let mut listing = Listing::default();
    let tools = ListKind::Tools;
    assert_eq!(listing.add_page(tools, b"{}", 9), Err(NotAList(tools)));
    assert_eq!(listing.add_page(tools, br#"{"tools":{}}"#, 9), Err(NotAList(tools)));
    assert_eq!(
        NotAList(ListKind::Templates).to_string(),
        "its answer to resources/templates/list has no `resourceTemplates` array"
    );
}

#[test]
fn a_tool_that_says_it_changes_something_is_noted() {
    for (annotations, expected) in [
        ("{}", false),
        (r#"{"title":"x"}"#, false),
        (r#"{"readOnlyHint":true}"#, false),
        (r#"{"readOnlyHint":false}"#, true),
        (r#"{"destructiveHint":true}"#, true),
        (r#"{"destructiveHint":true,"idempotentHint":true}"#, false),
        ("[]", false),
    ] {
        let page = format!(r#"{{"tools":[{{"name":"a","annotations":{annotations}}}]}}"#);
        let mut listing = Listing::default();
        listing.add_page(ListKind::Tools, page.as_bytes(), 9).unwrap();
        assert_eq!(listing.tools()[0].declares_effects, expected, "{annotations}");
    }
}

#[test]
fn a_page_of_a_listing_is_read_as_the_same_listing() {
    let page = br#"{"tools":[ {"name" : "a","n":1.0},{"name":"b","inputSchema":5} ],"ttlMs":7,"cacheScope":"public"}"#;
    let mut first = Listing::default();
    first.add_page(ListKind::Tools, page, 9).unwrap();
    let written = first.page(ListKind::Tools).unwrap();
    let mut again = Listing::default();
    assert_eq!(again.add_page(ListKind::Tools, &written, 9), Ok(None));
    let bytes = |listing: &Listing| -> Vec<Vec<u8>> {
        listing.tools().iter().map(|tool| tool.definition.to_vec()).collect()
    };
    assert_eq!(bytes(&again), bytes(&first));
    assert_eq!(again.cache(ListKind::Tools), first.cache(ListKind::Tools));
    assert_eq!(
        again.page(ListKind::Tools),
        Some(written),
        "what was repaired is not repaired twice"
    );
    assert_eq!(first.page(ListKind::Prompts), None, "it was not read");
}
