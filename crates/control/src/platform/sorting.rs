//! Gives tools their skills when they are discovered, keeps what was found out, and has the index read
//! what has changed: one task beside everything else.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use trunkline_gateway::{Offer, ToolInfo};
use trunkline_search::{Definition, Model, Server as Words};
use trunkline_store::{StoreError, ToolSkillsRecord};

use super::book::ClassifiedTool;
use super::hear::hex;
use super::roster::ServerEntry;
use super::{Platform, clock};
use crate::health::ConnectionPhase;
use crate::llm;
use crate::skills::{AssignedSkills, Described, SkillSource, Taxonomy, fingerprint, judge};

/// Others may have changed something, and not every store tells.
const LOOK: Duration = Duration::from_secs(5);
/// Of what a server says about itself: what it is for stands at the beginning.
const MOST_WORDS: usize = 600;

impl Platform {
    /// Runs until the end.
    pub(super) async fn sort(&self) {
        let Some(fleet) = self.0.fleet.get() else { return };
        let (mut changes, mut told) = (fleet.changes(), self.0.store.changes());
        loop {
            self.sort_all().await;
            tokio::select! {
                () = self.0.end.cancelled() => return,
                () = self.0.sort.notified() => {}
                changed = changes.changed() => if changed.is_err() { return },
                () = told.next() => {}
                () = tokio::time::sleep(LOOK) => {}
            }
        }
    }

    async fn sort_all(&self) {
        let Some(fleet) = self.0.fleet.get() else { return };
        if let Err(error) = self.read_taxonomy().await {
            tracing::debug!(%error, "skills cannot be read; they stay as they are");
        }
        let roster = self.roster();
        self.0.book.keep_only(|id| roster.of_id(id).is_some());
        let mut described = HashMap::new();
        for entry in roster.placed() {
            described.insert(entry.id.clone(), self.description(entry));
            if self.phase(entry) != ConnectionPhase::Connected {
                continue;
            }
            let Some(offer) = fleet.tools(&entry.id) else { continue };
            let digest = self.reading(entry, &offer);
            if !self.0.book.has_read(&entry.id, digest) {
                self.sort_server(entry, &offer, digest).await;
            }
        }
        fleet.describe(described);
        let own = self.clone();
        let reading = self.0.tasks.spawn_blocking(move || {
            own.0.book.make_embeddings(clock::now());
            if let Some(fleet) = own.0.fleet.get() {
                fleet.read_tools();
            }
        });
        if let Err(error) = reading.await {
            tracing::warn!(%error, "the tools could not be read into the index");
        }
    }

    /// If it is another one, or somebody has said something about a tool, all is looked at again.
    pub(super) async fn read_taxonomy(&self) -> Result<(), StoreError> {
        if !self.0.book.is_marked(self.0.store.skills_mark().await?) {
            let records = self.0.store.skills().await?;
            self.0.book.set_taxonomy(Taxonomy::new(&records));
        }
        Ok(())
    }

    /// All that the skills of a server's tools are made of.
    fn reading(&self, entry: &ServerEntry, offer: &Offer) -> [u8; 32] {
        let mut sum = Sha256::new();
        sum.update(self.digest_of(&entry.id, offer));
        sum.update(self.0.book.taxonomy().digest());
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
        let own = || self.0.fleet.get().and_then(|fleet| fleet.instructions(&entry.id));
        let mut text = said.or_else(own).unwrap_or_default();
        text.truncate(text.floor_char_boundary(MOST_WORDS));
        text
    }

    async fn sort_server(&self, entry: &ServerEntry, offer: &Offer, digest: [u8; 32]) {
        let kept = self.0.store.tool_skills(&entry.id).await.unwrap_or_default();
        let kept: HashMap<String, ToolSkillsRecord> =
            kept.into_iter().map(|record| (record.original_name.clone(), record)).collect();
        let Some((batch, judged)) = self.judged(entry, offer).await else { return };
        let mut known = BTreeMap::new();
        let (mut new, mut to_ask) = (Vec::new(), Vec::new());
        for (at, tool) in batch.tools.iter().enumerate() {
            let held = kept.get(&tool.name).and_then(|record| batch.still(record, at));
            let held = match held {
                Some(held) => Some(held),
                None => self.said_of_the_same(&batch, at).await,
            };
            let is_asked = self.0.settings.llm.is_some();
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
            known.insert(tool.name.clone(), ClassifiedTool { assigned, vector });
        }
        self.keep_skills(new).await;
        self.0.book.set_server(&entry.id, digest, known);
        if !to_ask.is_empty() {
            self.ask_later(entry.id.clone(), batch, to_ask);
        }
    }

    /// What the language model has said of a tool that is the same: it is asked about it once.
    async fn said_of_the_same(&self, batch: &ToolBatch, at: usize) -> Option<AssignedSkills> {
        self.0.settings.llm.as_ref()?;
        let print = batch.fingerprint(at, SkillSource::Llm);
        let record = self.0.store.tool_skills_made_of(&print).await.ok()??;
        batch.still(&record, at).filter(|held| held.source == SkillSource::Llm)
    }

