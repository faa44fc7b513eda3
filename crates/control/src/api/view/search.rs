//! What a search has found, as the API shows it.

use super::Status;
use super::skill::{ASSIGNED_SKILLS, IS_CLASSIFIED, SKILL_IDS, assigned_skills};
use crate::api::schema::{
    Case, EnumValues, ObjectSchema, Schema, answer, any_text, count, list, optional, required,
};
use crate::skills::AssignedSkills;

answer! {
    /// A tool that was found.
    pub struct FoundView<'a> as "FoundTool" {
        #[example = "0d9c4c5e-8a2b-4a9e-9d62-8f4f2f1f2a10/create_issue"] pub id: &'a str,
        /// `server.tool`: what it is called with.
        #[example = "github-mcp.create_issue"] pub name: &'a str,
        /// As its server calls it.
        #[example = "create_issue"] pub original_name: &'a str,
        #[example = "Create a new GitHub issue"] pub description: Option<&'a str>,
        #[hidden] pub score: f32,
        /// From 0 to 1, and means the same for every query; 1 is the tool's name.
        #[example = 0.95] score: f64 = |it| rounded(it.score),
        #[hidden] pub server: (&'a str, &'a str, Status),
        source_server: SourceServer<'_> = |it| SourceServer::of(it.server),
        #[hidden] pub assigned: Option<&'a AssignedSkills>,
        /// The skills it has, the likeliest first.
        #[example = ["issue_tracking", "code_management"]]
        skill_ids: Vec<String> = |it| it.assigned.map(AssignedSkills::ids).unwrap_or_default() => SKILL_IDS,
        /// The one it is mostly about.
        #[example = "issue_tracking"]
        primary_skill_id: Option<&str> = |it| it.assigned.and_then(AssignedSkills::primary),
        #[doc = IS_CLASSIFIED]
        #[example = true]
        is_classified: Option<bool> = |it| it.assigned.map(AssignedSkills::is_classified),
        /// Its skills, with how sure each is.
        skills: Value = |it| assigned_skills(it.assigned) => ASSIGNED_SKILLS,
    }
}

answer! {
    /// The server that has the tool.
    pub struct SourceServer<'a> as "SourceServer" {
        #[example = "0d9c4c5e-8a2b-4a9e-9d62-8f4f2f1f2a10"] pub id: &'a str,
        #[example = "github-mcp"] pub name: &'a str,
        pub status: Status,
    }
}

impl<'a> SourceServer<'a> {
    fn of((id, name, status): (&'a str, &'a str, Status)) -> Self {
        Self { id, name, status }
    }
}

/// Four digits: what lies behind them is noise.
pub fn rounded(score: f32) -> f64 {
    (f64::from(score) * 10_000.0).round() / 10_000.0
}

const SOURCES: Schema =
    Schema::Enum(&EnumValues { known: &["endpoint", "built-in"], case: Case::Sensitive });

const EMBEDDED: ObjectSchema = ObjectSchema::answer(
    "EmbeddedBy",
    "Who said where the question and the tools point. Only where an embedding endpoint is named.",
    &[
        required("source", SOURCES, "Whose word counted for this answer."),
        required("model", any_text(), "The endpoint's model."),
        required("tools_known", count(), "Texts of tools that the endpoint has spoken of."),
        required("tools_waiting", count(), "Those that it is still to be asked about."),
        optional("trouble", any_text(), "Why the endpoint is of no use now."),
    ],
);

const METADATA: ObjectSchema = ObjectSchema::answer(
    "SearchMetadata",
    "What was searched.",
    &[
        required("servers_searched", count(), "Connected servers that were searched.").example("2"),
        required("total_tools_searched", count(), "Tools of theirs that the token may see.")
            .example("45"),
        optional(
            "unknown_servers",
            list(&any_text()),
            "What `server_filter` names and is not there.",
        ),
        optional("embeddings", Schema::Object(&EMBEDDED), ""),
    ],
);

pub const FOUND_LIST: ObjectSchema = ObjectSchema::answer(
    "SearchResult",
    "What was found, the best first.",
    &[
        required("query", any_text(), "As it was asked.").example("\"create a GitHub issue\""),
        required("tools", list(&FoundView::SCHEMA), ""),
        required("metadata", Schema::Object(&METADATA), ""),
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
        assert_fits(&json.to_string(), &FoundView::SCHEMA);
        assert_eq!(json["score"].to_string(), "0.9543");
    }
}
