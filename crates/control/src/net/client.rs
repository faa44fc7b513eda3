//! `Client`: sends a request to an address that passed, and brings the answer within its limits.

use std::fmt;
use std::sync::Arc;

use rustls::ClientConfig;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;
use trunkline_http::Url;

use crate::net::connect::{Judge, Stream, connect, words};
use crate::net::error::FetchError;
use crate::net::follow::{self, Step};
use crate::net::receive::{Fault, Receiving};
use crate::net::request::{Limits, Request};
use crate::net::response::Response;

/// Room offered to one read.
const ROOM: usize = 16 * 1024;

#[derive(Clone)]
pub struct Client {
    judge: Judge,
    trust: Option<Arc<ClientConfig>>,
}

impl Client {
    /// `judge` is asked about each address before it is connected to, literals included. TLS trusts
    /// the system's authorities.
    pub fn new(judge: Judge) -> Self {
        Self { judge, trust: None }
    }

    /// With authorities of one's own.
    #[must_use]
    pub fn trusting(mut self, config: Arc<ClientConfig>) -> Self {
        self.trust = Some(config);
        self
    }

    /// Whatever status the answer has, it is one. Dropping the future closes the connection.
    pub async fn send(&self, mut request: Request, limits: Limits) -> Result<Response, FetchError> {
        let origin = request.url.origin().to_string();
        let all = async {
            let mut followed = 0;
            loop {
                let answer = Box::pin(self.once(&request, limits.max_body)).await?;
                match follow::next(&request, &answer, followed) {
                    Step::Done => return Ok(answer),
                    Step::To(url) => request.url = url,
                    Step::Refused(why) => {
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
        let head = request.head()?;
        let stream = connect(&request.url, &self.judge, self.trust.as_ref()).await?;
        let receiving = Receiving::new(max_body, request.method == "HEAD");
        let body = request.body.as_deref().unwrap_or_default();
        converse(&request.url, stream, &[&head, body].concat(), receiving).await
    }
}

/// Reads while it writes: a server may answer, and close, before it has read everything.
async fn converse(
    url: &Url,
    stream: Box<dyn Stream>,
    message: &[u8],
    receiving: Receiving,
) -> Result<Response, FetchError> {
    let (mut input, mut output) = tokio::io::split(stream);
    let sending = async {
        output.write_all(message).await?;
        output.flush().await
    };
    let answer = receive(url, &mut input, receiving);
    tokio::pin!(answer);
    tokio::select! {
        biased;
        answer = &mut answer => answer,
        sent = sending => match (answer.await, sent) {
            (Err(FetchError::Malformed { origin, .. }), Err(error)) => {
                Err(FetchError::Connect { origin, why: words(&error) })
            }
            (answer, _) => answer,
        },
    }
}

async fn receive(
    url: &Url,
    input: &mut (impl tokio::io::AsyncRead + Unpin),
    mut receiving: Receiving,
) -> Result<Response, FetchError> {
    let limit = receiving.limit();
    let origin = || url.origin().to_string();
    let fault = |fault: Fault| match fault {
        Fault::TooBig => FetchError::TooBig { origin: origin(), limit },
        Fault::Malformed(why) => FetchError::Malformed { origin: origin(), why },
    };
    let mut room = vec![0; ROOM];
    loop {
        // An encrypted stream that ends without a goodbye is an error here, so that nobody can
        // shorten a body that ends with its connection.
        let count = input.read(&mut room).await.map_err(|error| {
            let why = format!("the connection broke off: {}", words(&error));
            FetchError::Malformed { origin: origin(), why }
        })?;
        let bytes = room.get(..count).unwrap_or_default();
        if bytes.is_empty() {
            return receiving.end().map_err(fault);
        }
        if let Some(answer) = receiving.take(bytes).map_err(fault)? {
            return Ok(answer);
        }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}
