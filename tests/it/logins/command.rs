//! `trunkline login`: for servers of a config file, where there is no platform.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Output, Stdio};

use kit::client::Client;
use kit::{LIMIT, bin};
use serde_json::{Value, json};

use super::authority::Authority;
use super::{Stage, consent};

impl Stage {
    /// A stage whose server stands in a config file.
    pub(super) fn configured() -> Self {
        let stage = Self::new();
        stage.room.config([("docs", json!({ "type": "http", "url": stage.server.url() }))]);
        stage
    }

    fn trunkline(&self, command: &str, arguments: &[&str]) -> Command {
        let mut trunkline = Command::new(bin::trunkline());
        trunkline.arg(command).args(arguments).arg("--config").arg(self.room.path("mcp.json"));
        trunkline.env("XDG_DATA_HOME", self.room.path("own")).env_remove("TRUNKLINE_TOKEN");
        trunkline.env("XDG_STATE_HOME", self.room.path("state"));
        trunkline
    }

    fn output(&self, command: &str, arguments: &[&str]) -> Output {
        self.trunkline(command, arguments).output().expect("trunkline runs")
    }

    /// `trunkline login docs`, with a person who agrees: its standard output.
    pub(super) fn log_in_here(&self) -> String {
        let mut login = self.trunkline("login", &["docs"]);
        login.stderr(Stdio::piped()).stdout(Stdio::piped());
        let mut login = login.spawn().expect("trunkline runs");
        let stderr = BufReader::new(login.stderr.take().expect("piped"));
        let mut lines = stderr.lines().map_while(Result::ok);
        let url = lines.find(|line| line.trim().starts_with("http://")).expect("an address");
        agree(url.trim());
        let mut out = String::new();
        login.stdout.take().expect("piped").read_to_string(&mut out).expect("text");
        assert!(login.wait().expect("it ends").success(), "{out}");
        out
    }
}

