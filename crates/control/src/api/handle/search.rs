//! Looking for tools.
use crate::access::Action;
use crate::api::answer::ApiResponse;
use crate::api::input::SearchTools;
use crate::api::problem::Problem;
use crate::api::render;
use crate::api::request::ApiRequest;
use crate::api::route::{Access, Handler, Method, Response, Route};
use crate::api::schema::Schema;
use crate::api::view::FOUND_LIST;
use crate::services::ToolSearch;

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
.not_audited()];

async fn search(asked: &ApiRequest<'_>) -> Result<ApiResponse, Problem> {
    asked.no_query()?;
    let SearchTools { query, include_external, server_filter, limit } =
        SearchTools::read(&asked.body())?;
    let wanted = ToolSearch { query, include_external, server_filter, limit };
    let report = asked.plane.tools().search(&wanted, &asked.principal).await?;
    Ok(ApiResponse::json(200, &render::search_report(&wanted.query, &report)))
}
