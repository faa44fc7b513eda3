//! `SkillService`: the taxonomy, the skills of tools, and suggestions: shown, changed and decided on.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::Notify;
use trunkline_catalog::name::escaped;
use trunkline_search::Model;
use trunkline_store::{Change, SkillRecord, Store, StoreError, SuggestionRecord};

use super::batch::record_of;
use super::index::SkillIndex;
use crate::access::Grants;
use crate::clock;
use crate::fault::{Pointer, Problem, ProblemKind, RequestFault};
use crate::keys::Actor;
use crate::llm::Llm;
use crate::policies::PolicyHolder;
use crate::services::background::Background;
use crate::services::directory::ServerEntry;
use crate::services::live::LiveServers;
use crate::services::page::Page;
use crate::services::problems::store_problem;
use crate::services::records::{record, server_record};
use crate::skills::{AssignedSkills, Skill, SkillSource, Taxonomy};

#[derive(Debug)]
pub struct SkillService {
    pub(in crate::services) store: Store,
    pub(in crate::services) live: Arc<LiveServers>,
    pub(in crate::services) index: Arc<SkillIndex>,
    /// Is asked for the skills of tools before the built-in model is.
    pub(in crate::services) llm: Option<Llm>,
    /// Policies may ask for skills that a person has set.
    pub(in crate::services) policies: Arc<PolicyHolder>,
    /// Wakes the classification.
    pub(in crate::services) wake: Arc<Notify>,
    pub(in crate::services) background: Background,
}

/// What a person decides about a suggestion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SuggestionDecision {
    Approve,
    Reject,
}

/// A skill, and how many tools of one asker have it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SkillSummary {
    pub(crate) skill: Skill,
    pub(crate) tools: usize,
    /// Tools that have it first.
    pub(crate) primary: usize,
    /// When its embedding was made (ms since 1970).
    pub(crate) made_at: i64,
    /// To what was asked for, if something was.
    pub(crate) similarity: Option<f32>,
}

/// The skills of one tool.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ToolSkills {
    /// `server-id/tool`.
    pub(crate) id: String,
    /// `server.tool`.
    pub(crate) name: String,
    /// `None`: it is not classified yet.
    pub(crate) assigned: Option<AssignedSkills>,
}

impl SkillService {
    /// All skills, by id; with a question, the most similar first.
    pub(crate) fn list(&self, query: Option<&str>, grants: &Grants) -> Vec<SkillSummary> {
        let taxonomy = self.index.taxonomy();
        let (embeddings, made_at) = self.index.embeddings();
        let asked = query.and_then(|query| Model::embedded().ok()?.embed(query));
        let seen = self.seen_skills(grants);
        let (mut having, mut primary) = (HashMap::new(), HashMap::new());
        for assigned in &seen {
            for (id, _) in &assigned.skills {
                *having.entry(id.as_str()).or_insert(0) += 1;
            }
            if let Some(id) = assigned.primary() {
                *primary.entry(id).or_insert(0) += 1;
            }
        }
        let count = |of: &HashMap<&str, usize>, id: &str| of.get(id).copied().unwrap_or(0);
        let summary = |skill: &Skill| {
            let embedding = embeddings.get(&skill.id);
            let near = asked.as_ref().zip(embedding.and_then(|it| it.vector.as_ref()));
            SkillSummary {
                skill: skill.clone(),
                tools: count(&having, &skill.id),
                primary: count(&primary, &skill.id),
                made_at,
                similarity: query.map(|_| near.map_or(0.0, |(asked, at)| asked.cosine(at))),
            }
        };
        let mut found: Vec<SkillSummary> = taxonomy.skills().iter().map(summary).collect();
        if query.is_some() {
            found.sort_by(|a, b| {
                b.similarity.unwrap_or(0.0).total_cmp(&a.similarity.unwrap_or(0.0))
            });
        }
        found
    }

    /// The skills of the tools that these grants allow.
    fn seen_skills(&self, grants: &Grants) -> Vec<AssignedSkills> {
        let directory = self.live.directory();
        let all = self.index.all().into_iter();
        let seen = all.filter(|(server, tool, _)| {
            directory.by_id(server).is_some_and(|entry| grants.allows(&entry.name, tool))
        });
        seen.map(|(_, _, assigned)| assigned).collect()
    }

    /// Adds a skill or changes one. True: it is new.
    pub(crate) async fn put(
        &self,
        id: &str,
        title: String,
        keywords: String,
        by: Actor<'_>,
    ) -> Result<(bool, SkillSummary), Problem> {
        if !crate::skills::is_skill_id(id) {
            let fault = RequestFault::parameter("id", "is not an id a skill can have");
            let fault = fault.hint("lower case letters, digits and `_`, a letter first");
            return Err(Problem::invalid(vec![fault]));
        }
        let is_new = self.index.taxonomy().get(id).is_none();
        let updated_at = clock::now();
        let skill = SkillRecord { id: id.to_owned(), title, keywords, removed: false, updated_at };
        self.change_taxonomy(vec![Change::PutSkill(skill)], "put-skill", id, by).await?;
        let summary = self.list(None, &Grants::All).into_iter().find(|it| it.skill.id == id);
        Ok((is_new, summary.ok_or_else(|| no_such_skill(id))?))
    }

