//! Resources: whose a URI is, by every way there is to know it.

use super::{Server, assemble, leads, server, shown, stopped};
use crate::assemble::Catalog;
use crate::listing::ListKind::{Resources, Templates, Tools};

fn resource(catalog: &Catalog, uri: &str) -> Option<String> {
    catalog.resource(uri).map(|route| leads(&route))
}

#[track_caller]
fn check(catalog: &Catalog, table: &[(&str, Option<&str>)]) {
    for (uri, expected) in table {
        assert_eq!(resource(catalog, uri).as_deref(), *expected, "{uri}");
    }
}

fn templates(key: &'static str, list: &[&str]) -> Server {
    let entries: Vec<String> =
        list.iter().map(|text| format!("{{\"uriTemplate\":\"{text}\",\"name\":\"t\"}}")).collect();
    server(key, Templates, &format!("[{}]", entries.join(",")))
}

fn resources(key: &'static str, list: &[&str]) -> Server {
    let entries: Vec<String> =
        list.iter().map(|text| format!("{{\"uri\":\"{text}\",\"name\":\"r\"}}")).collect();
    server(key, Resources, &format!("[{}]", entries.join(",")))
}

#[test]
fn co_1_names_show_the_server_and_uris_stay() {
    let one = r#"[{"uri":"f://b", "name":"B\u0021" ,"size":1.0},{"uri":"f://\u0061"},{"uri":"f://c","name":5}]"#;
    let catalog = assemble(&[
        server("my \"fs\"", Resources, one),
        server("z", Resources, r#"[{"name":"A","uri":"a://a","title":"A"}]"#),
    ]);
    assert_eq!(
        shown(&catalog, Resources),
        concat!(
            r#"{"resources":[{"name":"[z] A","uri":"a://a","title":"A"},"#,
            r#"{"uri":"f://\u0061","name":"[my \"fs\"] f://a"},"#,
            r#"{"uri":"f://b", "name":"[my \"fs\"] B!" ,"size":1.0},"#,
            r#"{"uri":"f://c","name":"[my \"fs\"] f://c"}]}"#
        )
    );
    assert_eq!(catalog.count(Resources), 4);
    check(&catalog, &[("f://a", Some(r#"0 "f://\u0061""#)), ("a://a", Some(r#"1 "a://a""#))]);
    let catalog = assemble(&[templates("s", &["u://{id}"])]);
    let listed = r#"{"resourceTemplates":[{"uriTemplate":"u://{id}","name":"[s] t"}]}"#;
    assert_eq!(shown(&catalog, Templates), listed);
}

#[test]
fn co_1_two_of_one_uri_are_both_reached() {
    let catalog = assemble(&[
        resources("z", &["f://x", "f://z"]),
        resources("a b/ü", &["f://x", "f://y?q#f"]),
        stopped("off"),
    ]);
    let alias = "trunkline://a%20b%2F%C3%BC/f://x";
    assert_eq!(
        shown(&catalog, Resources),
        format!(
            r#"{{"resources":[{{"uri":"f://x","name":"[z] r"}},{{"uri":"f://y?q#f","name":"[a b/ü] r"}},{{"uri":"f://z","name":"[z] r"}},{{"uri":"{alias}","name":"[a b/ü] r"}}]}}"#
        )
    );
    check(
        &catalog,
        &[
            ("f://x", Some(r#"0 "f://x""#)),
            (alias, Some(r#"1 "f://x""#)),
            ("trunkline://a%20b%2f%c3%bc/f://x", Some(r#"1 "f://x""#)),
            ("trunkline://z/f://x", Some(r#"0 "f://x""#)),
            ("trunkline://z/not://listed?a=b", Some(r#"0 "not://listed?a=b""#)),
            ("trunkline://off/f://x", Some(r#"2 "f://x""#)),
            ("trunkline://nobody/f://x", None),
            ("trunkline://z/", None),
            ("trunkline://z", None),
            ("trunkline://%zz/f://x", None),
            ("trunkline://%ff/f://x", None),
        ],
    );
    let expected = format!(
        r#"the uri "f://x" is not for server "a b/ü" alone; its resource is listed as "{alias}""#
    );
    assert_eq!(catalog.warnings, [expected]);
}

#[test]
fn co_1_no_server_takes_what_an_alias_names() {
    let thief = ["trunkline://a/f://x", "trunkline://b/f://x", "trunkline://c/f://x"];
    let catalog = assemble(&[resources("b", &thief), resources("a", &["f://x"])]);
    check(
        &catalog,
        &[
            ("trunkline://a/f://x", Some(r#"1 "f://x""#)),
            ("trunkline://b/f://x", Some(r#"0 "f://x""#)),
            ("trunkline://c/f://x", Some(r#"0 "trunkline://c/f://x""#)),
            ("trunkline://b/trunkline://a/f://x", Some(r#"0 "trunkline://a/f://x""#)),
        ],
    );
    assert!(shown(&catalog, Resources).contains(r#""trunkline://b/trunkline://a/f://x""#));
    assert_eq!(catalog.warnings.len(), 1);
    assert!(catalog.warnings[0].contains("(and 1 more)"), "{:?}", catalog.warnings);
}

#[test]
fn co_2_an_expanded_template_finds_its_server() {
    let catalog = assemble(&[
        templates("a", &["u://users/{id}", "u://{+any}/deep", "broken://{"]),
        templates("b", &["u://users/{name}", "u://repos/{owner}/{repo}", "u://mail/{address}"]),
        resources("c", &["u://users/listed"]),
    ]);
    check(
        &catalog,
        &[
            ("u://users/7", Some(r#"0 "u://users/7""#)),
            ("u://users/listed", Some(r#"2 "u://users/listed""#)),
            ("u://repos/x/y", Some(r#"1 "u://repos/x/y""#)),
            // Both fit: more of the second is written out.
            ("u://repos/x/deep", Some(r#"1 "u://repos/x/deep""#)),
            ("u://else/x/deep", Some(r#"0 "u://else/x/deep""#)),
            ("u://mail/me@x.org", Some(r#"1 "u://mail/me@x.org""#)),
            ("u://other", None),
            ("broken://x", Some(r#"0 "broken://x""#)),
        ],
    );
}

#[test]
fn co_2_templates_themselves_are_found_for_completions() {
    let catalog = assemble(&[
        templates("a", &["u://{id}"]),
        templates("b", &["u://{id}", "v://{x}"]).and(Resources, r#"[{"uri":"w://x"}]"#),
    ]);
    let found = |uri: &str| catalog.template(uri).map(|route| leads(&route));
    assert_eq!(found("u://{id}").as_deref(), Some(r#"0 "u://{id}""#));
    assert_eq!(found("trunkline://b/u://{id}").as_deref(), Some(r#"1 "u://{id}""#));
    assert_eq!(found("v://{x}").as_deref(), Some(r#"1 "v://{x}""#));
    assert_eq!(found("w://x").as_deref(), Some(r#"1 "w://x""#));
    assert!(shown(&catalog, Templates).contains(r#"{"uriTemplate":"trunkline://b/u://{id}","#));
    assert_eq!(catalog.warnings.len(), 1);
}

#[test]
fn co_1_who_alone_has_the_scheme_or_resources_at_all_is_asked() {
    let two = [
        resources("a", &["file:///x", "A+b.c://x"]),
        templates("b", &["git://{+x}/y", "file:///{x}/y", "{scheme}://fixed"]),
        stopped("c"),
    ];
    check(
        &assemble(&two),
        &[
            ("a+B.C://other", Some(r#"0 "a+B.C://other""#)),
            ("GIT://other", Some(r#"1 "GIT://other""#)),
            ("file:///z", None),
            ("none://z", None),
            ("no scheme", None),
        ],
    );
    let one = [stopped("a"), resources("b", &["file:///x"]), server("c", Tools, "[]")];
    check(&assemble(&one), &[("none://z", Some(r#"1 "none://z""#)), ("", Some(r#"1 """#))]);
}

/// Whatever its place is: it may have been registered to listen to others.
#[test]
fn co_2_a_template_for_everything_takes_nothing_from_others() {
    let own = || {
        resources("own", &["db://main/users"])
            .and(Templates, r#"[{"uriTemplate":"db://main/{table}"}]"#)
    };
    let thief = || templates("thief", &["{+x}", "{scheme}://{+rest}", "db{+x}"]);
    let late = || templates("late", &["db:{+x}", "db://{+host}{/path*}"]);
    let shared = || templates("shared", &["git://{repo}"]);
    for servers in [[own(), shared(), thief(), late()], [thief(), own(), shared(), late()]] {
        let place = |name: &str| servers.iter().position(|server| server.key == name).unwrap();
        let catalog = assemble(&servers);
        let [own, shared, thief] = ["own", "shared", "thief"].map(place);
        for (uri, owner) in [
            ("db://main/users", own),
            ("db://main/orders", own),
            ("db://other/deep/er", own),
            ("DB://Main", own),
            ("git://x", shared),
            ("nobodys://x", thief),
        ] {
            assert_eq!(resource(&catalog, uri), Some(format!("{owner} \"{uri}\"")), "{uri}");
        }
        let warnings = catalog.warnings.join("\n");
        assert!(warnings.contains("\"{+x}\" of server \"thief\""), "{warnings}");
        assert!(warnings.contains("\"db:{+x}\" of server \"late\""), "{warnings}");
    }
}

#[test]
fn co_2_a_template_without_a_place_takes_nothing_from_who_lists_resources_of_its_scheme() {
    for wide in ["note://{id}", "note://s{+rest}", "note://{+place}/secret", "note://secret{id}"] {
        let late = templates("late", &[wide, "note://late/{id}", "file:///late/{path}"]);
        let catalog = assemble(&[resources("own", &["note://listed", "file:///x"]), late]);
        for (uri, owner) in [
            ("note://secret1", None),
            ("note://deep/secret", None),
            ("note://late/1", Some(1)),
            ("file:///late/1", Some(1)),
        ] {
            let expected = owner.map(|owner| format!("{owner} \"{uri}\""));
            assert_eq!(resource(&catalog, uri), expected, "{wide} {uri}");
        }
        let warnings = catalog.warnings.join("\n");
        assert!(warnings.contains(&format!("\"{wide}\" of server \"late\"")), "{warnings}");
        // Of itself a server may say what it likes, and where nobody lists anything.
        let own = resources("own", &["note://listed"])
            .and(Templates, &format!(r#"[{{"uriTemplate":"{wide}"}}]"#));
        let catalog = assemble(&[own, resources("other", &["w://x"])]);
        let expected = Some("0 \"note://secret1\"".to_owned());
        assert_eq!(resource(&catalog, "note://secret1"), expected, "{wide}");
        assert!(catalog.warnings.is_empty(), "{:?}", catalog.warnings);
    }
}

#[test]
fn co_2_hostile_templates_hide_no_other_servers() {
    let hostile: Vec<String> = (0..90).map(|n| format!("{}{n}", "{+a}{b*}".repeat(32))).collect();
    let hostile: Vec<&str> = hostile.iter().map(String::as_str).collect();
    let catalog = assemble(&[templates("evil", &hostile), templates("good", &["u://{id}"])]);
    let uri = format!("u://{}", "a".repeat(8_000));
    let expected = format!("1 \"{uri}\"");
    assert_eq!(resource(&catalog, &uri), Some(expected));
}
