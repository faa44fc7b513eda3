//! `subscriptions/listen`: acknowledged first, tagged always, and only what was asked for.

use std::time::Duration;

use kit::config::Upstream;
use kit::line::Line;
use kit::mcp::Speak;
use kit::modern::Modern;
use kit::modern::belongs_to;
use kit::modern::stamp::SUBSCRIPTION;
use kit::room::Room;
use kit::scene::{Front, each_of, each_pair};
use kit::{LIMIT, SOON, ledger, process, say, scan};
use rustix::process::Signal;

const ACK: &str = "notifications/subscriptions/acknowledged";
const TOOLS: &str = "notifications/tools/list_changed";
const PROMPTS: &str = "notifications/prompts/list_changed";
const RESOURCES: &str = "notifications/resources/list_changed";
const UPDATED: &str = "notifications/resources/updated";

/// Every kind of server, of both eras.
const UPSTREAMS: [Upstream; 5] =
    [Upstream::Stdio, Upstream::Http, Upstream::Sse, Upstream::ModernStdio, Upstream::ModernHttp];

/// A server that can change everything it has.
fn house(room: &Room, upstream: Upstream) {
    let change = say::steps([
        say::change_list("tools", &[&say::definition("fresh"), &say::definition("touch")]),
        say::change_list("resources", &[&say::resource("x://fresh", "Fresh")]),
        say::change_list("prompts", &[&say::prompt("fresh", "Fresh")]),
        say::changed("tools"),
        say::changed("resources"),
        say::changed("prompts"),
        say::text("done"),
    ]);
    let touch = say::steps([say::updated("x://1"), say::updated("x://2"), say::text("done")]);
    let a = room.fake("a").tool("change", change).tool("touch", touch).tool("echo", say::echo());
    let a = a.resource("x://1", "1").resource("x://2", "2").prompt("p", "P").logging();
    room.config([("a", a.over(upstream))]);
}

/// The messages a client has not looked at, once everything sent so far has come.
fn rest(client: &Modern) -> Vec<Line> {
    client.list();
    std::iter::from_fn(|| client.try_wait_for(Duration::ZERO, |_| true)).collect()
}

#[test]
fn changes_of_lists_are_told_to_who_listens_for_them() {
    each_pair(&Front::MODERN, &UPSTREAMS, |front, upstream| {
        let room = Room::new();
        house(&room, upstream);
        let scene = room.open_ready(front, &[]);
        let client = scene.modern();
        let filter = r#"{"toolsListChanged":true,"resourcesListChanged":true}"#;
        let listen = client.listen(filter);
        let honoured = |key: &str| scan::get(listen.honoured.as_bytes(), key) == Some(b"true");
        assert!(honoured("toolsListChanged") && honoured("resourcesListChanged"), "{listen:?}");
        assert!(!honoured("promptsListChanged"), "{listen:?}");
        if upstream.is_modern() {
            wait_listened(&room, "toolsListChanged");
        }
        client.call(&client.tool("a", "change"), "{}").result();
        client.event(&listen.id, TOOLS, LIMIT);
        client.event(&listen.id, RESOURCES, LIMIT);
        let fresh = [client.tool("a", "fresh"), client.tool("a", "touch")];
        client.wait_list("the new tools", LIMIT, |names| names == fresh);
        let stray = rest(client);
        assert!(stray.iter().all(|line| !line.is_notification(PROMPTS)), "{stray:?}");
        let tagged = |line: &Line| belongs_to(line, &listen.id);
        assert!(stray.iter().all(tagged), "everything else carries the id: {stray:?}");
        scene.assert_only_protocol();
    });
}

/// Waits until the server of the stateless era is going to tell this.
#[track_caller]
fn wait_listened(room: &Room, key: &str) {
    let asked = || {
        let all = ledger::settled(&room.ledger("a"), "subscriptions/listen");
        all.iter().any(|line| {
            scan::path(line, &["params", "notifications", key]).is_some_and(|v| v != b"false")
        })
    };
    process::wait_until("the server is asked to tell", LIMIT, asked);
}

