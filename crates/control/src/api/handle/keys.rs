//! Keys, who asks, and the audit log.
use super::audit;
use crate::access::{Action, Credential};
use crate::api::PREFIX;
use crate::api::answer::ApiResponse;
use crate::api::fault::{Pointer, RequestFault};
use crate::api::input::{KeyPatch, NewKey};
use crate::api::paging::{self, CURSOR, LIMIT, List, cursor};
use crate::api::parameters::ID;
use crate::api::problem::{Kind, Problem};
use crate::api::render::key_view;
use crate::api::request::ApiRequest;
use crate::api::route::{Access, Handler, Header, Method, Parameter, Response, Route};
use crate::api::schema::{Case, EnumValues, Schema, TextFormat, text};
use crate::api::view::{AuditList, CreatedKey, KeyList, KeyView, MeView, OUTCOMES};
use crate::clock::now;
use crate::keys::{self, KeyInfo, KeysError};
use crate::services::store_problem;
use serde_json::json;

const TAG: &str = "Keys and audit";

const MATCHES: Schema =
    Schema::Enum(&EnumValues { known: &["exact", "contains"], case: Case::Sensitive });
const ENDINGS: Schema = Schema::Enum(&EnumValues { known: &OUTCOMES, case: Case::Sensitive });

pub(in crate::api) const ROUTES: &[Route] = &[
    Route::new(
        "createKey",
        (Method::Post, "/api/v1/keys"),
        Access::Needs(Action::ManageKeys),
        Handler::Async(|asked| Box::pin(create(asked))),
    )
    .about(
        TAG,
        "Make a key",
        "The key is in the answer and nowhere else: Trunkline keeps only what it \
                      needs to recognise it.",
    )
    .body(NewKey::SCHEMA)
    .answers(&[Response::json(201, "The key.", CreatedKey::SCHEMA)
        .with(&[Header { name: "Location", doc: "The path of the key." }])])
    .fails(&[Kind::StoreUnavailable, Kind::StoreFull])
    .audited("create-key"),
    Route::new(
        "listKeys",
        (Method::Get, "/api/v1/keys"),
        Access::Needs(Action::ManageKeys),
        Handler::Async(|asked| Box::pin(list(asked))),
    )
    .about(TAG, "List the keys", "Without their secrets.")
    .parameters(&[LIMIT, CURSOR])
    .answers(&[Response::json(200, "A page of keys.", KeyList::SCHEMA)])
    .fails(&[Kind::StoreUnavailable]),
    Route::new(
        "limitKey",
        (Method::Patch, "/api/v1/keys/{id}"),
        Access::Needs(Action::ManageKeys),
        Handler::Async(|asked| Box::pin(limit(asked))),
    )
    .about(
        TAG,
        "Change the limits of a key",
        "They hold at once, also for sessions that are open; what was used stays used.",
    )
    .parameters(&[Parameter::path("id", ID, "The key's id.")])
    .body(KeyPatch::SCHEMA)
    .answers(&[Response::json(200, "The key.", KeyView::SCHEMA)])
    .fails(&[Kind::NoSuchKey, Kind::StoreUnavailable, Kind::StoreFull])
    .audited("limit-key"),
    Route::new(
        "revokeKey",
        (Method::Delete, "/api/v1/keys/{id}"),
        Access::Needs(Action::ManageKeys),
        Handler::Async(|asked| Box::pin(revoke(asked))),
    )
    .about(TAG, "Revoke a key", "It is refused from now on.")
    .parameters(&[Parameter::path("id", ID, "The key's id.")])
    .answers(&[Response::empty(204, "It is revoked.")])
    .fails(&[Kind::NoSuchKey, Kind::StoreUnavailable, Kind::StoreFull])
    .audited("revoke-key"),
    Route::new(
        "getMe",
        (Method::Get, "/api/v1/me"),
        Access::Needs(Action::ReadSelf),
        Handler::Sync(me),
    )
    .about(TAG, "Who am I?", "Whose the token is, and what it allows.")
    .answers(&[Response::json(200, "You.", MeView::SCHEMA)]),
    Route::new(
        "listAudit",
        (Method::Get, "/api/v1/audit"),
        Access::Needs(Action::ReadAudit),
        Handler::Async(|asked| Box::pin(audit::list(asked))),
    )
    .about(
        TAG,
        "Read the audit log",
        "Every change and every call, the newest first. Arguments are not in it, \
                      only their hash. `trunkline audit verify` proves that nothing is missing.",
    )
    .parameters(&[
        Parameter::query("since", text(20, 40, TextFormat::Time), "Only from this moment on."),
        Parameter::query("until", text(20, 40, TextFormat::Time), "Only before this moment."),
        Parameter::query("principal", text(1, 200, TextFormat::Line), "Only what this one did."),
        Parameter::query("action", text(1, 100, TextFormat::Line), "Only this action."),
        Parameter::query(
            "server",
            text(1, 200, TextFormat::Line),
            "Only on the server with this name or id.",
        ),
        Parameter::query(
            "tool",
            text(1, 1000, TextFormat::Line),
            "Only this tool, as its server calls it.",
        ),
        Parameter::query(
            "outcome",
            ENDINGS,
            "Only what ended so. A `change-status` ends in the status, in small letters.",
        ),
        Parameter::query(
            "match",
            MATCHES,
            "How `principal`, `action` and `tool` are compared: `exact` (the default), or \
                 `contains`: a part of what is shown, in any case. A tool is shown as \
                 `server.tool`.",
        ),
        LIMIT,
        CURSOR,
    ])
    .answers(&[Response::json(200, "A page of records.", AuditList::SCHEMA)])
    .fails(&[Kind::StoreUnavailable]),
];

