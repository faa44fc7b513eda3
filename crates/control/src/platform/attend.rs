//! Looks after what runs: hears what the data plane tells, writes it down, checks the servers, and tells
//! whoever listens.

use std::collections::HashMap;
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use trunkline_gateway::{CallEnded, Event, EventSink, Fleet, Outcome, ToolInfo, Verdict};
use trunkline_http::Url;
use trunkline_store::{NewAudit, NewTool, StoreError};

use super::roster::Entry;
use super::show::sees;
use super::{News, Platform, clock};
use crate::access::{Credential, Principal, read_label};
use crate::api::view::{Source, Status};
use crate::health::{Checking, Later, Patient, Phase};
use crate::metrics::{Outcome as Counted, Platform as Measured, ServerMetrics, expose};
use crate::trace::Tracer;

/// What was last seen of each server, so that changes can be told.
#[derive(Debug, Default)]
pub(super) struct Seen {
    statuses: HashMap<String, Status>,
    tools: HashMap<String, [u8; 32]>,
    checks: HashMap<String, (Option<String>, CancellationToken)>,
}

impl Platform {
    /// The data plane runs: from now on what is wanted is made so.
    pub fn attend(&self, fleet: Fleet, events: mpsc::Receiver<Event>, sink: EventSink) {
        // Once only: there is one data plane.
        if self.0.fleet.set(fleet).is_err() {
            return;
        }
        *self.0.sink.lock() = Some(sink);
        let own = self.clone();
        self.0.tasks.spawn(async move { own.reconcile().await });
        let own = self.clone();
        self.0.tasks.spawn(async move { own.hear(events).await });
        let own = self.clone();
        self.0.tasks.spawn(async move { own.follow().await });
    }

    /// Everything the data plane tells, until the end.
    async fn hear(&self, mut events: mpsc::Receiver<Event>) {
        loop {
            let event = tokio::select! {
                event = events.recv() => event,
                () = self.0.end.cancelled() => None,
            };
            match event {
                Some(Event::CallEnded(call)) => self.call_ended(&call),
                Some(Event::RequestEnded(request)) => self.request_ended(&request),
                // What is told of a server is looked up: see `follow`.
                Some(Event::ServerChanged { .. }) => {}
                None => break,
            }
        }
        // What was told before the end is written down.
        while let Ok(event) = events.try_recv() {
            match event {
                Event::CallEnded(call) => self.call_ended(&call),
                Event::RequestEnded(request) => self.request_ended(&request),
                Event::ServerChanged { .. } => {}
            }
        }
    }

    fn call_ended(&self, call: &CallEnded) {
        let roster = self.roster();
        let entry = roster.of_id(&call.id);
        let counted = counted(call.outcome);
        // It may have been renamed since.
        let name = entry.map_or(&*call.server, |entry| &entry.name);
        self.0.metrics.call(name, counted, call.duration);
        self.0.wards.call_ended(&call.id, is_well(call.outcome), call.duration);
        let (credential, address) = match call.who.as_deref().map(read_label) {
            Some((credential, address)) => (Some(credential), address),
            None => (None, None),
        };
        let duration = i64::try_from(call.duration.as_micros()).unwrap_or(i64::MAX);
        let hash = call.argument_hash.iter().map(|byte| format!("{byte:02x}")).collect();
        self.0.audit.record(NewAudit {
            at: clock::now(),
            principal: self.name_of(credential),
            credential_id: credential.map(str::to_owned),
            address: address.filter(|address| !address.is_empty()).map(str::to_owned),
            action: "call-tool".to_owned(),
            server_id: entry.map(|entry| entry.id.clone()),
            server_name: Some(call.server.to_string()),
            tool: Some(call.tool.clone()),
            argument_hash: Some(hash),
            outcome: counted.as_str().to_owned(),
            detail: detail(call.outcome),
            duration_us: Some(duration),
            ..NewAudit::default()
        });
    }

