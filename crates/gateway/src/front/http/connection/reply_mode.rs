//! `ReplyMode`: how a client wants to be answered, as its request says.

use trunkline_http::Request;

/// How the client wants to be answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReplyMode {
    /// Another request may follow on this connection.
    pub(crate) keep_alive: bool,
    /// The request was refused before its end was read.
    pub(crate) unread: bool,
    /// The client understands chunks: HTTP/1.0 does not.
    pub(crate) chunks: bool,
    /// The request is `HEAD`: no body is sent.
    pub(crate) headless: bool,
    /// The Origin that the browser may show the answer to.
    pub(crate) origin: Option<Box<str>>,
    /// An attached route: refusals are `problem+json`, not JSON-RPC errors.
    pub(crate) api: bool,
    /// The `traceparent` header, where requests are traced.
    pub(crate) parent: Option<Box<str>>,
}

impl ReplyMode {
    /// What nearly all clients get; the head cache compares with it.
    pub(crate) const PLAIN: Self = Self {
        keep_alive: true,
        unread: false,
        chunks: true,
        headless: false,
        origin: None,
        api: false,
        parent: None,
    };

    pub(crate) fn of(request: &Request<'_>, origin: Option<&str>) -> Self {
        Self {
            // HTTP/1.0 keeps a connection only if told each time; a new one does no harm.
            keep_alive: request.minor >= 1 && request.keeps_alive(),
            unread: false,
            chunks: request.minor >= 1,
            headless: request.method == "HEAD",
            origin: origin.map(Into::into),
            api: false,
            parent: None,
        }
    }

    /// For a stream of HTTP/2, whose frames say where the answer ends.
    pub(crate) fn without_chunks(self) -> Self {
        Self { chunks: false, ..self }
    }

    /// For a request that cannot be read to its end.
    pub(crate) fn lost() -> Self {
        Self { keep_alive: false, unread: true, ..Self::PLAIN }
    }
}
