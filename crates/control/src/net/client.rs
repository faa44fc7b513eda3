//! `Client`: sends a request to an address that passed, and brings the answer within its limits.

use std::error::Error;
use std::fmt;
use std::io;
use std::iter::successors;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderName, HeaderValue};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body as _, Incoming};
use hyper::rt::Executor;
use hyper_util::client::legacy;
use hyper_util::rt::TokioTimer;
use rustls::ClientConfig;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;
use trunkline_http::Url;

use crate::net::connect::{Connector, Judge, fetch_error, words};
use crate::net::error::FetchError;
use crate::net::follow::{self, Redirect};
use crate::net::request::{Limits, Request};
use crate::net::response::Response;

/// An idle connection is closed a little before the usual load balancer does it (60 s).
const IDLE: Duration = Duration::from_secs(55);
/// Idle connections that are kept per origin: requests come in twos and threes at most.
const MOST_IDLE: usize = 4;
/// Bytes and fields of a response's head.
const MOST_HEAD: usize = 64 * 1024;
const MOST_FIELDS: usize = 128;

#[derive(Clone)]
pub struct Client {
    connector: Connector,
    reusing: Inside,
    /// Closes each connection behind its answer.
    fresh: Inside,
}

type Inside = legacy::Client<Connector, Full<Bytes>>;

impl Client {
    /// `judge` is asked about each address before it is connected to, literals included. TLS trusts
    /// the system's authorities. The environment names the proxies, as it does for other programs.
    pub fn new(judge: Judge) -> Self {
        Self::over(Connector::new(judge))
    }

    /// With authorities of one's own.
    #[must_use]
    pub fn trusting(self, config: Arc<ClientConfig>) -> Self {
        Self::over(self.connector.trusting(config))
    }

    pub(super) fn over(connector: Connector) -> Self {
        let build = |most_idle: usize| {
            legacy::Client::builder(Tasks(TaskTracker::new()))
                .pool_idle_timeout(IDLE)
                .pool_max_idle_per_host(most_idle)
                .pool_timer(TokioTimer::new())
                .http1_max_buf_size(MOST_HEAD)
                .http1_max_headers(MOST_FIELDS)
                .build(connector.clone())
        };
        Self { reusing: build(MOST_IDLE), fresh: build(0), connector }
    }

    /// Whatever status the answer has, it is one. Dropping the future closes the connection.
    pub async fn send(&self, mut request: Request, limits: Limits) -> Result<Response, FetchError> {
        let origin = request.url.origin().to_string();
        let all = async {
            let mut followed = 0;
            loop {
                let answer = Box::pin(self.once(&request, limits.max_body)).await?;
                match follow::next(&request, &answer, followed) {
                    Redirect::None => return Ok(answer),
                    Redirect::To(url) => request.url = url,
                    Redirect::Refused(why) => {
                        let origin = request.url.origin().to_string();
                        return Err(FetchError::Redirect { origin, why });
                    }
                }
                followed += 1;
            }
        };
        let after = limits.deadline;
        timeout(after, all).await.unwrap_or(Err(FetchError::Timeout { origin, after }))
    }

    async fn once(&self, request: &Request, max_body: usize) -> Result<Response, FetchError> {
        let proxy = self.connector.proxy_of(&request.url);
        let message = || request.message(proxy.as_ref());
        let reused = match request.is_repeatable {
            true => Some(self.reusing.request(message()?).await),
            false => None,
        };
        let answer = match reused {
            Some(answer) if !answer.as_ref().is_err_and(was_lost) => answer,
            _ => self.fresh.request(message()?).await,
        };
        let answer = answer.map_err(|error| unanswered(&request.url, &error))?;
        receive(&request.url, answer, max_body).await
    }
}

