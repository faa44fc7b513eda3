//! How everything does, one server in full, the connected clients, and the settings.

use super::Asked;
use super::answer::Answer;
use crate::api::problem::Problem;
use crate::api::render;
use crate::api::route::Operation;

pub(super) async fn answer(asked: &Asked<'_>) -> Result<Answer, Problem> {
    asked.no_query()?;
    let (plane, asker) = (asked.plane, &asked.principal);
    let value = match asked.route.operation {
        Operation::GetOverview => render::overview(&plane.overview().overview(asker).await),
        Operation::GetServerDetails => {
            render::details(&plane.servers().details(asked.id(), asker).await?)
        }
        Operation::GetServerStderr => render::stderr(&plane.servers().stderr(asked.id(), asker)?),
        Operation::ListClients => render::clients(&plane.clients().list()),
        // Only `GetSettings` is left.
        _ => render::instance(plane.settings(), plane.keys().is_locked()),
    };
    Ok(Answer::json(200, &value))
}
