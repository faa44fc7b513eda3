//! What restricted callers see, and what they can call.

use trunkline_wire::{elements, member};

use crate::scene::{Scene, Session, Test, stateless};

pub(crate) const TESTS: &[Test] = &[
    ("only_what_is_granted_is_listed", only_what_is_granted_is_listed),
    ("what_is_forbidden_is_not_there", what_is_forbidden_is_not_there),
    (
        "a_custom_tool_has_the_subtools_that_are_granted",
        a_custom_tool_has_the_subtools_that_are_granted,
    ),
    ("everything_else_needs_the_whole_server", everything_else_needs_the_whole_server),
    ("methods_nobody_knows_need_the_whole_server", methods_nobody_knows_need_the_whole_server),
    ("only_servers_that_are_seen_are_spoken_of", only_servers_that_are_seen_are_spoken_of),
    ("a_log_is_heard_by_those_who_may", a_log_is_heard_by_those_who_may),
    (
        "what_differs_by_caller_is_for_no_shared_cache",
        what_differs_by_caller_is_for_no_shared_cache,
    ),
];

/// The names in a list.
fn names(answer: &str, kind: &str, key: &str) -> Vec<String> {
    let list = member(answer.as_bytes(), "result").and_then(|result| member(result, kind)).unwrap();
    let of = |entry: &[u8]| String::from_utf8(member(entry, key).unwrap().to_vec()).unwrap();
    elements(list).map(|at| of(at.of(list)).trim_matches('"').to_owned()).collect()
}

