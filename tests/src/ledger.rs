//! What the scripted servers have received: each writes a record before it acts on a message.

use std::io::Write;
use std::path::Path;

use crate::scan;

/// One record of a ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    /// A process of this server has started.
    Started { pid: i32 },
    /// This process has received this line (without its newline) or this body.
    Received { pid: i32, line: Vec<u8> },
    /// This process has received an HTTP request with this head; its body, if it has one, is the
    /// next record.
    Asked { pid: i32, head: Head },
    /// What this message asks for holds from now on: received is not yet done.
    Settled { pid: i32, line: Vec<u8> },
    /// The client has closed the connection of the request with this raw id before its answer.
    Closed { pid: i32, id: Vec<u8> },
    /// This body was received and turned away, because the session it named is not known.
    TurnedAway { pid: i32, line: Vec<u8> },
}

/// The head of an HTTP request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// Which connection of the server it came over, counted from 1.
    pub connection: u64,
    /// As it arrived, line ends included.
    pub raw: String,
}

impl Head {
    /// `POST`, `GET`, `DELETE` …
    pub fn method(&self) -> &str {
        self.raw.split(' ').next().unwrap_or_default()
    }

    /// Path and query.
    pub fn target(&self) -> &str {
        self.raw.split(' ').nth(1).unwrap_or_default()
    }

    /// The value of the first header called `name`.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.raw.lines().skip(1).find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
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
        _ => None,
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

/// The messages with this method (they begin or end subscriptions) that hold, in order. Over the
/// network, what comes next may otherwise be done before what was received earlier.
pub fn settled(path: &Path, method: &str) -> Vec<Vec<u8>> {
    let method = scan::quote(method).into_bytes();
    let line = |record| match record {
        Record::Settled { line, .. } => Some(line),
        _ => None,
    };
    let lines = read(path).into_iter().filter_map(line);
    lines.filter(|line| scan::get(line, "method") == Some(&method)).collect()
}

/// The processes of this server so far, oldest first.
pub fn started(path: &Path) -> Vec<i32> {
    let pid = |record| match record {
        Record::Started { pid } => Some(pid),
        _ => None,
    };
    read(path).into_iter().filter_map(pid).collect()
}

/// The heads of the HTTP requests received, in order.
pub fn heads(path: &Path) -> Vec<Head> {
    let head = |record| match record {
        Record::Asked { head, .. } => Some(head),
        _ => None,
    };
    read(path).into_iter().filter_map(head).collect()
}

/// The heads of the HTTP requests whose body is a message with this method.
pub fn heads_of(path: &Path, method: &str) -> Vec<Head> {
    let method = scan::quote(method).into_bytes();
    let records = read(path);
    let pairs = records.iter().zip(records.iter().skip(1));
    pairs
        .filter_map(|pair| match pair {
            (Record::Asked { head, .. }, Record::Received { line, .. }) => {
                (scan::get(line, "method") == Some(&method[..])).then(|| head.clone())
            }
            _ => None,
        })
        .collect()
}

/// The raw ids of requests whose connection the client has closed before their answers.
pub fn closed(path: &Path) -> Vec<Vec<u8>> {
    let id = |record| match record {
        Record::Closed { id, .. } => Some(id),
        _ => None,
    };
    read(path).into_iter().filter_map(id).collect()
}

/// The bodies that were received and turned away, because the session they named was not known.
pub fn turned_away(path: &Path) -> Vec<Vec<u8>> {
    let line = |record| match record {
        Record::TurnedAway { line, .. } => Some(line),
        _ => None,
    };
    read(path).into_iter().filter_map(line).collect()
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
        ledger.write(&ledger.record(b'S', b""));
        ledger
    }

    pub fn received(&mut self, line: &[u8]) {
        self.write(&self.line(line));
    }

    /// Head and body in one write, so that no other request comes between them.
    pub fn asked(&mut self, connection: u64, head: &[u8], body: &[u8]) {
        let connection = format!("{connection} ");
        let mut record = self.record(b'H', &[connection.as_bytes(), &escape(head)].concat());
        if !body.is_empty() {
            record.extend_from_slice(&self.line(body));
        }
        self.write(&record);
    }

    pub fn settled(&mut self, line: &[u8]) {
        self.write(&self.record(b'D', &escape(line)));
    }

    pub fn closed(&mut self, id: &[u8]) {
        self.write(&self.record(b'C', id));
    }

    pub fn turned_away(&mut self, body: &[u8]) {
        self.write(&self.record(b'T', &escape(body)));
    }

    /// What holds a newline of its own is written with escapes.
    fn line(&self, line: &[u8]) -> Vec<u8> {
        match line.contains(&b'\n') {
            true => self.record(b'E', &escape(line)),
            false => self.record(b'R', line),
        }
    }

    fn record(&self, kind: u8, text: &[u8]) -> Vec<u8> {
        let head = format!("{} {} ", char::from(kind), self.pid);
        [head.as_bytes(), text, b"\n"].concat()
    }

    fn write(&mut self, record: &[u8]) {
        if let Some(file) = &mut self.file {
            file.write_all(record).expect("the ledger can be written");
        }
    }
}

fn escape(bytes: &[u8]) -> Vec<u8> {
    let escaped = |&byte: &u8| match byte {
        b'\n' => b"\\n".to_vec(),
        b'\\' => b"\\\\".to_vec(),
        _ => vec![byte],
    };
    bytes.iter().flat_map(escaped).collect()
}

fn unescape(bytes: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(bytes.len());
    let mut rest = bytes.iter();
    while let Some(&byte) = rest.next() {
        plain.push(match byte {
            b'\\' if rest.next() == Some(&b'n') => b'\n',
            _ => byte,
        });
    }
    plain
}

fn record(line: &[u8]) -> Option<Record> {
    let mut parts = line.splitn(3, |&byte| byte == b' ');
    let kind = parts.next()?;
    let pid = std::str::from_utf8(parts.next()?).ok()?.parse().ok()?;
    match kind {
        b"S" => Some(Record::Started { pid }),
        b"C" => Some(Record::Closed { pid, id: parts.next()?.to_vec() }),
        b"D" => Some(Record::Settled { pid, line: unescape(parts.next()?) }),
        b"T" => Some(Record::TurnedAway { pid, line: unescape(parts.next()?) }),
        b"R" => Some(Record::Received { pid, line: parts.next()?.to_vec() }),
        b"E" => Some(Record::Received { pid, line: unescape(parts.next()?) }),
        b"H" => {
            let text = String::from_utf8_lossy(&unescape(parts.next()?)).into_owned();
            let (connection, raw) = text.split_once(' ')?;
            let head = Head { connection: connection.parse().ok()?, raw: raw.to_owned() };
            Some(Record::Asked { pid, head })
        }
        _ => None,
    }
}
