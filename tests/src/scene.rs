//! One scenario over every front and every upstream: the gateway, and a client that talks to it.

use std::ffi::OsStr;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;

use crate::client::Client;
use crate::config::Upstream;
use crate::inbox::Inbox;
use crate::legacy_sse::LegacySse;
use crate::mcp::Speak;
use crate::modern::Modern;
use crate::room::{Room, patient};
use crate::serve::Serve;
use crate::streamable::Streamable;

/// Where a client comes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Front {
    Stdio,
    /// stdio, before a runtime that clients share; the room has to be [`Room::shared`]
    Shared,
    /// `/mcp`
    Http,
    /// `/sse` and `/messages`
    Sse,
    /// stdio in the stateless era
    ModernStdio,
    /// `/mcp` in the stateless era
    ModernHttp,
}

impl Front {
    /// All of the older era.
    pub const ALL: [Self; 3] = [Self::Stdio, Self::Http, Self::Sse];
    pub const NETWORK: [Self; 2] = [Self::Http, Self::Sse];
    /// All of the stateless era.
    pub const MODERN: [Self; 2] = [Self::ModernStdio, Self::ModernHttp];

    pub fn is_modern(self) -> bool {
        Self::MODERN.contains(&self)
    }

    /// Is the client a process of its own before the gateway?
    pub fn is_stdio(self) -> bool {
        matches!(self, Self::Stdio | Self::Shared | Self::ModernStdio)
    }
}

/// A client of any front.
#[derive(Debug)]
pub enum Talk {
    Stdio(Client),
    Http(Streamable),
    Sse(Box<LegacySse>),
    Modern(Modern),
}

/// A running gateway and its first client.
#[derive(Debug)]
pub struct Scene {
    pub client: Talk,
    /// Only with a network front; behind stdio the client is the process.
    serve: Option<Serve>,
}

impl Room {
    /// The gateway behind this front, with an initialised client.
    #[track_caller]
    pub fn open(&self, front: Front, flags: &[&str]) -> Scene {
        self.open_with(front, flags, "{}")
    }

    /// [`Room::open`] with these raw client capabilities.
    #[track_caller]
    pub fn open_with(&self, front: Front, flags: &[&str], capabilities: &str) -> Scene {
        Scene::start(front, self.command(front, flags), capabilities)
    }

    /// [`Room::open`] with these variables in the gateway's environment.
    #[track_caller]
    pub fn open_in(&self, front: Front, flags: &[&str], environment: &[(&str, &OsStr)]) -> Scene {
        let mut command = self.command(front, flags);
        command.envs(environment.iter().copied());
        Scene::start(front, command, "{}")
    }

    fn command(&self, front: Front, flags: &[&str]) -> Command {
        let flags = patient(flags);
        if front.is_stdio() { self.trunkline(&flags) } else { self.serve_command(&flags) }
    }

    /// [`Room::open`], and every server has answered for its tools.
    #[track_caller]
    pub fn open_ready(&self, front: Front, flags: &[&str]) -> Scene {
        let scene = self.open(front, flags);
        scene.list();
        scene
    }
}

impl Serve {
    /// One more client; its capabilities as written.
    #[track_caller]
    pub fn talk(&self, front: Front, capabilities: &str) -> Talk {
        match front {
            Front::Stdio | Front::Shared | Front::ModernStdio => {
                panic!("a stdio client has a gateway of its own")
            }
            Front::ModernHttp => Talk::Modern(self.modern(capabilities)),
            Front::Http => Talk::Http(self.http_with(capabilities)),
            Front::Sse => Talk::Sse(Box::new(self.sse_with(capabilities))),
        }
    }
}

impl Scene {
    #[track_caller]
    fn start(front: Front, command: Command, capabilities: &str) -> Self {
        if front.is_stdio() {
            let client = Client::spawn(command);
            if front == Front::ModernStdio {
                let client = Talk::Modern(Modern::stdio(client, capabilities));
                return Self { client, serve: None };
            }
            client.initialize_with("2025-11-25", capabilities).result();
            return Self { client: Talk::Stdio(client), serve: None };
        }
        let serve = Serve::start(command);
        let client = serve.talk(front, capabilities);
        Self { client, serve: Some(serve) }
    }

    /// The gateway's process.
    pub fn process(&self) -> &Client {
        match (&self.serve, &self.client) {
            (Some(serve), _) => serve.process(),
            (None, Talk::Stdio(client)) => client,
            (None, Talk::Modern(client)) => client.process().expect("the gateway is its process"),
            (None, _) => unreachable!("a network client has a gateway"),
        }
    }

