//! `OtlpLogs`: audit records as OTLP logs, posted to a collector a batch at a time.
//!
//! Nothing waits in memory: what is not taken stays in the store, and is read again later.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use trunkline_store::AuditRecord;

use super::follower::RenderRecord;
use crate::net::Client;
use crate::otlp::{
    FIRST_PAUSE, LONGEST_PAUSE, OtlpSender, OtlpTarget, PartialSuccess, ProtobufMessage, Protocol,
    SendResult,
};

/// Records that are sent together.
// The default of the SDKs of OpenTelemetry.
pub(super) const BATCH: usize = 512;

#[derive(Debug)]
pub(super) struct OtlpLogs {
    sender: OtlpSender,
    /// Not before then is the collector asked again, because of this.
    held: Option<(Instant, String)>,
    pause: Duration,
}

/// What became of a batch.
#[derive(Debug)]
pub(super) enum BatchResult {
    Taken,
    /// All but some, which the collector does not take, now or later.
    TakenInPart(PartialSuccess),
    /// The collector does not take these, now or later.
    Lost(String),
    /// They are to be sent again.
    Held(String),
}

impl OtlpLogs {
    /// The operator has named the address: it may be anywhere, in private networks as well.
    pub(super) fn new(target: OtlpTarget) -> Self {
        let client = Client::new(Arc::new(|_| Ok(())));
        Self { sender: OtlpSender::new(target, client), held: None, pause: FIRST_PAUSE }
    }

    /// Why it is to be left alone for now.
    pub(super) fn held(&self) -> Option<&str> {
        let (at, why) = self.held.as_ref()?;
        (Instant::now() < *at).then_some(why)
    }

    /// The next attempt is made at once.
    pub(super) fn hurry(&mut self) {
        self.held = None;
    }

    /// Asks once; `end` cuts it off.
    pub(super) async fn send(
        &mut self,
        batch: &[AuditRecord],
        render: RenderRecord,
        end: &CancellationToken,
    ) -> BatchResult {
        let target = self.sender.target();
        let body = match target.protocol {
            Protocol::Protobuf => protobuf(batch, render, &target.resource),
            Protocol::Json => json(batch, render, &target.resource),
        };
        let sent = tokio::select! {
            sent = self.sender.post(body) => sent,
            () = end.cancelled() => {
                return BatchResult::Held("the collector has not answered".to_owned());
            }
        };
        match sent {
            SendResult::Taken => {
                (self.held, self.pause) = (None, FIRST_PAUSE);
                BatchResult::Taken
            }
            SendResult::TakenInPart(partial) => {
                (self.held, self.pause) = (None, FIRST_PAUSE);
                BatchResult::TakenInPart(partial)
            }
            // The records themselves are refused, or there are too many bytes: the next ones may be taken. Any
            // other refusal (a wrong token, a wrong path) can be mended at the collector, and the store keeps
            // the records until then.
            SendResult::Refused { status: Some(400 | 413 | 422), why } => BatchResult::Lost(why),
            SendResult::Refused { why, .. } => self.hold(why, None),
            SendResult::Later { why, asked } => self.hold(why, asked),
        }
    }

    fn hold(&mut self, why: String, asked: Option<Duration>) -> BatchResult {
        let at = Instant::now() + asked.unwrap_or(self.pause).min(LONGEST_PAUSE);
        self.held = Some((at, why.clone()));
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        BatchResult::Held(why)
    }
}

/// "INFO" of OTLP's severities.
const SEVERITY: u8 = 9;
const EVENT: &str = "trunkline.audit";

/// The fields that a collector can filter by; the whole record is the body.
fn attributes(record: &AuditRecord) -> Vec<(&'static str, String)> {
    let what = &record.what;
    let mut all = vec![
        ("trunkline.audit.seq", record.seq.to_string()),
        ("trunkline.audit.action", what.action.clone()),
        ("trunkline.audit.outcome", what.outcome.clone()),
        ("trunkline.audit.principal", what.principal.clone()),
    ];
    all.extend(what.server_name.clone().map(|name| ("trunkline.audit.server", name)));
    all.extend(what.tool.clone().map(|tool| ("trunkline.audit.tool", tool)));
    all
}

/// Milliseconds as nanoseconds.
fn nanos(at: i64) -> u64 {
    u64::try_from(at).unwrap_or(0).saturating_mul(1_000_000)
}

/// An `ExportLogsServiceRequest` in JSON.
fn json(batch: &[AuditRecord], render: RenderRecord, resource: &[(String, String)]) -> Vec<u8> {
    let text = |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
    let about: Vec<Value> = resource.iter().map(|(key, value)| text(key, value)).collect();
    let log = |record: &AuditRecord| {
        let at = nanos(record.what.at).to_string();
        let attributes: Vec<Value> =
            attributes(record).iter().map(|(key, value)| text(key, value)).collect();
        json!({
            "timeUnixNano": at,
            "observedTimeUnixNano": at,
            "severityNumber": SEVERITY,
            "severityText": "INFO",
            "eventName": EVENT,
            "body": {"stringValue": render(record).to_string()},
            "attributes": attributes,
        })
    };
    let document = json!({
        "resourceLogs": [{
            "resource": {"attributes": about},
            "scopeLogs": [{
                "scope": {"name": "trunkline", "version": env!("CARGO_PKG_VERSION")},
                "logRecords": batch.iter().map(log).collect::<Vec<_>>(),
            }],
        }],
    });
    document.to_string().into_bytes()
}

/// An `ExportLogsServiceRequest` in protobuf.
fn protobuf(batch: &[AuditRecord], render: RenderRecord, resource: &[(String, String)]) -> Vec<u8> {
    let mut request = ProtobufMessage::default();
    request.message(1, |resource_logs| {
        resource_logs.resource(1, resource);
        resource_logs.message(2, |scope_logs| {
            scope_logs.scope(1);
            for record in batch {
                scope_logs.message(2, |log| {
                    let at = nanos(record.what.at);
                    log.fixed64(1, at);
                    log.number(2, u64::from(SEVERITY));
                    log.bytes(3, b"INFO");
                    log.message(5, |any| any.bytes(1, render(record).to_string().as_bytes()));
                    for (key, value) in attributes(record) {
                        log.attribute(6, key, &value);
                    }
                    log.fixed64(11, at);
                    log.bytes(12, EVENT.as_bytes());
                });
            }
        });
    });
    request.into_bytes()
}
