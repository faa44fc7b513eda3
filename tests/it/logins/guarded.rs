//! A scripted server behind a door that wants a token of an authority: everybody else gets a 401 that
//! says where the metadata is.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::json;

use super::authority::Authority;
use super::wire::{Request, respond};

#[derive(Debug, Clone)]
pub(super) struct Guarded {
    address: SocketAddr,
    path: &'static str,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    behind: SocketAddr,
    authority: Authority,
    /// Whom its metadata names.
    trusts: Mutex<String>,
    refused: Mutex<usize>,
    /// It takes no token at all.
    is_confused: Mutex<bool>,
    /// A tool whose calls need more than is ever granted.
    too_much: Mutex<Option<String>>,
}

impl Guarded {
    /// In front of the server at `behind`, whose endpoint is at `path`.
    pub(super) fn start(behind: SocketAddr, path: &'static str, authority: &Authority) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            behind,
            authority: authority.clone(),
            trusts: Mutex::new(authority.url()),
            refused: Mutex::new(0),
            is_confused: Mutex::new(false),
            too_much: Mutex::new(None),
        });
        let own = Self { address, path, shared };
        let serving = own.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let own = serving.clone();
                std::thread::spawn(move || own.converse(stream));
            }
        });
        own
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}{}", self.address, self.path)
    }

    pub(super) fn trust(&self, issuer: &str) {
        *self.shared.trusts.lock().unwrap() = issuer.to_owned();
    }

    pub(super) fn confuse(&self, is_confused: bool) {
        *self.shared.is_confused.lock().unwrap() = is_confused;
    }

    pub(super) fn wants_more_for(&self, tool: &str) {
        *self.shared.too_much.lock().unwrap() = Some(tool.to_owned());
    }

    /// Requests that were turned away.
    pub(super) fn refused(&self) -> usize {
        *self.shared.refused.lock().unwrap()
    }

    fn converse(&self, mut stream: TcpStream) {
        let (mut buffer, mut behind) = (Vec::new(), None);
        while let Some(request) = Request::read(&mut stream, &mut buffer) {
            if request.target.starts_with("/.well-known/oauth-protected-resource") {
                let trusts = self.shared.trusts.lock().unwrap().clone();
                let body = json!({ "resource": self.url(), "authorization_servers": [trusts] });
                respond(&mut stream, 200, "", &body.to_string());
            } else if *self.shared.is_confused.lock().unwrap()
                || !self.shared.authority.takes(request.header("authorization"))
            {
                *self.shared.refused.lock().unwrap() += 1;
                respond(&mut stream, 401, &self.challenge(""), "");
            } else if self.is_too_much(&request.body) {
                let more = ", error=\"insufficient_scope\", scope=\"read everything\"";
                respond(&mut stream, 403, &self.challenge(more), "");
            } else {
                let there = behind.get_or_insert_with(|| self.connect(&stream));
                if there.write_all(&request.raw).is_err() {
                    break;
                }
            }
        }
        if let Some(there) = behind {
            drop(there.shutdown(Shutdown::Both));
        }
    }

    fn is_too_much(&self, body: &str) -> bool {
        let tool = self.shared.too_much.lock().unwrap();
        tool.as_ref().is_some_and(|tool| body.contains(&format!("\"name\":\"{tool}\"")))
    }

    fn challenge(&self, more: &str) -> String {
        let place = format!("http://{}/.well-known/oauth-protected-resource", self.address);
        format!("WWW-Authenticate: Bearer resource_metadata=\"{place}\"{more}\r\n")
    }

    /// Everything the server says goes to the client as it is.
    fn connect(&self, client: &TcpStream) -> TcpStream {
        let there = TcpStream::connect(self.shared.behind).unwrap();
        let (mut from, mut to) = (there.try_clone().unwrap(), client.try_clone().unwrap());
        std::thread::spawn(move || {
            let mut chunk = [0; 8192];
            while let Ok(count) = from.read(&mut chunk) {
                if count == 0 || to.write_all(&chunk[..count]).is_err() {
                    break;
                }
            }
            drop(to.shutdown(Shutdown::Both));
        });
        there
    }
}
