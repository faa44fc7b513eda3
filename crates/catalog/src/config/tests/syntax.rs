//! Files that are not JSON: what is said and where.

use super::{check, check_rows, lines};
use crate::config::Rules::{Full, Simple};
use crate::config::{Code, ConfigSource, Problems, load};

#[track_caller]
fn check_syntax(table: &str) {
    check_rows(&[Full, Simple], str::to_owned, "invalid_json $ ", table);
}

#[test]
fn sc_005_brackets_commas_and_the_end() {
    check_syntax(
        r#"
        // only this⏎        => 1:1 the file is empty | the smallest config is {"mcpServers": {}}
        {⏎ "a": {⏎  "b": 1⏎}⏎ => 1:1 this `{` is never closed | the file ends where a `}` was expected
        {"a": [1, 2          => 1:7 this `[` is never closed | the file ends where a `]` was expected
        {"a":                => 1:1 this `{` is never closed
        {"a"                 => 1:1 this `{` is never closed
        {"a": [1}            => 1:9 expected `,` or `]`, found `}` | the `[` to close is at line 1, column 7
        {"a": 1⏎ "b": 2}     => 2:2 expected `,` or `}`, found a string | a `,` is missing before it
        [1 2]                => 1:4 expected `,` or `]`, found a number
        {"a" 1}              => 1:6 expected `:` after the key, found a number
        {"a": }              => 1:7 expected a value, found `}`
        {"a": 1,, "b": 2}    => 1:9 expected a key in double quotes or `}`, found `,` | remove this comma
        [,]                  => 1:2 expected a value, found `,` | remove this comma
        {} x                 => 1:4 expected the end of the file, found unquoted text
        {}⏎}                 => 2:1 expected the end of the file, found `}`
        {} /* x              => 1:4 this comment is never closed | end it with */
        { / }                => 1:3 expected `//` or `/*`, found a single `/`
        # x⏎{}               => 1:1 expected a value, found `#` | a comment starts with //
        "#,
    );
    let empty = "invalid_json $ 1:1 the file is empty";
    check("", Full, &[empty]);
    check("\u{feff}", Simple, &[empty]);
    check(
        "{\"a\": \u{a0}1}",
        Full,
        &["invalid_json $ 1:7 expected a value, found the character U+00A0"],
    );
    let found = "expected a key in double quotes or `}`, found";
    check("\u{feff}{]", Full, &[&format!("invalid_json $ 1:2 {found} `]`")]);
    check("{\r\n  é: 1\r\n}", Full, &[&format!("invalid_json $ 2:3 {found} `é`")]);
}

#[test]
fn sc_005_quotes_and_words() {
    check_syntax(
        r#"
        {'a': 1}      => 1:2 expected a key in double quotes or `}`, found `'` | strings and keys are written in straight double quotes: "…"
        {"a": 'b'}    => 1:7 expected a value, found `'` | strings and keys are written in straight double quotes: "…"
        {“a”: 1}      => 1:2 expected a key in double quotes or `}`, found `“` | strings and keys are written in straight double quotes: "…"
        {command: 1}  => 1:2 expected a key in double quotes or `}`, found `command` | write "command"
        {command}     => 1:2 expected a key in double quotes or `}`, found unquoted text
        {"a": True}   => 1:7 expected a value, found `True` | write true
        {"a": None}   => 1:7 expected a value, found `None` | write null
        {"a": NaN}    => 1:7 expected a value, found `NaN` | write null, or put it in double quotes
        {"a": npx}    => 1:7 expected a value, found unquoted text | put text in double quotes
        {"a": "b"c"}  => 1:10 expected `,` or `}`, found unquoted text | a quote inside a string is written \"
        "#,
    );
}

#[test]
fn sc_005_strings() {
    check_syntax(
        r#"
        {"a": "b⏎"}       => 1:7 this string is not closed on its line | close it with "; a line break inside a string is written \n
        {"a": "b          => 1:7 this string is not closed on its line | close it with "; a line break inside a string is written \n
        {"a": "C:\Users"} => 1:10 this is not a JSON escape | a backslash is written \\ (or use / in paths)
        ["\u12g4"]        => 1:3 `\u` needs four hexadecimal digits | a backslash is written \\ (or use / in paths)
        ["\u12            => 1:3 `\u` needs four hexadecimal digits
        ["\ud800"]        => 1:3 this escape is half of a surrogate pair | write both halves, or the character itself
        ["\udc00"]        => 1:3 this escape is half of a surrogate pair
        ["\ud800\u0041"]  => 1:3 this escape is half of a surrogate pair
        ["a\              => 1:4 the file ends in a string
        ["a\⏎"]           => 1:4 this is not a JSON escape
        "#,
    );
    let tab = "invalid_json $ 1:9 control character U+0009 in a string | write it as \\t";
    check("{\"a\": \"b\tc\"}", Full, &[tab]);
    let control = "invalid_json $ 1:8 control character U+0001 in a string | write it as \\u0001";
    check("{\"a\": \"\u{1}\"}", Simple, &[control]);
}

#[test]
fn sc_005_numbers() {
    check_syntax(
        r#"
        [01]        => 1:2 this is not a JSON number | leave the leading zero out, or put it in double quotes
        [+1]        => 1:2 this is not a JSON number | leave the + out
        [.5]        => 1:2 this is not a JSON number | write digits on both sides of the point
        [1.]        => 1:2 this is not a JSON number | write digits on both sides of the point
        [-Infinity] => 1:2 this is not a JSON number | JSON has no infinity; put it in double quotes if it is text
        [0x1F]      => 1:2 this is not a JSON number | numbers look like 10, -2.5 or 1e3; put it in double quotes if it is text
        [1e]        => 1:2 this is not a JSON number
        [-]         => 1:2 this is not a JSON number
        "#,
    );
}

#[test]
fn sc_005_nesting_has_a_limit() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let array = "invalid_schema $ 1:1 the config must be an object, found an array";
    check(&nested(128), Full, &[array]);
    let deep = "invalid_json $ 1:129 nested deeper than 128 levels";
    check(&nested(129), Full, &[deep]);
    check(&"[".repeat(100_000), Full, &[deep]);
}

#[test]
fn sc_005_text_that_is_not_utf8_is_named() {
    let table: [(&[u8], &str); 3] = [
        (b"{\n  \"\xc3\xa9\xff\": 1}", "2:5 this byte is not UTF-8 | save the file as UTF-8"),
        (b"\xff\xfe{\0}\0", "1:1 the file is UTF-16, not UTF-8 | save it as UTF-8"),
        (b"{\"a\": \"\xe2\x82", "1:8 this byte is not UTF-8 | save the file as UTF-8"),
    ];
    for (text, expected) in table {
        let problems = load(&ConfigSource { name: "mcp.json", text }, Full, &|_| None).unwrap_err();
        let expected = format!("invalid_json $ {expected}");
        assert_eq!(lines(&problems, &[&expected]), [expected]);
    }
}

#[test]
fn fr_010_problems_with_the_file_itself_carry_the_code_of_001() {
    let missing = Problems::file_not_found("no\u{1b}.json");
    assert_eq!(missing.list[0].code(), Some(Code::FileNotFound));
    assert_eq!(missing.to_string(), "no\u{fffd}.json: config file not found: no\u{fffd}.json");
    let directory = Problems::file_unreadable("dir", "is a directory");
    assert_eq!(directory.list[0].code().map(Code::as_str), Some("file_not_found"));
    assert_eq!(directory.list[0].message, "config file dir cannot be read: is a directory");
}
