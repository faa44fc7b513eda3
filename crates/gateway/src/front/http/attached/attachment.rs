//! `Attachment`: other routes on the same listener. It gets whole requests, answers them when it
//! likes, and decides by itself who may ask; only Host and Origin are checked before.

use std::fmt::{self, Debug};
use std::net::SocketAddr;
use std::sync::Arc;

use trunkline_http::Request;

use super::web_connection::WebConnection;
use super::web_reply::WebReply;
use crate::certificate::ClientCertificate;
use crate::front::http::access::ClientPeer;
use crate::limits::ATTACHED_BODY;

/// Answers requests under some paths.
pub trait Attachment: Debug + Send + Sync {
    /// Is this path one of its own? Called on the pump's thread, for every path that is not
    /// Trunkline's own.
    fn owns(&self, path: &str) -> bool;

    /// Does it answer a browser that asks for an unknown page? Programs get Trunkline's own answer.
    fn answers_browsers(&self) -> bool {
        false
    }

    /// What is to be read of the request's body, decided by its head; `head` has an empty body. Called on the
    /// pump's thread.
    fn body_rule(&self, _head: &WebRequest) -> BodyRule {
        BodyRule::Caller(ATTACHED_BODY)
    }

    /// Takes a request, on the runtime, and answers it at once or later, from any thread; the
    /// connection waits meanwhile. It must not block.
    fn handle(&self, visit: WebRequest, reply: WebReply);
}

/// What is read of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyRule {
    /// So many bytes at most: its sender is known.
    Caller(usize),
    /// Its sender is not known: so many bytes at most, and they take no room of those who are.
    Stranger(usize),
    /// Nothing, unless it has come with the head: the request is handed over without it (`unread`), and refused.
    Unread,
}

/// A request that has come in whole, or the head of one that is refused by it.
#[derive(Clone, Debug)]
pub struct WebRequest {
    pub method: String,
    /// Path and query, as sent.
    pub target: String,
    pub headers: WebHeaders,
    pub body: Vec<u8>,
    /// It has a body that was not read (`BodyRule::Unread`): it must not be carried out.
    pub unread: bool,
    pub peer: SocketAddr,
    /// The certificate that the client has shown; its chain was verified.
    pub certificate: Option<Arc<ClientCertificate>>,
    /// The client speaks TLS with this program itself.
    pub is_secure: bool,
    /// What it came on.
    pub connection: WebConnection,
}

impl WebRequest {
    pub(crate) fn new(request: &Request<'_>, body: &[u8], peer: &ClientPeer) -> Self {
        let query = request.query().map(|query| format!("?{query}")).unwrap_or_default();
        let headers = request.headers.iter();
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_vec())).collect();
        Self {
            method: request.method.to_owned(),
            target: format!("{}{query}", request.path()),
            headers: WebHeaders(headers),
            body: body.to_vec(),
            unread: false,
            peer: peer.address,
            certificate: peer.certificate.clone(),
            is_secure: peer.is_secure,
            connection: WebConnection::default(),
        }
    }

    pub fn path(&self) -> &str {
        self.target.split_once('?').map_or(&*self.target, |(path, _)| path)
    }

    pub fn query(&self) -> Option<&str> {
        self.target.split_once('?').map(|(_, query)| query)
    }
}

/// The headers of a request, in the order they came.
#[derive(Clone, Default)]
pub struct WebHeaders(Vec<(String, Vec<u8>)>);

impl WebHeaders {
    pub fn new(headers: Vec<(String, Vec<u8>)>) -> Self {
        Self(headers)
    }

    /// The first of this name, in any case.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.all(name).next()
    }

    /// The first header of this name, if it is text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(|value| std::str::from_utf8(value).ok())
    }

    /// The only one of this name; `None` also if there are several.
    pub fn only(&self, name: &str) -> Option<&[u8]> {
        let mut all = self.all(name);
        all.next().filter(|_| all.next().is_none())
    }

    pub fn all<'s, 'n>(&'s self, name: &'n str) -> impl Iterator<Item = &'s [u8]> + use<'s, 'n> {
        let named = self.0.iter().filter(move |(known, _)| known.eq_ignore_ascii_case(name));
        named.map(|(_, value)| &**value)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }
}

/// The names only: values may be secrets.
impl Debug for WebHeaders {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_visit_is_the_request() {
        for (target, path, query) in [
            ("/api/v1/servers", "/api/v1/servers", None),
            ("/api?a=1&b=?", "/api", Some("a=1&b=?")),
            ("http://localhost/api?x", "/api", Some("x")),
            ("http://localhost", "/", None),
        ] {
            let text = format!(
                "PUT {target} HTTP/1.1\r\nHost: a\r\nIf-Match: \"1\"\r\nx: 1\r\nX: 2\r\n\r\n"
            );
            let (request, _) = trunkline_http::request(text.as_bytes()).unwrap().unwrap();
            let visit =
                WebRequest::new(&request, b"body", &ClientPeer::plain(([127, 0, 0, 1], 9).into()));
            assert_eq!((&*visit.method, visit.path(), visit.query()), ("PUT", path, query));
            assert_eq!(visit.headers.text("if-match"), Some("\"1\""));
            assert_eq!(visit.headers.all("X").collect::<Vec<_>>(), [b"1", b"2"]);
            assert_eq!((visit.headers.only("x"), visit.headers.get("y")), (None, None));
            assert!(!format!("{visit:?}").contains("\"1\""), "{visit:?}");
        }
    }
}
