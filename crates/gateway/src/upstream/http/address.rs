//! Where a server is and what every request to it says.

use std::sync::Arc;

use trunkline_catalog::config::{NetworkRules, RemoteKind, is_own_header};
use trunkline_http::proxy::ChosenProxy;
use trunkline_http::{Url, is_field_name, is_field_value, request_head};

use crate::upstream::http::slot::{Exchange, Purpose};
use crate::upstream::http::trouble::Trouble;

/// Where a server is.
#[derive(Clone, Copy)]
pub(in crate::upstream) struct Remote<'a> {
    pub(in crate::upstream) url: &'a str,
    pub(in crate::upstream) kind: RemoteKind,
    pub(in crate::upstream) headers: &'a [(String, String)],
    pub(in crate::upstream) network: &'a NetworkRules,
}

/// Where requests go, and the user's own headers. No `Debug`: the headers are secrets.
#[derive(Clone)]
pub(super) struct Address {
    pub(super) url: Url,
    headers: Vec<(String, String)>,
    /// The proxy that reads the requests: it is told the whole URL, and who we are to it.
    pub(super) forwarder: Option<Arc<ChosenProxy>>,
}

pub(super) const AGENT: &str = concat!("trunkline/", env!("CARGO_PKG_VERSION"));

/// What is compressed would have to be unpacked before it can be passed on.
const PLAIN: [(&str, &[u8]); 1] = [("Accept-Encoding", b"identity")];

impl Address {
    pub(super) fn new(place: Remote<'_>) -> Result<Self, Trouble> {
        let url = Url::parse(place.url).map_err(|bad| Trouble::bad_url(&bad.to_string()))?;
        let mut headers = Vec::new();
        for (name, value) in place.headers {
            if !is_field_name(name) {
                return Err(Trouble::bad_header(name, "is no valid name of a header"));
            }
            if !is_field_value(value.as_bytes()) {
                return Err(Trouble::bad_header(name, "has a line end or control character in it"));
            }
            // A second length, host or session would contradict what the transport itself sends.
            if is_own_header(name) {
                return Err(Trouble::bad_header(name, "is set by Trunkline and cannot be changed"));
            }
            headers.push((name.clone(), value.clone()));
        }
        Ok(Self { url, headers, forwarder: None })
    }

    pub(super) fn forwarded_by(self, forwarder: Option<Arc<ChosenProxy>>) -> Self {
        Self { forwarder, ..self }
    }

    fn names_agent(&self) -> bool {
        self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("user-agent"))
    }

    fn head(&self, method: &str, own: &[(&str, &[u8])], out: &mut Vec<u8>) {
        let agent = [("User-Agent", AGENT.as_bytes())];
        let agent = agent.iter().filter(|_| !self.names_agent());
        let theirs = self.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
        let all = own.iter().chain(&PLAIN).chain(agent).copied().chain(theirs);
        let authority = self.url.authority();
        let Some(proxy) = &self.forwarder else {
            let all: Vec<_> = all.collect();
            return request_head(out, method, self.url.target(), &authority, &all, None);
        };
        let login = proxy.proxy.authorization();
        let login = login.iter().map(|value| ("Proxy-Authorization", value.as_bytes()));
        let all: Vec<_> = all.chain(login).collect();
        // RFC 9112, 3.2.2: a proxy is told the whole URL.
        request_head(out, method, &self.url.to_string(), &authority, &all, None);
    }
}

impl std::fmt::Debug for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Address").field("url", &self.url).finish_non_exhaustive()
    }
}

/// What is the same for every request of a session, written once.
pub(super) struct Session {
    pub(super) address: Address,
    /// Counts sessions: a request knows in which one it was refused.
    pub(super) number: u32,
    /// What the server called the session, and the revision that was agreed on.
    pub(super) id: Option<String>,
    pub(super) protocol: Option<String>,
    /// Who we are, where that comes of a login; counted, for a request knows what was refused.
    pub(super) authorization: Option<Arc<str>>,
    pub(super) introduction: u32,
    /// The head of a POST up to the length of its body.
    post: Vec<u8>,
}

impl Session {
    pub(super) fn new(address: Address) -> Self {
        let mut session = Self {
            address,
            number: 0,
            id: None,
            protocol: None,
            authorization: None,
            introduction: 0,
            post: Vec::new(),
        };
        session.write_again();
        session
    }

    /// The server has forgotten the session.
    pub(super) fn forget(&mut self) {
        self.number += 1;
        self.id = None;
        self.protocol = None;
        self.write_again();
    }

    /// Did the request that was sent in session `number` name one?
    pub(super) fn covers(&self, number: u32) -> bool {
        self.id.is_some() || number != self.number
    }

    pub(super) fn move_to(&mut self, url: Url) {
        self.address.url = url;
        self.write_again();
    }

    pub(super) fn name(&mut self, id: Option<String>) {
        self.id = id;
        self.write_again();
    }

    pub(super) fn agree(&mut self, protocol: String) {
        self.protocol = Some(protocol);
        self.write_again();
    }

    pub(super) fn authorize(&mut self, value: Option<Arc<str>>) {
        self.authorization = value;
        self.introduction = self.introduction.wrapping_add(1);
        self.write_again();
    }

    fn write_again(&mut self) {
        let mut post = Vec::new();
        let mut own: Vec<(&str, &[u8])> = vec![
            ("Content-Type", b"application/json"),
            ("Accept", b"application/json, text/event-stream"),
        ];
        own.extend(self.own());
        self.address.head("POST", &own, &mut post);
        // The length goes before the blank line.
        post.truncate(post.len().saturating_sub(2));
        post.extend_from_slice(b"Content-Length: ");
        self.post = post;
    }

