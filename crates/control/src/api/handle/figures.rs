//! How everything does, one server in full, who is connected, and what it all runs with.

use super::Asked;
use super::answer::Answer;
use crate::api::problem::Problem;
use crate::api::route::Operation;

pub(super) async fn answer(asked: &Asked<'_>) -> Result<Answer, Problem> {
    asked.no_query()?;
    let (platform, asker) = (asked.platform, &asked.principal);
    let value = match asked.route.operation {
        Operation::GetOverview => platform.overview(asker).await,
        Operation::GetServerDetails => {
            platform.must_see(asked.id(), asker)?;
            platform.details(asked.id(), asker).await?
        }
        Operation::GetServerStderr => {
            platform.must_see(asked.id(), asker)?;
            platform.stderr(asked.id())?
        }
        Operation::ListClients => platform.clients(),
        // Nothing else is asked for here.
        _ => platform.instance(),
    };
    Ok(Answer::json(200, &value))
}