#[test]
fn updates_of_resources_are_told_to_who_listens_for_them() {
    each_pair(&Front::MODERN, &UPSTREAMS, |front, upstream| {
        let room = Room::new();
        house(&room, upstream);
        let scene = room.open_ready(front, &[]);
        let client = scene.modern();
        let listen = client.listen(r#"{"resourceSubscriptions":["x://1"]}"#);
        let uris = scan::get(listen.honoured.as_bytes(), "resourceSubscriptions");
        assert_eq!(uris, Some(&br#"["x://1"]"#[..]), "{listen:?}");
        // Acknowledged: from now on nothing is missed.
        client.call(&client.tool("a", "touch"), "{}").result();
        let update = client.event(&listen.id, UPDATED, LIMIT);
        let uri = scan::path(&update.0, &["params", "uri"]).and_then(scan::text);
        assert_eq!(uri.as_deref(), Some("x://1"));
        let stray = rest(client);
        assert!(stray.is_empty(), "nothing else was asked for: {stray:?}");
        client.cancel(&listen.id);
        wait_unwatched(&room, upstream, "x://1");
        client.call(&client.tool("a", "touch"), "{}").result();
        let stray = rest(client);
        assert!(stray.iter().all(|line| line.id() == Some(&listen.id)), "{stray:?}");
    });
}

/// On a pipe the end of a subscription is in order with everything else.
#[test]
fn after_a_cancellation_on_a_pipe_nothing_more_is_told() {
    each_of(UPSTREAMS, |upstream| {
        let room = Room::new();
        house(&room, upstream);
        let scene = room.open_ready(Front::ModernStdio, &[]);
        let client = scene.modern();
        for _ in 0..20 {
            let listen = client.listen(r#"{"resourceSubscriptions":["x://1"]}"#);
            client.cancel(&listen.id);
            let id = client.begin(&client.tool("a", "touch"), "{}");
            client.answer(&id, LIMIT).result();
            let stray = rest(client);
            let told = |line: &&Line| line.is_notification(UPDATED);
            assert_eq!(stray.iter().find(told), None);
        }
    });
}

/// The requests because of which the server tells about this URI.
fn watches(room: &Room, upstream: Upstream, uri: &str) -> usize {
    let quoted = scan::quote(uri);
    let asked = |line: &Vec<u8>| match upstream.is_modern() {
        true => String::from_utf8_lossy(line).contains(&quoted),
        false => scan::path(line, &["params", "uri"]) == Some(quoted.as_bytes()),
    };
    let method = if upstream.is_modern() { "subscriptions/listen" } else { "resources/subscribe" };
    ledger::settled(&room.ledger("a"), method).iter().filter(|line| asked(line)).count()
}

#[track_caller]
fn wait_watched(room: &Room, upstream: Upstream, uri: &str) {
    process::wait_until("the server is asked", LIMIT, || watches(room, upstream, uri) > 0);
}

/// Waits until the server has been told that nobody wants to know any more.
#[track_caller]
fn wait_unwatched(room: &Room, upstream: Upstream, uri: &str) {
    let quoted = scan::quote(uri);
    let told = || match upstream {
        Upstream::ModernHttp => !ledger::closed(&room.ledger("a")).is_empty(),
        Upstream::ModernStdio => {
            !ledger::with_method(&room.ledger("a"), "notifications/cancelled").is_empty()
        }
        _ => {
            let all = ledger::settled(&room.ledger("a"), "resources/unsubscribe");
            all.iter().any(|line| scan::path(line, &["params", "uri"]) == Some(quoted.as_bytes()))
        }
    };
    process::wait_until("the server is told that it is over", LIMIT, told);
}

#[test]
fn two_who_listen_for_the_same_are_one_to_the_server_until_both_have_gone() {
    each_of(Upstream::ALL, |upstream| {
        let room = Room::new();
        house(&room, upstream);
        let serve = room.serve(&[]);
        let (one, two) = (serve.modern("{}"), serve.modern("{}"));
        let old = serve.http();
        one.list();
        let first = one.listen(r#"{"resourceSubscriptions":["x://1","x://2"]}"#);
        let second = two.listen(r#"{"resourceSubscriptions":["x://1"]}"#);
        // Over HTTP a call may overtake what the server was told before.
        wait_watched(&room, upstream, "x://1");
        one.call("a.touch", "{}").result();
        one.event(&first.id, UPDATED, LIMIT);
        two.event(&second.id, UPDATED, LIMIT);
        let told = |method| {
            let all = ledger::with_method(&room.ledger("a"), method);
            let one = |line: &&Vec<u8>| scan::path(line, &["params", "uri"]) == Some(b"\"x://1\"");
            all.iter().filter(one).count()
        };
        assert_eq!(told("resources/subscribe"), 1, "{upstream:?}");
        old.ask("resources/subscribe", r#"{"uri":"x://1"}"#).result();
        one.call("a.touch", "{}").result();
        let update = old.notification(UPDATED, LIMIT);
        assert_eq!(scan::path(&update.0, &["params", "_meta"]), None, "{update}");
        two.event(&second.id, UPDATED, LIMIT);
        one.cancel(&first.id);
        old.ask("resources/unsubscribe", r#"{"uri":"x://1"}"#).result();
        wait_unwatched(&room, upstream, "x://2");
        two.call("a.touch", "{}").result();
        two.event(&second.id, UPDATED, LIMIT);
        assert_eq!(told("resources/unsubscribe"), 0, "one still listens");
        two.cancel(&second.id);
        wait_unwatched(&room, upstream, "x://1");
        assert_eq!(told("resources/unsubscribe"), 1);
    });
}

#[test]
fn several_subscriptions_of_one_client_are_told_apart() {
    each_of(Front::MODERN, |front| {
        let room = Room::new();
        house(&room, Upstream::Stdio);
        let scene = room.open_ready(front, &[]);
        let client = scene.modern();
        let first = client.listen(r#"{"toolsListChanged":true}"#);
        let second = client.listen(r#"{"promptsListChanged":true,"toolsListChanged":false}"#);
        let third = client.listen(r#"{"resourceSubscriptions":["x://2"]}"#);
        client.call(&client.tool("a", "touch"), "{}").result();
        client.call(&client.tool("a", "change"), "{}").result();
        client.event(&first.id, TOOLS, LIMIT);
        client.event(&second.id, PROMPTS, LIMIT);
        client.event(&third.id, UPDATED, LIMIT);
        for line in rest(client) {
            let (first, second) = (belongs_to(&line, &first.id), belongs_to(&line, &second.id));
            assert!(
                first && line.is_notification(TOOLS) || second && line.is_notification(PROMPTS),
                "{line}"
            );
        }
    });
}

#[test]
fn the_id_of_a_subscription_is_spelled_as_the_client_spelled_it() {
    each_of(Front::MODERN, |front| {
        let room = Room::new();
        house(&room, Upstream::Stdio);
        let scene = room.open_ready(front, &[]);
        for id in ["7", "\"7\"", "\"caf\\u00e9\"", "-3"] {
            scene.send_line(format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"subscriptions/listen","params":{{"notifications":{{"toolsListChanged":true}}}}}}"#
            ));
            scene.modern().event(id.as_bytes(), ACK, LIMIT);
        }
    });
}

#[test]
fn the_acknowledgement_comes_first_even_while_everything_changes() {
    let room = Room::new();
    let change = say::steps([say::changed("tools"), say::updated("x://1")]);
    let storm = serde_json::Value::Array(
        std::iter::repeat_n(change, 500)
            .flat_map(|c| c.as_array().cloned().unwrap_or_default())
            .collect(),
    );
    let mut steps = vec![say::gate(&room, "go")];
    steps.extend(storm.as_array().cloned().unwrap_or_default());
    let a = room.fake("a").tool("echo", say::echo()).resource("x://1", "1");
    room.config([("a", a.meanwhile(serde_json::Value::Array(steps)).entry())]);
    let serve = room.serve(&[]);
    let client = serve.modern("{}");
    client.list();
    room.open_gate("go");
    for _ in 0..20 {
        let id =
            client.begin_listen(r#"{"toolsListChanged":true,"resourceSubscriptions":["x://1"]}"#);
        let first = client.wait_for("something", LIMIT, |line| belongs_to(line, &id));
        assert!(first.is_notification(ACK), "{first}");
    }
}

#[test]
fn nothing_of_calls_is_told_to_who_listens() {
    each_of(Front::MODERN, |front| {
        let room = Room::new();
        let work = say::steps([say::progress(2), say::log("error", "1"), say::text("done")]);
        let a = room.fake("a").logging().tool("work", work);
        room.config([("a", a.entry())]);
        let mut scene = room.open_ready(front, &[]);
        scene.modern_mut().set_level(Some("debug"));
        let listen = scene.modern().listen(r#"{"toolsListChanged":true}"#);
        let tool = scene.tool("a", "work");
        let params =
            format!(r#"{{"name":"{tool}","arguments":{{}},"_meta":{{"progressToken":"t"}}}}"#);
        scene.ask("tools/call", &params).result();
        let told = rest(scene.modern());
        assert_eq!(told.len(), 3, "two of progress and one message: {told:?}");
        assert!(told.iter().all(|line| !belongs_to(line, &listen.id)), "{told:?}");
    });
}

#[test]
fn who_listens_is_told_of_servers_that_come_and_go_and_of_a_new_config() {
    each_of(Front::MODERN, |front| {
        let room = Room::new();
        let a = room.fake("a").tool("echo", say::echo()).entry();
        room.config([("a", a.clone())]);
        let scene = room.open_ready(front, &[]);
        let client = scene.modern();
        let listen = client.listen(r#"{"toolsListChanged":true}"#);
        let b = room.fake("b").tool("echo", say::echo()).entry();
        room.config([("a", a.clone()), ("b", b)]);
        client.event(&listen.id, TOOLS, LIMIT);
        let both = [client.tool("a", "echo"), client.tool("b", "echo")];
        client.wait_list("both", LIMIT, |names| names == both);
        room.config([("a", a)]);
        client.event(&listen.id, TOOLS, LIMIT);
        client.wait_list("one", LIMIT, |names| names == [client.tool("a", "echo")]);
    });
}

#[test]
fn a_subscription_outlives_the_process_of_its_server() {
    each_of([Upstream::Stdio, Upstream::ModernStdio], |upstream| {
        let room = Room::new();
        house(&room, upstream);
        let serve = room.serve(&[]);
        let client = serve.modern("{}");
        client.list();
        let listen = client.listen(r#"{"resourceSubscriptions":["x://1"]}"#);
        wait_watched(&room, upstream, "x://1");
        let before = watches(&room, upstream, "x://1");
        let pid = *ledger::started(&room.ledger("a")).last().expect("a process");
        process::kill(pid, Signal::KILL);
        let again = || watches(&room, upstream, "x://1") > before;
        process::wait_until("the new process is asked, too", LIMIT, again);
        let touched = || client.call("a.touch", "{}").try_result().is_some();
        process::wait_until("it answers", LIMIT, touched);
        client.event(&listen.id, UPDATED, LIMIT);
    });
}

#[test]
fn a_subscription_at_the_server_that_ends_is_opened_again() {
    each_pair(&[Front::ModernHttp, Front::Http], &Upstream::MODERN, |front, upstream| {
        for end in [say::modern::end_listens(), say::modern::drop_listens()] {
            if upstream.is_stdio() && end == say::modern::drop_listens() {
                continue;
            }
            let room = Room::new();
            let touch =
                say::steps([say::changed("tools"), say::updated("x://1"), say::text("done")]);
            let a = room.fake("a").tool("touch", touch).resource("x://1", "1");
            let a = a.tool("end", say::steps([end, say::text("done")]));
            room.config([("a", a.over(upstream))]);
            let scene = room.open_ready(front, &[]);
            let heard = |limit| match front {
                Front::Http => scene.try_wait_for(limit, |line| line.is_notification(UPDATED)),
                _ => scene.try_wait_for(limit, |line| {
                    line.is_notification(UPDATED)
                        && scan::path(&line.0, &["params", "_meta", SUBSCRIPTION]).is_some()
                }),
            };
            match front {
                Front::Http => {
                    let params = r#"{"uri":"x://1"}"#;
                    assert_eq!(scene.ask("resources/subscribe", params).payload(), b"{}");
                }
                _ => drop(scene.modern().listen(r#"{"resourceSubscriptions":["x://1"]}"#)),
            }
            wait_watched(&room, upstream, "x://1");
            let before = watches(&room, upstream, "x://1");
            scene.call(&scene.tool("a", "end"), "{}").result();
            let again = || watches(&room, upstream, "x://1") > before;
            process::wait_until("the server listens to us again", LIMIT, again);
            scene.call(&scene.tool("a", "touch"), "{}").result();
            assert!(heard(LIMIT).is_some(), "an update");
        }
    });
}

#[test]
fn a_subscription_ends_with_a_result_when_the_gateway_does() {
    each_of(Front::MODERN, |front| {
        let room = Room::new();
        house(&room, Upstream::Stdio);
        let scene = room.open_ready(front, &[]);
        let client = scene.modern();
        let listens = [(); 3].map(|()| client.listen(r#"{"toolsListChanged":true}"#));
        scene.process().signal(Signal::TERM);
        for listen in &listens {
            let answer = client.answer(&listen.id, LIMIT);
            assert_eq!(answer.result_type().as_deref(), Some("complete"), "{answer}");
            let id = scan::path(answer.result(), &["_meta", SUBSCRIPTION]);
            assert_eq!(id, Some(&listen.id[..]), "{answer}");
        }
        if front == Front::ModernStdio {
            for listen in &listens {
                client.wait_for("the cancellation", SOON, |line| {
                    line.is_notification("notifications/cancelled")
                        && scan::path(&line.0, &["params", "requestId"]) == Some(&listen.id)
                });
            }
        }
        scene.process().wait_exit(LIMIT);
    });
}

#[test]
fn a_subscription_over_http_is_a_stream_that_says_what_it_is() {
    let room = Room::new();
    house(&room, Upstream::Stdio);
    let scene = room.open_ready(Front::ModernHttp, &[]);
    let client = scene.modern();
    let listen = client.listen(r#"{"toolsListChanged":true}"#);
    let head = client.head_of(&listen.id);
    assert_eq!(head.status, 200);
    assert!(head.is_stream(), "{}", head.raw);
    assert_eq!(head.header("x-accel-buffering"), Some("no"), "{}", head.raw);
    assert!(!client.is_over(&listen.id, Duration::ZERO));
    client.cancel(&listen.id);
    assert!(client.is_over(&listen.id, LIMIT));
}

#[test]
fn a_filter_that_is_none_is_refused() {
    each_of(Front::MODERN, |front| {
        let room = Room::new();
        house(&room, Upstream::Stdio);
        let scene = room.open_ready(front, &[]);
        for params in
            ["{}", r#"{"notifications":7}"#, r#"{"notifications":{"resourceSubscriptions":7}}"#]
        {
            assert_eq!(scene.ask("subscriptions/listen", params).code(), -32602, "{params}");
        }
        // What nobody knows is not honoured, and an empty filter is a filter.
        let listen = scene.modern().listen(r#"{"weatherChanged":true}"#);
        assert_eq!(scan::get(listen.honoured.as_bytes(), "weatherChanged"), None, "{listen:?}");
        scene.modern().listen("{}");
    });
}

#[test]
fn updates_come_under_the_name_the_client_knows() {
    each_of(Front::MODERN, |front| {
        let room = Room::new();
        let of = |name: &str| {
            let touch = say::steps([say::updated("both://same"), say::text("done")]);
            room.fake(name).resource("both://same", "Same").tool("touch", touch)
        };
        room.config([("files", of("files").entry()), ("notes", of("notes").modern().entry())]);
        let scene = room.open_ready(front, &[]);
        let client = scene.modern();
        let alias = "trunkline://notes/both://same";
        let listen = client.listen(&format!(r#"{{"resourceSubscriptions":["{alias}"]}}"#));
        let asked = || {
            let all = ledger::settled(&room.ledger("notes"), "subscriptions/listen");
            all.iter().any(|line| String::from_utf8_lossy(line).contains("\"both://same\""))
        };
        process::wait_until("its owner is asked", LIMIT, asked);
        client.call(&client.tool("files", "touch"), "{}").result();
        client.call(&client.tool("notes", "touch"), "{}").result();
        let update = client.event(&listen.id, UPDATED, LIMIT);
        let uri = scan::path(&update.0, &["params", "uri"]).and_then(scan::text);
        assert_eq!(uri.as_deref(), Some(alias), "{update}");
        assert_eq!(client.try_event(&listen.id, UPDATED), None);
    });
}

#[test]
fn an_untagged_change_of_a_server_without_subscriptions_is_heard_all_the_same() {
    each_pair(&[Front::ModernHttp, Front::Http], &Upstream::MODERN, |front, upstream| {
        let room = Room::new();
        let changed = say::line(format!(r#"{{"jsonrpc":"2.0","method":"{TOOLS}"}}"#));
        let change = say::steps([
            say::change_tools(&[&say::definition("fresh")]),
            changed,
            say::text("done"),
        ]);
        let a = room.fake("a").tool("change", change).tool("*", say::echo());
        let refuse = say::steps([say::error(r#"{"code":-32601,"message":"no"}"#)]);
        let a = a.capabilities(r#"{"tools":{"listChanged":false}}"#);
        room.config([("a", a.on("subscriptions/listen", refuse).over(upstream))]);
        let scene = room.open_ready(front, &[]);
        scene.call(&scene.tool("a", "change"), "{}").result();
        let fresh = scene.tool("a", "fresh");
        scene.wait_list("the new list", LIMIT, |names| names == [fresh.clone()]);
    });
}
