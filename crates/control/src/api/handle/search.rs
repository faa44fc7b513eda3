//! Looking for tools.

use crate::access::Action;
use crate::api::answer::Answer;
use crate::api::input::SearchTools;
use crate::api::problem::Problem;
use crate::api::request::Asked;
use crate::api::route::{Access, Handler, Method, Response, Route};
use crate::api::schema::Schema;
use crate::api::view::FOUND_LIST;

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

async fn search(asked: &Asked<'_>) -> Result<Answer, Problem> {
    asked.no_query()?;
    let wanted = SearchTools::read(&asked.body())?;
    Ok(Answer::json(200, &asked.platform.search(&wanted, &asked.principal).await?))
}
