//! What matches which template.

use proptest::prelude::{Strategy, any, prop, prop_assert, prop_assert_eq, proptest};

use super::{Template, TemplateReading};

#[track_caller]
fn check(reading: TemplateReading, template: &str, yes: &[&str], no: &[&str]) {
    let compiled = Template::compile(template).expect(template);
    let matches = |uri: &str| compiled.may_match(uri) && compiled.matches(uri, reading);
    for uri in yes {
        assert!(matches(uri), "{template} should match {uri}");
    }
    for uri in no {
        assert!(!matches(uri), "{template} should not match {uri}");
    }
}

/// The examples of the RFC, sections 1.2 and 3.2, expanded there.
#[test]
fn co_2_the_expansions_of_the_rfc_match() {
    let table: &[(&str, &[&str])] = &[
        ("{var}", &["value"]),
        ("{hello}", &["Hello%20World%21"]),
        ("{half}", &["50%25"]),
        ("O{empty}X", &["OX"]),
        ("O{undef}X", &["OX"]),
        ("map?{x,y}", &["map?1024,768"]),
        ("?{x,empty}", &["?1024,"]),
        ("{var:3}", &["val"]),
        ("{list}", &["red,green,blue"]),
        ("{keys}", &["semi,%3B,dot,.,comma,%2C"]),
        ("{keys*}", &["semi=%3B,dot=.,comma=%2C"]),
        ("{+hello}", &["Hello%20World!"]),
        ("{+path}/here", &["/foo/bar/here"]),
        ("here?ref={+path}", &["here?ref=/foo/bar"]),
        ("up{+path}{var}/here", &["up/foo/barvalue/here"]),
        ("{+x,hello,y}", &["1024,Hello%20World!,768"]),
        ("{+path:6}here", &["/foo/bhere"]),
        ("{+keys*}", &["semi=;,dot=.,comma=,"]),
        ("X{#var}", &["X#value"]),
        ("{#path,x}/here", &["#/foo/bar,1024/here"]),
        ("X{.var}", &["X.value"]),
        ("X{.x,y}", &["X.1024.768"]),
        ("X{.list}", &["X.red,green,blue"]),
        ("X{.list*}", &["X.red.green.blue"]),
        ("X{.empty_keys}", &["X"]),
        ("{/var}", &["/value"]),
        ("{/var,x}/here", &["/value/1024/here"]),
        ("{/var:1,var}", &["/v/value"]),
        ("{/list*}", &["/red/green/blue"]),
        ("{/list*,path:4}", &["/red/green/blue/%2Ffoo"]),
        ("{/keys*}", &["/semi=%3B/dot=./comma=%2C"]),
        ("{;x,y}", &[";x=1024;y=768"]),
        ("{;x,y,empty}", &[";x=1024;y=768;empty"]),
        ("{;hello:5}", &[";hello=Hello"]),
        ("{;list*}", &[";list=red;list=green;list=blue"]),
        ("{;keys*}", &[";semi=%3B;dot=.;comma=%2C"]),
        ("{?x,y}", &["?x=1024&y=768"]),
        ("{?x,y,empty}", &["?x=1024&y=768&empty="]),
        ("{?var:3}", &["?var=val"]),
        ("{?list}", &["?list=red,green,blue"]),
        ("{?keys*}", &["?semi=%3B&dot=.&comma=%2C"]),
        ("?fixed=yes{&x}", &["?fixed=yes&x=1024"]),
        ("{&x,y,empty}", &["&x=1024&y=768&empty="]),
        ("{&list*}", &["&list=red&list=green&list=blue"]),
    ];
    for (template, yes) in table {
        check(TemplateReading::Strict, template, yes, &[]);
    }
}

#[test]
fn co_2_what_no_expansion_gives_does_not_match() {
    let table: &[(&str, &[&str], &[&str])] = &[
        ("a://x", &["a://x"], &["a://x/", "a://", "A://x", "a://xy"]),
        (
            "users://{id}/profile",
            &["users://7/profile", "users:///profile"],
            &["users://7/8/profile", "users://7/profile/", "users://7", "users://a?b/profile"],
        ),
        ("file:///{+path}", &["file:///a/b?c#d", "file:///"], &["file://a"]),
        ("{id}", &["a b", "ü", "it's(*)!"], &["a/b", "a@b", "a:b", "a=b"]),
        (
            "{id:3}",
            &["", "abc", "%C3%BC%C3%BCx", "üüü"],
            &["abcd", "%C3%BC%C3%BCxy", "üüüü", "a,b"],
        ),
        (
            "s{?q,limit}",
            &["s", "s?q=", "s?limit=3", "s?q=a&limit=3"],
            &["s?", "s?q", "s?limit=3&q=a", "s?x=1", "s?q=a&b"],
        ),
        ("s{;a}", &["s;a", "s;a=1", "s"], &["s;b", "s;", "sa"]),
        ("s{/a,b}", &["s", "s/1", "s/1/2", "s/", "s//"], &["s/1/2/3", "s1"]),
        ("s{/a*}", &["s", "s/1/2/3/4"], &["s1", "s/1?"]),
        ("{a}-{b}", &["x-y", "-", "x-y-z"], &["xy"]),
    ];
    for (template, yes, no) in table {
        check(TemplateReading::Strict, template, yes, no);
    }
}