    pub(crate) async fn delete(&self, id: &str, by: Actor<'_>) -> Result<(), Problem> {
        let taxonomy = self.index.taxonomy();
        let Skill { id, title, keywords, .. } =
            taxonomy.get(id).cloned().ok_or_else(|| no_such_skill(id))?;
        let updated_at = clock::now();
        let skill = SkillRecord { id: id.clone(), title, keywords, removed: true, updated_at };
        self.change_taxonomy(vec![Change::PutSkill(skill)], "delete-skill", &id, by).await
    }

    async fn change_taxonomy(
        &self,
        changes: Vec<Change>,
        action: &str,
        id: &str,
        by: Actor<'_>,
    ) -> Result<(), Problem> {
        let mut record = record(action, by, clock::now());
        record.detail = Some(id.to_owned());
        let done = self.store.commit(changes, vec![record]).await;
        done.map_err(|error| store_problem(&error))?;
        let records = self.store.skills().await.map_err(|error| store_problem(&error))?;
        // Before the answer: its receiver sees the change at once; the tools follow.
        self.index.set_taxonomy(Taxonomy::new(&records));
        self.wake.notify_one();
        Ok(())
    }

    /// The skills of one tool.
    pub(crate) fn of_tool(&self, id: &str, grants: &Grants) -> Result<ToolSkills, Problem> {
        let (entry, tool) = self.live.find_tool(id, grants)?;
        Ok(self.tool_skills(&entry, &tool))
    }

    /// A person says which skills a tool has: they stay until a person changes them.
    pub(crate) async fn set_of_tool(
        &self,
        id: &str,
        skill_ids: &[String],
        by: Actor<'_>,
    ) -> Result<ToolSkills, Problem> {
        let (entry, tool) = self.live.find_tool(id, by.principal.grants())?;
        let taxonomy = self.index.taxonomy();
        let mut faults = Vec::new();
        for (at, skill) in skill_ids.iter().enumerate() {
            if taxonomy.get(skill).is_none() {
                let place = Pointer::root().key("skill_ids").key(&at.to_string());
                let fault = RequestFault::at(&place, "is no skill");
                faults.push(fault.hint("GET /api/v1/skills lists them"));
            }
        }
        if !faults.is_empty() {
            return Err(Problem::invalid(faults));
        }
        let skills = skill_ids.iter().map(|skill| (skill.clone(), 1.0)).collect();
        let assigned = AssignedSkills { skills, source: SkillSource::Manual };
        let record = record_of(&entry.id, &tool, String::new(), &assigned);
        let change = Change::PutToolSkills(record);
        self.change_tool(change, "set-tool-skills", &entry, &tool, by).await?;
        self.index.set_tool(&entry.id, &tool, assigned);
        self.policies.skills_changed();
        self.wake.notify_one();
        Ok(self.tool_skills(&entry, &tool))
    }

    /// Forgets what a person has set, and classifies the tool anew.
    pub(crate) async fn clear_of_tool(
        &self,
        id: &str,
        by: Actor<'_>,
    ) -> Result<ToolSkills, Problem> {
        let (entry, tool) = self.live.find_tool(id, by.principal.grants())?;
        self.classify_again("clear-tool-skills", &entry, &tool, by).await
    }

    /// Classifies a tool anew, unless a person has set its skills.
    pub(crate) async fn classify_tool(
        &self,
        id: &str,
        by: Actor<'_>,
    ) -> Result<ToolSkills, Problem> {
        let (entry, tool) = self.live.find_tool(id, by.principal.grants())?;
        if self.is_set_by_hand(&entry.id, &tool) {
            let detail = format!("somebody has set the skills of `{tool}`");
            return Err(Problem::new(ProblemKind::SetByHand, detail));
        }
        self.classify_again("classify-tool", &entry, &tool, by).await
    }

