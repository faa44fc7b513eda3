//! One server in full, for whoever looks into it: its process, what it says, under which names its tools
//! are listed, and how it did lately.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use trunkline_catalog::name::Client;
use trunkline_gateway::{Fleet, Grant, ServerInfo, State};

use super::gate::limited;
use super::overview::series;
use super::roster::Entry;
use super::show::no_such_server;
use super::{Platform, clock};
use crate::access::{Principal, Role};
use crate::api::problem::Problem;
use crate::api::view::{DetailsView, NameView, ProcessView, stderr_view};

/// Tools whose names are told: more do not fit a page.
const MOST_NAMES: usize = 200;

impl Platform {
    /// The body of `GET /aggregator/servers/{id}/details`.
    pub async fn details(&self, id: &str, asker: &Principal) -> Result<Value, Problem> {
        let roster = self.roster();
        let entry = roster.find(id).ok_or_else(|| no_such_server(id))?;
        let names = self.names(entry, asker).await;
        let info = self.info(entry);
        let fleet = self.0.fleet.get();
        let capabilities = fleet.map(|fleet| fleet.capabilities(&entry.id)).unwrap_or_default();
        let instructions = fleet.and_then(|fleet| fleet.instructions(&entry.id));
        // What a server writes there is for those who run it.
        let failure =
            info.as_ref().and_then(|info| info.last_failure.as_ref()).map(|past| &past.why);
        let stderr = failure.filter(|_| asker.role() >= Role::Operator);
        let lately = self.0.wards.lately([entry.id.as_str()]);
        Ok(DetailsView {
            id: &entry.id,
            name: &entry.name,
            process: ProcessView {
                restarts: self.0.wards.times_back(&entry.id),
                ..process(info.as_ref(), self.0.seen.lock().error_since(&entry.id))
            },
            identity: info.as_ref().and_then(|info| info.identity.as_deref()),
            capabilities: &capabilities,
            instructions: instructions.as_deref(),
            stderr: stderr.map(|failure| failure.stderr.as_slice()).unwrap_or_default(),
            names: &names,
            series: &series(&lately.pieces),
            hour: &series(&lately.minutes),
        }
        .json())
    }

    /// The body of `GET /aggregator/servers/{id}/stderr`.
    pub fn stderr(&self, id: &str) -> Result<Value, Problem> {
        let roster = self.roster();
        let entry = roster.find(id).ok_or_else(|| no_such_server(id))?;
        let state = self.info(entry).map(|info| info.state.word());
        let lines = self.0.fleet.get().map(|fleet| fleet.stderr(&entry.id)).unwrap_or_default();
        Ok(stderr_view(&entry.id, &entry.name, state, &lines))
    }

    /// Each tool that the asker may call, by what it is listed as, and to whom. Lists are assembled
    /// beside the runtime: nobody else waits for them.
    async fn names(&self, entry: &Entry, asker: &Principal) -> Vec<NameView> {
        let Some(fleet) = self.0.fleet.get().filter(|_| entry.wanted) else { return Vec::new() };
        let (fleet, id) = (fleet.clone(), entry.id.clone());
        let grant = limited(asker.grants(), "");
        let naming = self.0.tasks.spawn_blocking(move || names_of(&fleet, &id, grant.as_ref()));
        naming.await.unwrap_or_default() // it is shutting down
    }
}

fn names_of(fleet: &Fleet, id: &str, grant: Option<&Arc<dyn Grant>>) -> Vec<NameView> {
    let mut tools: BTreeMap<String, NameView> = BTreeMap::new();
    for (tool, name) in fleet.listed(None, grant.cloned()).names_of(id) {
        let view = NameView { tool: tool.clone(), name, others: Vec::new() };
        tools.insert(tool, view);
    }
    for client in Client::ALL {
        for (tool, name) in fleet.listed(Some(client), grant.cloned()).names_of(id) {
            let Some(view) = tools.get_mut(&tool) else { continue };
            if name == view.name {
                continue;
            }
            match view.others.iter_mut().find(|(known, _)| *known == name) {
                Some((_, clients)) => clients.push(client.id()),
                None => view.others.push((name, vec![client.id()])),
            }
        }
    }
    tools.into_values().take(MOST_NAMES).collect()
}

/// `error_since`: when it began to be an error, however often it was tried since (ms since 1970).
fn process(info: Option<&ServerInfo>, error_since: Option<i64>) -> ProcessView {
    let Some(info) = info else { return ProcessView::default() };
    let millis = |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let has_failed = matches!(info.state, State::Failed(_));
    ProcessView {
        state: Some(info.state.word()),
        since: error_since.filter(|_| has_failed).or_else(|| Some(clock::at(info.since))),
        pid: info.pid.filter(|_| info.state == State::Running),
        started_in_ms: info.started_in.map(millis),
        open_calls: info.open_calls,
        waiting_calls: info.waiting_calls,
        next_try: info.retry.as_ref().map(|retry| clock::at(retry.at)),
        failures: info.retry.as_ref().map_or(0, |retry| retry.failures),
        ..ProcessView::default()
    }
}
