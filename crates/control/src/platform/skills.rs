//! Skills over REST: which there are, which tools have which, and what people say about both.

use std::collections::HashMap;

use serde_json::{Value, json};
use trunkline_search::Model;
use trunkline_store::{Change, SkillRecord, StoreError, SuggestionRecord};

use super::change::audit;
use super::roster::ServerEntry;
use super::show::{no_such_tool, store_problem};
use super::sorting::record_of;
use super::{Platform, clock};
use crate::access::Grants;
use crate::api::fault::{Fault, Pointer};
use crate::api::input::{PutSkill, SetSkills};
use crate::api::paging::{List, Page, cursor};
use crate::api::problem::{Kind, Problem};
use crate::api::view::{SkillView, ToolSkillsView, suggestion_view};
use crate::keys::Actor;
use crate::skills::{AssignedSkills, Skill, SkillSource, Taxonomy};

/// What somebody has decided about a suggestion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SuggestionDecision {
    Approve,
    Reject,
}

impl Platform {
    /// All skills, by id; with a question, those first that it is about.
    pub fn skills(&self, query: Option<&str>, grants: &Grants) -> Value {
        let taxonomy = self.0.book.taxonomy();
        let (embeddings, made_at) = self.0.book.embeddings();
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
        let mut views: Vec<SkillView<'_>> = taxonomy
            .skills()
            .iter()
            .map(|skill| {
                let embedding = embeddings.get(&skill.id);
                let near = asked.as_ref().zip(embedding.and_then(|it| it.vector.as_ref()));
                SkillView {
                    skill,
                    tools: count(&having, &skill.id),
                    primary: count(&primary, &skill.id),
                    made_at,
                    similarity: query.map(|_| near.map_or(0.0, |(asked, at)| asked.cosine(at))),
                }
            })
            .collect();
        if query.is_some() {
            views.sort_by(|a, b| {
                b.similarity.unwrap_or(0.0).total_cmp(&a.similarity.unwrap_or(0.0))
            });
        }
        let shown: Vec<Value> = views.iter().map(SkillView::json).collect();
        json!({ "skills": shown, "total": taxonomy.skills().len() })
    }

    /// The skills of the tools that the asker may see.
    fn seen_skills(&self, grants: &Grants) -> Vec<AssignedSkills> {
        let roster = self.roster();
        let all = self.0.book.all().into_iter();
        let seen = all.filter(|(server, tool, _)| {
            roster.of_id(server).is_some_and(|entry| grants.allows(&entry.name, tool))
        });
        seen.map(|(_, _, assigned)| assigned).collect()
    }

    pub(super) fn skills_of(&self, server: &str, tool: &str) -> Option<AssignedSkills> {
        self.0.book.of_tool(server, tool)
    }

    /// Adds a skill or changes one. True: it is new.
    pub async fn put_skill(
        &self,
        id: &str,
        new: PutSkill,
        by: Actor<'_>,
    ) -> Result<(bool, Value), Problem> {
        if !crate::skills::is_skill_id(id) {
            let fault = Fault::parameter("id", "is not an id a skill can have");
            let fault = fault.hint("lower case letters, digits and `_`, a letter first");
            return Err(Problem::invalid(vec![fault]));
        }
        let is_new = self.0.book.taxonomy().get(id).is_none();
        let record = SkillRecord {
            id: id.to_owned(),
            title: new.title,
            keywords: new.keywords,
            removed: false,
            updated_at: clock::now(),
        };
        self.change_skills(vec![Change::PutSkill(record)], "put-skill", id, by).await?;
        Ok((is_new, self.skill(id)?))
    }

    pub async fn delete_skill(&self, id: &str, by: Actor<'_>) -> Result<(), Problem> {
        let taxonomy = self.0.book.taxonomy();
        let Skill { id, title, keywords, .. } =
            taxonomy.get(id).cloned().ok_or_else(|| no_such_skill(id))?;
        let record = SkillRecord {
            id: id.clone(),
            title,
            keywords,
            removed: true,
            updated_at: clock::now(),
        };
        self.change_skills(vec![Change::PutSkill(record)], "delete-skill", &id, by).await
    }

    async fn change_skills(
        &self,
        changes: Vec<Change>,
        action: &str,
        id: &str,
        by: Actor<'_>,
    ) -> Result<(), Problem> {
        let mut record = audit(action, by, clock::now());
        record.detail = Some(id.to_owned());
        let done = self.0.store.commit(changes, vec![record]).await;
        done.map_err(|error| store_problem(&error))?;
        let records = self.0.store.skills().await.map_err(|error| store_problem(&error))?;
        // Whoever has the answer sees it; the tools follow.
        self.0.book.set_taxonomy(Taxonomy::new(&records));
        self.0.sort.notify_one();
        Ok(())
    }

