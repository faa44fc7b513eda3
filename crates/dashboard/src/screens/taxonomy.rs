//! The skills there are, as screens show them.

use maud::{Markup, html};
use serde_json::Value;

use super::tools::text;
use crate::api_client::ApiError;
use crate::form::encode;
use crate::format::short;
use crate::page_request::PageRequest;

/// By title.
pub(super) struct Taxonomy(Vec<Skill>);

pub(super) struct Skill {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) keywords: String,
    pub(super) is_builtin: bool,
    /// Tools that have it, and those that are mostly about it.
    pub(super) tools: u64,
    pub(super) primary: u64,
}

impl Taxonomy {
    pub(super) async fn ask(request: &PageRequest<'_>) -> Result<Self, ApiError> {
        let told = &request.get("/api/v1/skills").await?;
        let skills = told["skills"].as_array().into_iter().flatten();
        let mut skills: Vec<Skill> = skills.map(Skill::read).collect();
        skills.sort_by(|one, other| one.title.cmp(&other.title));
        Ok(Self(skills))
    }

    pub(super) fn skills(&self) -> &[Skill] {
        &self.0
    }

    /// The one of this id.
    pub(super) fn take(self, id: &str) -> Option<Skill> {
        self.0.into_iter().find(|skill| skill.id == id)
    }

    /// What a skill is called; its id, if it is gone.
    pub(super) fn title<'a>(&'a self, id: &'a str) -> &'a str {
        let known = self.0.iter().find(|skill| skill.id == id);
        known.map_or(id, |skill| skill.title.as_str())
    }
}

impl Skill {
    fn read(skill: &Value) -> Self {
        Self {
            id: text(skill, "id"),
            title: text(skill, "title"),
            keywords: text(skill, "keywords"),
            is_builtin: skill["is_builtin"] == true,
            tools: skill["tools"].as_u64().unwrap_or_default(),
            primary: skill["primary_tools"].as_u64().unwrap_or_default(),
        }
    }
}

/// The skills of a tool, the likeliest first; each leads to the tools that have it.
pub(super) fn skill_badges(ids: &[String], taxonomy: &Taxonomy) -> Markup {
    html! {
        @if ids.is_empty() { span.dim { "–" } }
        span.badges {
            @for id in ids {
                a.badge.accent href={ "/tools?skill=" (encode(id)) } { (short(taxonomy.title(id), 40)) }
            }
        }
    }
}
