//! People sign in to the dashboard at an `OpenID` provider: through the shipped program, a browser that keeps cookies,
//! and a provider that checks what it is shown.

mod flags;
pub(crate) mod provider;
mod refused;
mod replicas;
mod roles;
mod strangers;
mod ways;

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::Command;

use kit::dashboard::between;
use kit::http::{Ask, Connection, Response};
use kit::platform::Platform;
use kit::room::Room;

use provider::{CLIENT, Provider, SECRET};

/// A provider, and a platform whose people sign in there.
struct Scene {
    provider: Provider,
    platform: Platform,
    room: Room,
}

impl Scene {
    #[track_caller]
    fn new() -> Self {
        Self::with(&[])
    }

    #[track_caller]
    fn with(flags: &[&str]) -> Self {
        let (room, provider) = (Room::new(), Provider::start());
        let platform = Platform::start(command(&room, &provider, flags));
        Self { provider, platform, room }
    }

    fn address(&self) -> SocketAddr {
        self.platform.serve().address()
    }

    /// A browser of somebody whom the provider knows under this name.
    #[track_caller]
    fn visitor(&self) -> Visitor {
        Visitor::new(self.address())
    }

    #[track_caller]
    fn signed_in(&self, who: &str) -> Visitor {
        let mut visitor = self.visitor();
        let page = visitor.sign_in(&self.provider, who);
        assert_eq!(page.status(), 200, "{}", page.text());
        visitor
    }
}

/// `serve` as a platform whose people sign in at the provider, not yet started. Operators are `ops`, viewers
/// `everybody`.
fn command(room: &Room, provider: &Provider, flags: &[&str]) -> Command {
    let roles = ["--oidc-role", "ops=operator", "--oidc-role", "everybody=viewer"];
    bare_command(room, provider, &[&roles, flags].concat())
}

fn bare_command(room: &Room, provider: &Provider, flags: &[&str]) -> Command {
    let url = provider.url();
    let own = ["--oidc-issuer", &url, "--oidc-client-id", CLIENT];
    let mut command = room.platform_command(&[&own, flags].concat());
    command.env("TRUNKLINE_OIDC_CLIENT_SECRET", SECRET);
    command
}

/// A browser without scripts: it keeps cookies, and goes where it is told to.
#[derive(Debug, Clone)]
struct Visitor {
    address: SocketAddr,
    host: String,
    /// Where its connections come from, if not from the usual address.
    from: Option<Ipv4Addr>,
    cookies: BTreeMap<String, String>,
}

impl Visitor {
    fn new(address: SocketAddr) -> Self {
        let (host, cookies) = (address.to_string(), BTreeMap::new());
        Self { address, host, from: None, cookies }
    }

    /// The program listens elsewhere now: the names of cookies tell ports apart.
    fn move_to(&mut self, address: SocketAddr) {
        let port = |name: &str| {
            name.replace(&self.address.port().to_string(), &address.port().to_string())
        };
        self.cookies =
            self.cookies.iter().map(|(name, value)| (port(name), value.clone())).collect();
        (self.address, self.host) = (address, address.to_string());
    }

    /// From the page with the form to the one that the provider has led back to.
    #[track_caller]
    fn sign_in(&mut self, provider: &Provider, who: &str) -> Response {
        let back = self.go_there(provider, who);
        self.get(&back)
    }

    /// … up to where the provider leads back.
    #[track_caller]
    fn go_there(&mut self, provider: &Provider, who: &str) -> String {
        let away = self.get("/sign-in/oidc?next=%2Fservers");
        assert_eq!(away.status(), 303, "{}", away.text());
        consent(provider, away.head.header("location").expect("it leads away"), who)
    }

    #[track_caller]
    fn get(&mut self, target: &str) -> Response {
        let answer = self.send(&Ask::get(target).header("Accept", "text/html"));
        for line in answer.head.raw.lines() {
            let Some(set) =
                line.to_lowercase().starts_with("set-cookie:").then(|| line[11..].trim())
            else {
                continue;
            };
            let (name, value) = set.split(';').next().unwrap().split_once('=').unwrap();
            match value.is_empty() {
                true => drop(self.cookies.remove(name)),
                false => drop(self.cookies.insert(name.to_owned(), value.to_owned())),
            }
        }
        answer
    }

    #[track_caller]
    fn send(&self, ask: &Ask) -> Response {
        self.connect().ask(&self.dressed(ask))
    }

    #[track_caller]
    fn connect(&self) -> Connection {
        match self.from {
            Some(from) => Connection::open_from(from, self.address),
            None => Connection::open(self.address),
        }
    }

    /// With what this browser sends along.
    fn dressed(&self, ask: &Ask) -> Ask {
        let mut ask = ask.clone().header("Host", &self.host);
        if !self.cookies.is_empty() {
            let pairs = self.cookies.iter().map(|(name, value)| format!("{name}={value}"));
            ask = ask.header("Cookie", &pairs.collect::<Vec<_>>().join("; "));
        }
        ask
    }

    #[track_caller]
    fn page(&mut self, path: &str) -> String {
        let answer = self.get(path);
        assert_eq!(answer.status(), 200, "{path}: {}\n{}", answer.head.raw, answer.text());
        answer.text()
    }

    fn is_signed_in(&mut self) -> bool {
        self.get("/servers").status() == 200
    }

    /// The cookie of a session, or of a sign-in, with this in its name.
    fn cookie(&self, part: &str) -> Option<&str> {
        self.cookies.iter().find(|(name, _)| name.contains(part)).map(|(_, value)| value.as_str())
    }
}

/// What the browser does at the provider: where it is sent back, below the dashboard's address.
#[track_caller]
fn consent(provider: &Provider, url: &str, who: &str) -> String {
    let path = url.strip_prefix(&format!("http://{}", provider.address())).expect("the provider");
    let path = format!("{path}&as={who}");
    let answer = Connection::open(provider.address()).ask(&Ask::get(&path));
    assert_eq!(answer.status(), 302, "{}", answer.text());
    let to = answer.head.header("location").expect("it leads back");
    format!("/{}", to.splitn(4, '/').nth(3).expect("a path"))
}

/// Where a page leads on to by itself.
fn leads_to(page: &str) -> Option<String> {
    let to = between(page, "http-equiv=\"refresh\" content=\"0;url=", "\"")?;
    Some(to.replace("&amp;", "&"))
}
