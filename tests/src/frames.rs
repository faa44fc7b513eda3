//! A raw client of HTTP/2 over TLS: single frames out and back, whatever a well-behaved client would never send.
//!
//! Fields are written as literals and read only as far as `:status` needs.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use rustls::ClientConnection;

use crate::limit::Limit;
use crate::tunnel::Trust;

/// What a client says before its first frame (RFC 9113, 3.4).
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Kinds of frames (RFC 9113, 6).
pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const RESET: u8 = 3;
pub const SETTINGS: u8 = 4;
pub const PING: u8 = 6;
pub const GOAWAY: u8 = 7;
pub const WINDOW: u8 = 8;
pub const CONTINUATION: u8 = 9;

/// Flags.
pub const END_STREAM: u8 = 1;
pub const ACK: u8 = 1;
pub const END_HEADERS: u8 = 4;

/// The identifier of the window of each stream among the settings.
pub const INITIAL_WINDOW: u16 = 4;

/// Errors (RFC 9113, 7).
pub const CALM_DOWN: u32 = 11;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawFrame {
    pub kind: u8,
    pub flags: u8,
    pub stream: u32,
    pub payload: Vec<u8>,
}

impl RawFrame {
    /// The number at the start of what it brings.
    pub fn number(&self) -> u32 {
        let mut digits = [0; 4];
        digits.copy_from_slice(&self.payload[..4]);
        u32::from_be_bytes(digits)
    }

    /// The error of a GOAWAY.
    pub fn goodbye(&self) -> u32 {
        let mut digits = [0; 4];
        digits.copy_from_slice(&self.payload[4..8]);
        u32::from_be_bytes(digits)
    }

    /// The status of an answer, if it is one of those that HPACK has a number for; otherwise 0.
    pub fn status(&self) -> u16 {
        const KNOWN: [u16; 7] = [200, 204, 206, 304, 400, 404, 500];
        let first = self.payload.first().copied().unwrap_or_default();
        let known = first.checked_sub(0x88).and_then(|number| KNOWN.get(usize::from(number)));
        known.copied().unwrap_or_default()
    }

    pub fn ends(&self) -> bool {
        matches!(self.kind, DATA | HEADERS) && self.flags & END_STREAM != 0
    }
}

/// A connection that has shaken hands.
#[derive(Debug)]
pub struct Frames {
    stream: TcpStream,
    tls: ClientConnection,
    read: Vec<u8>,
    host: String,
}

impl Frames {
    /// Connects and says the preface with no settings.
    #[track_caller]
    pub fn open(address: SocketAddr, trust: &Trust) -> Self {
        Self::open_with(address, trust, &[])
    }

    /// … with these.
    #[track_caller]
    pub fn open_with(address: SocketAddr, trust: &Trust, settings: &[(u16, u32)]) -> Self {
        let mut frames = Self::silent(address, trust);
        frames.send(PREFACE);
        let settings: Vec<u8> = settings
            .iter()
            .flat_map(|(name, value)| [&name.to_be_bytes()[..], &value.to_be_bytes()].concat())
            .collect();
        frames.frame(SETTINGS, 0, 0, &settings);
        frames
    }

    /// Says nothing behind the handshake.
    #[track_caller]
    pub fn silent(address: SocketAddr, trust: &Trust) -> Self {
        let trust = trust.speaking(&[b"h2"]);
        let (stream, tls) = trust.connect(address).expect("a handshake");
        assert_eq!(tls.alpn_protocol(), Some(&b"h2"[..]), "it speaks HTTP/2");
        Self { stream, tls, read: Vec::new(), host: address.to_string() }
    }

    #[track_caller]
    pub fn send(&mut self, bytes: &[u8]) {
        self.try_send(bytes).expect("it is there");
    }

