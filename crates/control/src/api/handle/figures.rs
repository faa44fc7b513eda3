//! How everything does, one server in full, who is connected, and what it all runs with.

use super::Asked;
use super::answer::Answer;
use crate::api::problem::Problem;

pub(super) async fn overview(asked: &Asked<'_>) -> Result<Answer, Problem> {
    asked.no_query()?;
    Ok(Answer::json(200, &asked.platform.overview(&asked.principal).await))
}

pub(super) async fn details(asked: &Asked<'_>) -> Result<Answer, Problem> {
    asked.no_query()?;
    asked.platform.must_see(asked.id(), &asked.principal)?;
    Ok(Answer::json(200, &asked.platform.details(asked.id(), &asked.principal).await?))
}

pub(super) fn stderr(asked: &Asked<'_>) -> Result<Answer, Problem> {
    asked.no_query()?;
    asked.platform.must_see(asked.id(), &asked.principal)?;
    Ok(Answer::json(200, &asked.platform.stderr(asked.id())?))
}

pub(super) fn clients(asked: &Asked<'_>) -> Result<Answer, Problem> {
    asked.no_query()?;
    Ok(Answer::json(200, &asked.platform.clients()))
}

pub(super) fn settings(asked: &Asked<'_>) -> Result<Answer, Problem> {
    asked.no_query()?;
    Ok(Answer::json(200, &asked.platform.instance()))
}
