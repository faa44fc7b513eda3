//! Skills: listed, changed, said of tools, and decided on.
use crate::access::Action;
use crate::api::answer::ApiResponse;
use crate::api::input::{PutSkill, SetSkills};
use crate::api::paging::{self, CURSOR, LIMIT, List};
use crate::api::parameters::{ID, TOOL_ID};
use crate::api::problem::{Kind, Problem};
use crate::api::request::ApiRequest;
use crate::api::route::{Access, Handler, Method, Parameter, Response, Route};
use crate::api::schema::{Case, EnumValues, Schema, TextFormat, text};
use crate::api::view::{
    SkillList, SkillView, SuggestionList, SuggestionView, ToolSkillsView, suggestion_view,
};
use crate::api::{query, render};
use crate::services::SuggestionDecision;

const TAG: &str = "Search and skills";

const SKILL_ID: Parameter = Parameter::path(
    "id",
    text(1, 64, TextFormat::SkillId),
    "The skill's id: lower case letters, digits and `_`, a letter first.",
);

const STATES: Schema = Schema::Enum(&EnumValues {
    known: &["pending", "approved", "rejected"],
    case: Case::Sensitive,
});

pub(in crate::api) const ROUTES: &[Route] = &[
    Route::new(
        "listSkills",
        (Method::Get, "/api/v1/skills"),
        Access::Needs(Action::ReadSkills),
        Handler::Sync(list),
    )
    .about(
        TAG,
        "List the skills",
        "With how many tools have them. With `query`, those first that it is about.",
    )
    .parameters(&[Parameter::query(
        "query",
        text(1, 2000, TextFormat::Prose),
        "A question, in plain words.",
    )])
    .answers(&[Response::json(200, "All skills.", SkillList::SCHEMA)]),
    Route::new(
        "putSkill",
        (Method::Put, "/api/v1/skills/{id}"),
        Access::Needs(Action::EditSkills),
        Handler::Async(|asked| Box::pin(put(asked))),
    )
    .about(
        TAG,
        "Add a skill, or change one",
        "Tools are given it by the words of its title and keywords. Tools whose skills somebody \
         has set keep them.",
    )
    .parameters(&[SKILL_ID])
    .body(PutSkill::SCHEMA)
    .answers(&[
        Response::json(200, "It is changed.", SkillView::SCHEMA),
        Response::json(201, "It is new.", SkillView::SCHEMA),
    ])
    // An id with a control character is no path at all.
    .fails(&[Kind::NoSuchPath, Kind::StoreUnavailable, Kind::StoreFull])
    .audited("put-skill"),
    Route::new(
        "deleteSkill",
        (Method::Delete, "/api/v1/skills/{id}"),
        Access::Needs(Action::EditSkills),
        Handler::Async(|asked| Box::pin(delete(asked))),
    )
    .about(TAG, "Remove a skill", "It is taken from all tools, also where a person has set it.")
    .parameters(&[SKILL_ID])
    .answers(&[Response::empty(204, "It is gone.")])
    .fails(&[Kind::NoSuchSkill, Kind::StoreUnavailable, Kind::StoreFull])
    .audited("delete-skill"),
    Route::new(
        "listSuggestions",
        (Method::Get, "/api/v1/skills/suggestions"),
        Access::Needs(Action::EditSkills),
        Handler::Async(|asked| Box::pin(suggestions(asked))),
    )
    .about(
        TAG,
        "List suggested skills",
        "Where a language model classifies tools, it may say that none fits.",
    )
    .parameters(&[
        Parameter::query("state", STATES, "Only those in this state; all, unless said otherwise."),
        LIMIT,
        CURSOR,
    ])
    .answers(&[Response::json(200, "A page of suggestions.", SuggestionList::SCHEMA)])
    .fails(&[Kind::StoreUnavailable]),
    decision(
        "approveSuggestion",
        "/api/v1/skills/suggestions/{id}/approve",
        Handler::Async(|asked| Box::pin(decide(asked, SuggestionDecision::Approve))),
    )
    .answers(&[DECIDED.showing(
        r#"{"state":"approved","decided_at":"2025-01-08T11:00:00Z","decided_by":"admin"}"#,
    )])
    .about(TAG, "Approve a suggested skill", "It is a skill from now on, and tools are given it.")
    .audited("approve-skill"),
    decision(
        "rejectSuggestion",
        "/api/v1/skills/suggestions/{id}/reject",
        Handler::Async(|asked| Box::pin(decide(asked, SuggestionDecision::Reject))),
    )
    .answers(&[DECIDED.showing(
        r#"{"state":"rejected","decided_at":"2025-01-08T11:00:00Z","decided_by":"admin"}"#,
    )])
    .about(TAG, "Reject a suggested skill", "It is not suggested again.")
    .audited("reject-skill"),
    Route::new(
        "getToolSkills",
        (Method::Get, "/api/v1/tools/{id}/skills"),
        Access::Needs(Action::ReadSkills),
        Handler::Sync(of_tool),
    )
    .about(TAG, "The skills of a tool", "With how sure each is, and who says so.")
    .parameters(&[TOOL_ID])
    .answers(&[Response::json(200, "Its skills.", ToolSkillsView::SCHEMA)])
    .fails(&[Kind::NoSuchTool]),
    Route::new(
        "setToolSkills",
        (Method::Put, "/api/v1/tools/{id}/skills"),
        Access::Needs(Action::EditSkills),
        Handler::Async(|asked| Box::pin(set(asked))),
    )
    .about(
        TAG,
        "Say which skills a tool has",
        "So it stays, whatever is classified later, until it is said otherwise or the server is \
         removed.",
    )
    .parameters(&[TOOL_ID])
    .body(SetSkills::SCHEMA)
    .answers(&[Response::json(200, "Its skills.", ToolSkillsView::SCHEMA)])
    .fails(&[Kind::NoSuchTool, Kind::StoreUnavailable, Kind::StoreFull])
    .audited("set-tool-skills"),
    Route::new(
        "clearToolSkills",
        (Method::Delete, "/api/v1/tools/{id}/skills"),
        Access::Needs(Action::EditSkills),
        Handler::Async(|asked| Box::pin(clear(asked))),
    )
    .about(
        TAG,
        "Leave a tool's skills to Trunkline again",
        "What somebody has said is forgotten, and the tool is classified.",
    )
    .parameters(&[TOOL_ID])
    .answers(&[Response::json(200, "Its skills.", ToolSkillsView::SCHEMA)])
    .fails(&[Kind::NoSuchTool, Kind::StoreUnavailable, Kind::StoreFull])
    .audited("clear-tool-skills"),
    Route::new(
        "classifyTool",
        (Method::Post, "/api/v1/tools/{id}/classify"),
        Access::Needs(Action::EditSkills),
        Handler::Async(|asked| Box::pin(classify(asked))),
    )
    .about(TAG, "Classify a tool anew", "Now, whatever was found out before.")
    .parameters(&[TOOL_ID])
    .answers(&[Response::json(200, "Its skills.", ToolSkillsView::SCHEMA)])
    .fails(&[Kind::NoSuchTool, Kind::SetByHand, Kind::StoreUnavailable, Kind::StoreFull])
    .audited("classify-tool"),
];

