//! What a search has found, as the API shows it.

use serde_json::{Value, json};

use super::Status;
use super::add;
use super::skill::{ASSIGNED, IS_CLASSIFIED, skill_members};
use super::status::STATUSES;
use crate::api::shape::{Case, Object, Shape, Words, any_text, count, optional, required};
use crate::skills::AssignedSkills;

#[derive(Debug, Clone, PartialEq)]
pub struct FoundView<'a> {
    pub id: &'a str,
    /// As clients say it: `server.tool`.
    pub name: &'a str,
    pub original_name: &'a str,
    pub description: Option<&'a str>,
    pub score: f32,
    pub server: (&'a str, &'a str, Status),
    /// `None`: it was not judged yet.
    pub assigned: Option<&'a AssignedSkills>,
}

impl FoundView<'_> {
    pub fn json(&self) -> Value {
        let (id, name, status) = self.server;
        let mut json = json!({
            "id": self.id,
            "name": self.name,
            "original_name": self.original_name,
            "description": self.description,
            "score": rounded(self.score),
            "source_server": { "id": id, "name": name, "status": status.as_str() },
        });
        for (key, value) in skill_members(self.assigned) {
            add(&mut json, key, value);
        }
        json
    }
}

/// Four digits: what lies behind them is noise.
pub fn rounded(score: f32) -> f64 {
    (f64::from(score) * 10_000.0).round() / 10_000.0
}

static SOURCE: Object = Object::answer(
    "SourceServer",
    "The server that has the tool.",
    &[
        required("id", any_text(), ""),
        required("name", any_text(), ""),
        required("status", Shape::Word(&STATUSES), ""),
    ],
);

static FOUND: Object = Object::answer(
    "FoundTool",
    "A tool that was found.",
    &[
        required("id", any_text(), ""),
        required("name", any_text(), "`server.tool`: what it is called with."),
        required("original_name", any_text(), "As its server calls it."),
        required("description", Shape::OrNull(&any_text()), ""),
        required(
            "score",
            Shape::Number,
            "From 0 to 1, and means the same for every query; 1 is the tool's name.",
        ),
        required("source_server", Shape::Object(&SOURCE), ""),
        required("skill_ids", SKILL_IDS, "The skills it has, the likeliest first."),
        required("primary_skill_id", Shape::OrNull(&any_text()), "The one it is mostly about."),
        required("is_classified", Shape::OrNull(&Shape::Flag), IS_CLASSIFIED),
        optional(
            "skills",
            Shape::List { of: &Shape::Object(&ASSIGNED), most: 3 },
            "Its skills, with how sure each is.",
        ),
    ],
);

const SKILL_IDS: Shape = Shape::List { of: &any_text(), most: 3 };

static SOURCES: Words = Words { known: &["endpoint", "built-in"], case: Case::AsWritten };

static EMBEDDED: Object = Object::answer(
    "EmbeddedBy",
    "Who said where the question and the tools point. Only where an embedding endpoint is named.",
    &[
        required("source", Shape::Word(&SOURCES), "Whose word counted for this answer."),
        required("model", any_text(), "The endpoint's model."),
        required("tools_known", count(), "Texts of tools that the endpoint has spoken of."),
        required("tools_waiting", count(), "Those that it is still to be asked about."),
        optional("trouble", any_text(), "Why the endpoint is of no use now."),
    ],
);

static METADATA: Object = Object::answer(
    "SearchMetadata",
    "What was searched.",
    &[
        required("servers_searched", count(), "Connected servers that were searched."),
        required("total_tools_searched", count(), "Tools of theirs that the token may see."),
        optional(
            "unknown_servers",
            Shape::List { of: &any_text(), most: usize::MAX },
            "What `server_filter` names and is not there.",
        ),
        optional("embeddings", Shape::Object(&EMBEDDED), ""),
    ],
);

pub static FOUND_LIST: Object = Object::answer(
    "SearchResult",
    "What was found, the best first.",
    &[
        required("query", any_text(), "As it was asked."),
        required("tools", Shape::List { of: &Shape::Object(&FOUND), most: usize::MAX }, ""),
        required("metadata", Shape::Object(&METADATA), ""),
    ],
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::view::tests::assert_fits;
    use crate::skills::SkillSource;

    #[test]
    fn what_is_found_has_its_shape() {
        let skills = vec![("issue_tracking".to_owned(), 0.8)];
        let assigned = AssignedSkills { skills, source: SkillSource::Head };
        let view = FoundView {
            id: "s/create_issue",
            name: "github-mcp.create_issue",
            original_name: "create_issue",
            description: None,
            score: 0.954_321,
            server: ("s", "github-mcp", Status::Connected),
            assigned: Some(&assigned),
        };
        let json = view.json();
        assert_fits(&json.to_string(), &Shape::Object(&FOUND));
        assert_eq!(json["score"].to_string(), "0.9543");
    }
}
