//! What the scripted servers have received: each writes a record before it acts on a message.

use std::io::Write;
use std::path::Path;

use crate::scan;

/// One record of a ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    /// A process of this server has started.
    Started { pid: i32 },
    /// This process has received this line (without its newline).
    Received { pid: i32, line: Vec<u8> },
}

/// Reads a ledger; a file that does not exist yet is an empty one. A last record that is still
/// being written is left out.
pub fn read(path: &Path) -> Vec<Record> {
    let bytes = std::fs::read(path).unwrap_or_default();
    let complete = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    bytes[..complete].split(|&byte| byte == b'\n').filter_map(record).collect()
}

/// The lines received, in order.
pub fn received(path: &Path) -> Vec<Vec<u8>> {
    let line = |record| match record {
        Record::Received { line, .. } => Some(line),
        Record::Started { .. } => None,
    };
    read(path).into_iter().filter_map(line).collect()
}

/// The `tools/call` requests received, in order.
pub fn calls(path: &Path) -> Vec<Vec<u8>> {
    with_method(path, "tools/call")
}

/// The messages with this method received, in order.
pub fn with_method(path: &Path, method: &str) -> Vec<Vec<u8>> {
    let method = scan::quote(method).into_bytes();
    let mut lines = received(path);
    lines.retain(|line| scan::get(line, "method") == Some(&method));
    lines
}

/// The processes of this server so far, oldest first.
pub fn started(path: &Path) -> Vec<i32> {
    let pid = |record| match record {
        Record::Started { pid } => Some(pid),
        Record::Received { .. } => None,
    };
    read(path).into_iter().filter_map(pid).collect()
}

/// The writing side, in the scripted server. One `write` per record and no `fsync`: what a killed
/// process wrote is there, and the server stays fast.
#[derive(Debug)]
pub struct Ledger {
    file: Option<std::fs::File>,
    pid: u32,
}

impl Ledger {
    pub fn open(path: Option<&str>) -> Self {
        let open = |path| std::fs::OpenOptions::new().create(true).append(true).open(path);
        let file = path.map(|path| open(path).expect("the ledger can be opened"));
        let mut ledger = Self { file, pid: std::process::id() };
        ledger.write(b'S', b"");
        ledger
    }

    pub fn received(&mut self, line: &[u8]) {
        self.write(b'R', line);
    }

    fn write(&mut self, kind: u8, line: &[u8]) {
        let Some(file) = &mut self.file else { return };
        let head = format!("{} {} ", char::from(kind), self.pid);
        let record = [head.as_bytes(), line, b"\n"].concat();
        file.write_all(&record).expect("the ledger can be written");
    }
}

fn record(line: &[u8]) -> Option<Record> {
    let mut parts = line.splitn(3, |&byte| byte == b' ');
    let kind = parts.next()?;
    let pid = std::str::from_utf8(parts.next()?).ok()?.parse().ok()?;
    match kind {
        b"S" => Some(Record::Started { pid }),
        b"R" => Some(Record::Received { pid, line: parts.next()?.to_vec() }),
        _ => None,
    }
}
