//! The driver's process and its session: requests out, values or refusals back.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::client::Client;
use crate::http::{Ask, Connection};
use crate::line::Line;
use crate::process::{comes_true, descendants, is_alive, kill};
use crate::room::{MARK, Room};
use crate::{LIMIT, SOON};

/// Chromium without the parts that no test sees (tabs, settings, extensions): it draws the same pages,
/// and starts with a third of the processor time.
const BROWSER: &str = "chromium-headless-shell";

/// Nothing of the machine's, nothing from elsewhere, nothing that waits for a person.
const FLAGS: [&str; 12] = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--no-first-run",
    "--no-default-browser-check",
    "--password-store=basic",
];

/// A page that is slow on a busy machine is still a page.
const PATIENCE: Duration = Duration::from_secs(120);

/// What the driver says when it ends for want of a port; another one may be free. It chooses by chance
/// among thousands, so that a few starts are enough.
const NO_PORT: &str = "port not available";
const STARTS: u32 = 20;

#[derive(Debug)]
pub(super) struct Driver {
    process: Client,
    connection: Mutex<Connection>,
    session: String,
}

/// What the driver says instead of a value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Refused {
    /// `no such element`, `stale element reference`, …
    pub(super) error: String,
    message: String,
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the browser says: {}: {}", self.error, self.message)
    }
}

impl Driver {
    #[track_caller]
    pub(super) fn start(room: &Room) -> Self {
        let driver = program("chromedriver");
        program(BROWSER);
        let browser = Path::new(env!("CARGO_MANIFEST_DIR")).join("browser-with-page");
        let (process, port) = (0..STARTS)
            .find_map(|_| listening(room, &driver))
            .unwrap_or_else(|| panic!("the driver has found no port in {STARTS} starts"));
        let connection = Mutex::new(Connection::open(([127, 0, 0, 1], port).into()));
        let mut own = Self { process, connection, session: String::new() };
        let asked = own.send("POST", "/session", Some(&capabilities(room, &browser)));
        let made = asked.unwrap_or_else(|refused| panic!("no browser: {refused}"));
        own.session = made["sessionId"].as_str().expect("a session").to_owned();
        own
    }

    pub(super) fn get(&self, path: &str) -> Result<Value, Refused> {
        self.send("GET", &self.target(path), None)
    }

    pub(super) fn post(&self, path: &str, body: &Value) -> Result<Value, Refused> {
        self.send("POST", &self.target(path), Some(body))
    }

    fn target(&self, path: &str) -> String {
        format!("/session/{}/{path}", self.session)
    }

    fn send(&self, method: &str, target: &str, body: Option<&Value>) -> Result<Value, Refused> {
        let mut ask = Ask::new(method, target);
        if let Some(body) = body {
            ask = ask.header("Content-Type", "application/json; charset=utf-8");
            ask = ask.body(body.to_string());
        }
        let mut connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        connection.begin(&ask);
        let response = connection.response(PATIENCE);
        let mut told: Value = serde_json::from_slice(&response.body).unwrap_or_default();
        let value = told["value"].take();
        if response.status() == 200 {
            return Ok(value);
        }
        let text = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
        Err(Refused { error: text("error"), message: text("message") })
    }
}

/// The driver and its port; `None`: the port it has found for IPv6 was taken for IPv4.
#[track_caller]
fn listening(room: &Room, driver: &Path) -> Option<(Client, u16)> {
    // If we are killed, it goes; and with it the browser, which it has tied to itself.
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--"]).arg(driver).arg("--port=0");
    command.env(MARK, room.marker()).env("HOME", room.marker());
    let process = Client::spawn(command);
    let said = |line: &Line| String::from_utf8_lossy(&line.0).into_owned();
    let is_told = |line: &Line| port(&said(line)).is_some() || said(line).contains(NO_PORT);
    let line = process.wait_for("the driver's port", LIMIT, is_told);
    port(&said(&line)).map(|port| (process, port))
}

fn capabilities(room: &Room, browser: &Path) -> Value {
    let profile = format!("--user-data-dir={}", room.path("browser").display());
    let flags: Vec<&str> = FLAGS.into_iter().chain([profile.as_str()]).collect();
    json!({ "capabilities": { "alwaysMatch": {
        "goog:chromeOptions": { "binary": browser, "args": flags },
        "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
        // The driver's own limit for a script is half a minute; ours is PATIENCE.
        "timeouts": { "script": PATIENCE.as_millis(), "pageLoad": PATIENCE.as_millis() },
        // One that opens is looked at by the test.
        "unhandledPromptBehavior": "ignore",
    } } })
}

/// "ChromeDriver was started successfully on port 40123."
fn port(line: &str) -> Option<u16> {
    line.split_once("started successfully on port ")?
        .1
        .trim_end_matches(['.', '\n', '\r'])
        .parse()
        .ok()
}

#[track_caller]
fn program(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|dir| dir.join(name)).find(|it| it.exists());
    found.unwrap_or_else(|| {
        panic!(
            "there is no `{name}`: run `cargo xtask test` or `cargo xtask browser`, or install \
             the packages {BROWSER} and chromium-driver"
        )
    })
}

impl Drop for Driver {
    fn drop(&mut self) {
        let driver = self.process.pid().as_raw_nonzero().get();
        let below: Vec<i32> = descendants(driver).iter().map(|process| process.pid).collect();
        if std::thread::panicking() {
            // The connection may be in the middle of something.
            self.process.signal(Signal::KILL);
        } else {
            drop(self.send("DELETE", &format!("/session/{}", self.session), None));
        }
        let is_gone = || !below.iter().any(|pid| is_alive(*pid));
        if !comes_true(SOON, is_gone) {
            below.iter().for_each(|pid| kill(*pid, Signal::KILL));
            comes_true(SOON, is_gone);
        }
    }
}
