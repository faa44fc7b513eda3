//! `ToolBatch`: the tools of one server that are classified together.

use trunkline_gateway::{Offer, ToolInfo};
use trunkline_search::{Definition, Model, Server as ServerWords, Vector};
use trunkline_store::ToolSkillsRecord;

use crate::clock;
use crate::llm;
use crate::services::records::hex;
use crate::skills::{AssignedSkills, ServerDescription, SkillSource, Taxonomy, fingerprint};

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
    pub(super) definitions: Vec<Definition>,
    /// The names of the tools' parameters.
    parameters: Vec<Vec<String>>,
    pub(super) vectors: Vec<Option<Vector>>,
}

impl ToolBatch {
    pub(super) fn of(
        server: String,
        description: String,
        taxonomy: &Taxonomy,
        offer: &Offer,
    ) -> Self {
        let tools: Vec<OfferedTool> = offer.tools().map(OfferedTool::from).collect();
        let read = |tool: &OfferedTool| Definition {
            name: tool.name.clone(),
            ..Definition::read(&tool.definition)
        };
        let definitions: Vec<Definition> = tools.iter().map(read).collect();
        let names = |it: &Definition| it.parameters.iter().map(|(name, _)| name.clone()).collect();
        let parameters = definitions.iter().map(names).collect();
        let words = ServerWords { name: &server, description: &description };
        let place = |definition: &Definition| {
            Model::embedded().ok()?.embed_tool(&words, &definition.tool())
        };
        let vectors = definitions.iter().map(place).collect();
        let taxonomy = taxonomy.clone();
        Self { server, description, taxonomy, tools, definitions, parameters, vectors }
    }

    pub(super) fn described(&self) -> ServerDescription<'_> {
        ServerDescription { name: &self.server, description: &self.description }
    }

    pub(super) fn server(&self) -> &str {
        &self.server
    }

    /// As a language model is told of it.
    pub(super) fn words(&self, at: usize) -> Option<llm::ToolDescription<'_>> {
        let Definition { name, description, .. } = self.definitions.get(at)?;
        let parameters = self.parameters.get(at)?;
        Some(llm::ToolDescription { name, description, parameters })
    }

    /// What the skills of a tool are made of by this classifier. A language model is asked again when the
    /// tool changes, not when the taxonomy does: that would cost as much as asking about all tools anew.
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

    /// The kept skills of a tool, if they still hold.
    pub(super) fn still_valid(
        &self,
        record: &ToolSkillsRecord,
        at: usize,
    ) -> Option<AssignedSkills> {
        let mut kept = AssignedSkills::read(&record.skills, &record.source)?;
        let there = |id: &str| self.taxonomy.get(id).is_some();
        if kept.source == SkillSource::Manual {
            // A skill that was removed is gone; what else the person has said is not.
            kept.skills.retain(|(id, _)| there(id));
            return (!kept.skills.is_empty()).then_some(kept);
        }
        let is_current = kept.skills.iter().all(|(id, _)| there(id));
        (is_current && record.fingerprint == self.fingerprint(at, kept.source)).then_some(kept)
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
