//! A client of raw bytes: requests as they are written, responses as they come.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use trunkline_http::{Body, Framing, response};

pub(crate) struct Wire {
    stream: TcpStream,
    held: Vec<u8>,
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (known, value) = line.split_once(": ")?;
            known.eq_ignore_ascii_case(name).then_some(value)
        })
    }
}

const PATIENCE: Duration = Duration::from_secs(30);

impl Wire {
    pub(crate) fn to(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self { stream, held: Vec::new() }
    }

    pub(crate) fn write(&mut self, text: &str) {
        self.stream.write_all(text.as_bytes()).unwrap();
    }

    /// A request; `fields` are whole lines.
    pub(crate) fn send(&mut self, request: &str, fields: &str, body: &str) {
        let host = if fields.contains("Host:") { "" } else { "Host: localhost\r\n" };
        let length = body.len();
        self.write(&format!(
            "{request} HTTP/1.1\r\n{host}{fields}Content-Length: {length}\r\n\r\n{body}"
        ));
    }

    pub(crate) fn ask(&mut self, request: &str, fields: &str, body: &str) -> Answer {
        self.send(request, fields, body);
        self.answer(request.starts_with("HEAD "))
    }

    /// The next response; `to_head`: it has no body whatever it says.
    pub(crate) fn answer(&mut self, to_head: bool) -> Answer {
        let (head, framing) = self.head(to_head);
        let body = self.body(framing);
        Answer { status: head.split(' ').nth(1).unwrap().parse().unwrap(), head, body }
    }

    /// The head of the next response.
    fn head(&mut self, to_head: bool) -> (String, Framing) {
        loop {
            if let Some((response, length)) = response(&self.held).unwrap() {
                let framing = response.body(to_head).unwrap();
                let head = String::from_utf8(self.held.drain(..length).collect()).unwrap();
                return (head, framing);
            }
            assert!(self.fill(), "no response: {:?}", String::from_utf8_lossy(&self.held));
        }
    }

    fn body(&mut self, framing: Framing) -> String {
        let (mut body, mut out) = (Body::new(framing, 100 << 20), Vec::new());
        loop {
            let used = body.decode(&self.held, &mut out).unwrap();
            self.held.drain(..used);
            if body.is_complete() || !self.fill() {
                return String::from_utf8(out).unwrap();
            }
        }
    }

    /// Raw bytes of a stream until they hold `words`.
    pub(crate) fn until(&mut self, words: &str) -> String {
        loop {
            let text = String::from_utf8_lossy(&self.held).into_owned();
            if text.contains(words) {
                self.held.clear();
                return text;
            }
            assert!(self.fill(), "no {words:?} in {text:?}");
        }
    }

    /// The rest of a stream, until its last chunk or the end of the connection.
    pub(crate) fn rest(&mut self) -> String {
        // Comments keep a stream going that does not end: patience has its end all the same.
        let began = Instant::now();
        while !self.held.ends_with(b"0\r\n\r\n") && self.fill() {
            let text = String::from_utf8_lossy(&self.held);
            assert!(began.elapsed() < PATIENCE, "it does not end: {text:?}");
        }
        String::from_utf8(std::mem::take(&mut self.held)).unwrap()
    }

    /// False: the end.
    fn fill(&mut self) -> bool {
        let mut buffer = [0; 64 * 1024];
        let read = self.stream.read(&mut buffer).unwrap();
        self.held.extend_from_slice(&buffer[..read]);
        read > 0
    }
}
