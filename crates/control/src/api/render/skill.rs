//! Skills, those of a tool, and suggestions.

use serde_json::{Value, json};
use trunkline_store::SuggestionRecord;

use crate::api::paging::{List, cursor};
use crate::api::view::{SkillView, ToolSkillsView, suggestion_view};
use crate::services::{SkillSummary, ToolSkills};

pub(crate) fn skills(all: &[SkillSummary]) -> Value {
    let shown: Vec<Value> = all.iter().map(skill).collect();
    json!({ "skills": shown, "total": all.len() })
}

pub(crate) fn skill(summary: &SkillSummary) -> Value {
    SkillView {
        skill: &summary.skill,
        tools: summary.tools,
        primary: summary.primary,
        made_at: summary.made_at,
        similarity: summary.similarity,
    }
    .json()
}

pub(crate) fn tool_skills(skills: &ToolSkills) -> Value {
    ToolSkillsView { id: &skills.id, name: &skills.name, assigned: skills.assigned.as_ref() }.json()
}

pub(crate) fn suggestions(found: &[SuggestionRecord], next: Option<&str>) -> Value {
    let next = next.map(|place| cursor(List::SUGGESTIONS, place));
    let shown: Vec<Value> = found.iter().map(suggestion_view).collect();
    json!({ "suggestions": shown, "next_cursor": next })
}
