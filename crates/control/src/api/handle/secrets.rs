//! Secrets: listed, put, removed.

use super::Asked;
use super::answer::Answer;
use crate::api::input::PutSecret;
use crate::api::paging::{self, List};
use crate::api::problem::Problem;
use crate::api::route::Operation;
use crate::api::{query, render};
use crate::services::{RemovalRule, SecretWrite};

pub(super) async fn answer(asked: &Asked<'_>) -> Result<Answer, Problem> {
    match asked.route.operation {
        Operation::PutSecret => put(asked).await,
        Operation::DeleteSecret => delete(asked).await,
        // Nothing else is asked for here.
        _ => list(asked).await,
    }
}

async fn list(asked: &Asked<'_>) -> Result<Answer, Problem> {
    let (_, page) = paging::query(asked.route, asked.raw_query(), List::Secrets)?;
    Ok(Answer::json(200, &render::secrets(&asked.plane.secrets().list(&page).await?)))
}

async fn put(asked: &Asked<'_>) -> Result<Answer, Problem> {
    asked.no_query()?;
    let new = PutSecret::read(&asked.body())?;
    let (written, secret) = asked.plane.secrets().put(name(asked), &new.value, asked.by()).await?;
    let status = match written {
        SecretWrite::New => 201,
        SecretWrite::Again => 200,
    };
    Ok(Answer::json(status, &render::secret(&secret)))
}

async fn delete(asked: &Asked<'_>) -> Result<Answer, Problem> {
    let query = query::whole(asked.route, asked.raw_query())?;
    let removal = match query.flag("force") {
        Some(true) => RemovalRule::InAnyCase,
        Some(false) | None => RemovalRule::IfUnused,
    };
    asked.plane.secrets().delete(name(asked), removal, asked.by()).await?;
    Ok(Answer::empty(204))
}

fn name<'a>(asked: &'a Asked<'_>) -> &'a str {
    asked.params.get("name").unwrap_or_default()
}
