//! Secrets with names of their own: listed, put, removed.
use crate::access::Action;
use crate::api::answer::ApiResponse;
use crate::api::input::PutSecret;
use crate::api::paging::{self, CURSOR, LIMIT, List};
use crate::api::problem::{Kind, Problem};
use crate::api::request::ApiRequest;
use crate::api::route::{Access, Handler, Method, Parameter, Response, Route};
use crate::api::schema::{Schema, TextFormat, text};
use crate::api::view::{SecretList, SecretView};
use crate::api::{query, render};
use crate::services::{RemovalRule, SecretWrite};

const TAG: &str = "Secrets";

const NAME: Parameter = Parameter::path(
    "name",
    text(1, 200, TextFormat::SecretName),
    "The secret's name: letters, digits, `-`, `_` and `.`, no `.` at its beginning.",
);

const FORCE: Parameter = Parameter::query(
    "force",
    Schema::Bool,
    "Remove it although servers refer to it; they cannot be connected any more.",
);

pub(in crate::api) const ROUTES: &[Route] = &[
    Route::new(
        "listSecrets",
        (Method::Get, "/api/v1/secrets"),
        Access::Needs(Action::ReadSecrets),
        Handler::Async(|asked| Box::pin(list(asked))),
    )
    .about(
        TAG,
        "List the secrets",
        "Their names, who put them there and when, and which servers refer to them. Values are \
         never shown.",
    )
    .parameters(&[LIMIT, CURSOR])
    .answers(&[Response::json(200, "A page of secrets.", SecretList::SCHEMA)])
    .fails(&[Kind::StoreUnavailable]),
    Route::new(
        "putSecret",
        (Method::Put, "/api/v1/secrets/{name}"),
        Access::Needs(Action::ManageSecrets),
        Handler::Async(|asked| Box::pin(put(asked))),
    )
    .about(
        TAG,
        "Keep a secret, or another value for it",
        "Servers refer to it with `${secret:NAME}` in headers, variables and URLs. Those that do \
         are connected anew with the new value; calls that are open have 30 seconds to end.",
    )
    .parameters(&[NAME])
    .body(PutSecret::SCHEMA)
    .answers(&[
        Response::json(200, "It has another value now.", SecretView::SCHEMA),
        Response::json(201, "There was none of this name.", SecretView::SCHEMA),
    ])
    // A name with a control character is no path at all.
    .fails(&[Kind::NoSuchPath, Kind::StoreUnavailable, Kind::StoreFull])
    .audited("put-secret"),
    Route::new(
        "deleteSecret",
        (Method::Delete, "/api/v1/secrets/{name}"),
        Access::Needs(Action::ManageSecrets),
        Handler::Async(|asked| Box::pin(delete(asked))),
    )
    .about(TAG, "Remove a secret", "Refused while servers refer to it, unless `force` is true.")
    .parameters(&[NAME, FORCE])
    .answers(&[Response::empty(204, "It is gone.")])
    .fails(&[Kind::NoSuchSecret, Kind::SecretInUse, Kind::StoreUnavailable, Kind::StoreFull])
    .audited("delete-secret"),
];

async fn list(asked: &ApiRequest<'_>) -> Result<ApiResponse, Problem> {
    let (_, page) = paging::query(asked.route, asked.raw_query(), List::SECRETS)?;
    Ok(ApiResponse::json(200, &render::secrets(&asked.plane.secrets().list(&page).await?)))
}

async fn put(asked: &ApiRequest<'_>) -> Result<ApiResponse, Problem> {
    asked.no_query()?;
    let new = asked.body().read::<PutSecret>()?;
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
