//! A client of the REST API: exact bytes out, statuses, headers and JSON back.

use std::net::{Ipv4Addr, SocketAddr};

use serde_json::Value;

use crate::LIMIT;
use crate::http::{Ask, Connection, Response};

/// Every request goes over a connection of its own.
#[derive(Debug, Clone)]
pub struct Rest {
    address: SocketAddr,
    token: Option<String>,
    /// Another address of the loopback than the usual one.
    from: Option<Ipv4Addr>,
}

/// What came back, and to what.
#[derive(Debug)]
pub struct Answer {
    pub response: Response,
    asked: String,
}

impl Rest {
    pub fn new(address: SocketAddr, token: Option<&str>) -> Self {
        Self { address, token: token.map(str::to_owned), from: None }
    }

    /// This client at another address of the loopback.
    #[must_use]
    pub fn coming_from(self, from: Ipv4Addr) -> Self {
        Self { from: Some(from), ..self }
    }

    /// A GET, or another method without a body.
    #[track_caller]
    pub fn bare(&self, method: &str, path: &str) -> Answer {
        self.send(&Ask::new(method, path))
    }

    #[track_caller]
    pub fn get(&self, path: &str) -> Answer {
        self.bare("GET", path)
    }

    #[track_caller]
    pub fn delete(&self, path: &str) -> Answer {
        self.bare("DELETE", path)
    }

    #[track_caller]
    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.with_body("POST", path, body.to_string().as_bytes())
    }

    #[track_caller]
    pub fn patch(&self, path: &str, body: &Value) -> Answer {
        self.with_body("PATCH", path, body.to_string().as_bytes())
    }

    /// Exactly these bytes as the body.
    #[track_caller]
    pub fn with_body(&self, method: &str, path: &str, body: &[u8]) -> Answer {
        self.send(&Ask::new(method, path).header("Content-Type", "application/json").body(body))
    }

    /// Any request, with this client's token unless it has its own.
    #[track_caller]
    pub fn send(&self, ask: &Ask) -> Answer {
        let mut connection = self.begin(ask);
        Answer { response: connection.response(LIMIT), asked: shown(ask) }
    }

    /// Sends a request on a connection of its own; what comes back is still to be read.
    #[track_caller]
    pub fn begin(&self, ask: &Ask) -> Connection {
        let mut connection = self.open();
        connection.begin(&self.dress(ask));
        connection
    }

    /// Sends the head, as many clients do, and the body when the head has been read.
    #[track_caller]
    pub fn send_body_later(&self, ask: &Ask) -> Answer {
        const END: &[u8] = b"\r\n\r\n";
        let mut connection = self.open();
        let bytes = self.dress(ask).bytes(&self.address.to_string());
        let end = bytes.windows(END.len()).position(|part| part == END).expect("a head");
        let (head, body) = bytes.split_at(end + END.len());
        connection.send(head);
        // Whoever answers this has read what came before.
        assert_eq!(self.get("/healthz").status(), 200);
        connection.send(body);
        Answer { response: connection.response(LIMIT), asked: shown(ask) }
    }

    #[track_caller]
    fn open(&self) -> Connection {
        match self.from {
            Some(from) => Connection::open_from(from, self.address),
            None => Connection::open(self.address),
        }
    }

    /// [`Rest::send`] to somebody who may die before the answer.
    pub fn try_send(&self, ask: &Ask) -> Option<Answer> {
        let mut connection = Connection::try_open(self.address).ok()?;
        connection.try_send(&self.dress(ask).bytes(&self.address.to_string())).ok()?;
        Some(Answer { response: connection.try_response(LIMIT)?, asked: shown(ask) })
    }

    fn dress(&self, ask: &Ask) -> Ask {
        match &self.token {
            Some(token) => ask.clone().header("Authorization", &format!("Bearer {token}")),
            None => ask.clone(),
        }
    }
}

impl Answer {
    pub fn status(&self) -> u16 {
        self.response.status()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.response.head.header(name)
    }

    /// The body, which has to be JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        let body = &self.response.body;
        serde_json::from_slice(body).unwrap_or_else(|error| panic!("{error}: {self}"))
    }

    /// It has this status; its body.
    #[track_caller]
    pub fn is(&self, status: u16) -> Value {
        assert_eq!(self.status(), status, "{self}");
        match self.response.body.is_empty() {
            true => Value::Null,
            false => self.json(),
        }
    }

    /// It is a problem of this kind as RFC 9457 writes it, and says what to do.
    #[track_caller]
    pub fn problem(&self, status: u16, name: &str) -> Value {
        assert_eq!(self.status(), status, "{self}");
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self}");
        let problem = self.json();
        assert_eq!(problem["type"], format!("urn:trunkline:problem:{name}"), "{self}");
        assert_eq!(problem["status"], status, "{self}");
        for member in ["title", "detail", "hint"] {
            assert!(problem[member].as_str().is_some_and(|text| !text.is_empty()), "{self}");
        }
        problem
    }
}

/// For the message of a failed test.
impl std::fmt::Display for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let body = self.response.text();
        let body: String = body.chars().take(3000).collect();
        write!(f, "{}\n-- answer: {}\n{body}", self.asked, self.response.head.raw.trim_end())
    }
}

/// The first line, for messages.
fn shown(ask: &Ask) -> String {
    let bytes = ask.bytes("");
    let line = bytes.split(|byte| *byte == b'\r').next().unwrap_or_default();
    String::from_utf8_lossy(line).into_owned()
}
