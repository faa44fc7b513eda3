//! A call through each kind of proxy, in both eras and over both transports.

use kit::mcp::Speak;
use kit::proxy::{Admits, Proxy};
use kit::room::Room;
use kit::run::run;
use kit::scene::{Front, each_of};
use kit::tls::{Certificate, Cover, TLS12, TLS13};
use kit::{LIMIT, ledger, say};
use serde_json::json;

use super::{Dialect, Via, open, trunkline, words};

const LOGIN: Admits = Admits::Only { header: "Basic bWU6czNjcmV0", socks: "me:s3cret" };

#[test]
fn calls_and_streams_go_through_every_kind_of_proxy() {
    let cases = Via::ALL.into_iter().flat_map(|via| {
        Dialect::ALL.into_iter().flat_map(move |dialect| {
            [(Front::Stdio, false), (Front::ModernHttp, true)]
                .map(|(front, secured)| (via, dialect, front, secured))
        })
    });
    each_of(cases, |(via, dialect, front, secured)| {
        let room = Room::new();
        let work = say::steps([say::progress(3), say::result("@ARGS@")]);
        let service = dialect.listen(room.fake("a").tool("echo", say::echo()).tool("work", work));
        let both = [&TLS12, &TLS13];
        let cover = secured.then(|| Cover::over(service.address(), Certificate::Local, &both));
        let target = cover.as_ref().map_or(service.address(), Cover::address);
        // A name that only the proxy knows; of the encrypted server the one in its certificate.
        let (origin, expected) = match secured {
            true => ("https://localhost:8443", "localhost:8443"),
            false => ("http://mcp.invalid", "mcp.invalid:80"),
        };
        let proxy = Proxy::with(LOGIN, Some(target));
        let mut entry = dialect.entry(origin);
        entry["proxy"] = json!(via.url(&proxy, "me:s3cret@"));
        room.config([("a", entry)]);
        let scene = open(&room, front, &[]);
        assert_eq!(scene.list().len(), 2);
        for n in 0..10 {
            scene.assert_echo("a", "echo", &format!(r#"{{ "n":{n}.0 }}"#));
        }
        let large = format!(r#"{{"x":"{}"}}"#, "äb1 ".repeat(100_000));
        scene.assert_echo("a", "echo", &large);
        let params = format!(
            r#"{{"name":"{}","arguments":{{"w":1}},"_meta":{{"progressToken":"t"}}}}"#,
            scene.tool("a", "work")
        );
        if !front.is_modern() {
            let id = scene.start("tools/call", &params);
            for _ in 0..3 {
                scene.notification("notifications/progress", LIMIT);
            }
            let answer = scene.answer(&id, LIMIT);
            assert!(answer.result().ends_with(br#""w":1}"#), "{answer}");
        }
        let wishes = proxy.wishes();
        assert!(!wishes.is_empty(), "nothing went through the proxy");
        for wish in wishes {
            assert_eq!((wish.how, wish.target.as_str()), (via.manner(secured), expected));
            assert!(wish.login.is_some(), "{wish:?}");
        }
        let calls = ledger::calls(&room.ledger("a")).len();
        assert_eq!(calls, if front.is_modern() { 11 } else { 12 }, "each was sent once");
        assert!(!scene.process().stderr().contains("s3cret"), "{}", scene.process().stderr());
    });
}

/// What a proxy is told is not what the server is told.
#[test]
fn a_server_never_hears_the_login_of_a_proxy_and_is_asked_for_plain_answers() {
    each_of(Dialect::ALL, |dialect| {
        let room = Room::new();
        let service = dialect.listen(room.fake("a").tool("echo", say::echo()));
        let proxy = Proxy::with(LOGIN, None);
        let mut entry = service.entry();
        entry["proxy"] = json!(Via::Http.url(&proxy, "me:s3cret@"));
        entry["headers"] = json!({ "Accept-Encoding": "gzip" });
        room.config([("a", entry)]);
        let scene = open(&room, Front::Stdio, &[]);
        scene.list();
        scene.assert_echo("a", "echo", "{}");
        let heads = ledger::heads(&room.ledger("a"));
        assert!(!heads.is_empty());
        for head in heads {
            assert_eq!(head.header("proxy-authorization"), None, "{head:?}");
            assert_eq!(head.header("accept-encoding"), Some("identity"), "{head:?}");
            assert!(head.target().starts_with('/'), "{head:?}");
        }
    });
}

#[test]
fn check_and_doctor_say_which_proxy_and_not_the_login() {
    let room = Room::new();
    let service = Dialect::Streamable.listen(room.fake("a").tool("echo", say::echo()));
    let proxy = Proxy::with(LOGIN, None);
    let mut entry = service.entry();
    entry["proxy"] = json!(Via::Http.url(&proxy, "me:s3cret@"));
    let direct = service.entry();
    room.config([("a", entry), ("b", direct)]);
    let shown = format!("the proxy http://{} (`proxy` in its config)", proxy.address());
    let done = run(trunkline(&room, &["check"]), b"");
    assert!(done.text().contains(&format!("through {shown}")), "{done}");
    assert_eq!(done.text().matches("through the proxy").count(), 1, "{done}");
    done.hides("s3cret");
    let done = run(trunkline(&room, &["check", "--json"]), b"");
    assert!(done.text().contains(&format!(r#""proxy":"http://{}"#, proxy.address())), "{done}");
    done.hides("s3cret");
    let done = run(trunkline(&room, &["doctor", "--listen", "127.0.0.1:0"]), b"");
    let said = words(&done);
    assert!(said.contains(&format!("a through the proxy http://{}", proxy.address())), "{said}");
    done.hides("s3cret");
    let done = run(trunkline(&room, &["check", "--debug"]), b"");
    done.hides("s3cret");
}
