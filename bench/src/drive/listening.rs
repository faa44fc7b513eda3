//! Waits until a contender over HTTP accepts connections, and learns its port.

use super::process;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStdout};
use std::time::{Duration, Instant};

/// What floor and subject write to stderr.
const SAYING: &str = "listening on http://127.0.0.1:";
const PATIENCE: Duration = Duration::from_secs(60);

/// The port that a child writes to its stdout.
pub(super) fn of_child(output: ChildStdout) -> Result<u16, String> {
    let mut line = String::new();
    let read = BufReader::new(output).read_line(&mut line);
    read.map_err(|error| error.to_string())?;
    line.trim().parse().map_err(|_| format!("a child said {line:?} instead of its port"))
}

/// The port that `process` writes to its log, of which the first `skip` bytes are another's.
pub(super) fn of_log(process: &mut Child, log: &Path, skip: usize) -> Result<u16, String> {
    until(process, || {
        let text = fs::read_to_string(log).unwrap_or_default();
        let (_, rest) = text.get(skip..)?.split_once(SAYING)?;
        // Not a port that is still being written.
        let end = rest.find(|c: char| !c.is_ascii_digit())?;
        rest.get(..end)?.parse().ok()
    })
}

/// Waits until `port` accepts connections.
pub(super) fn at(process: &mut Child, port: u16) -> Result<u16, String> {
    until(process, || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok().map(|_| port))
}

/// A port that was free a moment ago, for a peer that cannot say which one it got.
pub(super) fn free() -> Result<u16, String> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let address = listener.and_then(|listener| listener.local_addr());
    Ok(address.map_err(|error| error.to_string())?.port())
}

fn until(process: &mut Child, mut look: impl FnMut() -> Option<u16>) -> Result<u16, String> {
    let begin = Instant::now();
    loop {
        if let Some(port) = look() {
            return Ok(port);
        }
        if let Ok(Some(status)) = process.try_wait() {
            return Err(format!("it ended before it listened: {status}"));
        }
        if begin.elapsed() > PATIENCE {
            return Err(format!("it does not listen after {} s", PATIENCE.as_secs()));
        }
        process::pause(Duration::from_millis(1));
    }
}