const DECIDED: Response = Response::json(200, "The suggestion.", SuggestionView::SCHEMA);

const fn decision(id: &'static str, path: &'static str, handler: Handler) -> Route {
    Route::new(id, (Method::Post, path), Access::Needs(Action::EditSkills), handler)
        .parameters(const { &[Parameter::path("id", ID, "The suggestion's id.")] })
        .fails(&[Kind::NoSuchSuggestion, Kind::Decided, Kind::StoreUnavailable, Kind::StoreFull])
}

fn list(asked: &ApiRequest<'_>) -> Result<ApiResponse, Problem> {
    let query = query::whole(asked.route, asked.raw_query())?;
    let found = asked.plane.skills().list(query.text("query"), asked.principal.grants());
    Ok(ApiResponse::json(200, &render::skills(&found)))
}

async fn put(asked: &ApiRequest<'_>) -> Result<ApiResponse, Problem> {
    asked.no_query()?;
    let new = asked.body().read::<PutSkill>()?;
    let skills = asked.plane.skills();
    let (is_new, put) = skills.put(asked.id(), new.title, new.keywords, asked.by()).await?;
    Ok(ApiResponse::json(if is_new { 201 } else { 200 }, &render::skill(&put)))
}

async fn delete(asked: &ApiRequest<'_>) -> Result<ApiResponse, Problem> {
    asked.no_query()?;
    asked.plane.skills().delete(asked.id(), asked.by()).await?;
    Ok(ApiResponse::empty(204))
}

async fn suggestions(asked: &ApiRequest<'_>) -> Result<ApiResponse, Problem> {
    let (query, page) = paging::query(asked.route, asked.raw_query(), List::SUGGESTIONS)?;
    let (found, next) = asked.plane.skills().suggestions(query.text("state"), &page).await?;
    Ok(ApiResponse::json(200, &render::suggestions(&found, next.as_deref())))
}

async fn decide(
    asked: &ApiRequest<'_>,
    decision: SuggestionDecision,
) -> Result<ApiResponse, Problem> {
    asked.no_query()?;
    let decided = asked.plane.skills().decide(asked.id(), decision, asked.by()).await?;
    Ok(ApiResponse::json(200, &suggestion_view(&decided)))
}

fn of_tool(asked: &ApiRequest<'_>) -> Result<ApiResponse, Problem> {
    asked.no_query()?;
    let skills = asked.plane.skills().of_tool(asked.id(), asked.principal.grants())?;
    Ok(ApiResponse::json(200, &render::tool_skills(&skills)))
}

async fn set(asked: &ApiRequest<'_>) -> Result<ApiResponse, Problem> {
    asked.no_query()?;
    let new = SetSkills::read(&asked.body())?;
    let skills = asked.plane.skills();
    let set = skills.set_of_tool(asked.id(), &new.skill_ids, asked.by()).await?;
    Ok(ApiResponse::json(200, &render::tool_skills(&set)))
}

async fn clear(asked: &ApiRequest<'_>) -> Result<ApiResponse, Problem> {
    asked.no_query()?;
    let cleared = asked.plane.skills().clear_of_tool(asked.id(), asked.by()).await?;
    Ok(ApiResponse::json(200, &render::tool_skills(&cleared)))
}

async fn classify(asked: &ApiRequest<'_>) -> Result<ApiResponse, Problem> {
    asked.no_query()?;
    let classified = asked.plane.skills().classify_tool(asked.id(), asked.by()).await?;
    Ok(ApiResponse::json(200, &render::tool_skills(&classified)))
}
