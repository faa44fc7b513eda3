//! Keys, and who asks.

use serde_json::json;

use super::Asked;
use super::answer::Answer;
use crate::access::{Action, Credential, Grants};
use crate::api::PREFIX;
use crate::api::fault::{Fault, Pointer};
use crate::api::input::NewKey;
use crate::api::paging::{self, List, cursor};
use crate::api::problem::{Kind, Problem};
use crate::api::render::key_view;
use crate::api::view::MeView;
use crate::clock::now;
use crate::keys::{self, KeysError};
use crate::services::store_problem;

pub(super) async fn create(asked: &Asked<'_>) -> Result<Answer, Problem> {
    asked.no_query()?;
    let new = NewKey::read(&asked.body(), now())?;
    let NewKey { name, role, tools, expires_at } = new;
    let new = keys::NewKey { name, role, tools, expires_at };
    let created = asked.plane.keys().create(&new, asked.by(), now()).await;
    let created = created.map_err(|error| problem(&error))?;
    let view = key_view(&created.info);
    let place = format!("{PREFIX}/keys/{}", view.id);
    Ok(Answer::json(201, &view.created(created.secret.expose())).header("Location", place))
}

pub(super) async fn list(asked: &Asked<'_>) -> Result<Answer, Problem> {
    let (_, page) = paging::query(asked.route, asked.raw_query(), List::Keys)?;
    let after = page.after.as_deref().unwrap_or_default();
    let listed = asked.plane.keys().list(after, page.limit).await;
    let (keys, total) = listed.map_err(|error| problem(&error))?;
    let full = keys.len() == page.limit;
    let next = keys.last().filter(|_| full).map(|key| cursor(List::Keys, &key.id));
    let keys: Vec<_> = keys.iter().map(|key| key_view(key).json()).collect();
    Ok(Answer::json(200, &json!({"keys": keys, "total": total, "next_cursor": next})))
}

pub(super) async fn revoke(asked: &Asked<'_>) -> Result<Answer, Problem> {
    asked.no_query()?;
    let revoked = asked.plane.keys().revoke(asked.id(), asked.by(), now()).await;
    revoked.map_err(|error| problem(&error))?;
    Ok(Answer::empty(204))
}

pub(super) fn me(asked: &Asked<'_>) -> Result<Answer, Problem> {
    asked.no_query()?;
    let principal = &asked.principal;
    let credential = match principal.credential() {
        Credential::AdminToken => "admin-token",
        Credential::StaticToken => "token",
        Credential::Key(_) => "key",
        Credential::Jwt { .. } => "jwt",
        Credential::Open => "open",
    };
    let may = |action: &&Action| principal.require(**action).is_ok();
    let actions: Vec<_> = Action::ALL.iter().filter(may).map(|action| action.name()).collect();
    let tools: Option<Vec<String>> = match principal.grants() {
        Grants::All => None,
        Grants::Only(patterns) => Some(patterns.iter().map(ToString::to_string).collect()),
    };
    let me = MeView {
        name: principal.name(),
        role: principal.role().name(),
        credential,
        tools: tools.as_deref(),
        actions: &actions,
    };
    Ok(Answer::json(200, &me.json()))
}

fn problem(error: &KeysError) -> Problem {
    match error {
        KeysError::Pattern { at, why } => {
            let place = Pointer::root().key("tools").index(*at);
            Problem::invalid(vec![Fault::at(&place, why.clone())])
        }
        KeysError::Locked => Problem::new(Kind::StoreUnavailable, error.to_string())
            .hint("start Trunkline with the key that this store was sealed with"),
        KeysError::NoRandom(_) => Problem::new(Kind::Internal, error.to_string()),
        error if error.is_not_found() => Problem::new(Kind::NoSuchKey, "there is no such key"),
        KeysError::Store(error) => store_problem(error),
    }
}
