//! Policies: listed with where they are, shown, put, removed.
use crate::access::Action;
use crate::api::answer::ApiResponse;
use crate::api::etag;
use crate::api::paging::{self, CURSOR, LIMIT, List, cursor};
use crate::api::parameters::{ETAG, IF_MATCH, IF_NONE_MATCH, NOT_MODIFIED};
use crate::api::problem::{Kind, Problem};
use crate::api::request::ApiRequest;
use crate::api::route::{Access, Handler, Method, Parameter, Response, Route};
use crate::api::schema::{
    Case, EnumValues, Moment, Schema, TextFormat, answer, list as list_of, request, text,
};
use crate::api::view::NEXT_CURSOR;
use crate::services::{PolicyOrigin, PolicyText};
use serde_json::Value;
use trunkline_policy::PolicyInfo;
use trunkline_store::PolicyRecord;

const TAG: &str = "Policies";

const STORED_ID: Parameter = Parameter::path(
    "id",
    text(1, 100, TextFormat::PolicyId),
    "The id of a stored policy: letters, digits, `-`, `_` and `.`, no `.` at its beginning.",
);

const ANY_ID: Parameter = Parameter::path(
    "id",
    text(1, 4200, TextFormat::Line),
    "The id of a stored policy, or `file:PATH` with each `/` written as %2F.",
);

/// Of one text; a longer one can be parted.
pub(super) const LONGEST: usize = 100_000;

pub(in crate::api) const ROUTES: &[Route] = &[
    Route::new(
        "listPolicies",
        (Method::Get, "/api/v1/policies"),
        Access::Needs(Action::ReadPolicies),
        Handler::Async(|asked| Box::pin(list(asked))),
    )
    .about(
        TAG,
        "List the policies",
        "Those of files and those of the store, without their texts. All together are one set.",
    )
    .parameters(&[LIMIT, CURSOR])
    .answers(&[Response::json(200, "A page of policies.", PolicyList::SCHEMA)])
    .fails(&[Kind::StoreUnavailable]),
    Route::new(
        "getPolicy",
        (Method::Get, "/api/v1/policies/{id}"),
        Access::Needs(Action::ReadPolicies),
        Handler::Async(|asked| Box::pin(get(asked))),
    )
    .about(TAG, "One policy", "With its text.")
    .parameters(&[ANY_ID, IF_NONE_MATCH])
    .answers(&[
        Response::json(200, "The policy.", PolicyView::SCHEMA).with(&[ETAG]),
        NOT_MODIFIED,
    ])
    .fails(&[Kind::NoSuchPolicy, Kind::StoreUnavailable]),
    Route::new(
        "putPolicy",
        (Method::Put, "/api/v1/policies/{id}"),
        Access::Needs(Action::ManagePolicies),
        Handler::Async(|asked| Box::pin(put(asked))),
    )
    .about(
        TAG,
        "Keep a policy, or another text for it",
        "It holds at once, on every replica, also for sessions that are open. What Cedar finds wrong with the text is \
         in `errors`; then nothing is changed.",
    )
    .parameters(&[STORED_ID, IF_MATCH])
    .body(PutPolicy::SCHEMA)
    .answers(&[
        Response::json(200, "It has another text now.", PolicyView::SCHEMA).with(&[ETAG]),
        Response::json(201, "There was none of this id.", PolicyView::SCHEMA).with(&[ETAG]),
    ])
    .fails(&[
        Kind::NoSuchPolicy,
        Kind::NoSuchPath,
        Kind::PolicyOfFile,
        Kind::Stale,
        Kind::BadHeader,
        Kind::StoreUnavailable,
        Kind::StoreFull,
    ])
    .audited("put-policy"),
    Route::new(
        "deletePolicy",
        (Method::Delete, "/api/v1/policies/{id}"),
        Access::Needs(Action::ManagePolicies),
        Handler::Async(|asked| Box::pin(delete(asked))),
    )
    .about(
        TAG,
        "Remove a stored policy",
        "At once, on every replica. If there is none left at all, nothing is refused by policies any more.",
    )
    .parameters(&[ANY_ID, IF_MATCH])
    .answers(&[Response::empty(204, "It is gone.")])
    .fails(&[
        Kind::NoSuchPolicy,
        Kind::PolicyOfFile,
        Kind::Stale,
        Kind::BadHeader,
        Kind::StoreUnavailable,
        Kind::StoreFull,
    ])
    .audited("delete-policy"),
];

async fn list(asked: &ApiRequest<'_>) -> Result<ApiResponse, Problem> {
    let (_, page) = paging::query(asked.route, asked.raw_query(), List::POLICIES)?;
    let found = asked.plane.policy_service().list(&page).await?;
    let list = PolicyList {
        policies: found.items.iter().map(|it| PolicySummaryView { policy: it }.json()).collect(),
        total: found.total,
        next_cursor: found.next.as_deref().map(|place| cursor(List::POLICIES, place)),
    };
    Ok(ApiResponse::json(200, &list.json()))
}

async fn get(asked: &ApiRequest<'_>) -> Result<ApiResponse, Problem> {
    asked.no_query()?;
    let policy = asked.plane.policy_service().get(asked.id()).await?;
    let (answer, tag) = shown(200, &policy);
    Ok(asked.tagged(answer, tag))
}