    async fn classify_again(
        &self,
        action: &str,
        entry: &ServerEntry,
        tool: &str,
        by: Actor<'_>,
    ) -> Result<ToolSkills, Problem> {
        let change =
            Change::DeleteToolSkills { server_id: entry.id.clone(), name: tool.to_owned() };
        self.change_tool(change, action, entry, tool, by).await?;
        let offer = self.live.fleet().and_then(|fleet| fleet.tools(&entry.id)).unwrap_or_default();
        // With its server's other tools: they say what the server is about.
        let judged = self.judge(entry, &offer).await;
        let found = judged.and_then(|(batch, mut judged)| {
            let at = batch.tools.iter().position(|known| known.name == tool)?;
            let assigned = (at < judged.len()).then(|| judged.swap_remove(at))?;
            Some((batch, at, assigned))
        });
        if let Some((batch, at, assigned)) = found {
            let print = batch.fingerprint(at, SkillSource::Head);
            self.keep(vec![record_of(&entry.id, tool, print, &assigned)]).await;
            self.index.set_tool(&entry.id, tool, assigned);
            self.policies.skills_changed();
            if let Some(llm) = &self.llm {
                self.ask_llm_portion(llm, &entry.id, &batch, &[at]).await;
            }
        }
        self.wake.notify_one();
        Ok(self.tool_skills(entry, tool))
    }

    async fn change_tool(
        &self,
        change: Change,
        action: &str,
        entry: &ServerEntry,
        tool: &str,
        by: Actor<'_>,
    ) -> Result<(), Problem> {
        let mut record = server_record(action, &entry.id, &entry.name, by, clock::now());
        record.tool = Some(tool.to_owned());
        let done = self.store.commit(vec![change], vec![record]).await;
        done.map(drop).map_err(|error| store_problem(&error))
    }

    fn tool_skills(&self, entry: &ServerEntry, tool: &str) -> ToolSkills {
        ToolSkills {
            id: format!("{}/{tool}", entry.id),
            name: self.live.directory().qualified_name(&entry.id, &entry.name, tool),
            assigned: self.index.of_tool(&entry.id, tool),
        }
    }

    fn is_set_by_hand(&self, server: &str, tool: &str) -> bool {
        let held = self.index.of_tool(server, tool);
        held.is_some_and(|held| held.source == SkillSource::Manual)
    }

    /// One page, and where the next one begins.
    pub(crate) async fn suggestions(
        &self,
        state: Option<&str>,
        page: &Page,
    ) -> Result<(Vec<SuggestionRecord>, Option<String>), Problem> {
        let after = page.after.as_deref().unwrap_or_default();
        // One more than asked for says whether there is another page.
        let found = self.store.skill_suggestions(state, after, page.limit + 1).await;
        let mut items = found.map_err(|error| store_problem(&error))?;
        let more = items.len() > page.limit;
        items.truncate(page.limit);
        let next = items.last().filter(|_| more).map(|it| it.id.clone());
        Ok((items, next))
    }

    /// An approved skill joins the taxonomy, and the tool it was suggested for is classified anew.
    pub(crate) async fn decide(
        &self,
        id: &str,
        decision: SuggestionDecision,
        by: Actor<'_>,
    ) -> Result<SuggestionRecord, Problem> {
        let known = self.suggestion(id).await?;
        let at = clock::now();
        let (state, action) = match decision {
            SuggestionDecision::Approve => ("approved", "approve-skill"),
            SuggestionDecision::Reject => ("rejected", "reject-skill"),
        };
        let mut changes = vec![Change::DecideSuggestion {
            id: known.id.clone(),
            state: state.to_owned(),
            at,
            by: by.principal.name().to_owned(),
        }];
        if decision == SuggestionDecision::Approve {
            // It is classified anew, with the skill that was missing; what a person has set stays.
            if !self.is_set_by_hand(&known.server_id, &known.tool) {
                let (server_id, name) = (known.server_id.clone(), known.tool.clone());
                changes.push(Change::DeleteToolSkills { server_id, name });
            }
            changes.push(Change::PutSkill(SkillRecord {
                id: known.skill.clone(),
                title: known.title.clone(),
                keywords: known.keywords.clone(),
                removed: false,
                updated_at: at,
            }));
        }
        let changed = self.change_taxonomy(changes, action, &known.skill, by).await;
        changed.map_err(|problem| match problem.kind {
            // The store takes one decision on each suggestion.
            ProblemKind::Stale => {
                let detail = format!("`{}` was decided on before", known.skill);
                Problem::new(ProblemKind::Decided, detail)
            }
            _ => problem,
        })?;
        if decision == SuggestionDecision::Approve {
            self.index.forget_reading(&known.server_id);
            self.wake.notify_one();
        }
        self.suggestion(id).await
    }

    async fn suggestion(&self, id: &str) -> Result<SuggestionRecord, Problem> {
        self.store.skill_suggestion(id).await.map_err(|error| match error {
            StoreError::NotFound => {
                Problem::new(ProblemKind::NoSuchSuggestion, "there is no such suggestion")
            }
            error => store_problem(&error),
        })
    }
}

fn no_such_skill(id: &str) -> Problem {
    Problem::new(ProblemKind::NoSuchSkill, format!("there is no skill `{}`", escaped(id)))
}