    fn skill(&self, id: &str) -> Result<Value, Problem> {
        let shown = self.skills(None, &Grants::All);
        let all = shown.get("skills").and_then(Value::as_array).into_iter().flatten();
        let mut fitting = all.filter(|skill| skill.get("id").and_then(Value::as_str) == Some(id));
        fitting.next().cloned().ok_or_else(|| no_such_skill(id))
    }

    /// The skills of one tool.
    pub fn tool_skills(&self, id: &str, grants: &Grants) -> Result<Value, Problem> {
        let (entry, tool) = self.tool(id, grants)?;
        Ok(self.tool_skills_view(&entry, &tool))
    }

    /// A person says which skills a tool has: so it stays until a person says otherwise.
    pub async fn set_tool_skills(
        &self,
        id: &str,
        new: &SetSkills,
        by: Actor<'_>,
    ) -> Result<Value, Problem> {
        let (entry, tool) = self.tool(id, by.principal.grants())?;
        let taxonomy = self.0.book.taxonomy();
        let mut faults = Vec::new();
        for (at, skill) in new.skill_ids.iter().enumerate() {
            if taxonomy.get(skill).is_none() {
                let place = Pointer::root().key("skill_ids").key(&at.to_string());
                let fault = Fault::at(&place, "is no skill");
                faults.push(fault.hint("GET /api/v1/skills lists them"));
            }
        }
        if !faults.is_empty() {
            return Err(Problem::invalid(faults));
        }
        let skills = new.skill_ids.iter().map(|skill| (skill.clone(), 1.0)).collect();
        let assigned = AssignedSkills { skills, source: SkillSource::Manual };
        let record = record_of(&entry.id, &tool, String::new(), &assigned);
        let change = Change::PutToolSkills(record);
        self.change_tool(change, "set-tool-skills", &entry, &tool, by).await?;
        self.0.book.set_tool(&entry.id, &tool, assigned);
        self.0.sort.notify_one();
        Ok(self.tool_skills_view(&entry, &tool))
    }

    /// Forgets what a person has said, and judges anew.
    pub async fn clear_tool_skills(&self, id: &str, by: Actor<'_>) -> Result<Value, Problem> {
        let (entry, tool) = self.tool(id, by.principal.grants())?;
        self.judge_again("clear-tool-skills", &entry, &tool, by).await
    }

    /// Judges a tool anew; a person's word stays.
    pub async fn classify_tool(&self, id: &str, by: Actor<'_>) -> Result<Value, Problem> {
        let (entry, tool) = self.tool(id, by.principal.grants())?;
        let held = self.skills_of(&entry.id, &tool);
        if held.is_some_and(|held| held.source == SkillSource::Manual) {
            let detail = format!("somebody has set the skills of `{tool}`");
            return Err(Problem::new(Kind::SetByHand, detail));
        }
        self.judge_again("classify-tool", &entry, &tool, by).await
    }

    async fn judge_again(
        &self,
        action: &str,
        entry: &ServerEntry,
        tool: &str,
        by: Actor<'_>,
    ) -> Result<Value, Problem> {
        let change =
            Change::DeleteToolSkills { server_id: entry.id.clone(), name: tool.to_owned() };
        self.change_tool(change, action, entry, tool, by).await?;
        let offer = self.0.fleet.get().and_then(|fleet| fleet.tools(&entry.id)).unwrap_or_default();
        // With its server's other tools, which say what it is about.
        let judged = self.judged(entry, &offer).await;
        let found = judged.and_then(|(batch, mut judged)| {
            let at = batch.tools.iter().position(|known| known.name == tool)?;
            let assigned = (at < judged.len()).then(|| judged.swap_remove(at))?;
            Some((batch, at, assigned))
        });
        if let Some((batch, at, assigned)) = found {
            let print = batch.fingerprint(at, SkillSource::Head);
            self.keep_skills(vec![record_of(&entry.id, tool, print, &assigned)]).await;
            self.0.book.set_tool(&entry.id, tool, assigned);
            if let Some(llm) = &self.0.settings.llm {
                self.ask_portion(llm, &entry.id, &batch, &[at]).await;
            }
        }
        self.0.sort.notify_one();
        Ok(self.tool_skills_view(entry, tool))
    }