    /// A server's tools and the skills of each, in the same order. Reading and judging a thousand tools
    /// takes a while: it is done beside the runtime. `None`: it is shutting down.
    pub(super) async fn judged(
        &self,
        entry: &ServerEntry,
        offer: &Offer,
    ) -> Option<(ToolBatch, Vec<AssignedSkills>)> {
        let (server, description) = (entry.name.clone(), self.description(entry));
        let (taxonomy, offer) = (self.0.book.taxonomy(), offer.clone());
        let judging = self.0.tasks.spawn_blocking(move || {
            let batch = ToolBatch::of(server, description, &taxonomy, &offer);
            let judged = judge(&batch.taxonomy, batch.described(), &batch.definitions);
            (batch, judged)
        });
        judging.await.ok()
    }

    pub(super) async fn keep_skills(&self, records: Vec<ToolSkillsRecord>) {
        if records.is_empty() {
            return;
        }
        if let Err(error) = self.0.store.put_tool_skills(records).await {
            tracing::warn!(%error, "the skills of tools cannot be kept");
        }
    }
}

/// A tool as its server offers it: judging takes a while, and its list may be another one by then.
#[derive(Debug, Clone)]
pub(super) struct OfferedTool {
    pub(super) name: String,
    definition: Vec<u8>,
}

impl From<ToolInfo<'_>> for OfferedTool {
    fn from(tool: ToolInfo<'_>) -> Self {
        Self { name: tool.name.to_owned(), definition: tool.definition.to_vec() }
    }
}

/// Tools of one server that are judged together.
#[derive(Debug, Clone)]
pub(super) struct ToolBatch {
    server: String,
    description: String,
    pub(super) taxonomy: Taxonomy,
    pub(super) tools: Vec<OfferedTool>,
    definitions: Vec<Definition>,
    /// The names of the tools' parameters.
    parameters: Vec<Vec<String>>,
    vectors: Vec<Option<trunkline_search::Vector>>,
}

impl ToolBatch {
    fn of(server: String, description: String, taxonomy: &Taxonomy, offer: &Offer) -> Self {
        let tools: Vec<OfferedTool> = offer.tools().map(OfferedTool::from).collect();
        let read = |tool: &OfferedTool| Definition {
            name: tool.name.clone(),
            ..Definition::read(&tool.definition)
        };
        let definitions: Vec<Definition> = tools.iter().map(read).collect();
        let names = |it: &Definition| it.parameters.iter().map(|(name, _)| name.clone()).collect();
        let parameters = definitions.iter().map(names).collect();
        let words = Words { name: &server, description: &description };
        let place = |definition: &Definition| {
            Model::embedded().ok()?.embed_tool(&words, &definition.tool())
        };
        let vectors = definitions.iter().map(place).collect();
        let taxonomy = taxonomy.clone();
        Self { server, description, taxonomy, tools, definitions, parameters, vectors }
    }

    pub(super) fn described(&self) -> Described<'_> {
        Described { name: &self.server, description: &self.description }
    }

    pub(super) fn server(&self) -> &str {
        &self.server
    }

    /// As a language model is told of it.
    pub(super) fn words(&self, at: usize) -> Option<llm::Described<'_>> {
        let Definition { name, description, .. } = self.definitions.get(at)?;
        let parameters = self.parameters.get(at)?;
        Some(llm::Described { name, description, parameters })
    }

    /// What the skills of a tool are made of by this judge. A language model is asked again when the
    /// tool is another one, not when the taxonomy is: that would cost as much as all of it.
    pub(super) fn fingerprint(&self, at: usize, source: SkillSource) -> String {
        let definition = self.tools.get(at).map(|tool| &*tool.definition).unwrap_or_default();
        let judge = match source {
            SkillSource::Llm => "llm".to_owned(),
            SkillSource::Head | SkillSource::Manual => {
                format!("model {}", hex(&self.taxonomy.digest()))
            }
        };
        fingerprint(&judge, self.described(), definition)
    }

    /// What was kept, if it still holds.
    fn still(&self, record: &ToolSkillsRecord, at: usize) -> Option<AssignedSkills> {
        let mut kept = AssignedSkills::read(&record.skills, &record.source)?;
        let there = |id: &str| self.taxonomy.get(id).is_some();
        if kept.source == SkillSource::Manual {
            // A skill that was removed is gone; what else the person has said is not.
            kept.skills.retain(|(id, _)| there(id));
            return (!kept.skills.is_empty()).then_some(kept);
        }
        let is_of_now = kept.skills.iter().all(|(id, _)| there(id));
        (is_of_now && record.fingerprint == self.fingerprint(at, kept.source)).then_some(kept)
    }
}

pub(super) fn record_of(
    server: &str,
    tool: &str,
    fingerprint: String,
    assigned: &AssignedSkills,
) -> ToolSkillsRecord {
    ToolSkillsRecord {
        server_id: server.to_owned(),
        original_name: tool.to_owned(),
        fingerprint,
        skills: assigned.json().to_string(),
        source: assigned.source.as_str().to_owned(),
        updated_at: clock::now(),
    }
}