async fn put(asked: &ApiRequest<'_>) -> Result<ApiResponse, Problem> {
    asked.no_query()?;
    let new = asked.body().read::<PutPolicy>()?;
    let service = asked.plane.policy_service();
    let precondition = asked.precondition();
    let (is_new, put) = service.put(asked.id(), &new.text, &precondition, asked.by()).await?;
    let (answer, tag) = shown(if is_new { 201 } else { 200 }, &put);
    Ok(answer.header("ETag", tag))
}

async fn delete(asked: &ApiRequest<'_>) -> Result<ApiResponse, Problem> {
    asked.no_query()?;
    let service = asked.plane.policy_service();
    service.delete(asked.id(), &asked.precondition(), asked.by()).await?;
    Ok(ApiResponse::empty(204))
}

fn shown(status: u16, policy: &PolicyText) -> (ApiResponse, String) {
    let answer = ApiResponse::json(status, &PolicyView { policy }.json());
    let tag = match record(policy) {
        Some(record) => etag::tag(record.revision, answer.body()),
        None => etag::list_tag(answer.body()),
    };
    (answer, tag)
}

request! {
    /// A text with policies.
    #[derive(Debug)]
    #[refused("id": "is the last part of the path")]
    struct PutPolicy as "PutPolicy" {
        /// One policy or several, in Cedar.
        #[example = "permit(principal, action, resource);"]
        pub text: String => text(1, LONGEST, TextFormat::Prose),
    }
}

const SOURCES: Schema =
    Schema::Enum(&EnumValues { known: &["store", "file"], case: Case::Sensitive });
const EFFECTS: Schema =
    Schema::Enum(&EnumValues { known: &["permit", "forbid"], case: Case::Sensitive });

answer! {
    /// A policy that is in force.
    pub(super) struct EffectView<'a> as "PolicyEffect" {
        #[hidden] pub info: &'a PolicyInfo,
        /// Its `@id`, or its source and its number there: refusals name it so.
        #[example = "no-deletes"] id: &str = |it| it.info.id,
        #[example = "forbid"] effect: &str = |it| it.info.effect.name() => EFFECTS,
        /// Its `@reason`: callers that it refuses are told.
        #[example = "ask the storage team"] reason: Option<&str> = |it| it.info.reason.as_deref(),
        /// Where it begins in the text.
        #[example = 3] line: usize = |it| it.info.line,
        /// It looks at the circumstances of each call.
        #[example = false] uses_context: bool = |it| it.info.uses_context,
    }
}

answer! {
    /// A text with policies, without the text.
    struct PolicySummaryView<'a> as "PolicySummary" {
        #[hidden] pub policy: &'a PolicyText,
        #[example = "storage"] id: &str = |it| it.policy.id,
        /// Those of files can only be read here.
        #[example = "store"] source: &str = |it| source(it.policy) => SOURCES,
        policies: Vec<Value> = |it| effects(it.policy) => list_of(&EffectView::SCHEMA),
        /// Why it is not in force; null: it is.
        problem: Option<&str> = |it| it.policy.problem.as_deref(),
        /// Null for a file.
        updated_at: Option<Moment<i64>> = |it| record(it.policy).map(|it| Moment(it.updated_at)),
        /// Who put it there; null for a file.
        #[example = "admin"]
        updated_by: Option<&str> = |it| record(it.policy).map(|it| it.updated_by.as_str()),
    }
}

answer! {
    /// A text with policies.
    struct PolicyView<'a> as "Policy" {
        #[hidden] pub policy: &'a PolicyText,
        #[example = "storage"] id: &str = |it| it.policy.id,
        /// Those of files can only be read here.
        #[example = "store"] source: &str = |it| source(it.policy) => SOURCES,
        #[example = "permit(principal, action, resource);"] text: &str = |it| it.policy.text,
        policies: Vec<Value> = |it| effects(it.policy) => list_of(&EffectView::SCHEMA),
        /// Why it is not in force; null: it is.
        problem: Option<&str> = |it| it.policy.problem.as_deref(),
        /// Null for a file.
        created_at: Option<Moment<i64>> = |it| record(it.policy).map(|it| Moment(it.created_at)),
        /// Null for a file.
        updated_at: Option<Moment<i64>> = |it| record(it.policy).map(|it| Moment(it.updated_at)),
        /// Who put it there; null for a file.
        #[example = "admin"]
        updated_by: Option<&str> = |it| record(it.policy).map(|it| it.updated_by.as_str()),
    }
}

answer! {
    /// A page of policies.
    struct PolicyList as "PolicyList" {
        pub policies: Vec<Value> => list_of(&PolicySummaryView::SCHEMA),
        /// On all pages.
        #[example = 1] pub total: usize,
        #[doc = NEXT_CURSOR]
        pub next_cursor: Option<String>,
    }
}

fn source(policy: &PolicyText) -> &'static str {
    match policy.origin {
        PolicyOrigin::File => "file",
        PolicyOrigin::Stored(_) => "store",
    }
}

fn record(policy: &PolicyText) -> Option<&PolicyRecord> {
    match &policy.origin {
        PolicyOrigin::File => None,
        PolicyOrigin::Stored(record) => Some(record),
    }
}

fn effects(policy: &PolicyText) -> Vec<Value> {
    policy.policies.iter().map(|info| EffectView { info }.json()).collect()
}
