//! An authorization server on the loopback: metadata and keys, counted, and sometimes away.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::signer::{Signer, with};

#[derive(Debug)]
pub(super) struct Issuer {
    pub(super) signer: Signer,
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    is_away: AtomicBool,
    key_set: Mutex<String>,
    metadata: String,
    /// Requests for keys that were answered.
    fetches: AtomicUsize,
}

impl Issuer {
    pub(super) fn start() -> Self {
        Self::described_at("/.well-known/oauth-authorization-server")
    }

    /// With its metadata at this path only.
    pub(super) fn described_at(path: &str) -> Self {
        let signer = Signer::new();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let url = format!("http://{address}");
        let shared = Arc::new(Shared {
            is_away: AtomicBool::new(false),
            key_set: Mutex::new(signer.key_set()),
            metadata: json!({"issuer": url, "jwks_uri": format!("{url}/keys")}).to_string(),
            fetches: AtomicUsize::new(0),
        });
        let (serving, path) = (Arc::clone(&shared), path.to_owned());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                serving.answer(stream, &path);
            }
        });
        Self { signer, address, shared }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// From now on nobody is answered, or everybody again.
    pub(super) fn set_away(&self, is_away: bool) {
        self.shared.is_away.store(is_away, Ordering::SeqCst);
    }

    pub(super) fn publish(&self, key_set: String) {
        *self.shared.key_set.lock().unwrap() = key_set;
    }

    pub(super) fn fetches(&self) -> usize {
        self.shared.fetches.load(Ordering::SeqCst)
    }

    /// Good claims for this audience, with some replaced.
    pub(super) fn claims(&self, audience: &str, other: &Value) -> String {
        let now = now();
        let claims = json!({
            "iss": self.url(), "aud": audience, "sub": "alice", "iat": now, "exp": now + 300,
            "scope": "mcp:call",
        });
        with(claims, other)
    }

    /// A token for this audience that differs from a good one in these claims.
    pub(super) fn token(&self, audience: &str, other: &Value) -> String {
        let header = r#"{"alg":"EdDSA","kid":"ed","typ":"at+jwt"}"#;
        self.signer.sign("EdDSA", header, &self.claims(audience, other))
    }
}

impl Shared {
    fn answer(&self, mut stream: TcpStream, path: &str) {
        if self.is_away.load(Ordering::SeqCst) {
            return;
        }
        let (mut head, mut byte) = (Vec::new(), [0]);
        while !head.ends_with(b"\r\n\r\n") && matches!(stream.read(&mut byte), Ok(1)) {
            head.push(byte[0]);
        }
        let head = String::from_utf8_lossy(&head);
        let target = head.split(' ').nth(1).unwrap_or_default();
        let (status, body) = match target {
            "/keys" => {
                self.fetches.fetch_add(1, Ordering::SeqCst);
                ("200 OK", self.key_set.lock().unwrap().clone())
            }
            target if target == path => ("200 OK", self.metadata.clone()),
            _ => ("404 Not Found", "{}".to_owned()),
        };
        let length = body.len();
        let kind = "Content-Type: application/json\r\nConnection: close";
        let answer = format!("HTTP/1.1 {status}\r\n{kind}\r\nContent-Length: {length}\r\n\r\n");
        // Who does not wait for it is told nothing.
        drop(stream.write_all(&[answer.as_bytes(), body.as_bytes()].concat()));
    }
}

pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}
