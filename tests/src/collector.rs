//! A collector of traces and logs on the loopback: takes what is posted to it, or refuses, or says nothing.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use crate::LIMIT;
use crate::process::wait_until;

#[derive(Debug)]
pub struct Collector {
    address: SocketAddr,
    shared: Arc<Shared>,
}

/// How whoever posts is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mood {
    Taking,
    /// All but so many of each request, as OTLP says it in JSON or in protobuf: the form of the request.
    TakingAllBut(u8),
    /// With this status, and not to come back before now.
    Refusing(u16),
    /// The first time with this status, and then taking: a sender gives up after a few tries, which no test
    /// could be faster than.
    RefusingOnce(u16),
    /// Never.
    Silent,
}

#[derive(Debug)]
struct Shared {
    mood: Mutex<Mood>,
    posted: Mutex<Vec<Posted>>,
    /// Connections of those who are not answered: closing them would be an answer.
    open: Mutex<Vec<TcpStream>>,
}

/// One request, as it arrived.
#[derive(Debug, Clone)]
pub struct Posted {
    pub head: String,
    pub body: Vec<u8>,
    /// It was told that this is taken.
    pub is_taken: bool,
}

impl Posted {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

impl Collector {
    pub fn start(mood: Mood) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(Shared {
            mood: Mutex::new(mood),
            posted: Mutex::default(),
            open: Mutex::default(),
        });
        let serving = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let serving = Arc::clone(&serving);
                std::thread::spawn(move || serving.answer(stream));
            }
        });
        Self { address, shared }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Makes this program send its traces here, in JSON.
    pub fn follows(&self, mut command: Command) -> Command {
        command.env("OTEL_EXPORTER_OTLP_ENDPOINT", self.url());
        command.env("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json");
        command
    }

    pub fn set(&self, mood: Mood) {
        *lock(&self.shared.mood) = mood;
    }

    pub fn posted(&self) -> Vec<Posted> {
        lock(&self.shared.posted).clone()
    }

    /// The spans that were taken, as their JSON has them.
    pub fn spans(&self) -> Vec<Span> {
        let taken = self.posted().into_iter().filter(|posted| posted.is_taken);
        taken.flat_map(|posted| spans_in(&posted.body)).collect()
    }

    /// The log records that were taken, as their JSON has them, in the order of their arrival.
    pub fn logs(&self) -> Vec<Value> {
        let taken = self.posted().into_iter().filter(|posted| posted.is_taken);
        taken.flat_map(|posted| logs_in(&posted.body)).collect()
    }

    /// Waits for so many, and gives them out by when they began.
    #[track_caller]
    pub fn wait_spans(&self, count: usize) -> Vec<Span> {
        wait_until(&format!("{count} spans"), LIMIT, || self.spans().len() >= count);
        let mut spans = self.spans();
        assert_eq!(spans.len(), count, "{spans:#?}");
        spans.sort_by_key(|span| (span.start(), span.kind()));
        spans
    }
}

fn spans_in(body: &[u8]) -> Vec<Span> {
    let document: Value = serde_json::from_slice(body).expect("JSON");
    let mut all = Vec::new();
    for resource in document["resourceSpans"].as_array().into_iter().flatten() {
        for scope in resource["scopeSpans"].as_array().into_iter().flatten() {
            for span in scope["spans"].as_array().into_iter().flatten() {
                all.push(Span { raw: span.clone(), resource: resource["resource"].clone() });
            }
        }
    }
    all
}

fn logs_in(body: &[u8]) -> Vec<Value> {
    let document: Value = serde_json::from_slice(body).expect("JSON");
    let resources = document["resourceLogs"].as_array().into_iter().flatten();
    let scopes = resources.flat_map(|it| it["scopeLogs"].as_array().into_iter().flatten());
    let records = scopes.flat_map(|it| it["logRecords"].as_array().into_iter().flatten());
    records.cloned().collect()
}

