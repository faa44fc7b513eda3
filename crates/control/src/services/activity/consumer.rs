//! `EventConsumer`: takes what the data plane tells of calls, counts it and records it, in batches.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::time::sleep;
use trunkline_catalog::name::escaped;
use trunkline_gateway::{CallEnded, Event, EventSink, Outcome, ResultFound};
use trunkline_store::NewAudit;

use crate::access::{KeyId, read_label};
use crate::audit::Audit;
use crate::clock;
use crate::health::{CallQuality, HealthTable, Incident};
use crate::keys::ApiKeys;
use crate::metrics::{CallOutcome as Counted, Metrics};
use crate::policies::PolicyHolder;
use crate::services::background::Background;
use crate::services::directory::KnownServers;
use crate::services::records::{hex, principal_of};

/// Between two batches. Waking for each call and a transaction for each record would cost several times
/// what the call itself does. It is also how old a record can be that a `kill -9` takes along.
const GATHER: Duration = Duration::from_millis(50);
/// A full batch: the next one follows at once.
const MOST_AT_ONCE: usize = 1024;

#[derive(Debug)]
pub(crate) struct EventConsumer {
    pub(crate) known: Arc<KnownServers>,
    pub(crate) health: Arc<HealthTable>,
    pub(crate) keys: Arc<ApiKeys>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) audit: Audit,
    pub(crate) policies: Arc<PolicyHolder>,
    pub(crate) background: Background,
}

impl EventConsumer {
    /// Everything the data plane tells, until the end.
    pub(crate) async fn run(&self, mut events: mpsc::Receiver<Event>, sink: &EventSink) {
        let mut batch = Vec::new();
        loop {
            let count = tokio::select! {
                count = events.recv_many(&mut batch, MOST_AT_ONCE) => count,
                () = self.background.end().cancelled() => break,
            };
            if count == 0 {
                break;
            }
            batch.drain(..).for_each(|event| self.consume(&event));
            self.count_refused(sink);
            if count == MOST_AT_ONCE {
                continue;
            }
            tokio::select! {
                () = sleep(GATHER) => {}
                () = self.background.end().cancelled() => break,
            }
        }
        // What was told before the end is recorded.
        while let Ok(event) = events.try_recv() {
            self.consume(&event);
        }
        self.count_refused(sink);
    }

    fn consume(&self, event: &Event) {
        match event {
            Event::CallEnded(call) => self.call_ended(call),
            Event::RequestEnded(request) => self.request_ended(request),
            Event::ResultFound(found) => self.result_found(found),
            // The monitor looks at the servers itself.
            Event::ServerChanged { .. } => {}
        }
    }

    fn call_ended(&self, call: &CallEnded) {
        let directory = self.known.directory();
        let entry = directory.by_id(&call.id);
        let counted = counted(call.outcome);
        // It may have been renamed since: metrics go by the name of now.
        let name = entry.map_or(&*call.server, |entry| &entry.name);
        self.metrics.call(name, counted, call.duration);
        let at = at(call.ended);
        self.health.call_ended(&call.id, ended(call.outcome), call.duration, || Incident {
            at,
            what: trouble(call.outcome, &call.tool),
        });
        let (credential, address) = match call.who.as_deref().map(read_label) {
            Some((credential, address)) => (Some(credential), address),
            None => (None, None),
        };
        self.key_used(credential, at);
        let duration = i64::try_from(call.duration.as_micros()).unwrap_or(i64::MAX);
        self.audit.record(NewAudit {
            at,
            principal: principal_of(&self.keys, credential),
            credential_id: credential.map(str::to_owned),
            address: address.filter(|address| !address.is_empty()).map(str::to_owned),
            action: "call-tool".to_owned(),
            server_id: entry.map(|entry| entry.id.clone()),
            server_name: Some(call.server.to_string()),
            tool: Some(call.tool.clone()),
            argument_hash: Some(hex(&call.argument_hash)),
            outcome: counted.as_str().to_owned(),
            detail: detail(call.outcome),
            duration_us: Some(duration),
            ..NewAudit::default()
        });
    }

    fn result_found(&self, found: &ResultFound) {
        let ResultFound { kind, rule, pointer, more, .. } = found;
        let (credential, address) = match found.who.as_deref().map(read_label) {
            Some((credential, address)) => (Some(credential), address),
            None => (None, None),
        };
        let directory = self.known.directory();
        self.audit.record(NewAudit {
            at: clock::now(),
            principal: principal_of(&self.keys, credential),
            credential_id: credential.map(str::to_owned),
            address: address.filter(|address| !address.is_empty()).map(str::to_owned),
            action: "scan-result".to_owned(),
            server_id: directory.by_id(&found.id).map(|entry| entry.id.clone()),
            server_name: Some(found.server.to_string()),
            tool: Some(found.item.clone()),
            outcome: found.severity.to_owned(),
            detail: Some(format!("{kind}: {rule} at {pointer}, and {more} more")),
            ..NewAudit::default()
        });
    }

    /// A session shows its key once and is used for hours: each of its requests is a use of the key.
    pub(super) fn key_used(&self, credential: Option<&str>, at: i64) {
        let id = credential.and_then(|credential| credential.strip_prefix("key:"));
        if let Some(id) = id.and_then(KeyId::read) {
            self.keys.used(&id, at);
        }
    }
}

/// When it ended: the event comes later.
pub(super) fn at(ended: Instant) -> i64 {
    clock::at(ended.into())
}

/// What a call says about its server.
fn ended(outcome: Outcome) -> CallQuality {
    match outcome {
        Outcome::Ok | Outcome::Asked | Outcome::Cancelled => CallQuality::Well,
        Outcome::ToolError => CallQuality::ToolError,
        // Invalid arguments, an unknown tool: the caller's mistakes.
        Outcome::RpcError(-32602..=-32600) => CallQuality::Well,
        Outcome::RpcError(_) | Outcome::Timeout | Outcome::Gone { .. } | Outcome::Refused => {
            CallQuality::Failed
        }
    }
}

/// A call that ended in an error, in a few words. What the server said is not among them: it may quote
/// arguments.
fn trouble(outcome: Outcome, tool: &str) -> String {
    let what = match outcome {
        Outcome::RpcError(code) => format!("error {code}"),
        Outcome::ToolError => "tool error".to_owned(),
        Outcome::Timeout => "timeout".to_owned(),
        Outcome::Gone { .. } => "connection lost".to_owned(),
        Outcome::Refused => "not taken".to_owned(),
        Outcome::Ok | Outcome::Asked | Outcome::Cancelled => "no error".to_owned(),
    };
    format!("{what} from `{}`", escaped(tool))
}

pub(super) fn counted(outcome: Outcome) -> Counted {
    match outcome {
        Outcome::Ok | Outcome::Asked => Counted::Ok,
        Outcome::ToolError => Counted::ToolError,
        Outcome::RpcError(_) => Counted::RpcError,
        Outcome::Timeout => Counted::Timeout,
        Outcome::Gone { .. } => Counted::Gone,
        Outcome::Cancelled => Counted::Cancelled,
        Outcome::Refused => Counted::Refused,
    }
}

pub(super) fn detail(outcome: Outcome) -> Option<String> {
    match outcome {
        Outcome::RpcError(code) => Some(format!("code {code}")),
        Outcome::Gone { may_have_run: true } => Some("it may have run".to_owned()),
        Outcome::Gone { may_have_run: false } => Some("it did not run".to_owned()),
        Outcome::Asked => Some("its client was asked something first".to_owned()),
        _ => None,
    }
}
