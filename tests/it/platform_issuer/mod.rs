//! `serve --issuer`: access tokens of an authorization server, through the shipped program.

mod bad;
mod dashboard;
mod flags;
mod good;
mod issuer;
mod keys;
mod metadata;
mod policies;
pub(crate) mod signer;

use std::process::Command;

use kit::http::{Ask, Connection, Response};
use kit::process::wait_until;
use kit::rest::Rest;
use kit::room::Room;
use kit::serve::Serve;
use kit::{LIMIT, say};
use serde_json::{Value, json};

use issuer::Issuer;

const ADMIN: &str = "an-admin-token-chosen-by-the-tests";
const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"kit","version":"1"}}}"#;
const ME: &str = "/api/v1/me";

/// A platform with an issuer, and one server `a` with `echo`.
struct Scene {
    issuer: Issuer,
    serve: Serve,
    _room: Room,
}

impl Scene {
    #[track_caller]
    fn new() -> Self {
        Self::with(Issuer::start(), &[])
    }

    #[track_caller]
    fn with(issuer: Issuer, flags: &[&str]) -> Self {
        Self::within(Room::new(), issuer, flags)
    }

    /// Between two fetches of keys passes a tenth of what is promised.
    #[track_caller]
    fn hurried(issuer: Issuer) -> Self {
        Self::within(Room::hurried(), issuer, &[])
    }

    #[track_caller]
    fn within(room: Room, issuer: Issuer, flags: &[&str]) -> Self {
        room.config([("a", room.fake("a").tool("echo", say::echo()).entry())]);
        let serve = Serve::start(command(&room, &[&["--issuer", &issuer.url()], flags].concat()));
        let anybody = Rest::new(serve.address(), None);
        // Calls of a server that has never been connected are refused with 503.
        wait_until("its tools are known", LIMIT, || anybody.get("/readyz").status() == 200);
        Self { issuer, serve, _room: room }
    }

    /// What tokens are for, unless something else was said.
    fn audience(&self) -> String {
        format!("http://{}/mcp", self.serve.address())
    }

    /// A token that differs from a good one in these claims.
    fn token(&self, other: &Value) -> String {
        self.issuer.token(&self.audience(), other)
    }

    fn scoped(&self, scope: &str) -> String {
        self.token(&json!({"scope": scope}))
    }

    #[track_caller]
    fn ask(&self, ask: &Ask) -> Response {
        Connection::open(self.serve.address()).ask(ask)
    }

    /// A session is begun at `/mcp`.
    #[track_caller]
    fn mcp(&self, token: &str) -> Response {
        self.ask(&shows(Ask::post("/mcp", INITIALIZE), token))
    }

    #[track_caller]
    fn get(&self, path: &str, token: &str) -> Response {
        self.ask(&shows(Ask::get(path), token))
    }

    #[track_caller]
    fn post(&self, path: &str, body: &Value, token: &str) -> Response {
        self.ask(&shows(Ask::post(path, body.to_string()), token))
    }

    fn metadata_url(&self) -> String {
        format!("http://{}/.well-known/oauth-protected-resource/mcp", self.serve.address())
    }
}

/// `serve` as a platform, not yet started.
fn command(room: &Room, flags: &[&str]) -> Command {
    let mut command = room.serve_command(flags);
    command.arg("--data-dir").arg(room.path("data")).env_remove("TRUNKLINE_KEY");
    // The files of scripted servers lie beside those of the platform.
    command.args(["--sandbox", "off"]);
    command.env("TRUNKLINE_ADMIN_TOKEN", ADMIN);
    command
}

fn shows(ask: Ask, token: &str) -> Ask {
    ask.header("Authorization", &format!("Bearer {token}"))
}

/// Between two looks: each is a request, and some states are half a minute away.
fn pause() {
    std::thread::sleep(std::time::Duration::from_millis(100));
}

/// What a refusal says to the client.
fn challenge(response: &Response) -> &str {
    response.head.header("www-authenticate").unwrap_or_default()
}

#[track_caller]
fn json_of(response: &Response) -> Value {
    serde_json::from_slice(&response.body).unwrap_or_else(|_| panic!("{}", response.text()))
}