    pub fn try_send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        // In pieces: what is encrypted and not written is held in memory.
        for piece in bytes.chunks(1 << 14) {
            self.tls.writer().write_all(piece)?;
            while self.tls.wants_write() {
                self.tls.write_tls(&mut self.stream)?;
            }
        }
        Ok(())
    }

    /// From here on, sending fails where it would wait.
    pub fn stop_waiting(&self) {
        self.stream.set_nonblocking(true).expect("a socket");
    }

    /// Has the other side closed? Throws away what has come. Only where nothing waits ([`Frames::stop_waiting`]).
    pub fn has_ended(&mut self) -> bool {
        self.read.clear();
        !self.fill(Duration::ZERO)
    }

    #[track_caller]
    pub fn frame(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        self.send(&frame(kind, flags, stream, payload));
    }

    /// A request without a body.
    #[track_caller]
    pub fn get(&mut self, stream: u32, path: &str) {
        let head = self.head("GET", path, &[]);
        self.frame(HEADERS, END_HEADERS | END_STREAM, stream, &head);
    }

    /// The head of a request whose body follows.
    #[track_caller]
    pub fn post(&mut self, stream: u32, path: &str, fields: &[(&str, &str)]) {
        let head = self.head("POST", path, fields);
        self.frame(HEADERS, END_HEADERS, stream, &head);
    }

    /// The fields of a request.
    pub fn head(&self, method: &str, path: &str, fields: &[(&str, &str)]) -> Vec<u8> {
        let own = [
            (":method", method),
            (":scheme", "https"),
            (":path", path),
            (":authority", &*self.host),
        ];
        own.iter().chain(fields).flat_map(|(name, value)| field(name, value)).collect()
    }

    /// The next frame; `None`: the connection has ended.
    #[track_caller]
    pub fn next(&mut self, limit: impl Into<Limit>) -> Option<RawFrame> {
        let deadline = limit.into().begin();
        loop {
            if let Some(frame) = take(&mut self.read) {
                return Some(frame);
            }
            let left = deadline.left();
            assert!(!left.is_zero(), "no frame came in time");
            if !self.fill(left) {
                return None;
            }
        }
    }

    /// The next frame of this kind.
    #[track_caller]
    pub fn next_of(&mut self, kind: u8, limit: impl Into<Limit> + Copy) -> Option<RawFrame> {
        loop {
            let frame = self.next(limit)?;
            if frame.kind == kind {
                return Some(frame);
            }
        }
    }

    /// Reads more. False: there is no more.
    fn fill(&mut self, limit: Duration) -> bool {
        let mut chunk = vec![0; 1 << 16];
        match self.tls.reader().read(&mut chunk) {
            Ok(0) => return false,
            Ok(count) => {
                self.read.extend_from_slice(&chunk[..count]);
                return true;
            }
            Err(error) if error.kind() != ErrorKind::WouldBlock => return false,
            Err(_) => {}
        }
        self.stream.set_read_timeout(Some(limit.max(Duration::from_millis(1)))).expect("a socket");
        match self.tls.read_tls(&mut self.stream) {
            Ok(0) => false,
            Ok(_) => self.tls.process_new_packets().is_ok(),
            Err(error) => matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
        }
    }
}

/// One frame as bytes.
pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("a short payload").to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// A literal field that nobody remembers (RFC 7541, 6.2.2).
pub fn field(name: &str, value: &str) -> Vec<u8> {
    let mut out = vec![0];
    for text in [name, value] {
        integer(&mut out, text.len());
        out.extend_from_slice(text.as_bytes());
    }
    out
}

/// A length of seven bits and more (RFC 7541, 5.1).
fn integer(out: &mut Vec<u8>, value: usize) {
    let Some(mut rest) = value.checked_sub(127) else {
        return out.push(u8::try_from(value).expect("below 127"));
    };
    out.push(127);
    while rest >= 128 {
        out.push(u8::try_from(rest % 128).expect("below 128") | 128);
        rest /= 128;
    }
    out.push(u8::try_from(rest).expect("below 128"));
}

fn take(read: &mut Vec<u8>) -> Option<RawFrame> {
    let head: [u8; 9] = read.get(..9)?.try_into().ok()?;
    let length = usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2]);
    let payload = read.get(9..9 + length)?.to_vec();
    read.drain(..9 + length);
    let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
    Some(RawFrame { kind: head[3], flags: head[4], stream, payload })
}
