//! Skills: listed, changed, said of tools, and decided on.

use super::Asked;
use super::answer::Answer;
use crate::api::input::{PutSkill, SetSkills};
use crate::api::paging::{self, List};
use crate::api::problem::Problem;
use crate::api::route::SkillOperation;
use crate::api::view::suggestion_view;
use crate::api::{query, render};
use crate::services::SuggestionDecision;

pub(super) async fn answer(
    asked: &Asked<'_>,
    operation: SkillOperation,
) -> Result<Answer, Problem> {
    match operation {
        SkillOperation::ListSkills => list(asked),
        SkillOperation::PutSkill => put(asked).await,
        SkillOperation::DeleteSkill => delete(asked).await,
        SkillOperation::ListSuggestions => suggestions(asked).await,
        SkillOperation::ApproveSuggestion => decide(asked, SuggestionDecision::Approve).await,
        SkillOperation::RejectSuggestion => decide(asked, SuggestionDecision::Reject).await,
        SkillOperation::GetToolSkills => of_tool(asked),
        SkillOperation::SetToolSkills => set(asked).await,
        SkillOperation::ClearToolSkills => clear(asked).await,
        SkillOperation::ClassifyTool => classify(asked).await,
    }
}

fn list(asked: &Asked<'_>) -> Result<Answer, Problem> {
    let query = query::whole(asked.route, asked.raw_query())?;
    let found = asked.plane.skills().list(query.text("query"), asked.principal.grants());
    Ok(Answer::json(200, &render::skills(&found)))
}

async fn put(asked: &Asked<'_>) -> Result<Answer, Problem> {
    asked.no_query()?;
    let new = PutSkill::read(&asked.body())?;
    let skills = asked.plane.skills();
    let (is_new, put) = skills.put(asked.id(), new.title, new.keywords, asked.by()).await?;
    Ok(Answer::json(if is_new { 201 } else { 200 }, &render::skill(&put)))
}

async fn delete(asked: &Asked<'_>) -> Result<Answer, Problem> {
    asked.no_query()?;
    asked.plane.skills().delete(asked.id(), asked.by()).await?;
    Ok(Answer::empty(204))
}

async fn suggestions(asked: &Asked<'_>) -> Result<Answer, Problem> {
    let (query, page) = paging::query(asked.route, asked.raw_query(), List::Suggestions)?;
    let (found, next) = asked.plane.skills().suggestions(query.text("state"), &page).await?;
    Ok(Answer::json(200, &render::suggestions(&found, next.as_deref())))
}

async fn decide(asked: &Asked<'_>, decision: SuggestionDecision) -> Result<Answer, Problem> {
    asked.no_query()?;
    let decided = asked.plane.skills().decide(asked.id(), decision, asked.by()).await?;
    Ok(Answer::json(200, &suggestion_view(&decided)))
}

fn of_tool(asked: &Asked<'_>) -> Result<Answer, Problem> {
    asked.no_query()?;
    let skills = asked.plane.skills().of_tool(asked.id(), asked.principal.grants())?;
    Ok(Answer::json(200, &render::tool_skills(&skills)))
}

async fn set(asked: &Asked<'_>) -> Result<Answer, Problem> {
    asked.no_query()?;
    let new = SetSkills::read(&asked.body())?;
    let skills = asked.plane.skills();
    let set = skills.set_of_tool(asked.id(), &new.skill_ids, asked.by()).await?;
    Ok(Answer::json(200, &render::tool_skills(&set)))
}

async fn clear(asked: &Asked<'_>) -> Result<Answer, Problem> {
    asked.no_query()?;
    let cleared = asked.plane.skills().clear_of_tool(asked.id(), asked.by()).await?;
    Ok(Answer::json(200, &render::tool_skills(&cleared)))
}

async fn classify(asked: &Asked<'_>) -> Result<Answer, Problem> {
    asked.no_query()?;
    let classified = asked.plane.skills().classify_tool(asked.id(), asked.by()).await?;
    Ok(Answer::json(200, &render::tool_skills(&classified)))
}
