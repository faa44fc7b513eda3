//! What a session may subscribe to is bounded, in number and in bytes, in both eras.

use kit::config::Upstream;
use kit::mcp::Speak;
use kit::process::memory_kib;
use kit::room::Room;
use kit::scan;
use kit::scene::{Front, each_of};

const CODE: i64 = -31015;

/// A server with everything below `x://`.
fn room(upstream: Upstream) -> Room {
    let room = Room::new();
    let a = room.fake("a").resource("x://1", "1").template("x://{+rest}", "Any");
    room.config([("a", a.over(upstream))]);
    room
}

fn subscribe(client: &impl Speak, uri: &str) -> Option<i64> {
    let params = format!(r#"{{"uri":{}}}"#, scan::quote(uri));
    let answer = client.ask("resources/subscribe", &params);
    answer.try_error().map(|_| answer.code())
}

#[test]
fn trust_4_a_session_has_so_many_subscriptions() {
    each_of([Upstream::Stdio, Upstream::ModernStdio], |upstream| {
        let room = room(upstream);
        let serve = room.serve(&[]);
        let client = serve.http();
        client.list();
        for number in 0..1_000 {
            assert_eq!(subscribe(&client, &format!("x://{number}")), None, "{number}");
        }
        assert_eq!(subscribe(&client, "x://one-more"), Some(CODE));
        assert_eq!(subscribe(&client, "x://7"), None, "it has that one already");
        client.ask("resources/unsubscribe", r#"{"uri":"x://7"}"#).result();
        assert_eq!(subscribe(&client, "x://one-more"), None);
        let other = serve.sse();
        assert_eq!(subscribe(&other, "x://1"), None, "another session has its own");
    });
}

#[test]
fn trust_4_subscriptions_cost_bounded_memory() {
    let _turn = crate::ONE_AT_A_TIME.lock();
    each_of(Front::NETWORK, |front| {
        let room = room(Upstream::Stdio);
        let serve = room.serve(&[]);
        let client = serve.talk(front, "{}");
        client.list();
        let pid = serve.process().pid().as_raw_nonzero().get();
        assert_eq!(subscribe(&client, &format!("x://{}", "a".repeat(3_900_000))), Some(CODE));
        let before = memory_kib(pid);
        for number in 0..60 {
            let uri = format!("x://{number}/{}", "a".repeat(1_000_000));
            let expected = (number > 0).then_some(CODE);
            assert_eq!(subscribe(&client, &uri), expected, "{number}");
        }
        let more = memory_kib(pid).saturating_sub(before);
        assert!(more < 32 << 10, "{more} KiB for a MiB of URIs");
    });
}

#[test]
fn trust_4_a_listener_has_so_many_bytes() {
    let room = room(Upstream::Stdio);
    let serve = room.serve(&[]);
    let client = serve.modern("{}");
    client.list();
    let listen = |uris: &[String]| {
        let uris: Vec<String> = uris.iter().map(|uri| scan::quote(uri)).collect();
        let filter = format!(r#"{{"resourceSubscriptions":[{}]}}"#, uris.join(","));
        let params = format!(r#"{{"notifications":{filter}}}"#);
        client.ask("subscriptions/listen", &params)
    };
    let many: Vec<String> = (0..=1_000).map(|number| format!("x://{number}")).collect();
    let long: Vec<String> =
        (0..3).map(|number| format!("x://{number}{}", "a".repeat(400_000))).collect();
    for uris in [many, long] {
        let error = listen(&uris);
        assert_eq!(error.code(), CODE, "{error:?}");
        assert!(error.message().contains("too many subscriptions"), "{error:?}");
    }
}
