//! Skills as the API shows them: each with its tools, a tool with its skills, and those to decide on.

use serde_json::{Value, json};
use trunkline_store::SuggestionRecord;

use super::NEXT_CURSOR;
use crate::api::schema::{Moment, ObjectSchema, Schema, answer, any_text, list, number, required};
use crate::skills::{AssignedSkills, MOST_SKILLS, Skill};

answer! {
    /// A field of work that tools belong to.
    pub struct SkillView<'a> as "Skill" {
        #[hidden] pub skill: &'a Skill,
        #[example = "issue_tracking"] id: &str = |it| it.skill.id,
        #[example = "Issue tracking"] title: &str = |it| it.skill.title,
        /// Words that are typical of it.
        #[example = "issue ticket bug board"] keywords: &str = |it| it.skill.keywords,
        /// It comes with the program, and was learnt.
        #[example = true] is_builtin: bool = |it| !it.skill.is_added,
        /// Tools that have it, of those the token may see.
        #[example = 12] pub tools: usize,
        #[hidden] pub primary: usize,
        /// Those that are mostly about it.
        #[example = 9] primary_tools: usize = |it| it.primary,
        #[hidden] pub made_at: i64,
        /// When where it points was last made anew.
        embedding_updated_at: Moment<i64> = |it| Moment(it.made_at),
        #[hidden] pub similarity: Option<f32>,
        /// How near `query` is, from -1 to 1.
        similarity?: f64 = |it| it.similarity.map(rounded) => Schema::Anything,
    }
}

answer! {
    /// The skills there are.
    pub struct SkillList as "SkillList" {
        pub skills: Vec<Value> => list(&SkillView::SCHEMA),
        #[example = 1] pub total: usize,
    }
}

pub(in crate::api) const IS_CLASSIFIED: &str =
    "False: it could not be classified. Null: that was not tried yet.";
pub(in crate::api) const SKILL_IDS: Schema =
    Schema::List { of: &any_text(), least: 0, most: MOST_SKILLS };
pub(in crate::api) const ASSIGNED_SKILLS: Schema =
    Schema::List { of: &Schema::Object(&ASSIGNED), least: 0, most: MOST_SKILLS };

const ASSIGNED: ObjectSchema = ObjectSchema::answer(
    "AssignedSkill",
    "A skill of a tool.",
    &[
        required("id", any_text(), "").example("\"issue_tracking\""),
        required("confidence", number(), "From 0 to 1.").example("0.81"),
    ],
);

/// The skills of a tool with how sure each is; none while it was not judged yet.
pub(in crate::api) fn assigned_skills(assigned: Option<&AssignedSkills>) -> Value {
    assigned.map_or_else(|| json!([]), AssignedSkills::json)
}

answer! {
    /// The skills of a tool.
    pub struct ToolSkillsView<'a> as "ToolSkills" {
        /// The tool's id.
        #[example = "0d9c4c5e-8a2b-4a9e-9d62-8f4f2f1f2a10/create_issue"] pub id: &'a str,
        /// `server.tool`.
        #[example = "github-mcp.create_issue"] pub name: &'a str,
        #[hidden] pub assigned: Option<&'a AssignedSkills>,
        /// The likeliest first.
        #[example = ["issue_tracking"]]
        skill_ids: Vec<String> = |it| it.assigned.map(AssignedSkills::ids).unwrap_or_default() => SKILL_IDS,
        /// If its confidence is 0.5 or more.
        #[example = "issue_tracking"]
        primary_skill_id: Option<&str> = |it| it.assigned.and_then(AssignedSkills::primary),
        #[doc = IS_CLASSIFIED]
        #[example = true]
        is_classified: Option<bool> = |it| it.assigned.map(AssignedSkills::is_classified),
        skills: Value = |it| assigned_skills(it.assigned) => ASSIGNED_SKILLS,
        /// `model`, `llm` or `manual`.
        #[example = "model"]
        source: Option<&str> = |it| it.assigned.map(|assigned| assigned.source.as_str()),
    }
}

answer! {
    /// A skill that is not there and may be wanted.
    pub struct SuggestionView<'a> as "SkillSuggestion" {
        #[hidden] pub record: &'a SuggestionRecord,
        #[example = "b7c1"] id: &str = |it| it.record.id,
        /// What its id would be.
        #[example = "robots"] skill_id: &str = |it| it.record.skill,
        #[example = "Robots"] title: &str = |it| it.record.title,
        #[example = "robot arm gripper"] keywords: &str = |it| it.record.keywords,
        /// Why it was suggested; written by a language model.
        #[example = "It moves a robot's arm, and no skill is about that."]
        reason: &str = |it| it.record.reason,
        /// The tool it was suggested for.
        #[example = "0d9c4c5e-8a2b-4a9e-9d62-8f4f2f1f2a10/grasp"]
        tool_id: String = |it| format!("{}/{}", it.record.server_id, it.record.tool),
        /// `pending`, `approved` or `rejected`.
        #[example = "pending"] state: &str = |it| it.record.state,
        created_at: Moment<i64> = |it| Moment(it.record.created_at),
        decided_at: Moment<Option<i64>> = |it| Moment(it.record.decided_at),
        decided_by: Option<&str> = |it| it.record.decided_by,
    }
}

pub fn suggestion_view(record: &SuggestionRecord) -> Value {
    SuggestionView { record }.json()
}

answer! {
    /// Suggestions.
    pub struct SuggestionList as "SkillSuggestionList" {
        pub suggestions: Vec<Value> => list(&SuggestionView::SCHEMA),
        #[doc = NEXT_CURSOR]
        pub next_cursor: Option<String>,
    }
}

/// Four digits: what lies behind them is noise.
pub(in crate::api) fn rounded(score: f32) -> f64 {
    (f64::from(score) * 10_000.0).round() / 10_000.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::view::tests::assert_fits;
    use crate::skills::SkillSource;

    #[test]
    fn skills_have_their_shapes() {
        let skill = Skill {
            id: "a".to_owned(),
            title: "A".to_owned(),
            keywords: String::new(),
            is_added: true,
        };
        let view =
            SkillView { skill: &skill, tools: 2, primary: 1, made_at: 0, similarity: Some(-0.25) };
        assert_fits(&view.json().to_string(), &SkillView::SCHEMA);
        let assigned =
            AssignedSkills { skills: vec![("a".to_owned(), 0.4)], source: SkillSource::Llm };
        for (assigned, expected) in [(None, Value::Null), (Some(&assigned), true.into())] {
            let view = ToolSkillsView { id: "s/t", name: "s.t", assigned };
            assert_fits(&view.json().to_string(), &ToolSkillsView::SCHEMA);
            assert_eq!(view.json()["is_classified"], expected);
        }
        let record = SuggestionRecord {
            id: "1".to_owned(),
            skill: "robots".to_owned(),
            title: String::new(),
            keywords: String::new(),
            reason: String::new(),
            server_id: "s".to_owned(),
            tool: "t".to_owned(),
            state: "pending".to_owned(),
            created_at: 0,
            decided_at: None,
            decided_by: None,
        };
        assert_fits(&suggestion_view(&record).to_string(), &SuggestionView::SCHEMA);
    }
}
