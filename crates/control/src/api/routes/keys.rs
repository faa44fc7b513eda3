//! Keys, who is asking, and what was done.

use super::ID;
use crate::access::Action;
use crate::api::input::{MOST_BODY, NewKey};
use crate::api::paging::{CURSOR, LIMIT};
use crate::api::problem::Kind;
use crate::api::route::{
    Access, Answer, Body, Content, Header, Method, Operation, Parameter, Place, Route,
};
use crate::api::schema::{Case, EnumValues, Schema, TextFormat, text};
use crate::api::view::{AuditList, CreatedKey, KeyList, MeView, OUTCOMES};

const TAG: &str = "Keys and audit";

pub(super) const ROUTES: &[Route] = &[
    Route {
        operation: Operation::CreateKey,
        method: Method::Post,
        path: "/api/v1/keys",
        access: Access::Needs(Action::ManageKeys),
        tag: TAG,
        summary: "Make a key",
        description: "The key is in the answer and nowhere else: Trunkline keeps only what it \
                      needs to recognise it.",
        parameters: &[],
        body: Some(Body { schema: NewKey::SCHEMA, most: MOST_BODY }),
        answers: &[Answer {
            status: 201,
            doc: "The key.",
            content: Content::Json(CreatedKey::SCHEMA),
            headers: &[Header { name: "Location", doc: "The path of the key." }],
        }],
        problems: &[Kind::StoreUnavailable, Kind::StoreFull],
    },
    Route {
        operation: Operation::ListKeys,
        method: Method::Get,
        path: "/api/v1/keys",
        access: Access::Needs(Action::ManageKeys),
        tag: TAG,
        summary: "List the keys",
        description: "Without their secrets.",
        parameters: &[LIMIT, CURSOR],
        body: None,
        answers: &[Answer {
            status: 200,
            doc: "A page of keys.",
            content: Content::Json(KeyList::SCHEMA),
            headers: &[],
        }],
        problems: &[Kind::StoreUnavailable],
    },
    Route {
        operation: Operation::RevokeKey,
        method: Method::Delete,
        path: "/api/v1/keys/{id}",
        access: Access::Needs(Action::ManageKeys),
        tag: TAG,
        summary: "Revoke a key",
        description: "It is refused from now on.",
        parameters: &[Parameter {
            name: "id",
            place: Place::Path,
            schema: ID,
            doc: "The key's id.",
        }],
        body: None,
        answers: &[Answer {
            status: 204,
            doc: "It is revoked.",
            content: Content::Nothing,
            headers: &[],
        }],
        problems: &[Kind::NoSuchKey, Kind::StoreUnavailable, Kind::StoreFull],
    },
    Route {
        operation: Operation::GetMe,
        method: Method::Get,
        path: "/api/v1/me",
        access: Access::Needs(Action::ReadSelf),
        tag: TAG,
        summary: "Who am I?",
        description: "Whose the token is, and what it allows.",
        parameters: &[],
        body: None,
        answers: &[Answer {
            status: 200,
            doc: "You.",
            content: Content::Json(MeView::SCHEMA),
            headers: &[],
        }],
        problems: &[],
    },
    Route {
        operation: Operation::ListAudit,
        method: Method::Get,
        path: "/api/v1/audit",
        access: Access::Needs(Action::ReadAudit),
        tag: TAG,
        summary: "Read the audit log",
        description: "Every change and every call, the newest first. Arguments are not in it, \
                      only their hash. `trunkline audit verify` proves that nothing is missing.",
        parameters: &[
            filter("since", text(20, 40, TextFormat::Time), "Only from this moment on."),
            filter("until", text(20, 40, TextFormat::Time), "Only before this moment."),
            filter("principal", text(1, 200, TextFormat::Line), "Only what this one did."),
            filter("action", text(1, 100, TextFormat::Line), "Only this action."),
            filter(
                "server",
                text(1, 200, TextFormat::Line),
                "Only on the server with this name or id.",
            ),
            filter(
                "tool",
                text(1, 1000, TextFormat::Line),
                "Only this tool, as its server calls it.",
            ),
            filter(
                "outcome",
                Schema::Enum(&ENDINGS),
                "Only what ended so. A `change-status` ends in the status, in small letters.",
            ),
            filter(
                "match",
                Schema::Enum(&MATCHES),
                "How `principal`, `action` and `tool` are compared: `exact` (the default), or `contains`: \
                 a part of what is shown, in any case. A tool is shown as `server.tool`.",
            ),
            LIMIT,
            CURSOR,
        ],
        body: None,
        answers: &[Answer {
            status: 200,
            doc: "A page of records.",
            content: Content::Json(AuditList::SCHEMA),
            headers: &[],
        }],
        problems: &[Kind::StoreUnavailable],
    },
];

static MATCHES: EnumValues = EnumValues { known: &["exact", "contains"], case: Case::Sensitive };

const fn filter(name: &'static str, schema: Schema, doc: &'static str) -> Parameter {
    Parameter { name, place: Place::Query, schema, doc }
}

static ENDINGS: EnumValues = EnumValues { known: &OUTCOMES, case: Case::Sensitive };
