//! The human's client: `trunkline tools|call|resources|prompts`, from a config and against a URL.

mod arguments;
mod life;
mod lists;
mod person;
mod results;
mod targets;

use std::process::Command;

use kit::bin;
use kit::config::{Fake, Upstream};
use kit::room::{MARK, Room};
use kit::run::{Done, run};
use kit::scene::each_of;
use kit::serve::Serve;
use kit::service::Wire;

/// What the client is pointed at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    /// `--config`, with the server over this transport.
    Config(Upstream),
    /// `--url`: `/mcp` and `/sse` of `trunkline serve`.
    Serve(Wire),
    /// `--url`: the scripted server itself.
    Url(Wire),
}

const TARGETS: [Target; 7] = [
    Target::Config(Upstream::Stdio),
    Target::Config(Upstream::Http),
    Target::Config(Upstream::Sse),
    Target::Serve(Wire::Http),
    Target::Serve(Wire::Sse),
    Target::Url(Wire::Http),
    Target::Url(Wire::Sse),
];

/// One server called `s`, and how the client gets at it.
#[derive(Debug)]
struct Place {
    room: Room,
    flags: Vec<String>,
    /// Before the names of its tools.
    prefix: &'static str,
    /// The client is answered in the stateless era, by a server of the older.
    across: bool,
    _serve: Option<Serve>,
}

impl Place {
    /// From a config, over stdio.
    #[track_caller]
    fn new(dress: impl Fn(Fake<'_>) -> Fake<'_>) -> Self {
        Self::at(Target::Config(Upstream::Stdio), dress)
    }

    #[track_caller]
    fn at(target: Target, dress: impl Fn(Fake<'_>) -> Fake<'_>) -> Self {
        let room = Room::new();
        let fake = dress(room.fake("s"));
        let (mut serve, mut url) = (None, None);
        let prefix = match target {
            Target::Config(upstream) => {
                room.config([("s", fake.over(upstream))]);
                "s:"
            }
            Target::Serve(wire) => {
                room.config([("s", fake.entry())]);
                let path = if wire == Wire::Http { "mcp" } else { "sse" };
                let running = room.serve(&[]);
                url = Some(format!("http://{}/{path}", running.address()));
                serve = Some(running);
                "s."
            }
            Target::Url(wire) => {
                let service = fake.listen(wire);
                url = Some(service.url().to_owned());
                room.keep(service);
                ""
            }
        };
        let config = || vec!["--config".to_owned(), room.path("mcp.json").display().to_string()];
        let flags = url.map_or_else(config, |url| vec!["--url".to_owned(), url]);
        let across = matches!(target, Target::Serve(Wire::Http));
        Self { room, flags, prefix, across, _serve: serve }
    }

    /// The server's result as the client gets it: in the stateless era it says what it is, and for
    /// how long a resource (`cached`) may be kept.
    fn result(&self, raw: &str, cached: bool) -> String {
        let hints = if cached { r#","ttlMs":0,"cacheScope":"private""# } else { "" };
        let added = format!(r#"{{"resultType":"complete"{hints}"#);
        match raw.strip_prefix('{') {
            Some(rest) if self.across && rest == "}" => format!("{added}}}"),
            Some(rest) if self.across => format!("{added},{rest}"),
            _ => raw.to_owned(),
        }
    }

    /// The exposed name of a tool.
    fn tool(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// The program with these arguments, pointed at the server.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = bare(&self.room, arguments);
        command.args(&self.flags);
        command
    }

    #[track_caller]
    fn run(&self, arguments: &[&str]) -> Done {
        run(self.command(arguments), b"")
    }

    #[track_caller]
    fn run_with(&self, arguments: &[&str], input: &[u8]) -> Done {
        run(self.command(arguments), input)
    }

    /// `call` of this tool with these arguments.
    #[track_caller]
    fn call(&self, tool: &str, arguments: &[&str]) -> Done {
        self.run(&[&["call", &self.tool(tool)], arguments].concat())
    }
}

/// The program with these arguments and nothing of our own environment that it would heed.
fn bare(room: &Room, arguments: &[&str]) -> Command {
    let mut command = Command::new(bin::trunkline());
    command.args(arguments).env(MARK, room.marker());
    for name in [
        "MCP_PROXY_CONFIG_PATH",
        "MCP_PROXY_LOG_DIRECTORY_PATH",
        "MCP_PROXY_LOG_LEVEL",
        "TRUNKLINE_TOKEN",
    ] {
        command.env_remove(name);
    }
    command
}

/// Runs the scenario against every target, with a server dressed like this.
#[track_caller]
fn everywhere(dress: impl Fn(Fake<'_>) -> Fake<'_>, scenario: impl Fn(&Place)) {
    each_of(TARGETS, |target| scenario(&Place::at(target, &dress)));
}