    /// The name that goes with a credential, as it was let in.
    pub(super) fn name_of(&self, credential: Option<&str>) -> String {
        let Some(credential) = credential else { return "somebody".to_owned() };
        if let Some(id) = credential.strip_prefix("key:") {
            let known = self.0.keys.known();
            let key = known.keys.values().find(|key| key.id.as_str() == id);
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

    /// Looks again whenever something has changed.
    async fn follow(&self) {
        let Some(fleet) = self.0.fleet.get() else { return };
        let (mut servers, mut health) = (fleet.changes(), self.0.wards.changes());
        loop {
            self.look();
            self.write_tools().await;
            tokio::select! {
                () = self.0.end.cancelled() => return,
                changed = servers.changed() => if changed.is_err() { return },
                changed = health.changed() => if changed.is_err() { return },
            }
        }
    }

    /// Takes over what has become of the servers.
    pub(super) fn look(&self) {
        let roster = self.roster();
        self.0.metrics.set_servers(roster.placed().map(|entry| entry.name.as_str()));
        let mut seen = self.0.seen.lock();
        let gone: Vec<String> =
            seen.statuses.keys().filter(|id| roster.of_id(id).is_none()).cloned().collect();
        for id in gone {
            seen.statuses.remove(&id);
            seen.tools.remove(&id);
            // Of the config file: those that are removed over REST are forgotten there.
            self.0.wards.forget(&id);
            if let Some((_, end)) = seen.checks.remove(&id) {
                end.cancel();
            }
        }
        for entry in roster.all() {
            self.0.wards.set_phase(&entry.id, self.phase(entry));
            let status = self.status(entry);
            if seen.statuses.insert(entry.id.clone(), status) != Some(status) {
                let why = self.0.troubles.lock().get(&entry.id).map(|it| it.message.clone());
                let why = why.or_else(|| self.info(entry)?.state.why());
                let (id, name) = (entry.id.clone(), entry.name.clone());
                self.0.news.tell(News::Status { id, name, status, why });
            }
            self.check(entry, &mut seen);
        }
    }

    /// There is one task that checks each server, as long as it stays the same.
    fn check(&self, entry: &Entry, seen: &mut Seen) {
        let url = self.0.health_urls.lock().get(&entry.id).cloned().flatten();
        if seen.checks.get(&entry.id).is_some_and(|(known, _)| *known == url) {
            return;
        }
        let end = self.0.end.child_token();
        if let Some((_, before)) = seen.checks.insert(entry.id.clone(), (url.clone(), end.clone()))
        {
            before.cancel();
        }
        let checking = Checking {
            server_id: entry.id.clone(),
            url: url.and_then(|url| Url::parse(&url).ok()),
            interval: self.0.settings.health_interval,
        };
        let ward = Ward { platform: self.clone(), id: entry.id.clone() };
        let checker = self.0.checker.clone();
        self.0.tasks.spawn(async move { checker.watch(&checking, &ward, &end).await });
    }

    /// Keeps what registered servers offer, so that it is known when they are gone.
    async fn write_tools(&self) {
        let roster = self.roster();
        let Some(fleet) = self.0.fleet.get() else { return };
        for entry in roster.placed().filter(|entry| self.phase(entry) == Phase::Connected) {
            let Some(tools) = fleet.tools(&entry.id) else { continue };
            let digest = digest(&tools);
            if self.0.seen.lock().tools.insert(entry.id.clone(), digest) == Some(digest) {
                continue;
            }
            let (id, name) = (entry.id.clone(), entry.name.clone());
            self.0.news.tell(News::Tools { id, name, tools: tools.len() });
            if entry.source() == Source::Api {
                self.keep(&entry.id, &tools).await;
            }
        }
    }

    async fn keep(&self, id: &str, tools: &[ToolInfo]) {
        let kept = tools.iter().map(|tool| NewTool {
            original_name: tool.name.clone(),
            definition: String::from_utf8_lossy(&tool.definition).into_owned(),
            definition_hash: hex(&Sha256::digest(&tool.definition)),
        });
        match self.0.store.replace_tools(id, kept.collect(), clock::now()).await {
            // Removed meanwhile.
            Ok(_) | Err(StoreError::NotFound) => {}
            Err(error) => {
                tracing::warn!(%error, "the tools of a server cannot be kept");
                self.0.seen.lock().tools.remove(id);
            }
        }
    }

    /// The body of `GET /metrics`, with the servers that the asker sees.
    pub fn metrics(&self, asker: &Principal) -> String {
        let roster = self.roster();
        let seen = roster.placed().filter(|entry| sees(asker, &entry.name));
        let entries: Vec<_> = seen.map(|entry| (entry, self.info(entry))).collect();
        let servers: Vec<_> = entries
            .iter()
            .map(|(entry, info)| ServerMetrics {
                name: &entry.name,
                status: self.status(entry),
                restarts: info.as_ref().map_or(0, |info| u64::from(info.restarts)),
                tools: info.as_ref().map_or(0, |info| info.tools as u64),
                open_calls: info.as_ref().map_or(0, |info| info.open_calls as u64),
            })
            .collect();
        let audit = self.0.audit.state();
        let measured = Measured {
            servers: &servers,
            audit_waiting: audit.waiting as u64,
            audit_lost: audit.lost,
            tokens_refused: self.0.strangers.refused(),
            events_lost: self.0.sink.lock().as_ref().map_or(0, EventSink::lost),
            traces_dropped: self.0.settings.tracer.as_ref().map_or(0, Tracer::dropped),
            ..Measured::default()
        };
        expose(&self.0.metrics, &measured, |name| sees(asker, name))
    }
}

/// A server, to the one who checks it.
#[derive(Debug)]
struct Ward {
    platform: Platform,
    id: String,
}

impl Patient for Ward {
    fn phase(&self) -> Phase {
        let roster = self.platform.roster();
        roster.of_id(&self.id).map_or(Phase::Disconnected, |entry| self.platform.phase(entry))
    }

    fn silent_for(&self) -> Option<Duration> {
        let roster = self.platform.roster();
        let info = self.platform.info(roster.of_id(&self.id)?)?;
        info.last_message.map(|at| at.elapsed())
    }

    fn is_busy(&self) -> bool {
        let roster = self.platform.roster();
        let info = roster.of_id(&self.id).and_then(|entry| self.platform.info(entry));
        info.is_some_and(|info| info.open_calls > 0)
    }

    fn condemn(&self, why: &str) {
        if let Some(fleet) = self.platform.0.fleet.get() {
            let why = format!("has failed too many checks in a row: {why}");
            fleet.mark(&self.id, Verdict::Useless(why));
        }
    }

    fn ask(&self) -> Later<'_, Result<(), String>> {
        Box::pin(async move {
            match self.platform.0.fleet.get() {
                Some(fleet) => fleet.ask(&self.id).await,
                None => Err("it is not known any more".to_owned()),
            }
        })
    }
}

/// Did the server do what it is there for, if only to say that the arguments are wrong?
fn is_well(outcome: Outcome) -> bool {
    match outcome {
        Outcome::Ok | Outcome::ToolError | Outcome::Asked | Outcome::Cancelled => true,
        // Invalid arguments, an unknown tool: the caller's mistakes.
        Outcome::RpcError(code) => matches!(code, -32602..=-32600),
        Outcome::Timeout | Outcome::Gone { .. } | Outcome::Refused => false,
    }
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

fn digest(tools: &[ToolInfo]) -> [u8; 32] {
    let mut sum = Sha256::new();
    for tool in tools {
        sum.update(tool.definition.len().to_le_bytes());
        sum.update(&tool.definition);
    }
    sum.finalize().into()
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
