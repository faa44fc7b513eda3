//! The programs of a run: where they are built, and their life.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// How long a program may take to be ready. Only a hang takes this long.
const PATIENCE: Duration = Duration::from_secs(60);

/// A program that serves until this value goes away.
pub(super) struct Running {
    child: Child,
    pub(super) url: String,
}

impl Running {
    /// Starts it and waits for the `listening on URL` on its stderr; all of that goes to a file.
    pub(super) fn start(command: &mut Command, log: &Path) -> Result<Self, String> {
        let shown = format!("{command:?}");
        let mut file = File::create(log).map_err(|error| format!("{}: {error}", log.display()))?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| format!("{shown}: {error}"))?;
        let stderr = child.stderr.take();
        let mut running = Self { child, url: String::new() };
        let (say, heard) = mpsc::channel();
        std::thread::spawn(move || {
            for line in stderr.into_iter().flat_map(|it| BufReader::new(it).lines()).flatten() {
                drop(writeln!(file, "{line}"));
                if let Some((_, url)) = line.split_once("listening on ") {
                    drop(say.send(url.trim().to_owned()));
                }
            }
        });
        let log = log.display();
        running.url = heard
            .recv_timeout(PATIENCE)
            .map_err(|_| format!("{shown}: does not say what it is listening on ({log})"))?;
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
pub(super) fn ready(url: &str) -> Result<(), String> {
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

pub(super) fn program(name: &str) -> PathBuf {
    target().join("debug").join(name)
}

/// Where cargo builds.
pub fn target() -> PathBuf {
    let here = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../target");
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(here, PathBuf::from)
}

/// A path as a JSON string.
pub(super) fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy().replace('\\', r"\\").replace('"', r#"\""#);
    format!("\"{text}\"")
}
