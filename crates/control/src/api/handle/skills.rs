//! Skills: listed, changed, said of tools, and decided on.

use super::Asked;
use super::answer::Answer;
use crate::api::input::{PutSkill, SetSkills};
use crate::api::paging::{self, List};
use crate::api::problem::Problem;
use crate::api::query;
use crate::api::route::SkillOperation;
use crate::platform::SuggestionDecision;

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
    let shown = asked.platform.skills(query.text("query"), asked.principal.grants());
    Ok(Answer::json(200, &shown))
}

async fn put(asked: &Asked<'_>) -> Result<Answer, Problem> {
    asked.no_query()?;
    let new = PutSkill::read(&asked.body())?;
    let (is_new, shown) = asked.platform.put_skill(asked.id(), new, asked.by()).await?;
    Ok(Answer::json(if is_new { 201 } else { 200 }, &shown))
}

async fn delete(asked: &Asked<'_>) -> Result<Answer, Problem> {
    asked.no_query()?;
    asked.platform.delete_skill(asked.id(), asked.by()).await?;
    Ok(Answer::empty(204))
}

async fn suggestions(asked: &Asked<'_>) -> Result<Answer, Problem> {
    let (query, page) = paging::query(asked.route, asked.raw_query(), List::Suggestions)?;
    Ok(Answer::json(200, &asked.platform.suggestions(query.text("state"), &page).await?))
}

async fn decide(asked: &Asked<'_>, decision: SuggestionDecision) -> Result<Answer, Problem> {
    asked.no_query()?;
    let shown = asked.platform.decide_suggestion(asked.id(), decision, asked.by()).await?;
    Ok(Answer::json(200, &shown))
}

fn of_tool(asked: &Asked<'_>) -> Result<Answer, Problem> {
    asked.no_query()?;
    let shown = asked.platform.tool_skills(asked.id(), asked.principal.grants())?;
    Ok(Answer::json(200, &shown))
}

async fn set(asked: &Asked<'_>) -> Result<Answer, Problem> {
    asked.no_query()?;
    let new = SetSkills::read(&asked.body())?;
    Ok(Answer::json(200, &asked.platform.set_tool_skills(asked.id(), &new, asked.by()).await?))
}

async fn clear(asked: &Asked<'_>) -> Result<Answer, Problem> {
    asked.no_query()?;
    Ok(Answer::json(200, &asked.platform.clear_tool_skills(asked.id(), asked.by()).await?))
}

async fn classify(asked: &Asked<'_>) -> Result<Answer, Problem> {
    asked.no_query()?;
    Ok(Answer::json(200, &asked.platform.classify_tool(asked.id(), asked.by()).await?))
}
