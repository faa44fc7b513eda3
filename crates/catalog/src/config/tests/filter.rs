//! Which tools a file shows and hides, and how servers are shared.

use super::{check, check_rows, read, server};
use crate::config::Rules::{Full, Simple};
use crate::config::{Era, Exposed, ServerSpec, Share, ToolFilter};

fn spec(members: &str) -> ServerSpec {
    let text = server(&format!("\"command\": \"a\", {members}"));
    let config = read(&text, Full).unwrap_or_else(|problems| panic!("{problems}\n{text}"));
    config.servers.into_iter().next().expect("one server")
}

/// `a=b` is a rename.
fn filter(exposed: Option<&[&str]>, hidden: &[&str]) -> ToolFilter {
    let tool = |text: &&str| match text.split_once('=') {
        Some((original, exposed)) => {
            Exposed { original: original.to_owned(), exposed: Some(exposed.to_owned()) }
        }
        None => Exposed { original: (*text).to_owned(), exposed: None },
    };
    ToolFilter {
        exposed: exposed.map(|list| list.iter().map(tool).collect()),
        hidden: hidden.iter().map(|&name| name.to_owned()).collect(),
        ..ToolFilter::default()
    }
}

#[test]
fn co_4_filters_in_the_words_of_every_client() {
    let table: [(&str, ToolFilter); 17] = [
        (r#""args": []"#, ToolFilter::default()),
        (r#""exposedTools": ["a", "b"]"#, filter(Some(&["a", "b"]), &[])),
        (
            r#""exposedTools": ["a", {"original": "b", "exposed": "c"}]"#,
            filter(Some(&["a", "b=c"]), &[]),
        ),
        (r#""exposedTools": [{"original": "b"}]"#, filter(Some(&["b"]), &[])),
        (r#""exposedTools": [{"original": "b", "exposed": "b"}]"#, filter(Some(&["b"]), &[])),
        (
            r#""exposedTools": [{"original": "a", "exposed": "b"}, {"original": "b", "exposed": "a"}]"#,
            filter(Some(&["a=b", "b=a"]), &[]),
        ),
        (r#""includeTools": ["a"]"#, filter(Some(&["a"]), &[])),
        (r#""enabled_tools": ["a"]"#, filter(Some(&["a"]), &[])),
        (r#""available_tools": ["a"]"#, filter(Some(&["a"]), &[])),
        (r#""tools": ["a"]"#, filter(Some(&["a"]), &[])),
        (r#""tools": ["*"], "hiddenTools": ["$HOME"]"#, filter(None, &["$HOME"])),
        (r#""tools": ["*"], "exposedTools": ["a"]"#, filter(Some(&["a"]), &[])),
        (r#""tools": [{"name": "a", "permission_policy": "allow"}]"#, ToolFilter::default()),
        (r#""tools": {"a": {"approval_mode": "auto"}}"#, ToolFilter::default()),
        (r#""exposedTools": ["a"], "includeTools": ["a"]"#, filter(Some(&["a"]), &[])),
        (
            r#""hiddenTools": ["a", "b"], "excludeTools": ["b", "c"], "disabled_tools": ["d"], "disabledTools": ["e"]"#,
            filter(None, &["a", "b", "c", "d", "e"]),
        ),
        (r#""exposedTools": ["a"], "hiddenTools": ["a"]"#, filter(Some(&["a"]), &["a"])),
    ];
    for (members, expected) in table {
        assert_eq!(spec(members).filter, expected, "{members}");
    }
    let remote = server(r#""url": "http://h", "hiddenTools": ["a"], "share": "per-session""#);
    let remote = read(&remote, Full).unwrap();
    assert_eq!(remote.servers[0].filter, filter(None, &["a"]));
    assert!(remote.notes.is_empty() && remote.warnings.is_empty());
}

#[test]
fn co_4_tools_that_are_no_filter_are_noted() {
    let notes = |members: &str| -> Vec<String> {
        let text = server(&format!("\"command\": \"a\", {members}"));
        read(&text, Full).unwrap().notes.iter().map(|note| note.path.clone()).collect()
    };
    assert_eq!(notes(r#""tools": [{"name": "a"}]"#), ["$.mcpServers.s.tools"]);
    assert_eq!(notes(r#""tools": {}"#), ["$.mcpServers.s.tools"]);
    assert_eq!(notes(r#""tools": ["a"]"#), [""; 0]);
    let item = r#""exposedTools": [{"original": "a", "title": "x"}]"#;
    assert_eq!(notes(item), ["$.mcpServers.s.exposedTools[0].title"]);
}

#[test]
fn co_4_what_is_wrong_with_a_filter() {
    let table = r#"
        "exposedTools": "a"                      => exposedTools 1:55 `exposedTools` must be an array of tool names, found a string
        "tools": "*"                             => tools 1:48 `tools` must be an array of tool names, found a string
        "hiddenTools": {}                        => hiddenTools 1:54 `hiddenTools` must be an array of tool names, found an object
        "hiddenTools": ["a", 5]                  => hiddenTools[1] 1:60 `hiddenTools[1]` must be a string, found a number
        "hiddenTools": [{"original": "a"}]       => hiddenTools[0] 1:55 `hiddenTools[0]` must be a string, found an object
        "exposedTools": [5]                      => exposedTools[0] 1:56 `exposedTools[0]` must be a string or {"original": …, "exposed": …}, found a number
        "exposedTools": [{"exposed": "b"}]       => exposedTools[0].original 1:56 missing required field `original`
        "exposedTools": [{"original": 5}]        => exposedTools[0].original 1:69 `original` must be a string, found a number
        "exposedTools": [{"original": "a", "exposed": null}] => exposedTools[0].exposed 1:85 `exposed` must be a string, found null
        "exposedTools": [{"original": "a", "exposed": ""}]   => exposedTools[0].exposed 1:85 the name is empty
        "exposedTools": [{"original": "a", "exposed": "\n"}] => exposedTools[0].exposed 1:85 the name "\u{a}" has a control character (U+000A) at character 1
        "exposedTools": ["a"], "includeTools": ["b"]         => includeTools 1:62 a server has either `exposedTools` or `includeTools`, not both
        "tools": ["a"], "enabled_tools": ["b"]               => enabled_tools 1:55 a server has either `enabled_tools` or `tools`, not both
        "exposedTools": ["b", {"original": "a", "exposed": "b"}] => exposedTools[1] 1:61 the tools `b` and `a` would both be called `b`
        "exposedTools": ["a", {"original": "a", "exposed": "b"}] => exposedTools[1] 1:61 the tool `a` is given two names: `a` and `b` | keep one of them
        "exposedTools": [""]                     => exposedTools[0] 1:56 the name of a tool is empty | write the name that the server itself uses
        "exposedTools": [{"original": ""}]       => exposedTools[0].original 1:69 the name of a tool is empty
        "exposedTools": [{"orginal": "a"}]       => exposedTools[0].original 1:56 missing required field `original` | did you mean `original`?
        "hiddenTools": [""]                      => hiddenTools[0] 1:55 the name of a tool is empty
        "includeTools": 5                        => includeTools 1:55 `includeTools` must be an array of tool names, found a number | write ["TOOL", …], with the names that the server itself uses
        "share": true                            => share 1:48 `share` must be a string, found a boolean
        "callTimeout": "30s"                     => callTimeout 1:54 `callTimeout` must be a number, found a string
        "callTimeout": 0                         => callTimeout 1:54 `callTimeout` cannot be this number | write the seconds that a call may take, from 0.001 to 86400
        "maxConcurrency": 0                      => maxConcurrency 1:57 `maxConcurrency` cannot be this number | write how many calls the server is given at a time, from 1 to 100000
        "share": "session"                       => share 1:48 this way to `share` is not known | write "shared" or "per-session"
    "#;
    let file = |members: &str| server(&format!("\"command\": \"a\", {members}"));
    check_rows(&[Full], file, "invalid_schema $.mcpServers.s.", table);
    let table = r#"
        "exposedTools": []                       => exposedTools 1:55 `exposedTools` is empty: no tool of this server is exposed
        "exposedTools": ["a", "a"]               => exposedTools[1] 1:61 `a` is given twice in this list
        "excludeTools": ["a", "a"]               => excludeTools[1] 1:61 `a` is given twice in this list
    "#;
    check_rows(&[Full], file, "warning $.mcpServers.s.", table);
    let several = file(
        r#""exposedTools": [{"original": "a", "exposed": "x"}, {"original": "b", "exposed": "x"}, {"original": "b", "exposed": "y"}, {"original": "c", "exposed": "y"}]"#,
    );
    let expected = [
        "invalid_schema $.mcpServers.s.exposedTools[1] 1:91 the tools `a` and `b` would both be called `x`",
        "invalid_schema $.mcpServers.s.exposedTools[2] 1:126 the tool `b` is given two names: `x` and `y`",
        "invalid_schema $.mcpServers.s.exposedTools[3] 1:161 the tools `b` and `c` would both be called `y`",
    ];
    check(&several, Full, &expected);
    assert_eq!(spec(r#""exposedTools": []"#).filter, filter(Some(&[]), &[]));
    assert_eq!(spec(r#""exposedTools": ["a", "a"]"#).filter, filter(Some(&["a"]), &[]));
}

#[test]
fn a_server_is_shared_unless_the_file_says_otherwise() {
    let table = [
        (r#""args": []"#, Share::Shared),
        (r#""share": "shared""#, Share::Shared),
        (r#""share": "per-session""#, Share::PerSession),
    ];
    for (members, expected) in table {
        assert_eq!(spec(members).share, expected, "{members}");
    }
}

#[test]
fn the_era_of_a_server_is_found_out_unless_the_file_says_it() {
    let table = [
        (r#""args": []"#, Era::Auto),
        (r#""era": "auto""#, Era::Auto),
        (r#""era": "legacy""#, Era::Legacy),
        (r#""era": "modern""#, Era::Modern),
    ];
    for (members, expected) in table {
        assert_eq!(spec(members).era, expected, "{members}");
    }
    for (value, expected) in [
        (r#""old""#, "invalid_schema $.mcpServers.s.era 1:46 this `era` is not known"),
        ("5", "invalid_schema $.mcpServers.s.era 1:46 `era` must be a string, found a number"),
    ] {
        check(&server(&format!("\"command\": \"a\", \"era\": {value}")), Full, &[expected]);
    }
}

#[test]
fn the_simple_rules_refuse_filters_and_sharing() {
    let keys =
        ["exposedTools", "hiddenTools", "includeTools", "tools", "share", "era", "maxConcurrency"];
    for key in keys {
        let expected = format!(
            "invalid_schema $.mcpServers.s.{key} 1:39 `{key}` is not in the standard config"
        );
        check(&server(&format!("\"command\": \"a\", \"{key}\": 5")), Simple, &[&expected]);
    }
}

#[test]
fn pinned_tools_are_names_or_patterns() {
    let filter = spec(r#""pinnedTools": ["read_file", "get_*"]"#).filter;
    for (name, expected) in [
        ("read_file", true),
        ("get_issue", true),
        ("get_", true),
        ("forget_it", false),
        ("x", false),
    ] {
        assert_eq!(filter.pins(name), expected, "{name}");
    }
    for (pattern, name, expected) in [
        ("*", "", true),
        ("*", "anything", true),
        ("a*c", "abc", true),
        ("a*c", "abcd", false),
        ("*_all_*", "read_all_files", true),
        ("*ä", "xä", true),
        ("", "a", false),
    ] {
        assert_eq!(crate::config::fits(pattern, name), expected, "{pattern} {name}");
    }
}
