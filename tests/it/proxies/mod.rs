//! Servers that are reached through a proxy: every kind, in both eras, and what goes wrong there.

mod environment;
mod faults;
mod guarded;
mod kinds;
mod lost;
mod private;
mod real;

use std::ffi::OsStr;

use kit::config::Fake;
use kit::proxy::{Manner, Proxy};
use kit::room::Room;
use kit::run::Done;
use kit::scene::{Front, Scene};
use kit::service::{Service, Wire};
use kit::tls::{Certificate, Cover, TLS12, TLS13, authority};
use serde_json::{Value, json};

/// How the proxy is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Via {
    Http,
    Https,
    Socks,
}

impl Via {
    const ALL: [Self; 3] = [Self::Http, Self::Https, Self::Socks];

    /// The proxy's address for a config; `login` with its `@`.
    fn url(self, proxy: &Proxy, login: &str) -> String {
        let address = proxy.address();
        match self {
            Self::Http => format!("http://{login}{address}"),
            Self::Socks => format!("socks5://{login}{address}"),
            Self::Https => {
                let cover = Cover::over(address, Certificate::Local, &[&TLS12, &TLS13]);
                format!("https://{login}localhost:{}", cover.address().port())
            }
        }
    }

    fn manner(self, secured: bool) -> Manner {
        match (self, secured) {
            (Self::Socks, _) => Manner::Socks,
            (_, true) => Manner::Connect,
            (_, false) => Manner::Forward,
        }
    }
}

/// How the server is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dialect {
    Modern,
    Streamable,
    Sse,
}

impl Dialect {
    const ALL: [Self; 3] = [Self::Modern, Self::Streamable, Self::Sse];

    fn listen(self, fake: Fake<'_>) -> Service {
        match self {
            Self::Modern => fake.modern().listen(Wire::Http),
            Self::Streamable => fake.listen(Wire::Http),
            Self::Sse => fake.listen(Wire::Sse),
        }
    }

    fn entry(self, origin: &str) -> Value {
        match self {
            Self::Modern | Self::Streamable => {
                json!({ "type": "http", "url": format!("{origin}/mcp") })
            }
            Self::Sse => json!({ "type": "sse", "url": format!("{origin}/sse") }),
        }
    }
}

/// The gateway where the authority of the tests is trusted.
#[track_caller]
fn open(room: &Room, front: Front, more: &[(&str, &str)]) -> Scene {
    let authority = authority();
    let mut environment =
        vec![("SSL_CERT_FILE", authority.as_os_str()), ("SSL_CERT_DIR", OsStr::new(""))];
    environment.extend(more.iter().map(|(name, value)| (*name, OsStr::new(*value))));
    room.open_in(front, &[], &environment)
}

/// One run of the program on this room's config.
fn trunkline(room: &Room, arguments: &[&str]) -> std::process::Command {
    let mut command = std::process::Command::new(kit::bin::trunkline());
    command.args(arguments).arg("--config").arg(room.path("mcp.json"));
    command.env("SSL_CERT_FILE", authority()).env("SSL_CERT_DIR", "");
    command.env("XDG_CACHE_HOME", room.path("cache")).env("XDG_STATE_HOME", room.path("state"));
    command
}

/// All that it said.
fn words(done: &Done) -> String {
    format!("{}{}", String::from_utf8_lossy(&done.stdout), done.stderr)
}