    /// The client of a front of the stateless era.
    #[track_caller]
    pub fn modern(&self) -> &Modern {
        match &self.client {
            Talk::Modern(client) => client,
            other => panic!("not of the stateless era: {other:?}"),
        }
    }

    /// [`Scene::modern`], to change what it says of itself.
    #[track_caller]
    pub fn modern_mut(&mut self) -> &mut Modern {
        match &mut self.client {
            Talk::Modern(client) => client,
            other => panic!("not of the stateless era: {other:?}"),
        }
    }

    /// The gateway of a network front.
    #[track_caller]
    pub fn serve(&self) -> &Serve {
        self.serve.as_ref().expect("a network front")
    }
}

impl Deref for Scene {
    type Target = Talk;

    fn deref(&self) -> &Talk {
        &self.client
    }
}

impl Speak for Talk {
    fn send_line(&self, line: impl Into<Vec<u8>>) {
        match self {
            Self::Stdio(client) => Speak::send_line(client, line),
            Self::Http(client) => client.send_line(line),
            Self::Sse(client) => Speak::send_line(&**client, line),
            Self::Modern(client) => Speak::send_line(client, line),
        }
    }

    fn inbox(&self) -> &Inbox {
        match self {
            Self::Stdio(client) => Speak::inbox(client),
            Self::Http(client) => client.inbox(),
            Self::Sse(client) => client.inbox(),
            Self::Modern(client) => client.inbox(),
        }
    }

    fn fresh_id(&self) -> String {
        match self {
            Self::Stdio(client) => Speak::fresh_id(client),
            Self::Http(client) => client.fresh_id(),
            Self::Sse(client) => client.fresh_id(),
            Self::Modern(client) => client.fresh_id(),
        }
    }

    fn separator(&self) -> &str {
        match self {
            Self::Stdio(client) => client.separator(),
            Self::Http(client) => client.separator(),
            Self::Sse(client) => client.separator(),
            Self::Modern(client) => client.separator(),
        }
    }

    fn describe(&self) -> String {
        match self {
            Self::Stdio(client) => Speak::describe(client),
            Self::Http(client) => client.describe(),
            Self::Sse(client) => client.describe(),
            Self::Modern(client) => client.describe(),
        }
    }

    fn cancel(&self, id: &[u8]) {
        match self {
            Self::Stdio(client) => Speak::cancel(client, id),
            Self::Http(client) => client.cancel(id),
            Self::Sse(client) => Speak::cancel(&**client, id),
            Self::Modern(client) => client.cancel(id),
        }
    }
}

/// Runs the scenario over every front and upstream, then reports all that failed.
#[track_caller]
pub fn each(scenario: impl Fn(Front, Upstream)) {
    let pairs = Front::ALL.into_iter().flat_map(|front| Upstream::ALL.map(|up| (front, up)));
    each_of(pairs, |(front, upstream)| scenario(front, upstream));
}

/// Clients of the stateless era before servers of the older one.
#[track_caller]
pub fn each_modern_to_legacy(scenario: impl Fn(Front, Upstream)) {
    each_pair(&Front::MODERN, &Upstream::ALL, scenario);
}

/// Clients of the older era before servers of the stateless one.
#[track_caller]
pub fn each_legacy_to_modern(scenario: impl Fn(Front, Upstream)) {
    each_pair(&Front::ALL, &Upstream::MODERN, scenario);
}

/// Both of the stateless era.
#[track_caller]
pub fn each_modern(scenario: impl Fn(Front, Upstream)) {
    each_pair(&Front::MODERN, &Upstream::MODERN, scenario);
}

/// Every pair of these.
#[track_caller]
pub fn each_pair(fronts: &[Front], upstreams: &[Upstream], scenario: impl Fn(Front, Upstream)) {
    let pairs = fronts.iter().flat_map(|front| upstreams.iter().map(|up| (*front, *up)));
    each_of(pairs, |(front, upstream)| scenario(front, upstream));
}

/// Runs the scenario over every front.
#[track_caller]
pub fn each_front(scenario: impl Fn(Front)) {
    each_of(Front::ALL, scenario);
}

/// Runs the scenario for every one of these, then reports all that failed.
#[track_caller]
pub fn each_of<T: std::fmt::Debug + Copy>(
    cases: impl IntoIterator<Item = T>,
    scenario: impl Fn(T),
) {
    let mut failed = Vec::new();
    for case in cases {
        println!("---- {case:?}");
        if catch_unwind(AssertUnwindSafe(|| scenario(case))).is_err() {
            failed.push(case);
        }
    }
    assert!(failed.is_empty(), "failed (details above): {failed:?}");
}
