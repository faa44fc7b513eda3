//! Tests: an HTTP server on loopback that answers with exact bytes.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use trunkline_http::{Body, Framing, request};

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

#[derive(Debug, Clone)]
pub(crate) enum Answer {
    /// These bytes, then the end of the connection.
    Bytes(Vec<u8>),
    /// These bytes, then the next request on this connection.
    Open(Vec<u8>),
    /// Nothing, and the connection stays open.
    Silence,
}

/// Ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Fake {
    pub(crate) address: SocketAddr,
    /// How many connections there were.
    pub(crate) connections: Arc<AtomicUsize>,
    _tasks: JoinSet<()>,
}

type Handler = Arc<dyn Fn(Asked) -> Answer + Send + Sync>;

impl Fake {
    pub(crate) async fn start(handler: impl Fn(Asked) -> Answer + Send + Sync + 'static) -> Self {
        Self::behind(None, handler).await
    }

    /// Over TLS.
    pub(crate) async fn secured(
        config: rustls::ServerConfig,
        handler: impl Fn(Asked) -> Answer + Send + Sync + 'static,
    ) -> Self {
        Self::behind(Some(tokio_rustls::TlsAcceptor::from(Arc::new(config))), handler).await
    }

    async fn behind(
        tls: Option<tokio_rustls::TlsAcceptor>,
        handler: impl Fn(Asked) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let handler: Handler = Arc::new(handler);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&connections);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::Relaxed);
                let (handler, tls) = (Arc::clone(&handler), tls.clone());
                connections.spawn(async move {
                    match tls {
                        None => serve(stream, handler).await,
                        Some(tls) => serve_secured(tls, stream, handler).await,
                    }
                });
            }
        });
        Self { address, connections, _tasks: tasks }
    }

    pub(crate) fn url(&self, target: &str) -> String {
        format!("http://{}{target}", self.address)
    }
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut named = self.headers.iter().filter(|(own, _)| own.eq_ignore_ascii_case(name));
        named.next().map(|(_, value)| value.as_str())
    }
}

impl Answer {
    pub(crate) fn json(status: u16, body: &str) -> Self {
        Self::with(status, &[("Content-Type", "application/json")], body)
    }

    pub(crate) fn with(status: u16, headers: &[(&str, &str)], body: &str) -> Self {
        Self::Bytes(written(status, headers, body, false))
    }

    /// The connection stays open for more.
    pub(crate) fn open(status: u16, body: &str) -> Self {
        Self::Open(written(status, &[], body, true))
    }
}

fn written(status: u16, headers: &[(&str, &str)], body: &str, keep_alive: bool) -> Vec<u8> {
    let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_bytes())).collect();
    let mut bytes = Vec::new();
    trunkline_http::response_head(&mut bytes, status, &headers, Some(body.len()), keep_alive);
    bytes.extend_from_slice(body.as_bytes());
    bytes
}

async fn serve(mut stream: impl AsyncRead + AsyncWrite + Unpin, handler: Handler) {
    while let Some(asked) = read(&mut stream).await {
        match handler(asked) {
            Answer::Bytes(bytes) => {
                // Who has read enough hangs up.
                let _ = stream.write_all(&bytes).await;
                let _ = stream.shutdown().await;
                return;
            }
            Answer::Open(bytes) => stream.write_all(&bytes).await.unwrap(),
            Answer::Silence => std::future::pending().await,
        }
    }
}

async fn serve_secured(tls: tokio_rustls::TlsAcceptor, stream: TcpStream, handler: Handler) {
    // A client that does not trust us is gone.
    if let Ok(stream) = tls.accept(stream).await {
        serve(stream, handler).await;
    }
}

async fn read(stream: &mut (impl AsyncRead + Unpin)) -> Option<Asked> {
    let mut bytes = Vec::new();
    loop {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
        let Some((head, length)) = request(&bytes).unwrap() else { continue };
        let mut asked = Asked {
            method: head.method.to_owned(),
            target: head.target.to_owned(),
            headers: head
                .headers
                .iter()
                .map(|(name, value)| (name.to_owned(), String::from_utf8_lossy(value).into()))
                .collect(),
            body: Vec::new(),
        };
        let framing = head.body().unwrap();
        assert!(matches!(framing, Framing::None | Framing::Length(_)));
        let mut body = Body::new(framing, usize::MAX);
        body.decode(&bytes[length..], &mut asked.body).unwrap();
        while !body.is_complete() {
            bytes.clear();
            if stream.read_buf(&mut bytes).await.ok()? == 0 {
                return None;
            }
            body.decode(&bytes, &mut asked.body).unwrap();
        }
        return Some(asked);
    }
}
