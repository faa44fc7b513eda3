//! `POST /search`: its route, what is looked for, and what was found. A resource in one file.

use serde_json::{Value, json};

use crate::access::Action;
use crate::api::answer::ApiResponse;
use crate::api::fault::{Pointer, RequestFault};
use crate::api::input::Declared;
use crate::api::problem::Problem;
use crate::api::request::ApiRequest;
use crate::api::route::{Access, Handler, Method, Response, Route};
use crate::api::schema::{
    Case, EnumValues, ObjectSchema, Schema, TextFormat, answer, any_text, count, list, optional,
    request, required, text,
};
use crate::api::view::{
    ASSIGNED_SKILLS, IS_CLASSIFIED, SKILL_IDS, Status, add, assigned_skills, rounded,
};
use crate::services::{EmbeddingStatus, FoundToolInfo, SearchReport, ToolSearch};
use crate::skills::AssignedSkills;

const TAG: &str = "Search and skills";

pub(in crate::api) const ROUTES: &[Route] = &[Route::new(
    "searchTools",
    (Method::Post, "/api/v1/search"),
    Access::Needs(Action::Search),
    Handler::Async(|asked| Box::pin(search(asked))),
)
.about(
    TAG,
    "Search the tools of all servers",
    "In plain words. The tools of all connected servers that the token may see, the best first, \
     whichever server has them. What is disconnected is not searched and not counted.",
)
.body(SearchTools::SCHEMA)
.answers(&[Response::json(200, "What was found.", Schema::Object(&FOUND_LIST))])
.counted()
.not_audited()];

async fn search(asked: &ApiRequest<'_>) -> Result<ApiResponse, Problem> {
    asked.no_query()?;
    let SearchTools { query, include_external, server_filter, limit } =
        SearchTools::read(&asked.body())?;
    let wanted = ToolSearch { query, include_external, server_filter, limit };
    let report = asked.plane.tools().search(&wanted, &asked.principal).await?;
    Ok(ApiResponse::json(200, &search_report(&wanted.query, &report)))
}

/// How many are found where the request does not say.
const USUAL: usize = 10;

const SERVERS: Schema = Schema::List { of: &text(1, 200, TextFormat::Line), least: 0, most: 1000 };

request! {
    /// What is looked for.
    #[derive(Debug)]
    struct SearchTools as "Search" {
        /// What the tool should do, or its name.
        #[example = "create a GitHub issue"] pub query: String => text(1, 2000, TextFormat::Prose),
        /// Tools of servers; otherwise only custom tools. Yes, unless said otherwise.
        #[example = true] pub include_external: bool = true => Schema::Nullable(&Schema::Bool),
        /// Only tools of these servers, by name or id. All, unless said otherwise.
        #[example = ["github-mcp", "jira-mcp"]]
        pub server_filter?: Vec<String> => Schema::Nullable(&SERVERS),
        /// How many at most; 10 unless said otherwise.
        #[example = 10]
        pub limit: usize = USUAL => Schema::Nullable(&Schema::Integer { least: 1, most: 100 }),
    }
}

impl SearchTools {
    fn read(body: &Declared<'_>) -> Result<Self, Problem> {
        body.read_and_check(|search: &Self, faults| {
            let query = &search.query;
            // An empty one is the schema's to refuse.
            if !query.is_empty() && query.trim().is_empty() {
                let fault = RequestFault::at(&Pointer::root().key("query"), "must not be blank");
                faults.push(fault.hint("write what the tool should do"));
            }
            if search.server_filter.as_ref().is_some_and(Vec::is_empty) {
                let fault =
                    RequestFault::at(&Pointer::root().key("server_filter"), "must not be empty");
                faults.push(fault.hint("leave it out to search all of them"));
            }
        })
    }
}

