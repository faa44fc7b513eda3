//! Where a call comes from, and what its server is told about that, in both eras on both sides.

use kit::collector::{Collector, Mood};
use kit::config::Upstream;
use kit::legacy_sse::LegacySse;
use kit::mcp::Speak;
use kit::room::Room;
use kit::scene::each_of;
use kit::serve::Serve;
use kit::streamable::Streamable;
use kit::{LIMIT, say, scan};

use super::{PARENT, PARENT_SPAN, PARENT_TRACE, last_call, serve};

/// The `_meta` that the server has got with its last call.
#[track_caller]
fn meta(room: &Room) -> String {
    let got = last_call(&room.ledger("a"));
    let meta = scan::path(got.as_bytes(), &["params", "_meta"]).unwrap_or_default();
    String::from_utf8_lossy(meta).into_owned()
}

fn params(meta: &str) -> String {
    format!(r#"{{"name":"a.echo","arguments":{{"n": 1.0}},"_meta":{{{meta}}}}}"#)
}

#[derive(Clone, Copy, Debug)]
enum Era {
    Session,
    Alone,
}

/// Makes one call with this in `_meta`.
#[track_caller]
fn call(serve: &Serve, era: Era, meta: &str) {
    match era {
        Era::Session => drop(serve.http().ask("tools/call", &params(meta))),
        Era::Alone => drop(serve.modern("{}").ask("tools/call", &params(meta))),
    }
}

fn everywhere(scenario: impl Fn(Era, Upstream)) {
    let upstreams = || Upstream::ALL.into_iter().chain(Upstream::MODERN);
    let cases = [Era::Session, Era::Alone].into_iter();
    each_of(cases.flat_map(|era| upstreams().map(move |up| (era, up))), |(era, upstream)| {
        scenario(era, upstream);
    });
}

#[test]
fn a_call_belongs_to_its_clients_trace_and_its_server_to_the_call() {
    everywhere(|era, upstream| {
        let (room, collector) = (Room::new(), Collector::start(Mood::Taking));
        room.config([("a", room.fake("a").tool("echo", say::echo()).over(upstream))]);
        let serve = serve(&room, &collector);
        let said = r#""tracestate":"x=1","traceparent":"PARENT","baggage":"k=v""#;
        call(&serve, era, &said.replace("PARENT", PARENT));
        let spans = collector.wait_spans(2);
        assert_eq!(spans[0].trace(), PARENT_TRACE);
        assert_eq!(spans[0].parent(), Some(PARENT_SPAN));
        assert_eq!((spans[1].trace(), spans[1].parent()), (PARENT_TRACE, Some(spans[0].id())));
        let got = meta(&room);
        assert!(got.contains(&said.replace("PARENT", &spans[1].traceparent())), "{got}");
        assert!(last_call(&room.ledger("a")).contains(r#""arguments":{"n": 1.0}"#));
    });
}

#[test]
fn what_its_client_does_not_want_followed_is_not_and_passes_unchanged() {
    everywhere(|era, upstream| {
        let (room, collector) = (Room::new(), Collector::start(Mood::Taking));
        room.config([("a", room.fake("a").tool("echo", say::echo()).over(upstream))]);
        let serve = serve(&room, &collector);
        let said = format!(r#""traceparent":"{}""#, PARENT.replace("-01", "-00"));
        call(&serve, era, &said);
        assert!(meta(&room).contains(&said), "{}", meta(&room));
        // What is followed afterwards is all there is.
        call(&serve, era, &format!(r#""traceparent":"{PARENT}""#));
        collector.wait_spans(2);
    });
}

#[test]
fn the_heads_parent_counts_where_the_request_names_none() {
    let (room, collector) = (Room::new(), Collector::start(Mood::Taking));
    room.config([("a", room.fake("a").tool("echo", say::echo()).entry())]);
    let serve = serve(&room, &collector);
    let headers = [("traceparent", PARENT)];
    let session = Streamable::with_headers(serve.address(), "/mcp", &headers);
    session.initialize("2025-11-25").result();
    // The second comes under a head that is known by then.
    for _ in 0..2 {
        session.call("a.echo", "{}").result();
    }
    let sse = LegacySse::with_headers(serve.address(), "/sse", &headers);
    sse.initialize("2025-11-25").result();
    sse.call("a.echo", "{}").result();
    let modern = serve.modern("{}");
    let message = r#"{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{"name":"a.echo"}}"#;
    let id = modern.start_with(message, &headers);
    modern.answer(&id, LIMIT).result();
    let spans = collector.wait_spans(8);
    let from_outside = spans.iter().filter(|span| span.parent() == Some(PARENT_SPAN));
    assert_eq!(from_outside.count(), 4, "{spans:#?}");
    assert!(spans.iter().all(|span| span.trace() == PARENT_TRACE), "{spans:#?}");
    // Its own word goes before.
    let own = PARENT.replace("b7ad", "aaaa");
    session.ask("tools/call", &params(&format!(r#""traceparent":"{own}""#))).result();
    let spans = collector.wait_spans(10);
    assert_eq!(spans[8].parent(), Some("aaaa6b7169203331"));
}

#[test]
fn without_a_collector_nothing_is_changed_or_added() {
    let room = Room::new();
    room.config([("a", room.fake("a").tool("echo", say::echo()).entry())]);
    let serve = room.serve(&[]);
    let headers = [("traceparent", PARENT)];
    let session = Streamable::with_headers(serve.address(), "/mcp", &headers);
    session.initialize("2025-11-25").result();
    session.call("a.echo", "{}").result();
    assert!(!last_call(&room.ledger("a")).contains("traceparent"));
    let said = format!(r#""traceparent":"{PARENT}""#);
    session.ask("tools/call", &params(&said)).result();
    assert_eq!(meta(&room), format!("{{{said}}}"));
}
