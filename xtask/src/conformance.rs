//! Runs the official conformance suite against `trunkline serve`, with the fixture behind it as a
//! child and over HTTP. The suite knows the fixture's tools by their own names, so a shim stands
//! before the gateway.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::{peers, run};

const REVISION: &str = "2025-11-25";
/// How long a program may take to be ready. Only a hang takes this long.
const PATIENCE: Duration = Duration::from_secs(60);

/// Installs, builds and runs everything.
pub fn run() -> Result<(), String> {
    peers::install()?;
    run::cargo("build -p trunkline -p trunkline-conformance --bins --locked")?;
    judge()
}

/// Runs the suite with what is built and installed.
pub fn judge() -> Result<(), String> {
    let place = target().join("conformance");
    fs::create_dir_all(&place).map_err(|error| format!("{}: {error}", place.display()))?;
    let server = program("conformance-server");

    let entry = format!(r#"{{ "command": {}, "args": ["--stdio"] }}"#, quoted(&server));
    through_the_gateway(&place, "the fixture as a child", &entry)?;

    let mut command = Command::new(server);
    let fixture = Running::start(command.args(["--listen", "127.0.0.1:0"]))?;
    let entry = format!(r#"{{ "type": "http", "url": "{}" }}"#, fixture.url);
    through_the_gateway(&place, "the fixture over HTTP", &entry)
}

fn through_the_gateway(place: &Path, what: &str, entry: &str) -> Result<(), String> {
    let config = place.join("mcp.json");
    let text = format!(r#"{{ "mcpServers": {{ "fixture": {entry} }} }}"#);
    fs::write(&config, text).map_err(|error| format!("{}: {error}", config.display()))?;

    let mut command = Command::new(program("trunkline"));
    command.arg("serve").arg("--config").arg(&config).args(["--listen", "127.0.0.1:0"]);
    let gateway = Running::start(&mut command)?;
    ready(&gateway.url)?;
    let mut command = Command::new(program("conformance-shim"));
    command.args(["--listen", "127.0.0.1:0", "--upstream", &gateway.url, "--prefix", "fixture."]);
    let shim = Running::start(&mut command)?;
    suite(place, what, &format!("{}/mcp", shim.url))
}

fn suite(place: &Path, what: &str, url: &str) -> Result<(), String> {
    run::announce(&format!("conformance {REVISION}, {what}"));
    let modules = peers::place().join("node_modules");
    let mut command = Command::new(modules.join(".bin/node"));
    command.arg(modules.join("@modelcontextprotocol/conformance/dist/index.js"));
    command.args(["server", "--url", url, "--requirements", REVISION]).current_dir(place);
    let done = command.output().map_err(|error| format!("cannot run the suite: {error}"))?;
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    // A suite that ran nothing would be content, too.
    let total = said.lines().find(|line| line.starts_with("Total: "));
    let passed = total.is_some_and(|line| !line.starts_with("Total: 0 "));
    match said.split_once("=== SUMMARY ===") {
        Some((_, table)) if done.status.success() && passed => {
            println!("{}", table.trim());
            Ok(())
        }
        _ => {
            println!("{said}{}", String::from_utf8_lossy(&done.stderr));
            Err(format!("not conformant to {REVISION} ({what}; {})", done.status))
        }
    }
}

/// A program that serves until this value goes away.
struct Running {
    child: Child,
    url: String,
}

impl Running {
    /// Starts it and waits for the `listening on URL` on its stderr; passes the rest of that on.
    fn start(command: &mut Command) -> Result<Self, String> {
        let shown = format!("{command:?}");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| format!("{shown}: {error}"))?;
        let stderr = child.stderr.take();
        let mut running = Self { child, url: String::new() };
        let (say, heard) = mpsc::channel();
        std::thread::spawn(move || {
            for line in stderr.into_iter().flat_map(|it| BufReader::new(it).lines()).flatten() {
                match line.split_once("listening on ") {
                    Some((_, url)) => drop(say.send(url.trim().to_owned())),
                    None => eprintln!("{line}"),
                }
            }
        });
        running.url = heard
            .recv_timeout(PATIENCE)
            .map_err(|_| format!("{shown}: does not say what it is listening on"))?;
        Ok(running)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Waits until every server behind the gateway has been heard.
fn ready(url: &str) -> Result<(), String> {
    let authority = url.trim_start_matches("http://");
    let start = Instant::now();
    loop {
        match ask(authority) {
            Ok(answer) if answer.starts_with("HTTP/1.1 200") => return Ok(()),
            Ok(answer) if start.elapsed() > PATIENCE => {
                return Err(format!("{url}/readyz is not ready: {answer}"));
            }
            Err(error) if start.elapsed() > PATIENCE => return Err(format!("{url}: {error}")),
            _ => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

fn ask(authority: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(authority)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    write!(stream, "GET /readyz HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

fn program(name: &str) -> PathBuf {
    target().join("debug").join(name)
}

/// Where cargo builds.
pub fn target() -> PathBuf {
    let here = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../target");
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(here, PathBuf::from)
}

/// A path as a JSON string.
fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy().replace('\\', r"\\").replace('"', r#"\""#);
    format!("\"{text}\"")
}
