//! Hears what the data plane tells of calls: counts them and writes them down, some at a time.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::time::sleep;
use trunkline_catalog::name::escaped;
use trunkline_gateway::{CallEnded, Event, Outcome};
use trunkline_store::NewAudit;

use super::{Platform, clock};
use crate::access::{Credential, KeyId, read_label};
use crate::health::{CallQuality, Incident};
use crate::metrics::Outcome as Counted;

/// Between two times of listening. Waking for each call and a transaction for each record cost several
/// times what the call itself does. It is also how old a record can be that a `kill -9` takes along.
const GATHER: Duration = Duration::from_millis(50);
/// More than this at a time, and listening goes on at once.
const MOST_AT_ONCE: usize = 1024;

impl Platform {
    /// Everything the data plane tells, until the end.
    pub(super) async fn hear(&self, mut events: mpsc::Receiver<Event>) {
        let mut heard = Vec::new();
        loop {
            let count = tokio::select! {
                count = events.recv_many(&mut heard, MOST_AT_ONCE) => count,
                () = self.0.end.cancelled() => break,
            };
            if count == 0 {
                break;
            }
            heard.drain(..).for_each(|event| self.heard(&event));
            if count == MOST_AT_ONCE {
                continue;
            }
            tokio::select! {
                () = sleep(GATHER) => {}
                () = self.0.end.cancelled() => break,
            }
        }
        // What was told before the end is written down.
        while let Ok(event) = events.try_recv() {
            self.heard(&event);
        }
    }

    fn heard(&self, event: &Event) {
        match event {
            Event::CallEnded(call) => self.call_ended(call),
            Event::RequestEnded(request) => self.request_ended(request),
            // What is told of a server is looked up: see `follow`.
            Event::ServerChanged { .. } => {}
        }
    }

    fn call_ended(&self, call: &CallEnded) {
        let roster = self.roster();
        let entry = roster.of_id(&call.id);
        let counted = counted(call.outcome);
        // It may have been renamed since.
        let name = entry.map_or(&*call.server, |entry| &entry.name);
        self.0.metrics.call(name, counted, call.duration);
        let at = at(call.ended);
        self.0.wards.call_ended(&call.id, ended(call.outcome), call.duration, || Incident {
            at,
            what: trouble(call.outcome, &call.tool),
        });
        let (credential, address) = match call.who.as_deref().map(read_label) {
            Some((credential, address)) => (Some(credential), address),
            None => (None, None),
        };
        self.key_used(credential, at);
        let duration = i64::try_from(call.duration.as_micros()).unwrap_or(i64::MAX);
        self.0.audit.record(NewAudit {
            at,
            principal: self.name_of(credential),
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

    /// A session shows its key once and is used for hours: each of its requests is a use of the key.
    pub(super) fn key_used(&self, credential: Option<&str>, at: i64) {
        let id = credential.and_then(|credential| credential.strip_prefix("key:"));
        if let Some(id) = id.and_then(KeyId::read) {
            self.0.keys.used(&id, at);
        }
    }

    /// The name that goes with a credential, as it was let in.
    pub(super) fn name_of(&self, credential: Option<&str>) -> String {
        let Some(credential) = credential else { return "somebody".to_owned() };
        if let Some(id) = credential.strip_prefix("key:") {
            let known = self.0.keys.known();
            let key = KeyId::read(id).and_then(|id| known.keys.get(&id));
            return key.map_or(id, |key| &key.name).to_owned();
        }
        if let Some((_, subject)) =
            credential.strip_prefix("jwt:").and_then(|it| it.split_once('#'))
        {
            return subject.to_owned();
        }
        match credential {
            _ if credential == Credential::AdminToken.to_string() => "admin".to_owned(),
            _ if credential == Credential::Open.to_string() => "local".to_owned(),
            other => other.to_owned(),
        }
    }
}

/// When that was: it is heard of later.
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

pub(super) fn hex(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // A string takes whatever is written to it.
        let _ = write!(out, "{byte:02x}");
    }
    out
}
