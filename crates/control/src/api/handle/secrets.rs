//! Secrets: listed, put, removed.

use super::ApiRequest;
use super::answer::ApiResponse;
use crate::api::input::PutSecret;
use crate::api::paging::{self, List};
use crate::api::problem::Problem;
use crate::api::route::Operation;
use crate::api::{query, render};
use crate::services::{RemovalRule, SecretWrite};

pub(super) async fn answer(asked: &ApiRequest<'_>) -> Result<ApiResponse, Problem> {
    match asked.route.operation {
        Operation::PutSecret => put(asked).await,
        Operation::DeleteSecret => delete(asked).await,
        // Nothing else is asked for here.
        _ => list(asked).await,
    }
}

async fn list(asked: &ApiRequest<'_>) -> Result<ApiResponse, Problem> {
    let (_, page) = paging::query(asked.route, asked.raw_query(), List::Secrets)?;
    Ok(ApiResponse::json(200, &render::secrets(&asked.plane.secrets().list(&page).await?)))
}

async fn put(asked: &ApiRequest<'_>) -> Result<ApiResponse, Problem> {
    asked.no_query()?;
    let new = PutSecret::read(&asked.body())?;
    let (written, secret) = asked.plane.secrets().put(name(asked), &new.value, asked.by()).await?;
    let status = match written {
        SecretWrite::New => 201,
        SecretWrite::Again => 200,
    };
    Ok(ApiResponse::json(status, &render::secret(&secret)))
}

async fn delete(asked: &ApiRequest<'_>) -> Result<ApiResponse, Problem> {
    let query = query::whole(asked.route, asked.raw_query())?;
    let removal = match query.flag("force") {
        Some(true) => RemovalRule::InAnyCase,
        Some(false) | None => RemovalRule::IfUnused,
    };
    asked.plane.secrets().delete(name(asked), removal, asked.by()).await?;
    Ok(ApiResponse::empty(204))
}

fn name<'a>(asked: &'a ApiRequest<'_>) -> &'a str {
    asked.params.get("name").unwrap_or_default()
}