/// What a person does with the address: the browser comes back to `trunkline login`.
#[track_caller]
fn agree(url: &str) {
    let back = consent(url);
    let (address, path) = back["http://".len()..].split_once('/').expect("a path");
    let mut browser = kit::http::Connection::open(address.parse().expect("this machine"));
    let page = browser.ask(&kit::http::Ask::get(&format!("/{path}")));
    assert_eq!(page.status(), 200, "{}", page.text());
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_server_that_wants_a_login_is_added_and_then_logged_in_at() {
    let stage = Stage::new();
    stage.room.config([]);
    let url = stage.server.url();
    let added = stage.output("add", &["docs", &url]);
    assert!(added.status.success(), "{}", text(&added.stderr));
    assert!(text(&added.stdout).contains("run `trunkline login docs`"), "{added:?}");
    stage.log_in_here();
    let called = stage.output("call", &["docs:echo", "a=1"]);
    assert!(called.status.success(), "{}", text(&called.stderr));
}

#[test]
fn a_server_of_a_config_is_logged_in_at_and_out_from() {
    let stage = Stage::configured();
    let checked = stage.output("check", &["--json"]);
    let report: Value = serde_json::from_slice(&checked.stdout).expect("JSON");
    assert_eq!(report["servers"][0]["state"], "needs-auth", "{report:#}");
    assert_eq!(report["servers"][0]["hint"], "run `trunkline login docs`", "{report:#}");

    let told = stage.log_in_here();
    assert!(told.contains("logged in at docs"), "{told}");
    let called = stage.output("call", &["docs:echo", "a=1"]);
    assert!(called.status.success(), "{}", text(&called.stderr));
    let kept = stage.room.path("own").join("trunkline/logins");
    for file in std::fs::read_dir(&kept).expect("a place").flatten() {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = file.metadata().expect("a file").permissions().mode();
        assert_eq!(mode & 0o077, 0, "{file:?}: {mode:o}");
    }
    // A token that has ended is renewed by whoever needs it, and kept for the next one.
    stage.authority.expire();
    assert!(stage.output("call", &["docs:echo"]).status.success());
    assert!(stage.output("call", &["docs:echo"]).status.success());
    let renewed = {
        let state = stage.authority.state();
        (state.refreshes, state.reused)
    };
    assert_eq!(renewed, (1, 0));

    let out = stage.output("logout", &["docs"]);
    assert!(out.status.success(), "{}", text(&out.stderr));
    assert_eq!(stage.authority.state().revocations.len(), 2);
    let again = text(&stage.output("logout", &["docs"]).stdout);
    assert!(again.contains("nobody was logged in at docs"), "{again}");
    let refused = stage.output("call", &["docs:echo"]);
    assert!(!refused.status.success());
    assert!(text(&refused.stderr).contains("trunkline login docs"), "{}", text(&refused.stderr));
}

#[test]
fn programs_are_told_in_lines_of_json_and_a_browser_is_opened_if_that_is_wanted() {
    let stage = Stage::configured();
    let opened = stage.room.path("opened");
    let script = format!("printf %s \"$2\" > '{}'\n", opened.display());
    let browser = stage.room.script("browser", &script);
    let mut login = stage.trunkline("login", &["docs", "--open", "--json"]);
    login.env("BROWSER", format!("/nowhere:{} --tab", browser.display()));
    let mut login = login.stdout(Stdio::piped()).spawn().expect("trunkline runs");
    let mut lines = BufReader::new(login.stdout.take().expect("piped")).lines();
    let mut line = || -> Value {
        let line = lines.next().expect("a line").expect("text");
        serde_json::from_str(&line).expect("JSON")
    };
    let begun = line();
    assert_eq!(
        (&begun["server"], &begun["issuer"]),
        (&json!("docs"), &json!(stage.authority.url()))
    );
    let url = begun["authorization_url"].as_str().expect("an address");
    kit::process::wait_until("a browser is opened", LIMIT, || {
        std::fs::read_to_string(&opened).is_ok_and(|told| told == url)
    });
    agree(url);
    let done = line();
    assert_eq!((&done["logged_in"], &done["scope"]), (&json!(true), &json!("read")), "{done}");
    assert!(done["expires_at"].as_str().is_some_and(|at| at.ends_with('Z')), "{done}");
    assert!(login.wait().expect("it ends").success());
    for (logged_out, told) in [(true, json!(true)), (false, json!(null))] {
        let out = stage.output("logout", &["docs", "--json"]);
        let said: Value = serde_json::from_slice(&out.stdout).expect("JSON");
        let expected = (&json!("docs"), &json!(logged_out), &told);
        assert_eq!((&said["server"], &said["logged_out"], &said["issuer_told"]), expected);
    }
}

/// On a machine without a desktop the address is shown all the same.
#[test]
fn a_browser_that_is_not_there_is_no_failure() {
    let stage = Stage::new();
    let platform = stage.room.platform(&[]);
    let id = kit::platform::id_of(&platform.register(&stage.registration()));
    super::needs_login(&platform, &id);
    let base = format!("http://{}", platform.serve().address());
    let mut login = Command::new(bin::trunkline());
    login.args(["login", "docs", "--open", "--url", &base, "--token", kit::platform::ADMIN]);
    for name in ["BROWSER", "DISPLAY", "WAYLAND_DISPLAY"] {
        login.env_remove(name);
    }
    let begun = login.output().expect("trunkline runs");
    let said = text(&begun.stderr);
    assert!(begun.status.success(), "{said}");
    assert!(said.contains("no browser was opened: there is no desktop here"), "{said}");
    assert!(said.contains("Open this address"), "{said}");
}

#[test]
fn a_running_aggregator_notices_a_login() {
    let stage = Stage::configured();
    let mut command = stage.room.trunkline(&[]);
    command.env("XDG_DATA_HOME", stage.room.path("own"));
    let client = Client::spawn(command);
    client.initialize("2025-11-25");
    assert!(client.list().is_empty(), "nobody has logged in");
    stage.log_in_here();
    kit::process::wait_until("its tools are there", LIMIT, || !client.list().is_empty());
    client.assert_echo("docs", "echo", "{}");
}

#[test]
fn who_cannot_be_logged_in_at_is_told_why() {
    let stage = Stage::configured();
    stage.room.config([
        ("docs", json!({ "url": stage.server.url(), "headers": { "Authorization": "x" } })),
        ("command", json!({ "command": "true" })),
    ]);
    for (server, why) in
        [("nobody", "no server"), ("docs", "of its own"), ("command", "is a command")]
    {
        let refused = stage.output("login", &[server]);
        assert_eq!(refused.status.code(), Some(2), "{server}");
        assert!(text(&refused.stderr).contains(why), "{}", text(&refused.stderr));
    }
}

#[test]
fn a_platform_is_asked_for_the_address() {
    let stage = Stage::new();
    let platform = stage.room.platform(&[]);
    let id = kit::platform::id_of(&platform.register(&stage.registration()));
    super::needs_login(&platform, &id);
    let base = format!("http://{}", platform.serve().address());
    let ask = |command: &str| {
        let mut trunkline = Command::new(bin::trunkline());
        trunkline.args([command, "docs", "--url", &base, "--token", kit::platform::ADMIN]);
        trunkline.output().expect("trunkline runs")
    };
    let begun = ask("login");
    assert!(begun.status.success(), "{}", text(&begun.stderr));
    let said = text(&begun.stderr);
    let url = said.lines().map(str::trim).find(|line| line.starts_with("http://"));
    let page = super::come_back(&platform, &consent(url.expect("an address")));
    assert_eq!(page.status(), 200, "{page}");
    platform.wait_status(&id, "CONNECTED");
    // Whom the server trusts now is somebody else.
    let other = Authority::start();
    stage.server.trust(&other.url());
    let warned = text(&ask("login").stderr);
    let words =
        format!("{} granted access before; now it is {}", stage.authority.url(), other.url());
    assert!(warned.contains(&words), "{warned}");
    assert!(ask("logout").status.success());
    super::needs_login(&platform, &id);
}