    fn own(&self) -> impl Iterator<Item = (&'static str, &[u8])> {
        // 2025-11-25, Transports, Session Management and Protocol Version Header: both are named in
        // every request after `initialize`.
        let session = self.id.iter().map(|id| ("Mcp-Session-Id", id.as_bytes()));
        let protocol = self.protocol.iter().map(|name| ("MCP-Protocol-Version", name.as_bytes()));
        let login = self.authorization.iter().map(|value| ("Authorization", value.as_bytes()));
        session.chain(protocol).chain(login)
    }

    /// The head of the request for `exchange`, into an empty buffer.
    pub(super) fn head(&self, exchange: &Exchange, out: &mut Vec<u8>) {
        let mut own: Vec<(&str, &[u8])> = match exchange.purpose {
            Purpose::Goodbye => Vec::new(),
            purpose if purpose.is_stream() => vec![("Accept", b"text/event-stream")],
            _ => {
                out.extend_from_slice(&self.post);
                decimal(exchange.body.len(), out);
                out.extend_from_slice(b"\r\n");
                out.extend_from_slice(&exchange.fields);
                out.extend_from_slice(b"\r\n");
                return;
            }
        };
        own.extend(self.own());
        if !exchange.after.is_empty() {
            // 2025-11-25, Transports, Resumability and Redelivery.
            own.push(("Last-Event-ID", &exchange.after));
        }
        self.address.head(exchange.purpose.method(), &own, out);
    }
}

/// Without its heads: they hold secrets.
impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("address", &self.address)
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}

fn decimal(mut number: usize, out: &mut Vec<u8>) {
    let start = out.len();
    loop {
        out.push(b'0' + u8::try_from(number % 10).unwrap_or_default());
        number /= 10;
        if number == 0 {
            break;
        }
    }
    if let Some(digits) = out.get_mut(start..) {
        digits.reverse();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::upstream::http::slot::KeptBody;
    use trunkline_http::proxy::{NamedBy, Proxy};

    fn address(url: &str, headers: &[(&str, &str)]) -> Result<Address, Trouble> {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let headers: Vec<_> = headers.iter().map(own).collect();
        let network = NetworkRules::default();
        Address::new(Remote { url, kind: RemoteKind::Http, headers: &headers, network: &network })
    }

    fn head(session: &Session, exchange: &Exchange) -> String {
        let mut out = Vec::new();
        session.head(exchange, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_post_says_who_asks_and_what_for() {
        let address = address("http://h:1/mcp?k=v", &[("Authorization", "Bearer x")]).unwrap();
        let mut session = Session::new(address);
        let call = Exchange::post(Purpose::Tell, KeptBody::Small(b"{}".to_vec()));
        let rest = format!(
            "Accept-Encoding: identity\r\nUser-Agent: {AGENT}\r\nAuthorization: Bearer x\r\n"
        );
        assert_eq!(
            head(&session, &call),
            format!(
                "POST /mcp?k=v HTTP/1.1\r\nHost: h:1\r\nContent-Type: application/json\r\n\
                 Accept: application/json, text/event-stream\r\n{rest}Content-Length: 2\r\n\r\n"
            )
        );
        session.name(Some("s1".to_owned()));
        session.agree("2025-11-25".to_owned());
        let own = "Mcp-Session-Id: s1\r\nMCP-Protocol-Version: 2025-11-25\r\n";
        assert!(head(&session, &call).contains(own));
        assert_eq!(
            head(&session, &Exchange::bare(Purpose::Listen, b"7".to_vec())),
            format!(
                "GET /mcp?k=v HTTP/1.1\r\nHost: h:1\r\nAccept: text/event-stream\r\n{own}\
                 Last-Event-ID: 7\r\n{rest}\r\n"
            )
        );
        session.forget();
        assert!(!head(&session, &call).contains("Mcp-"));
    }

    #[test]
    fn a_proxy_that_reads_requests_is_told_the_whole_url_and_who_we_are() {
        let address = address("http://h:1/mcp?k=v", &[]).unwrap();
        let proxy = Proxy::parse("http://me:s3cret@p:3128").unwrap();
        let chosen = ChosenProxy { proxy, named_by: NamedBy::Entry };
        let session = Session::new(address.forwarded_by(Some(Arc::new(chosen))));
        let call = Exchange::post(Purpose::Tell, KeptBody::Small(b"{}".to_vec()));
        for exchange in [call, Exchange::bare(Purpose::Listen, Vec::new())] {
            let head = head(&session, &exchange);
            let method = exchange.purpose.method();
            let start = format!("{method} http://h:1/mcp?k=v HTTP/1.1\r\nHost: h:1\r\n");
            assert!(head.starts_with(&start), "{head}");
            assert!(head.contains("Proxy-Authorization: Basic bWU6czNjcmV0\r\n"), "{head}");
        }
        assert!(!format!("{session:?}").contains("s3cret"), "{session:?}");
    }

    #[test]
    fn what_would_break_the_protocol_is_refused() {
        for (name, value) in [("HOST", "x"), ("Content-Length", "1"), ("a b", "x"), ("A", "x\ny")] {
            assert!(address("http://h/", &[(name, value)]).unwrap_err().permanent, "{name}");
        }
        assert!(address("ftp://h/", &[]).unwrap_err().permanent);
        let agent = Session::new(address("http://h/", &[("user-agent", "me")]).unwrap());
        assert!(!head(&agent, &Exchange::bare(Purpose::Goodbye, Vec::new())).contains(AGENT));
    }

    #[test]
    fn numbers() {
        for number in [0, 7, 10, 1234567890] {
            let mut out = Vec::new();
            decimal(number, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), number.to_string());
        }
    }
}
