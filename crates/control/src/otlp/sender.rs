//! `OtlpSender`: posts one encoded request to a collector and reads what its status means.

use std::time::Duration;

use trunkline_http::is_type;

use super::partial::PartialSuccess;
use super::target::{OtlpTarget, Protocol};
use crate::net::{Client, Limits, Request, Response};

const LIMITS: Limits = Limits { deadline: Duration::from_secs(10), max_body: 64 * 1024 };

/// The first pause before a request is repeated; each further one is twice as long.
pub(crate) const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// Longer than that a collector does not make us wait, whatever it says.
pub(crate) const LONGEST_PAUSE: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(crate) struct OtlpSender {
    target: OtlpTarget,
    client: Client,
}

/// What became of one request.
#[derive(Debug)]
pub(crate) enum SendResult {
    Taken,
    /// All but some: those are not taken, now or later.
    TakenInPart(PartialSuccess),
    /// It is never taken: a status, or none if the request could not be sent.
    Refused {
        status: Option<u16>,
        why: String,
    },
    /// It may be taken later, after this pause if the collector names one.
    Later {
        why: String,
        asked: Option<Duration>,
    },
}

impl OtlpSender {
    pub(crate) fn new(target: OtlpTarget, client: Client) -> Self {
        Self { target, client }
    }

    pub(crate) fn target(&self) -> &OtlpTarget {
        &self.target
    }

    /// Once. The caller decides whether to repeat it.
    pub(crate) async fn post(&self, body: Vec<u8>) -> SendResult {
        let kind = match self.target.protocol {
            Protocol::Protobuf => "application/x-protobuf",
            Protocol::Json => "application/json",
        };
        // A kept connection may have been closed meanwhile. A span has an id and an audit record a number: one
        // that arrives twice can be told.
        let mut request = Request::post(self.target.url.clone(), kind, body).repeatable();
        for (name, value) in &self.target.headers {
            request = request.header(name, value);
        }
        match self.client.send(request, LIMITS).await {
            Ok(answer) => verdict(&answer, self.target.protocol),
            Err(error) if error.may_retry() => {
                SendResult::Later { why: error.to_string(), asked: None }
            }
            Err(error) => SendResult::Refused { status: None, why: error.to_string() },
        }
    }
}

/// How an answer is written: as it says, else like the request.
fn written(answer: &Response, asked: Protocol) -> Protocol {
    match answer.text("Content-Type") {
        Some(kind) if is_type(kind.as_bytes(), "application/json") => Protocol::Json,
        Some(kind) if is_type(kind.as_bytes(), "application/x-protobuf") => Protocol::Protobuf,
        _ => asked,
    }
}

/// As OTLP has it: these four may be sent again, all others not.
fn verdict(answer: &Response, protocol: Protocol) -> SendResult {
    let why = || format!("the collector answers with status {}", answer.status);
    match answer.status {
        200..=299 => match PartialSuccess::read(&answer.body, written(answer, protocol)) {
            Some(partial) => SendResult::TakenInPart(partial),
            None => SendResult::Taken,
        },
        429 | 502 | 503 | 504 => {
            let seconds = answer.text("Retry-After").and_then(|text| text.trim().parse().ok());
            SendResult::Later { why: why(), asked: seconds.map(Duration::from_secs) }
        }
        status => SendResult::Refused { status: Some(status), why: why() },
    }
}
