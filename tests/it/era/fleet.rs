//! Servers and clients of both eras behind one endpoint, all at the same time.

use kit::config::Upstream;
use kit::mcp::Speak;
use kit::room::Room;
use kit::scene::{Front, Talk};
use kit::serve::Serve;
use kit::{LIMIT, SOON, ledger, process, say, scan};
use rustix::process::Signal;
use serde_json::json;

const SERVERS: [(&str, Upstream); 5] = [
    ("http", Upstream::Http),
    ("pipe", Upstream::Stdio),
    ("sse", Upstream::Sse),
    ("newhttp", Upstream::ModernHttp),
    ("newpipe", Upstream::ModernStdio),
];

/// Five good servers, and four that never come up.
fn house() -> Room {
    let room = Room::new();
    let mut servers: Vec<(String, serde_json::Value)> = SERVERS
        .iter()
        .map(|(name, upstream)| {
            let fake =
                room.fake(name).tool("echo", say::echo()).tool("die", say::steps([say::exit(1)]));
            let fake =
                fake.resource(&format!("x://{name}"), name).prompt(&format!("p-{name}"), name);
            ((*name).to_owned(), fake.over(*upstream))
        })
        .collect();
    let hung = room.fake("hung").on("server/discover", say::never());
    let dead = room.fake("dead").at_start(say::steps([say::exit(1)]));
    let stubborn = room.fake("stubborn").modern().on("tools/list", say::never());
    servers.extend([
        ("hung".to_owned(), hung.on("initialize", say::never()).entry()),
        ("dead".to_owned(), dead.entry()),
        (
            "nowhere".to_owned(),
            json!({ "type": "http", "url": format!("http://127.0.0.1:{}/mcp", kit::port::free()) }),
        ),
        ("stubborn".to_owned(), stubborn.entry()),
    ]);
    room.config_of(servers);
    room
}

fn clients(serve: &Serve) -> Vec<Talk> {
    let fronts = [Front::Http, Front::Sse, Front::ModernHttp, Front::ModernHttp];
    fronts.map(|front| serve.talk(front, "{}")).into()
}

fn names() -> Vec<String> {
    let mut names: Vec<String> = SERVERS
        .iter()
        .flat_map(|(name, _)| [format!("{name}.die"), format!("{name}.echo")])
        .collect();
    names.sort();
    names
}

