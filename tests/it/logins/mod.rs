//! Servers that want a login: an authority that grants it, a server that wants it, and a person with a
//! browser in between.

mod authority;
mod changes;
mod command;
mod flow;
mod foreign;
mod guarded;
mod renewal;
mod replicas;
pub(crate) mod wire;

use std::net::SocketAddr;

use kit::LIMIT;
use kit::http::{Ask, Connection};
use kit::platform::{Platform, SERVERS, id_of};
use kit::rest::Answer;
use kit::room::Room;
use kit::say;
use kit::service::Wire;
use serde_json::{Value, json};

use authority::Authority;
use guarded::Guarded;

/// A server that wants a login, and who grants it.
struct Stage {
    room: Room,
    authority: Authority,
    server: Guarded,
    kind: &'static str,
}

impl Stage {
    fn new() -> Self {
        Self::of(Wire::Http, false)
    }

    /// A renewal may take a tenth of what is promised.
    fn hurried() -> Self {
        Self::within(Room::hurried(), Wire::Http, false)
    }

    fn of(wire: Wire, is_modern: bool) -> Self {
        Self::within(Room::new(), wire, is_modern)
    }

    fn within(room: Room, wire: Wire, is_modern: bool) -> Self {
        let fake = room.fake("docs").tool("echo", say::echo()).tool("other", say::echo());
        let fake = if is_modern { fake.modern() } else { fake };
        let service = fake.listen(wire);
        let authority = Authority::start();
        let (kind, path) = match wire {
            Wire::Http => ("HTTP", "/mcp"),
            Wire::Sse => ("SSE", "/sse"),
        };
        let server = Guarded::start(service.address(), path, &authority);
        room.keep(service);
        Self { room, authority, server, kind }
    }

    fn registration(&self) -> Value {
        json!({
            "name": "docs",
            "transport_type": self.kind,
            "connection_config": { "url": self.server.url() },
        })
    }

    /// The server is registered, and somebody has logged in there.
    fn logged_in(&self, platform: &Platform) -> String {
        let id = id_of(&platform.register(&self.registration()));
        needs_login(platform, &id);
        let page = log_in(platform, &id);
        assert_eq!(page.status(), 200, "{page}");
        platform.wait_status(&id, "CONNECTED");
        id
    }
}

#[track_caller]
fn needs_login(platform: &Platform, id: &str) -> Value {
    platform
        .wait_server(id, "needs a login", LIMIT, |server| server["auth"]["state"] == "needs-auth")
}

/// What an operator does: the address to open.
#[track_caller]
fn begin(platform: &Platform, id: &str) -> String {
    let begun = platform.act(id, "login").is(200);
    assert!(begun["expires_at"].is_string(), "{begun}");
    begun["authorization_url"].as_str().expect("a URL").to_owned()
}

/// What a browser does with it: where it is sent after consent.
#[track_caller]
fn consent(authorization_url: &str) -> String {
    let rest = authorization_url.strip_prefix("http://").expect("an authority on this machine");
    let (address, path) = rest.split_once('/').expect("a path");
    let address: SocketAddr = address.parse().expect("an address");
    let answer = Connection::open(address).ask(&Ask::get(&format!("/{path}")));
    assert_eq!(answer.status(), 302, "{}", answer.text());
    answer.head.header("location").expect("it leads back").to_owned()
}

/// The browser comes back: without any token. It is not the one that the login was begun in, so its person is
/// asked, and agrees.
#[track_caller]
fn come_back(platform: &Platform, location: &str) -> Answer {
    let page = arrive(platform, location, None);
    match page.response.head.header("set-cookie").map(str::to_owned) {
        Some(cookie) => agree(platform, &page, Some(&cookie)),
        None => page,
    }
}

/// The browser comes back, with this cookie, and shows a page.
#[track_caller]
fn arrive(platform: &Platform, location: &str, cookie: Option<&str>) -> Answer {
    let path = location.splitn(4, '/').nth(3).expect("a path");
    platform.rest(None).send(&with_cookie(Ask::get(&format!("/{path}")), cookie))
}

/// The form of the page that asks is sent, as a browser does it: its body comes behind its head.
#[track_caller]
fn agree(platform: &Platform, page: &Answer, cookie: Option<&str>) -> Answer {
    let html = page.response.text();
    let fields = html.split("<input type=\"hidden\" name=\"").skip(1).map(|field| {
        let (name, rest) = field.split_once("\" value=\"").expect("a value");
        let value = rest.split('"').next().expect("its end");
        format!("{name}={}", value.replace('%', "%25").replace('&', "%26").replace('+', "%2B"))
    });
    let form = fields.collect::<Vec<_>>().join("&");
    let ask = Ask::new("POST", "/oauth/callback").body(form);
    let ask = ask.header("Content-Type", "application/x-www-form-urlencoded");
    platform.rest(None).send_body_later(&with_cookie(ask, cookie))
}

fn with_cookie(ask: Ask, cookie: Option<&str>) -> Ask {
    match cookie.and_then(|cookie| cookie.split(';').next()) {
        Some(pair) => ask.header("Cookie", pair),
        None => ask,
    }
}

#[track_caller]
fn log_in(platform: &Platform, id: &str) -> Answer {
    come_back(platform, &consent(&begin(platform, id)))
}

fn place(id: &str) -> String {
    format!("{SERVERS}/{id}/login")
}
