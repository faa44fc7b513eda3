//! `Streaming`: posts to an address that this program's own operator has named, and hands the answer on piece by piece.
//! No proxy stands between, and no address is judged: it is that of another replica.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::client::legacy;
use hyper_util::rt::TokioTimer;
use tokio_util::task::TaskTracker;

use crate::net::client::{Tasks, find};
use crate::net::connect::{Connector, words};
use crate::net::error::FetchError;

/// Less than what a front lets an idle connection live: a request must not meet its end.
const IDLE: Duration = Duration::from_secs(20);
/// Idle connections that are kept to each replica.
const MOST_IDLE: usize = 64;
/// Bytes of the head of an answer.
const MOST_HEAD: usize = 64 * 1024;

pub(crate) struct Streaming(legacy::Client<Connector, Full<Bytes>>);

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum StreamingFault {
    /// Nothing listens at that address.
    NobodyThere,
    /// No connection: nothing was sent.
    NotConnected(String),
    /// It broke after something was sent.
    Broken(String),
}

impl Streaming {
    pub(crate) fn new() -> Self {
        let client = legacy::Client::builder(Tasks(TaskTracker::new()))
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(MOST_IDLE)
            .pool_timer(TokioTimer::new())
            .http1_max_buf_size(MOST_HEAD)
            .build(Connector::new(Arc::new(|_| Ok(()))).direct());
        Self(client)
    }

    /// The answer as far as its head. Dropping it, or this, closes the connection.
    pub(crate) async fn post(
        &self,
        url: &str,
        headers: &[(&'static str, String)],
        body: Vec<u8>,
    ) -> Result<http::Response<Incoming>, StreamingFault> {
        let mut request =
            http::Request::post(url).header("Content-Type", "application/octet-stream");
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        let request = request.body(Full::from(body));
        let request = request.map_err(|bad| StreamingFault::NotConnected(bad.to_string()))?;
        self.0.request(request).await.map_err(|error| fault(&error))
    }
}

fn fault(error: &legacy::Error) -> StreamingFault {
    if !error.is_connect() {
        let why =
            find::<hyper::Error>(error).map_or_else(|| error.to_string(), ToString::to_string);
        return StreamingFault::Broken(why);
    }
    match find::<FetchError>(error) {
        Some(FetchError::Connect { why, .. }) if *why == refused() => StreamingFault::NobodyThere,
        Some(said) => StreamingFault::NotConnected(said.to_string()),
        None => StreamingFault::NotConnected(error.to_string()),
    }
}

/// How a refused connection is said.
fn refused() -> String {
    words(&io::Error::from(rustix::io::Errno::CONNREFUSED))
}

impl fmt::Debug for Streaming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Streaming").finish_non_exhaustive()
    }
}
