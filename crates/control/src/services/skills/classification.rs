//! Classification: a task that gives the tools of each server their skills when they are discovered, keeps
//! them, and has the search index take over what has changed.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use trunkline_gateway::Offer;
use trunkline_store::{StoreError, ToolSkillsRecord};

use super::batch::{ToolBatch, record_of};
use super::index::ClassifiedTool;
use super::service::SkillService;
use crate::clock;
use crate::health::ConnectionPhase;
use crate::services::directory::ServerEntry;
use crate::skills::{AssignedSkills, SkillSource, Taxonomy, judge};

/// Other replicas may have changed something, and not every store sends a notification.
const LOOK: Duration = Duration::from_secs(5);
/// Of what a server says about itself: what it is for stands at the beginning.
const MOST_WORDS: usize = 600;

impl SkillService {
    /// Runs until the end.
    pub(in crate::services) async fn run(self: &Arc<Self>) {
        let Some(fleet) = self.live.fleet() else { return };
        let (mut changes, mut told) = (fleet.changes(), self.store.changes());
        loop {
            self.classify_all().await;
            tokio::select! {
                () = self.background.end().cancelled() => return,
                () = self.wake.notified() => {}
                changed = changes.changed() => if changed.is_err() { return },
                () = told.next() => {}
                () = tokio::time::sleep(LOOK) => {}
            }
        }
    }

    async fn classify_all(self: &Arc<Self>) {
        let Some(fleet) = self.live.fleet() else { return };
        if let Err(error) = self.read_taxonomy().await {
            tracing::debug!(%error, "the taxonomy of skills cannot be read; it stays as it is");
        }
        let directory = self.live.directory();
        self.index.keep_only(|id| directory.by_id(id).is_some());
        let mut described = HashMap::new();
        for entry in directory.reachable() {
            described.insert(entry.id.clone(), self.description(entry));
            if self.live.phase(entry) != ConnectionPhase::Connected {
                continue;
            }
            let Some(offer) = fleet.tools(&entry.id) else { continue };
            let digest = self.digest_of(entry, &offer);
            if !self.index.has_read(&entry.id, digest) {
                self.classify_server(entry, &offer, digest).await;
            }
        }
        fleet.describe(described);
        let own = Arc::clone(self);
        let reading = self.background.spawn_blocking(move || {
            own.index.make_embeddings(clock::now());
            if let Some(fleet) = own.live.fleet() {
                fleet.read_tools();
            }
        });
        if let Err(error) = reading.await {
            tracing::warn!(%error, "tools cannot be read into the search index; searches use the old one");
        }
    }

    /// If the taxonomy has changed, or a person has set the skills of a tool, all tools are looked at again.
    pub(in crate::services) async fn read_taxonomy(&self) -> Result<(), StoreError> {
        if self.index.note_mark(self.store.skills_mark().await?) {
            let records = self.store.skills().await?;
            self.index.set_taxonomy(Taxonomy::new(&records));
        }
        Ok(())
    }

    /// All that the skills of a server's tools are made of.
    fn digest_of(&self, entry: &ServerEntry, offer: &Offer) -> [u8; 32] {
        let mut sum = Sha256::new();
        sum.update(self.live.offers.digest_of(&entry.id, offer));
        sum.update(self.index.taxonomy().digest());
        for text in [&entry.name, &self.description(entry)] {
            sum.update(text.len().to_le_bytes());
            sum.update(text);
        }
        sum.finalize().into()
    }

    /// What the operator says about a server, or else what it says itself.
    fn description(&self, entry: &ServerEntry) -> String {
        let said = entry.record().map(|record| record.description.as_str());
        let said = said.filter(|text| !text.is_empty()).map(str::to_owned);
        let own = || self.live.fleet().and_then(|fleet| fleet.instructions(&entry.id));
        let mut text = said.or_else(own).unwrap_or_default();
        text.truncate(text.floor_char_boundary(MOST_WORDS));
        text
    }

    async fn classify_server(
        self: &Arc<Self>,
        entry: &ServerEntry,
        offer: &Offer,
        digest: [u8; 32],
    ) {
        let kept = self.store.tool_skills(&entry.id).await.unwrap_or_default();
        let kept: HashMap<String, ToolSkillsRecord> =
            kept.into_iter().map(|record| (record.original_name.clone(), record)).collect();
        let Some((batch, judged)) = self.judge(entry, offer).await else { return };
        let mut classified = BTreeMap::new();
        let (mut new, mut to_ask) = (Vec::new(), Vec::new());
        for (at, tool) in batch.tools.iter().enumerate() {
            let held = kept.get(&tool.name).and_then(|record| batch.still_valid(record, at));
            let held = match held {
                Some(held) => Some(held),
                None => self.llm_skills_of_twin(&batch, at).await,
            };
            let is_asked = self.llm.is_some();
            if is_asked && held.as_ref().is_none_or(|held| held.source == SkillSource::Head) {
                to_ask.push(at);
            }
            let assigned = match held {
                Some(held) => held,
                None => {
                    let judged = judged.get(at).cloned();
                    let none = || AssignedSkills { skills: Vec::new(), source: SkillSource::Head };
                    let assigned = judged.unwrap_or_else(none);
                    let print = batch.fingerprint(at, SkillSource::Head);
                    new.push(record_of(&entry.id, &tool.name, print, &assigned));
                    assigned
                }
            };
            let vector = batch.vectors.get(at).cloned().flatten();
            classified.insert(tool.name.clone(), ClassifiedTool { assigned, vector });
        }
        self.keep(new).await;
        self.index.set_server(&entry.id, digest, classified);
        self.policies.skills_changed();
        if !to_ask.is_empty() {
            self.ask_llm_later(entry.id.clone(), batch, to_ask);
        }
    }

    /// What the language model has said of a tool with the same definition: it is asked about it once.
    async fn llm_skills_of_twin(&self, batch: &ToolBatch, at: usize) -> Option<AssignedSkills> {
        self.llm.as_ref()?;
        let print = batch.fingerprint(at, SkillSource::Llm);
        let record = self.store.tool_skills_made_of(&print).await.ok()??;
        batch.still_valid(&record, at).filter(|held| held.source == SkillSource::Llm)
    }

    /// A server's tools and the skills of each by the built-in model, in the same order. A thousand tools
    /// take a while, so a blocking thread does it. `None`: Trunkline is shutting down.
    pub(super) async fn judge(
        &self,
        entry: &ServerEntry,
        offer: &Offer,
    ) -> Option<(ToolBatch, Vec<AssignedSkills>)> {
        let (server, description) = (entry.name.clone(), self.description(entry));
        let (taxonomy, offer) = (self.index.taxonomy(), offer.clone());
        let judging = self.background.spawn_blocking(move || {
            let batch = ToolBatch::of(server, description, &taxonomy, &offer);
            let judged = judge(&batch.taxonomy, batch.described(), &batch.definitions);
            (batch, judged)
        });
        judging.await.ok()
    }

    pub(super) async fn keep(&self, records: Vec<ToolSkillsRecord>) {
        if records.is_empty() {
            return;
        }
        if let Err(error) = self.store.put_tool_skills(records).await {
            tracing::warn!(%error, "the store does not keep the skills of tools; they are found again after a restart");
        }
    }
}