async fn receive(
    url: &Url,
    answer: http::Response<Incoming>,
    limit: usize,
) -> Result<Response, FetchError> {
    let origin = || url.origin().to_string();
    let malformed = |why: &str| FetchError::Malformed { origin: origin(), why: why.to_owned() };
    let too_big = || FetchError::TooBig { origin: origin(), limit };
    let (head, mut body) = answer.into_parts();
    if head.status == http::StatusCode::SWITCHING_PROTOCOLS {
        return Err(malformed("it switches to another protocol"));
    }
    // RFC 9112, 6.3: two readers could take such an answer differently, and the next one on this
    // connection with it.
    let has = |name| head.headers.contains_key(name);
    if has(http::header::CONTENT_LENGTH) && has(http::header::TRANSFER_ENCODING) {
        return Err(malformed("Content-Length and Transfer-Encoding exclude each other"));
    }
    // Hyper's bound is on its buffer, which may hold twice as much when the head is complete.
    let length = |(name, value): (&HeaderName, &HeaderValue)| name.as_str().len() + value.len();
    if head.headers.iter().map(length).sum::<usize>() > MOST_HEAD {
        return Err(malformed("the header is too large"));
    }
    if body.size_hint().lower() > u64::try_from(limit).unwrap_or(u64::MAX) {
        return Err(too_big());
    }
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| malformed(&cut_off(&error)))?;
        // Trailers say nothing that is read here.
        let Ok(data) = frame.into_data() else { continue };
        if data.len() > limit - bytes.len() {
            return Err(too_big());
        }
        bytes.extend_from_slice(&data);
    }
    let headers = head.headers.iter();
    let headers = headers.map(|(name, value)| (name.to_string(), value.as_bytes().to_vec()));
    Ok(Response { status: head.status.as_u16(), headers: headers.collect(), body: bytes })
}

/// The connection ended before any of the answer: its server may have closed it while it was idle.
fn was_lost(error: &legacy::Error) -> bool {
    let broke = |error: &io::Error| {
        matches!(error.kind(), io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe)
    };
    let ended = |error: &hyper::Error| {
        error.is_incomplete_message() || error.is_canceled() || error.is_closed()
    };
    !error.is_connect()
        && (find::<hyper::Error>(error).is_some_and(ended)
            || find::<io::Error>(error).is_some_and(broke))
}

fn unanswered(url: &Url, error: &legacy::Error) -> FetchError {
    if error.is_connect() {
        return fetch_error(url, error);
    }
    let why = match find::<hyper::Error>(error) {
        Some(bad) if bad.is_incomplete_message() => "the connection ended without one".to_owned(),
        Some(bad) if bad.is_parse() => bad.to_string(),
        _ => format!("the connection broke off: {}", reason(error)),
    };
    FetchError::Malformed { origin: url.origin().to_string(), why }
}

/// An encrypted stream that ends without a goodbye is an error here, too, so that nobody can shorten
/// a body that ends with its connection.
fn cut_off(error: &hyper::Error) -> String {
    match find::<io::Error>(error).map(io::Error::kind) {
        Some(io::ErrorKind::UnexpectedEof) => "the body ended early".to_owned(),
        Some(io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData) => {
            "the chunked body is malformed".to_owned()
        }
        _ => format!("the connection broke off: {}", reason(error)),
    }
}

fn reason(error: &(dyn Error + 'static)) -> String {
    find::<io::Error>(error).map_or_else(|| error.to_string(), words)
}

/// The first error of this kind in a chain of causes.
pub(super) fn find<'e, E: Error + 'static>(error: &'e (dyn Error + 'static)) -> Option<&'e E> {
    successors(Some(error), |error| (*error).source()).find_map(|error| error.downcast_ref())
}

/// Connections are driven by tasks of their client's, which end when it is dropped: its pool holds
/// the other end of each.
#[derive(Clone)]
pub(super) struct Tasks(pub(super) TaskTracker);

impl<F> Executor<F> for Tasks
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    fn execute(&self, task: F) {
        self.0.spawn(task);
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}
