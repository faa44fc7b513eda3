//! Skills as the API shows them: each with its tools, a tool with its skills, and those to decide on.

use serde_json::{Value, json};
use trunkline_store::SuggestionRecord;

use super::search::rounded;
use super::{MOMENT, NEXT_CURSOR, add, moment, moment_or_null};
use crate::api::shape::{Object, Shape, any_text, count, optional, required};
use crate::skills::{AssignedSkills, Skill};

#[derive(Debug, Clone, PartialEq)]
pub struct SkillView<'a> {
    pub skill: &'a Skill,
    /// Tools that have it, and those that are mostly about it.
    pub tools: usize,
    pub primary: usize,
    /// When its embedding was last made.
    pub made_at: i64,
    /// How near a question is.
    pub similarity: Option<f32>,
}

impl SkillView<'_> {
    pub fn json(&self) -> Value {
        let Skill { id, title, keywords, is_added } = self.skill;
        let mut json = json!({
            "id": id,
            "title": title,
            "keywords": keywords,
            "is_builtin": !is_added,
            "tools": self.tools,
            "primary_tools": self.primary,
            "embedding_updated_at": moment(self.made_at),
        });
        if let Some(similarity) = self.similarity {
            add(&mut json, "similarity", rounded(similarity));
        }
        json
    }
}

/// A tool and its skills.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSkillsView<'a> {
    pub id: &'a str,
    pub name: &'a str,
    /// `None`: it was not judged yet.
    pub assigned: Option<&'a AssignedSkills>,
}

impl ToolSkillsView<'_> {
    pub fn json(&self) -> Value {
        let mut json = json!({ "id": self.id, "name": self.name });
        for (key, value) in skill_members(self.assigned) {
            add(&mut json, key, value);
        }
        add(&mut json, "source", self.assigned.map(|it| it.source.as_str()));
        json
    }
}

pub(super) const IS_CLASSIFIED: &str =
    "False: it could not be classified. Null: that was not tried yet.";

/// What a tool's skills are, in the words of 003, and how sure each is.
pub fn skill_members(assigned: Option<&AssignedSkills>) -> [(&'static str, Value); 4] {
    [
        ("skill_ids", assigned.map(AssignedSkills::ids).unwrap_or_default().into()),
        ("primary_skill_id", assigned.and_then(AssignedSkills::primary).into()),
        ("is_classified", assigned.map(AssignedSkills::is_classified).into()),
        ("skills", assigned.map_or_else(|| json!([]), AssignedSkills::json)),
    ]
}

pub fn suggestion_view(record: &SuggestionRecord) -> Value {
    json!({
        "id": record.id,
        "skill_id": record.skill,
        "title": record.title,
        "keywords": record.keywords,
        "reason": record.reason,
        "tool_id": format!("{}/{}", record.server_id, record.tool),
        "state": record.state,
        "created_at": moment(record.created_at),
        "decided_at": moment_or_null(record.decided_at),
        "decided_by": record.decided_by,
    })
}

pub static SKILL: Object = Object::answer(
    "Skill",
    "A field of work that tools belong to.",
    &[
        required("id", any_text(), ""),
        required("title", any_text(), ""),
        required("keywords", any_text(), "Words that are typical of it."),
        required("is_builtin", Shape::Flag, "It comes with the program, and was learnt."),
        required("tools", count(), "Tools that have it, of those the token may see."),
        required("primary_tools", count(), "Those that are mostly about it."),
        required("embedding_updated_at", MOMENT, "When where it points was last made anew."),
        optional("similarity", Shape::Anything, "How near `query` is, from -1 to 1."),
    ],
);

pub static SKILL_LIST: Object = Object::answer(
    "SkillList",
    "The skills there are.",
    &[
        required("skills", Shape::List { of: &Shape::Object(&SKILL), most: usize::MAX }, ""),
        required("total", count(), ""),
    ],
);

pub(super) static ASSIGNED: Object = Object::answer(
    "AssignedSkill",
    "A skill of a tool.",
    &[required("id", any_text(), ""), required("confidence", Shape::Number, "From 0 to 1.")],
);

pub static TOOL_SKILLS: Object = Object::answer(
    "ToolSkills",
    "The skills of a tool.",
    &[
        required("id", any_text(), "The tool's id."),
        required("name", any_text(), "`server.tool`."),
        required("skill_ids", Shape::List { of: &any_text(), most: 3 }, "The likeliest first."),
        required(
            "primary_skill_id",
            Shape::OrNull(&any_text()),
            "If its confidence is 0.5 or more.",
        ),
        required("is_classified", Shape::OrNull(&Shape::Flag), IS_CLASSIFIED),
        required("skills", Shape::List { of: &Shape::Object(&ASSIGNED), most: 3 }, ""),
        required("source", Shape::OrNull(&any_text()), "`model`, `llm` or `manual`."),
    ],
);

pub static SUGGESTION: Object = Object::answer(
    "SkillSuggestion",
    "A skill that is not there and may be wanted.",
    &[
        required("id", any_text(), ""),
        required("skill_id", any_text(), "What its id would be."),
        required("title", any_text(), ""),
        required("keywords", any_text(), ""),
        required("reason", any_text(), "Why it was suggested; written by a language model."),
        required("tool_id", any_text(), "The tool it was suggested for."),
        required("state", any_text(), "`pending`, `approved` or `rejected`."),
        required("created_at", MOMENT, ""),
        required("decided_at", Shape::OrNull(&MOMENT), ""),
        required("decided_by", Shape::OrNull(&any_text()), ""),
    ],
);

pub static SUGGESTION_LIST: Object = Object::answer(
    "SkillSuggestionList",
    "Suggestions.",
    &[
        required(
            "suggestions",
            Shape::List { of: &Shape::Object(&SUGGESTION), most: usize::MAX },
            "",
        ),
        required("next_cursor", Shape::OrNull(&any_text()), NEXT_CURSOR),
    ],
);

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
        assert_fits(&view.json().to_string(), &Shape::Object(&SKILL));
        let assigned =
            AssignedSkills { skills: vec![("a".to_owned(), 0.4)], source: SkillSource::Llm };
        for (assigned, expected) in [(None, Value::Null), (Some(&assigned), true.into())] {
            let view = ToolSkillsView { id: "s/t", name: "s.t", assigned };
            assert_fits(&view.json().to_string(), &Shape::Object(&TOOL_SKILLS));
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
        assert_fits(&suggestion_view(&record).to_string(), &Shape::Object(&SUGGESTION));
    }
}