fn call(session: &mut Session, name: &str) -> String {
    session.said("tools/call", &format!(r#"{{"name":"{name}","arguments":{{}}}}"#))
}

fn only_what_is_granted_is_listed(scene: &Scene) {
    let beta = ["beta:read", "beta:shout", "beta:wait", "beta:write"];
    for (grant, expected) in [
        (Some(&[][..]), vec![]),
        (Some(&["alpha/read"]), vec!["alpha:read", "both"]),
        // By the name the server has for it, whatever the config calls it.
        (Some(&["alpha/write", "alpha/nothing"]), vec!["alpha:put"]),
        (Some(&["alpha/put"]), vec![]),
        (Some(&["beta", "gamma"]), [&beta[..], &["both"]].concat()),
    ] {
        scene.keys.give("lister", grant);
        let listed = scene.session("lister").said("tools/list", "{}");
        assert_eq!(names(&listed, "tools", "name"), expected, "{grant:?}");
        let listed = scene.stateless("lister", "tools/list", "").body;
        assert_eq!(names(&listed, "tools", "name"), expected, "{grant:?}");
    }
    scene.keys.give("lister", Some(&["alpha/read"]));
    let (fields, body) = stateless("lister", "tools/list", "");
    let listed = scene.wire().ask("POST /mcp/for/claude-desktop", &fields, &body).body;
    assert_eq!(names(&listed, "tools", "name"), ["alpha__read", "both"]);
    scene.keys.give("all", None);
    let all = names(&scene.session("all").said("tools/list", "{}"), "tools", "name");
    assert_eq!(all.len(), 9, "{all:?}");
}

fn what_is_forbidden_is_not_there(scene: &Scene) {
    scene.keys.give("reader", Some(&["alpha/read"]));
    let mut session = scene.session("reader");
    assert!(call(&mut session, "alpha:read").contains("alpha was asked tools/call"));
    let stateless = |name: &str| {
        let params = format!(r#""name":"{name}","arguments":{{}}"#);
        scene.stateless("reader", "tools/call", &params).body
    };
    assert!(stateless("alpha:read").contains("alpha was asked tools/call"));
    for (forbidden, unknown) in
        [("alpha:put", "alpha:nil"), ("beta:read", "nope:read"), ("beta:read", "beta:nope")]
    {
        let unknown_words = call(&mut session, unknown).replace(unknown, "NAME");
        assert!(unknown_words.contains("\"error\""), "{unknown_words}");
        let words = call(&mut session, forbidden).replace(forbidden, "NAME");
        assert_eq!(words, unknown_words, "{forbidden}");
        let (words, unknown) = (
            stateless(forbidden).replace(forbidden, "NAME"),
            stateless(unknown).replace(unknown, "NAME"),
        );
        assert_eq!(words, unknown, "{forbidden}");
    }
}

fn a_custom_tool_has_the_subtools_that_are_granted(scene: &Scene) {
    scene.keys.give("part", Some(&["beta/read"]));
    let mut session = scene.session("part");
    let listed = session.said("tools/list", "{}");
    assert!(listed.contains("\"both\"") && listed.contains("beta / read"), "{listed}");
    assert!(!listed.contains("alpha"), "{listed}");
    let mut ask = |server: &str, tool: &str| {
        let params = format!(
            r#"{{"name":"both","arguments":{{"server":"{server}","tool":"{tool}","args":{{}}}}}}"#
        );
        session.said("tools/call", &params)
    };
    assert!(ask("beta", "read").contains("beta was asked tools/call"));
    let forbidden = ask("alpha", "read").replace("alpha", "SERVER");
    assert!(forbidden.contains("\"error\""), "{forbidden}");
    assert_eq!(forbidden, ask("nope", "read").replace("nope", "SERVER"));
    scene.keys.give("none", Some(&["beta/write"]));
    let mut session = scene.session("none");
    let words = call(&mut session, "both").replace("both", "NAME");
    assert_eq!(words, call(&mut session, "nope").replace("nope", "NAME"));
}

fn everything_else_needs_the_whole_server(scene: &Scene) {
    scene.keys.give("whole", Some(&["alpha/read", "beta"]));
    let mut session = scene.session("whole");
    let mut list =
        |method: &str, kind: &str, key: &str| names(&session.said(method, "{}"), kind, key);
    assert_eq!(list("resources/list", "resources", "uri"), ["beta://thing"]);
    let templates = list("resources/templates/list", "resourceTemplates", "uriTemplate");
    assert_eq!(templates, ["beta://t/{id}"]);
    assert_eq!(list("prompts/list", "prompts", "name"), ["greet-beta"]);
    assert!(session.said("resources/read", r#"{"uri":"beta://thing"}"#).contains("beta was asked"));

    scene.keys.give("tools only", Some(&["alpha/read", "beta/read"]));
    let mut session = scene.session("tools only");
    for (method, forbidden, unknown) in [
        ("resources/read", r#"{"uri":"alpha://thing"}"#, r#"{"uri":"alpha://xhing"}"#),
        (
            "resources/read",
            r#"{"uri":"trunkline://beta/x:y"}"#,
            r#"{"uri":"trunkline://nope/x:y"}"#,
        ),
        ("resources/subscribe", r#"{"uri":"alpha://thing"}"#, r#"{"uri":"alpha://xhing"}"#),
        ("prompts/get", r#"{"name":"greet-alpha"}"#, r#"{"name":"greet-xlpha"}"#),
        (
            "completion/complete",
            r#"{"ref":{"type":"ref/prompt","name":"greet-alpha"}}"#,
            r#"{"ref":{"type":"ref/prompt","name":"greet-xlpha"}}"#,
        ),
        (
            "completion/complete",
            r#"{"ref":{"type":"ref/resource","uri":"alpha://t/{id}"}}"#,
            r#"{"ref":{"type":"ref/resource","uri":"xlpha://t/{id}"}}"#,
        ),
    ] {
        let same = |words: String| {
            words.replace("xhing", "thing").replace("xlpha", "alpha").replace("nope", "beta")
        };
        let words = session.said(method, forbidden);
        assert!(words.contains("\"error\""), "{method} {words}");
        assert_eq!(words, same(session.said(method, unknown)), "{method}");
    }
}

fn methods_nobody_knows_need_the_whole_server(scene: &Scene) {
    scene.keys.give("asker", Some(&["alpha/read", "beta"]));
    let mut session = scene.session("asker");
    for (params, reached) in [
        (r#"{"_meta":{"trunkline/server":"beta"}}"#, true),
        (r#"{"_meta":{"trunkline/server":"alpha"}}"#, false),
        (r#"{"_meta":{"trunkline/server":"nope"}}"#, false),
        (r#"{"name":"beta:read"}"#, true),
        (r#"{"name":"alpha:read"}"#, false),
        ("{}", false),
    ] {
        let words = session.said("strange/method", params);
        assert_eq!(words.contains("was asked strange/method"), reached, "{params} {words}");
        assert_eq!(words.contains("Method not found: strange/method"), !reached, "{words}");
    }
}

fn only_servers_that_are_seen_are_spoken_of(scene: &Scene) {
    scene.session("all").said("tools/list", "{}");
    scene.keys.give("spoken to", Some(&["beta/read"]));
    let session = scene.session("spoken to");
    assert!(session.welcome.contains("words of beta"), "{}", session.welcome);
    assert!(!session.welcome.contains("alpha"), "{}", session.welcome);
    let discovered = scene.stateless("spoken to", "server/discover", "").body;
    assert!(discovered.contains("words of beta") && !discovered.contains("alpha"), "{discovered}");
    let all = scene.session("all").welcome;
    assert!(all.contains("words of alpha") && all.contains("words of beta"), "{all}");
}

fn a_log_is_heard_by_those_who_may(scene: &Scene) {
    scene.keys.give("shouter", None);
    scene.keys.give("hears beta", Some(&["alpha/shout", "beta"]));
    let mut shouter = scene.session("shouter");
    let mut restricted = scene.session("hears beta");
    let mut streams = [&shouter, &restricted].map(|session| {
        let mut stream = scene.wire();
        stream.send("GET /mcp", &session.fields(), "");
        stream.until("retry:");
        stream
    });
    restricted.said("ping", "{}"); // both have joined
    shouter.said("ping", "{}");
    let [all, some] = &mut streams;
    call(&mut shouter, "alpha:shout");
    all.until("shouted by alpha");
    call(&mut shouter, "beta:shout");
    all.until("shouted by beta");
    let heard = some.until("shouted by beta");
    assert!(!heard.contains("shouted by alpha"), "{heard}");
}

fn what_differs_by_caller_is_for_no_shared_cache(scene: &Scene) {
    scene.keys.give("all", None);
    scene.keys.give("asker", Some(&["alpha/read", "beta"]));
    for key in ["all", "asker"] {
        let listed = scene.stateless(key, "tools/list", "").body;
        assert!(listed.contains(r#""cacheScope":"private""#), "{key} {listed}");
    }
}
