//! Collectors that are of no use: calls do not notice.

use kit::collector::{Collector, Mood};
use kit::mcp::Speak;
use kit::platform::Platform;
use kit::process::wait_until;
use kit::room::Room;
use kit::serve::Serve;
use kit::service::Wire;
use kit::{LIMIT, run, say};
use rustix::process::Signal;

use super::serve;

#[test]
fn a_collector_that_refuses_costs_spans_and_nothing_else() {
    let (room, collector) = (Room::new(), Collector::start(Mood::Refusing(400)));
    let service = room.fake("a").tool("echo", say::echo()).listen(Wire::Http);
    let flags = ["--allow-net", "127.0.0.0/8"];
    let platform = Platform::start(collector.follows(room.platform_command(&flags)));
    platform.connected("a", &service);
    let client = platform.mcp(kit::platform::ADMIN);
    for _ in 0..3 {
        client.call("a.echo", "{}").result();
    }
    let dropped = || platform.admin().get("/metrics").response.text();
    wait_until("what is lost is counted", LIMIT, || {
        dropped().contains("\ntrunkline_traces_dropped_total 3\n")
    });
    platform.serve().process().wait_stderr(&["spans are dropped", "status 400"], LIMIT);
    // When it is well again, so is everything.
    collector.set(Mood::Taking);
    client.call("a.echo", "{}").result();
    collector.wait_spans(2);
    assert!(dropped().contains("\ntrunkline_traces_dropped_total 3\n"), "{}", dropped());
}

/// OTLP's partial success: the answer is 200, and some spans are lost all the same.
#[test]
fn spans_that_a_collector_takes_in_part_are_counted_and_named() {
    let (room, collector) = (Room::new(), Collector::start(Mood::TakingAllBut(1)));
    let service = room.fake("a").tool("echo", say::echo()).listen(Wire::Http);
    let flags = ["--allow-net", "127.0.0.0/8"];
    let platform = Platform::start(collector.follows(room.platform_command(&flags)));
    platform.connected("a", &service);
    platform.mcp(kit::platform::ADMIN).call("a.echo", "{}").result();
    let words = ["spans are dropped", "taken all but 1: too old"];
    platform.serve().process().wait_stderr(&words, LIMIT);
    wait_until("what is lost is counted", LIMIT, || {
        let metrics = platform.admin().get("/metrics").response.text();
        metrics.contains("\ntrunkline_traces_dropped_total 1\n")
    });
    let posted = collector.posted().len();
    platform.mcp(kit::platform::ADMIN).call("a.echo", "{}").result();
    wait_until("the next are sent", LIMIT, || collector.posted().len() > posted);
    let bodies: Vec<_> = collector.posted().into_iter().map(|one| one.body).collect();
    assert_ne!(bodies.first(), bodies.last(), "none is sent again");
}

#[test]
fn a_collector_that_is_busy_gets_the_same_spans_again() {
    let (room, collector) = (Room::new(), Collector::start(Mood::RefusingOnce(503)));
    room.config([("a", room.fake("a").tool("echo", say::echo()).entry())]);
    let serve = serve(&room, &collector);
    serve.http().call("a.echo", "{}").result();
    collector.wait_spans(2);
    let posted = collector.posted();
    assert!(posted.len() > 1 && posted.iter().all(|one| one.body == posted[0].body), "{posted:?}");
}

#[test]
fn a_collector_that_says_nothing_holds_up_neither_calls_nor_the_end() {
    let (room, collector) = (Room::new(), Collector::start(Mood::Silent));
    room.config([("a", room.fake("a").tool("echo", say::echo()).entry())]);
    let serve = serve(&room, &collector);
    let client = serve.http();
    client.call("a.echo", "{}").result();
    wait_until("spans are on their way", LIMIT, || !collector.posted().is_empty());
    // It is being waited for now.
    for _ in 0..100 {
        client.call("a.echo", "{}").result();
    }
    // Ten seconds for each of four tries would be longer than this.
    serve.process().signal(Signal::TERM);
    serve.process().wait_exit(LIMIT);
    serve.process().wait_stderr(&["does not take the last spans in time"], LIMIT);
}

#[test]
fn headers_for_the_collector_are_its_own() {
    let (room, collector) = (Room::new(), Collector::start(Mood::Taking));
    room.config([("a", room.fake("a").tool("echo", say::echo()).entry())]);
    let mut command = collector.follows(room.serve_command(&["--debug", "--pass-env", "*"]));
    command.env("OTEL_EXPORTER_OTLP_HEADERS", "X-Key=canary%2d1,X-Other=2");
    command.env("OTEL_SERVICE_NAME", "tools");
    let serve = Serve::start(command);
    serve.http().call("a.echo", "{}").result();
    let spans = collector.wait_spans(2);
    assert_eq!(spans[0].resource("service.name"), Some("tools"));
    let posted = &collector.posted()[0];
    assert!(posted.head.starts_with("POST /v1/traces HTTP/1.1"), "{}", posted.head);
    assert_eq!(posted.header("x-key"), Some("canary-1"));
    assert_eq!(posted.header("x-other"), Some("2"));
    assert_eq!(posted.header("content-type"), Some("application/json"));
    assert!(!String::from_utf8_lossy(&posted.body).contains("canary"));
    assert!(!serve.process().stderr().contains("canary"), "{}", serve.process().stderr());
    let ours = serve.process().pid().as_raw_nonzero().get();
    let all = kit::process::descendants(ours).into_iter();
    let servers: Vec<_> = all.filter(|one| one.command_line().contains("fake-mcp")).collect();
    assert!(!servers.is_empty());
    for server in servers {
        let environment = std::fs::read(format!("/proc/{}/environ", server.pid)).expect("readable");
        assert!(!String::from_utf8_lossy(&environment).contains("canary"), "{server:?}");
    }
}

#[test]
fn what_cannot_be_meant_is_said_before_anything_starts_and_no_secret_with_it() {
    let room = Room::new();
    room.config([("a", room.fake("a").entry())]);
    for (name, value, part) in [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://user:canary@h", "OTEL_EXPORTER_OTLP_ENDPOINT"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "canary", "OTEL_EXPORTER_OTLP_HEADERS"),
    ] {
        let mut command = room.serve_command(&[]);
        command.env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9").env(name, value);
        let done = run::run(command, b"");
        done.bad(2, &[part]);
        done.hides("canary");
    }
    let done = run::run(room.serve_command(&["--otlp-endpoint", "ftp://canary"]), b"");
    done.bad(2, &["--otlp-endpoint"]);
    done.hides("canary");
}

#[test]
fn the_flag_turns_traces_on_and_the_switch_of_the_standard_off() {
    let (room, collector) = (Room::new(), Collector::start(Mood::Taking));
    room.config([("a", room.fake("a").tool("echo", say::echo()).entry())]);
    let mut off = collector.follows(room.serve_command(&[]));
    off.env("OTEL_SDK_DISABLED", "true");
    let silent = Serve::start(off);
    silent.http().call("a.echo", "{}").result();
    assert!(!super::last_call(&room.ledger("a")).contains("traceparent"));
    let mut on = room.serve_command(&["--otlp-endpoint", &collector.url()]);
    on.env("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json");
    let telling = Serve::start(on);
    telling.http().call("a.echo", "{}").result();
    collector.wait_spans(2);
}