answer! {
    /// A tool that was found.
    struct FoundView<'a> as "FoundTool" {
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
    struct SourceServer<'a> as "SourceServer" {
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

const FOUND_LIST: ObjectSchema = ObjectSchema::answer(
    "SearchResult",
    "What was found, the best first.",
    &[
        required("query", any_text(), "As it was asked.").example("\"create a GitHub issue\""),
        required("tools", list(&FoundView::SCHEMA), ""),
        required("metadata", Schema::Object(&METADATA), ""),
    ],
);

fn search_report(query: &str, report: &SearchReport) -> Value {
    let tools: Vec<Value> = report.tools.iter().map(found).collect();
    let mut metadata = json!({
        "servers_searched": report.servers_searched,
        "total_tools_searched": report.tools_searched,
    });
    if !report.unknown_servers.is_empty() {
        add(&mut metadata, "unknown_servers", json!(report.unknown_servers));
    }
    if let Some(of) = &report.embedding {
        add(&mut metadata, "embeddings", embedding(of));
    }
    json!({ "query": query, "tools": tools, "metadata": metadata })
}

fn found(tool: &FoundToolInfo) -> Value {
    FoundView {
        id: &tool.id,
        name: &tool.name,
        original_name: &tool.original_name,
        description: tool.description.as_deref(),
        score: tool.score,
        server: (&tool.server_id, &tool.server_name, tool.server_status),
        assigned: tool.assigned.as_ref(),
    }
    .json()
}

fn embedding(of: &EmbeddingStatus) -> Value {
    let mut shown = json!({
        "source": if of.by_endpoint { "endpoint" } else { "built-in" },
        "model": of.model,
        "tools_known": of.tools_known,
        "tools_waiting": of.tools_waiting,
    });
    if let Some(trouble) = &of.trouble {
        add(&mut shown, "trouble", json!(trouble));
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::view::tests::assert_fits;
    use crate::skills::SkillSource;

    fn read(json: &str) -> Result<SearchTools, Problem> {
        let content_type = Some(&b"application/json"[..]);
        SearchTools::read(&Declared { content_type, bytes: json.as_bytes() })
    }

    #[test]
    fn a_search_is_read() {
        let plain = SearchTools {
            query: "create an issue".to_owned(),
            include_external: true,
            server_filter: None,
            limit: 10,
        };
        assert_eq!(read(r#"{"query":"create an issue"}"#).unwrap(), plain);
        let nulls = r#"{"query":"create an issue","include_external":null,"server_filter":null,"limit":null}"#;
        assert_eq!(read(nulls).unwrap(), plain);
        let whole = r#"{"query":"create an issue","include_external":false,"server_filter":["a","b"],"limit":3}"#;
        let expected = SearchTools {
            include_external: false,
            server_filter: Some(vec!["a".to_owned(), "b".to_owned()]),
            limit: 3,
            ..plain
        };
        assert_eq!(read(whole).unwrap(), expected);
    }

    #[test]
    fn bad_searches_are_refused() {
        for (json, expected) in [
            ("{}", "/query is missing"),
            (r#"{"query":""}"#, "/query must not be empty"),
            (r#"{"query":" \n "}"#, "/query must not be blank"),
            (r#"{"query":7}"#, "/query must be a string"),
            (r#"{"query":"a","limit":0}"#, "/limit must be a whole number from 1 to 100"),
            (r#"{"query":"a","limit":101}"#, "/limit must be a whole number from 1 to 100"),
            (r#"{"query":"a","limit":"5"}"#, "/limit"),
            (r#"{"query":"a","server_filter":"b"}"#, "/server_filter must be an array"),
            (r#"{"query":"a","server_filter":[]}"#, "/server_filter must not be empty"),
            (r#"{"query":"a","server_filter":[1]}"#, "/server_filter/0"),
            (r#"{"query":"a","include_external":"yes"}"#, "/include_external"),
            (r#"{"query":"a","servers":["b"]}"#, "/servers unknown field `servers`"),
        ] {
            let problem = read(json).expect_err(json);
            assert_eq!(problem.status(), 422, "{json}");
            assert!(problem.detail().contains(expected), "{json}: {}", problem.detail());
        }
    }

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