async fn create(asked: &ApiRequest<'_>) -> Result<ApiResponse, Problem> {
    asked.no_query()?;
    let new = NewKey::read(&asked.body(), now())?;
    let NewKey { name, role, tools, limits, expires_at } = new;
    let limits = limits.unwrap_or_default();
    let new = keys::NewKey { name, role, tools, limits, expires_at };
    let created = asked.plane.keys().create(&new, asked.by(), now()).await;
    let created = created.map_err(|error| problem(&error))?;
    let view = key_view(&created.info, 0);
    let place = format!("{PREFIX}/keys/{}", view.id);
    Ok(ApiResponse::json(201, &view.created(created.secret.expose())).header("Location", place))
}

async fn list(asked: &ApiRequest<'_>) -> Result<ApiResponse, Problem> {
    let (_, page) = paging::query(asked.route, asked.raw_query(), List::KEYS)?;
    let after = page.after.as_deref().unwrap_or_default();
    let listed = asked.plane.keys().list(after, page.limit).await;
    let (keys, total) = listed.map_err(|error| problem(&error))?;
    let full = keys.len() == page.limit;
    let next = keys.last().filter(|_| full).map(|key| cursor(List::KEYS, &key.id));
    let limited = asked.plane.limited_callers();
    let count = |key: &KeyInfo| limited.get(&format!("key:{}", key.id)).copied().unwrap_or(0);
    let keys: Vec<_> = keys.iter().map(|key| key_view(key, count(key)).json()).collect();
    Ok(ApiResponse::json(200, &json!({"keys": keys, "total": total, "next_cursor": next})))
}

async fn limit(asked: &ApiRequest<'_>) -> Result<ApiResponse, Problem> {
    asked.no_query()?;
    let KeyPatch { limits } = KeyPatch::read(&asked.body())?;
    let limited = asked.plane.keys().limit(asked.id(), limits, asked.by(), now()).await;
    let info = limited.map_err(|error| problem(&error))?;
    let refused = asked.plane.limited_callers().get(&format!("key:{}", info.id)).copied();
    Ok(ApiResponse::json(200, &key_view(&info, refused.unwrap_or(0)).json()))
}

async fn revoke(asked: &ApiRequest<'_>) -> Result<ApiResponse, Problem> {
    asked.no_query()?;
    let revoked = asked.plane.keys().revoke(asked.id(), asked.by(), now()).await;
    revoked.map_err(|error| problem(&error))?;
    Ok(ApiResponse::empty(204))
}

fn me(asked: &ApiRequest<'_>) -> Result<ApiResponse, Problem> {
    asked.no_query()?;
    let principal = &asked.principal;
    let credential = match principal.credential() {
        Credential::AdminToken => "admin-token",
        Credential::StaticToken => "token",
        Credential::Key(_) => "key",
        Credential::Jwt { .. } => "jwt",
        Credential::Person { .. } => "oidc",
        Credential::Certificate(_) => "certificate",
        Credential::Open => "open",
    };
    let may = |action: &&Action| principal.require(**action).is_ok();
    let actions: Vec<_> = Action::ALL.iter().filter(may).map(|action| action.name()).collect();
    let patterns = principal.grants().patterns();
    let tools: Option<Vec<String>> =
        patterns.map(|patterns| patterns.iter().map(ToString::to_string).collect());
    let me = MeView {
        name: principal.name(),
        role: principal.role().name(),
        credential,
        tools: tools.as_deref(),
        actions: &actions,
    };
    Ok(ApiResponse::json(200, &me.json()))
}

fn problem(error: &KeysError) -> Problem {
    match error {
        KeysError::Pattern { at, why } => {
            let place = Pointer::root().key("tools").index(*at);
            Problem::invalid(vec![RequestFault::at(&place, why.clone())])
        }
        KeysError::Locked => Problem::new(Kind::StoreUnavailable, error.to_string())
            .hint("start Trunkline with the key that this store was sealed with"),
        KeysError::NoRandom(_) => Problem::new(Kind::Internal, error.to_string()),
        error if error.is_not_found() => Problem::new(Kind::NoSuchKey, "there is no such key"),
        KeysError::Store(error) => store_problem(error),
    }
}
