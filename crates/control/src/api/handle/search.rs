//! Looking for tools.

use super::Asked;
use super::answer::Answer;
use crate::api::input::SearchTools;
use crate::api::problem::Problem;

pub(super) async fn search(asked: &Asked<'_>) -> Result<Answer, Problem> {
    asked.no_query()?;
    let wanted = SearchTools::read(&asked.body())?;
    Ok(Answer::json(200, &asked.platform.search(&wanted, &asked.principal).await?))
}
