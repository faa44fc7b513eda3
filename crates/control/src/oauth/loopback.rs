//! Waits on this machine for the browser to come back from a login on the command line (RFC 8252).
//!
//! By hand: one request on one port; `Host` and `state` are checked before anything else is read.

use std::net::Ipv4Addr;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;
use trunkline_http::{BadHead, Request, request, response_head};

use crate::oauth::callback::{BadCallback, Callback};

const PATH: &str = "/callback";
/// For one connection to say what it wants.
const REQUEST: Duration = Duration::from_secs(10);
/// Connections at once: browsers open some in advance.
const MOST: usize = 16;

/// A listener for one login.
#[derive(Debug)]
pub struct Loopback {
    listener: TcpListener,
    port: u16,
}

#[derive(Debug, thiserror::Error)]
pub enum LoopbackError {
    #[error("nothing can be listened on: {0}")]
    Listen(#[from] std::io::Error),
    #[error("nobody came back within {} s", .0.as_secs())]
    Late(Duration),
}

impl Loopback {
    /// How long a person may take.
    pub const PATIENCE: Duration = Duration::from_secs(5 * 60);

    pub async fn bind() -> Result<Self, LoopbackError> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let port = listener.local_addr()?.port();
        Ok(Self { listener, port })
    }

    /// Where the browser is to come back to.
    pub fn redirect_uri(&self) -> String {
        format!("http://127.0.0.1:{}{PATH}", self.port)
    }

    /// The first answer with this state. Everything else that comes, from whatever page or program,
    /// is turned away and changes nothing.
    pub async fn receive(self, state: &str, patience: Duration) -> Result<Callback, LoopbackError> {
        let received = timeout(patience, self.listen(state)).await;
        received.unwrap_or(Err(LoopbackError::Late(patience)))
    }

    async fn listen(&self, state: &str) -> Result<Callback, LoopbackError> {
        let mut visits = JoinSet::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept(), if visits.len() < MOST => {
                    let (stream, _) = accepted?;
                    let (state, port) = (state.to_owned(), self.port);
                    visits.spawn(timeout(REQUEST, visit(stream, state, port)));
                }
                Some(visit) = visits.join_next() => {
                    if let Ok(Ok(Some(callback))) = visit {
                        return Ok(callback);
                    }
                }
            }
        }
    }
}

async fn visit(mut stream: TcpStream, state: String, port: u16) -> Option<Callback> {
    let mut bytes = Vec::new();
    let decision = loop {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
        match request(&bytes) {
            Ok(None) => {}
            Ok(Some((head, _))) => break decide(&head, &state, port),
            Err(bad) => {
                break CallbackDecision::refuse(BadHead::status(bad), "This is not understood.");
            }
        }
    };
    let (status, words, callback) = match decision {
        CallbackDecision::Take(callback) => {
            (200, "Thank you. How it went is shown where you started it.", Some(callback))
        }
        CallbackDecision::Refuse(status, words) => (status, words, None),
    };
    // The answer is in, whether its page can be shown or not.
    let _ = stream.write_all(&page(status, words)).await;
    let _ = stream.shutdown().await;
    callback
}

#[derive(Debug, PartialEq, Eq)]
enum CallbackDecision {
    Take(Callback),
    Refuse(u16, &'static str),
}

impl CallbackDecision {
    fn refuse(status: u16, words: &'static str) -> Self {
        Self::Refuse(status, words)
    }
}

fn decide(head: &Request<'_>, state: &str, port: u16) -> CallbackDecision {
    // A page that reaches us by a name of its own is not the browser coming back.
    if head.host() != Some(format!("127.0.0.1:{port}").as_str()) {
        return CallbackDecision::refuse(421, "Nothing is here under this name.");
    }
    if head.path() != PATH {
        return CallbackDecision::refuse(404, "Nothing is here.");
    }
    if head.method != "GET" {
        return CallbackDecision::refuse(405, "Nothing can be sent here.");
    }
    match Callback::parse(head.query().unwrap_or_default()) {
        Ok(callback) if callback.state == state => CallbackDecision::Take(callback),
        Ok(_) | Err(BadCallback::NoState) => {
            CallbackDecision::refuse(400, "This is not the login that is waited for.")
        }
        Err(_) => CallbackDecision::refuse(400, "This is not understood."),
    }
}

fn page(status: u16, words: &str) -> Vec<u8> {
    let body = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Trunkline</title>\
         <p>{words}</p><p>You can close this window.</p></html>\n"
    );
    let headers: [(&str, &[u8]); 4] = [
        ("Content-Type", b"text/html; charset=utf-8"),
        ("Cache-Control", b"no-store"),
        ("Content-Security-Policy", b"default-src 'none'; frame-ancestors 'none'"),
        // The address holds a code.
        ("Referrer-Policy", b"no-referrer"),
    ];
    let mut bytes = Vec::new();
    response_head(&mut bytes, status, &headers, Some(body.len()), false);
    bytes.extend_from_slice(body.as_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(30);

    #[test]
    fn only_the_browser_that_comes_back_is_taken() {
        let own = "GET /callback?state=s&code=c HTTP/1.1\r\nHost: 127.0.0.1:7\r\n\r\n";
        for (text, status) in [
            (own.to_owned(), 200),
            (own.replace("127.0.0.1:7", "evil.example:7"), 421),
            (own.replace("127.0.0.1:7", "localhost:7"), 421),
            (own.replace("/callback", "/favicon.ico"), 404),
            (own.replace("/callback", "/callback/x"), 404),
            (own.replace("GET", "POST"), 405),
            (own.replace("state=s", "state=t"), 400),
            (own.replace("state=s&", ""), 400),
            (own.replace("code=c", "code=c&code=d"), 400),
        ] {
            let (head, _) = request(text.as_bytes()).unwrap().unwrap();
            let got = match decide(&head, "s", 7) {
                CallbackDecision::Take(callback) => {
                    assert_eq!(callback, Callback::new("s", "c", None));
                    200
                }
                CallbackDecision::Refuse(status, _) => status,
            };
            assert_eq!(got, status, "{text}");
        }
    }

    async fn visit(address: &str, target: &str) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let head = format!("GET {target} HTTP/1.1\r\nHost: {address}\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn one_answer_is_received_whatever_else_comes() {
        let loopback = Loopback::bind().await.unwrap();
        let uri = loopback.redirect_uri();
        let address = uri.strip_prefix("http://").unwrap().strip_suffix(PATH).unwrap().to_owned();
        let browser = async {
            // One that was opened in advance and says nothing.
            let silent = TcpStream::connect(&address).await.unwrap();
            assert!(visit(&address, "/favicon.ico").await.starts_with("HTTP/1.1 404"));
            assert!(
                visit(&address, "/callback?state=x&code=evil").await.starts_with("HTTP/1.1 400")
            );
            let page = visit(&address, "/callback?state=s&code=c&iss=https%3A%2F%2Fa").await;
            assert!(page.starts_with("HTTP/1.1 200") && page.contains("no-referrer"), "{page}");
            drop(silent);
        };
        let (received, ()) = tokio::join!(loopback.receive("s", LONG), browser);
        assert_eq!(received.unwrap(), Callback::new("s", "c", Some("https://a")));
        assert!(TcpStream::connect(&address).await.is_err(), "it has ended");
    }

    #[tokio::test]
    async fn patience_ends() {
        let loopback = Loopback::bind().await.unwrap();
        let received = loopback.receive("s", Duration::from_millis(20)).await;
        assert!(matches!(received, Err(LoopbackError::Late(_))));
    }
}