    async fn change_tool(
        &self,
        change: Change,
        action: &str,
        entry: &ServerEntry,
        tool: &str,
        by: Actor<'_>,
    ) -> Result<(), Problem> {
        let mut record = audit(action, by, clock::now());
        record.server_id = Some(entry.id.clone());
        record.server_name = Some(entry.name.clone());
        record.tool = Some(tool.to_owned());
        let done = self.0.store.commit(vec![change], vec![record]).await;
        done.map(drop).map_err(|error| store_problem(&error))
    }

    /// By its id (`server-id/tool`) or its name (`server.tool`), if it is there for the asker.
    pub(super) fn tool(&self, id: &str, grants: &Grants) -> Result<(ServerEntry, String), Problem> {
        let roster = self.roster();
        let by_id = id
            .match_indices('/')
            .filter_map(|(at, _)| Some((roster.of_id(id.get(..at)?)?, id.get(at + 1..)?)));
        let named = roster.split(id).into_iter();
        for (entry, tool) in by_id.chain(named) {
            let offer = self.0.fleet.get().and_then(|fleet| fleet.tools(&entry.id));
            let is_offered = offer.is_some_and(|it| it.tools().any(|known| known.name == tool));
            if is_offered && grants.allows(&entry.name, tool) && entry.wanted {
                return Ok((entry.clone(), tool.to_owned()));
            }
        }
        Err(no_such_tool(id))
    }

    fn tool_skills_view(&self, entry: &ServerEntry, tool: &str) -> Value {
        let assigned = self.skills_of(&entry.id, tool);
        ToolSkillsView {
            id: &format!("{}/{tool}", entry.id),
            name: &self.called(&entry.id, &entry.name, tool),
            assigned: assigned.as_ref(),
        }
        .json()
    }

    pub async fn suggestions(&self, state: Option<&str>, page: &Page) -> Result<Value, Problem> {
        let after = page.after.as_deref().unwrap_or_default();
        let found = self.0.store.skill_suggestions(state, after, page.limit + 1).await;
        let mut found = found.map_err(|error| store_problem(&error))?;
        let more = found.len() > page.limit;
        found.truncate(page.limit);
        let next = found.last().filter(|_| more).map(|it| cursor(List::Suggestions, &it.id));
        let shown: Vec<Value> = found.iter().map(suggestion_view).collect();
        Ok(json!({ "suggestions": shown, "next_cursor": next }))
    }

    /// An approved skill is one from then on, and the tool it was suggested for has it.
    pub async fn decide_suggestion(
        &self,
        id: &str,
        decision: SuggestionDecision,
        by: Actor<'_>,
    ) -> Result<Value, Problem> {
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
        let held = self.skills_of(&known.server_id, &known.tool);
        if decision == SuggestionDecision::Approve
            && held.is_none_or(|it| it.source != SkillSource::Manual)
        {
            // It is judged anew, with the skill that was missing.
            let (server_id, name) = (known.server_id.clone(), known.tool.clone());
            changes.push(Change::DeleteToolSkills { server_id, name });
        }
        if decision == SuggestionDecision::Approve {
            changes.push(Change::PutSkill(SkillRecord {
                id: known.skill.clone(),
                title: known.title.clone(),
                keywords: known.keywords.clone(),
                removed: false,
                updated_at: at,
            }));
        }
        self.change_skills(changes, action, &known.skill, by).await.map_err(
            |problem| match problem.kind {
                Kind::Stale => {
                    let detail = format!("`{}` was decided on before", known.skill);
                    Problem::new(Kind::Decided, detail)
                }
                _ => problem,
            },
        )?;
        if decision == SuggestionDecision::Approve {
            self.0.book.forget_reading(&known.server_id);
            self.0.sort.notify_one();
        }
        Ok(suggestion_view(&self.suggestion(id).await?))
    }

    async fn suggestion(&self, id: &str) -> Result<SuggestionRecord, Problem> {
        self.0.store.skill_suggestion(id).await.map_err(|error| match error {
            StoreError::NotFound => {
                Problem::new(Kind::NoSuchSuggestion, "there is no such suggestion")
            }
            error => store_problem(&error),
        })
    }
}

fn no_such_skill(id: &str) -> Problem {
    let shown = trunkline_catalog::name::escaped(id);
    Problem::new(Kind::NoSuchSkill, format!("there is no skill `{shown}`"))
}