#[test]
fn co_2_uris_made_by_hand_match_loosely() {
    let table: &[(&str, &[&str], &[&str])] = &[
        (
            "users://{mail}/profile",
            &["users://me@x.org/profile", "users://a:b=c/profile"],
            &["users://a/b/profile", "users://a?b/profile", "users://a#b/profile"],
        ),
        ("s{?q,limit}", &["s?limit=3&q=a", "s?x=1", "s"], &["t?q=1", "sx"]),
        ("s{?q}{#f}", &["s?q=a#f"], &[]),
        ("file:///{+path}", &["file:///a b/c"], &[]),
    ];
    for (template, yes, no) in table {
        check(TemplateReading::Loose, template, yes, no);
    }
}

#[test]
fn what_is_no_template_is_none() {
    for text in [
        "a{",
        "a}",
        "{}",
        "{a",
        "{a}}",
        "{{a}}",
        "{a,}",
        "{=a}",
        "{a:0}",
        "{a:x}",
        "{a b}",
        "{+}",
        "{a:12345}",
        "{a**}",
    ] {
        assert!(Template::compile(text).is_none(), "{text}");
    }
    assert!(Template::compile(&"{a}".repeat(64)).is_some());
    assert!(Template::compile(&"{a}".repeat(65)).is_none());
}

#[test]
fn hostile_templates_cost_what_they_say() {
    let template = Template::compile(&format!("{}!", "{+a}{b*}".repeat(32))).unwrap();
    let uri = "a".repeat(8 * 1024);
    assert!(template.may_match(&uri) && template.steps(&uri) <= 2_000_000);
    assert!(!template.matches(&uri, TemplateReading::Strict));
    assert!(!template.may_match(&"a".repeat(8 * 1024 + 1)), "too long to be looked at");
}

/// Percent-encodes everything but unreserved characters, as a strict client does.
fn encoded(value: &str) -> String {
    let encode = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    value.bytes().map(encode).collect()
}

/// An operator's expression, and what it expands to with `a` and `b` as texts.
fn expression() -> impl Strategy<Value = (String, String)> {
    let texts = (prop::option::of(any::<String>()), prop::option::of("[a-z/ü]{0,3}"));
    (0..8_usize, texts).prop_map(|(operator, (a, b))| {
        let (sign, first, separator, named) = [
            ("", "", ",", false),
            ("+", "", ",", false),
            ("#", "#", ",", false),
            (".", ".", ".", false),
            ("/", "/", "/", false),
            (";", ";", ";", true),
            ("?", "?", "&", true),
            ("&", "&", "&", true),
        ][operator];
        let value = |name: &str, text: String| match (named, text.is_empty() && sign == ";") {
            (false, _) => encoded(&text),
            (true, true) => name.to_owned(),
            (true, false) => format!("{name}={}", encoded(&text)),
        };
        let written: Vec<String> =
            [("a", a), ("b", b)].into_iter().filter_map(|(n, v)| Some(value(n, v?))).collect();
        let first = if written.is_empty() { "" } else { first };
        (format!("{{{sign}a,b}}"), format!("{first}{}", written.join(separator)))
    })
}

proptest! {
    #[test]
    fn co_2_every_expansion_matches(parts in prop::collection::vec((expression(), "[a-z:/]{0,3}"), 0..4)) {
        let template: String = parts.iter().map(|((t, _), l)| format!("{t}{l}")).collect();
        let uri: String = parts.iter().map(|((_, u), l)| format!("{u}{l}")).collect();
        let compiled = Template::compile(&template).unwrap();
        prop_assert!(compiled.may_match(&uri) && compiled.matches(&uri, TemplateReading::Strict), "{} {}", template, uri);
    }

    #[test]
    fn a_template_without_expressions_matches_itself_only(a in "[a-c]{0,3}", b in "[a-c]{0,3}") {
        let template = Template::compile(&a).unwrap();
        prop_assert_eq!(template.may_match(&b) && template.matches(&b, TemplateReading::Strict), a == b);
    }
}