#[test]
fn clients_of_both_eras_use_servers_of_both_at_the_same_time() {
    let room = house();
    let serve = room.serve(&["--start-timeout", "8"]);
    let clients = clients(&serve);
    for client in &clients {
        client.wait_list("the good servers", LIMIT, |listed| listed == names());
    }
    std::thread::scope(|scope| {
        for (number, client) in clients.iter().enumerate() {
            scope.spawn(move || {
                for round in 0..20 {
                    for (name, _) in SERVERS {
                        client.assert_echo(
                            name,
                            "echo",
                            &format!(r#"{{"c":{number},"r":{round}.0}}"#),
                        );
                        let read =
                            client.ask("resources/read", &format!(r#"{{"uri":"x://{name}"}}"#));
                        let text = String::from_utf8_lossy(read.result()).into_owned();
                        assert!(text.contains(&format!("from {name}")), "{text}");
                        client.ask("prompts/get", &format!(r#"{{"name":"p-{name}"}}"#)).result();
                    }
                }
            });
        }
    });
    for client in &clients {
        client.assert_only_protocol();
    }
}

#[test]
fn no_server_pulls_another_down() {
    let room = house();
    let serve = room.serve(&["--start-timeout", "8"]);
    let clients = clients(&serve);
    clients[0].wait_list("the good servers", LIMIT, |listed| listed == names());
    for (victim, upstream) in SERVERS {
        println!("---- {victim}");
        let caller = &clients[2];
        let answer = caller.call_within(&format!("{victim}.die"), "{}", SOON);
        answer.error();
        for client in &clients {
            for (name, _) in SERVERS.iter().filter(|(name, _)| *name != victim) {
                // Network servers that have died stay dead: nobody starts them again.
                let dead = |name: &str| {
                    let at = SERVERS.iter().position(|(known, _)| *known == name);
                    let before = SERVERS.iter().position(|(known, _)| *known == victim);
                    let (_, upstream) = SERVERS[at.expect("known")];
                    at < before && !upstream.is_stdio()
                };
                if !dead(name) {
                    let works =
                        || client.call(&format!("{name}.echo"), "{}").try_result().is_some();
                    process::wait_until("the others answer", LIMIT, works);
                }
            }
        }
        if upstream.is_stdio() {
            let back = || caller.call(&format!("{victim}.echo"), "{}").try_result().is_some();
            process::wait_until("it is started again", LIMIT, back);
        }
    }
    assert!(serve.process().is_alive());
}

#[test]
fn a_stdio_client_of_either_era_gets_what_is_up_while_others_hang() {
    for front in [Front::Stdio, Front::ModernStdio] {
        let room = house();
        let scene = room.open(front, &["--start-timeout", "8"]);
        let expected: Vec<String> = names().iter().map(|name| name.replace('.', ":")).collect();
        scene.wait_list("the good servers", LIMIT, |listed| listed == expected);
        for (name, _) in SERVERS {
            scene.assert_echo(name, "echo", "{}");
        }
    }
}

#[test]
fn a_server_is_one_process_for_clients_of_both_eras() {
    let room = house();
    let serve = room.serve(&["--start-timeout", "8"]);
    let clients = clients(&serve);
    for client in &clients {
        client.wait_list("the good servers", LIMIT, |listed| listed == names());
        for (name, _) in SERVERS {
            client.assert_echo(name, "echo", "{}");
        }
    }
    for (name, _) in SERVERS {
        assert_eq!(ledger::started(&room.ledger(name)).len(), 1, "{name}");
    }
    for name in ["newhttp", "newpipe"] {
        assert!(ledger::with_method(&room.ledger(name), "initialize").is_empty(), "{name}");
    }
    for name in ["pipe", "http", "sse"] {
        assert_eq!(ledger::with_method(&room.ledger(name), "initialize").len(), 1, "{name}");
    }
}

#[test]
fn a_private_server_of_either_era_serves_clients_of_both() {
    let room = Room::new();
    let entry = |name: &str, modern: bool| {
        let fake = room.fake(name).tool("echo", say::echo());
        let mut entry = if modern { fake.modern() } else { fake }.entry();
        entry["share"] = json!("per-session");
        entry
    };
    room.config([("old", entry("old", false)), ("new", entry("new", true))]);
    let serve = room.serve(&[]);
    for front in [Front::Http, Front::Sse, Front::ModernHttp] {
        let client = serve.talk(front, "{}");
        for name in ["old", "new"] {
            client.assert_echo(name, "echo", "{}");
            client.assert_echo(name, "echo", r#"{"again":1}"#);
        }
    }
}

#[test]
fn the_end_of_the_gateway_is_in_order_with_clients_of_both_eras() {
    let room = Room::new();
    let wait = || say::steps([say::gate(&room, "go"), say::text("fine")]);
    room.config([
        ("old", room.fake("old").tool("wait", wait()).entry()),
        ("new", room.fake("new").modern().tool("wait", wait()).entry()),
    ]);
    let serve = room.serve(&[]);
    let clients = clients(&serve);
    let calls: Vec<_> = clients
        .iter()
        .inspect(|client| drop(client.list()))
        .map(|client| ["old.wait", "new.wait"].map(|tool| client.begin(tool, "{}")))
        .collect();
    let there = |name| ledger::calls(&room.ledger(name)).len() == clients.len();
    process::wait_until("every call is open", LIMIT, || there("old") && there("new"));
    serve.process().signal(Signal::TERM);
    room.open_gate("go");
    for (client, ids) in clients.iter().zip(calls) {
        for id in ids {
            let answer = client.answer(&id, LIMIT);
            assert!(scan::get(answer.result(), "content").is_some(), "{answer}");
        }
    }
    serve.process().wait_exit(LIMIT);
    process::wait_gone(room.marker(), LIMIT).expect("nothing is left");
}