#[derive(Debug, Clone)]
pub struct Span {
    pub raw: Value,
    pub resource: Value,
}

pub const SERVER: u64 = 2;
pub const CLIENT: u64 = 3;

impl Span {
    fn text(&self, key: &str) -> &str {
        self.raw[key].as_str().unwrap_or_default()
    }

    pub fn trace(&self) -> &str {
        self.text("traceId")
    }

    pub fn id(&self) -> &str {
        self.text("spanId")
    }

    pub fn parent(&self) -> Option<&str> {
        self.raw["parentSpanId"].as_str()
    }

    pub fn name(&self) -> &str {
        self.text("name")
    }

    pub fn kind(&self) -> u64 {
        self.raw["kind"].as_u64().unwrap_or_default()
    }

    pub fn start(&self) -> u64 {
        self.text("startTimeUnixNano").parse().unwrap_or_default()
    }

    pub fn end(&self) -> u64 {
        self.text("endTimeUnixNano").parse().unwrap_or_default()
    }

    pub fn attribute(&self, key: &str) -> Option<&str> {
        attribute(&self.raw, key)
    }

    /// Of the program that sent it.
    pub fn resource(&self, key: &str) -> Option<&str> {
        attribute(&self.resource, key)
    }

    /// What a server that was called from it is told.
    pub fn traceparent(&self) -> String {
        format!("00-{}-{}-01", self.trace(), self.id())
    }
}

fn attribute<'v>(of: &'v Value, key: &str) -> Option<&'v str> {
    let found = of["attributes"].as_array()?.iter().find(|pair| pair["key"] == key);
    found?["value"]["stringValue"].as_str()
}

impl Shared {
    fn answer(&self, mut stream: TcpStream) {
        let Some((head, body)) = read(&mut stream) else { return };
        let mood = *lock(&self.mood);
        if let Mood::RefusingOnce(_) = mood {
            *lock(&self.mood) = Mood::Taking;
        }
        let is_taken = matches!(mood, Mood::Taking | Mood::TakingAllBut(_));
        let posted = Posted { head, body, is_taken };
        let is_protobuf = posted.header("content-type") == Some("application/x-protobuf");
        let is_of_logs = posted.head.starts_with("POST /v1/logs");
        lock(&self.posted).push(posted);
        let status = match mood {
            Mood::Taking | Mood::TakingAllBut(_) => "200 OK".to_owned(),
            Mood::Refusing(status) | Mood::RefusingOnce(status) => format!("{status} No"),
            Mood::Silent => return lock(&self.open).push(stream),
        };
        let (kind, body) = match mood {
            // Its field 1: a message with the number and the words.
            Mood::TakingAllBut(number) if is_protobuf => {
                ("application/x-protobuf", [&[10, 11, 8, number, 18, 7], &b"too old"[..]].concat())
            }
            Mood::TakingAllBut(number) => {
                let what = if is_of_logs { "rejectedLogRecords" } else { "rejectedSpans" };
                let partial = format!(
                    r#"{{"partialSuccess":{{"{what}":"{number}","errorMessage":"too old"}}}}"#
                );
                ("application/json", partial.into_bytes())
            }
            _ => ("application/json", b"{}".to_vec()),
        };
        let fields = format!("Content-Type: {kind}\r\nRetry-After: 0\r\nConnection: close");
        let length = body.len();
        let head = format!("HTTP/1.1 {status}\r\n{fields}\r\nContent-Length: {length}\r\n\r\n");
        let answer = [head.as_bytes(), &body].concat();
        // Who does not wait for it is told nothing.
        drop(stream.write_all(&answer));
    }
}

fn read(stream: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        head.extend(byte);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let posted = Posted { head, body: Vec::new(), is_taken: false };
    let length = posted.header("content-length").and_then(|length| length.parse().ok())?;
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    Some((posted.head, body))
}

fn lock<T>(held: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}
