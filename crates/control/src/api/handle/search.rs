//! Looking for tools.

use super::Asked;
use super::answer::Answer;
use crate::api::input::SearchTools;
use crate::api::problem::Problem;
use crate::api::render;
use crate::services::ToolSearch;

pub(super) async fn search(asked: &Asked<'_>) -> Result<Answer, Problem> {
    asked.no_query()?;
    let SearchTools { query, include_external, server_filter, limit } =
        SearchTools::read(&asked.body())?;
    let wanted = ToolSearch { query, include_external, server_filter, limit };
    let report = asked.plane.tools().search(&wanted, &asked.principal).await?;
    Ok(Answer::json(200, &render::search_report(&wanted.query, &report)))
}
