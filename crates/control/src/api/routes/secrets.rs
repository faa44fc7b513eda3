//! Secrets with names of their own, which servers refer to.

use crate::access::Action;
use crate::api::input::{MOST_BODY, PutSecret};
use crate::api::paging::{CURSOR, LIMIT};
use crate::api::problem::Kind;
use crate::api::route::{
    Access, Answer, Body, Content, Method, Operation, Parameter, Place, Route,
};
use crate::api::schema::{Schema, TextFormat, text};
use crate::api::view::{SecretList, SecretView};

const TAG: &str = "Secrets";

const NAME: Parameter = Parameter {
    name: "name",
    place: Place::Path,
    schema: text(1, 200, TextFormat::SecretName),
    doc: "The secret's name: letters, digits, `-`, `_` and `.`, no `.` at its beginning.",
};

const FORCE: Parameter = Parameter {
    name: "force",
    place: Place::Query,
    schema: Schema::Bool,
    doc: "Remove it although servers refer to it; they cannot be connected any more.",
};

pub(super) const ROUTES: &[Route] = &[
    Route {
        operation: Operation::ListSecrets,
        method: Method::Get,
        path: "/api/v1/secrets",
        access: Access::Needs(Action::ReadSecrets),
        tag: TAG,
        summary: "List the secrets",
        description: "Their names, who put them there and when, and which servers refer to them. \
                      Values are never shown.",
        parameters: &[LIMIT, CURSOR],
        body: None,
        answers: &[Answer {
            status: 200,
            doc: "A page of secrets.",
            content: Content::Json(SecretList::SCHEMA),
            headers: &[],
        }],
        problems: &[Kind::StoreUnavailable],
    },
    Route {
        operation: Operation::PutSecret,
        method: Method::Put,
        path: "/api/v1/secrets/{name}",
        access: Access::Needs(Action::ManageSecrets),
        tag: TAG,
        summary: "Keep a secret, or another value for it",
        description: "Servers refer to it with `${secret:NAME}` in headers, variables and URLs. \
                      Those that do are connected anew with the new value; calls that are open \
                      have 30 seconds to end.",
        parameters: &[NAME],
        body: Some(Body { schema: PutSecret::SCHEMA, most: MOST_BODY }),
        answers: &[
            Answer {
                status: 200,
                doc: "It has another value now.",
                content: Content::Json(SecretView::SCHEMA),
                headers: &[],
            },
            Answer {
                status: 201,
                doc: "There was none of this name.",
                content: Content::Json(SecretView::SCHEMA),
                headers: &[],
            },
        ],
        // A name with a control character is no path at all.
        problems: &[Kind::NoSuchPath, Kind::StoreUnavailable, Kind::StoreFull],
    },
    Route {
        operation: Operation::DeleteSecret,
        method: Method::Delete,
        path: "/api/v1/secrets/{name}",
        access: Access::Needs(Action::ManageSecrets),
        tag: TAG,
        summary: "Remove a secret",
        description: "Refused while servers refer to it, unless `force` is true.",
        parameters: &[NAME, FORCE],
        body: None,
        answers: &[Answer {
            status: 204,
            doc: "It is gone.",
            content: Content::Nothing,
            headers: &[],
        }],
        problems: &[Kind::NoSuchSecret, Kind::SecretInUse, Kind::StoreUnavailable, Kind::StoreFull],
    },
];
