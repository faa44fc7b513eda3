//! Secrets with names of their own, which servers refer to.

use super::json;
use crate::access::Action;
use crate::api::input::{MOST_BODY, PUT_SECRET};
use crate::api::paging::{CURSOR, LIMIT};
use crate::api::problem::Kind;
use crate::api::route::{
    Access, Answer, Body, Content, Method, Operation, Parameter, Place, Route,
};
use crate::api::shape::{Form, Shape, text};
use crate::api::view::{SECRET, SECRET_LIST};

const TAG: &str = "Secrets";

const NAME: Parameter = Parameter {
    name: "name",
    place: Place::Path,
    shape: text(1, 200, Form::SecretName),
    doc: "The secret's name: letters, digits, `-`, `_` and `.`, no `.` at its beginning.",
};

const FORCE: Parameter = Parameter {
    name: "force",
    place: Place::Query,
    shape: Shape::Flag,
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
            content: json(&SECRET_LIST, LIST_EXAMPLE),
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
        body: Some(Body {
            shape: Shape::Object(&PUT_SECRET),
            most: MOST_BODY,
            example: r#"{"value":"ghp_example"}"#,
        }),
        answers: &[
            Answer {
                status: 200,
                doc: "It has another value now.",
                content: json(&SECRET, EXAMPLE),
                headers: &[],
            },
            Answer {
                status: 201,
                doc: "There was none of this name.",
                content: json(&SECRET, EXAMPLE),
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

const EXAMPLE: &str = r#"{"name":"github","updated_at":"2025-01-08T10:00:00Z","updated_by":"admin","used_by":[{"id":"0d9c4c5e-8a2b-4a9e-9d62-8f4f2f1f2a10","name":"github-mcp"}]}"#;

const LIST_EXAMPLE: &str = r#"{"secrets":[{"name":"github","updated_at":"2025-01-08T10:00:00Z","updated_by":"admin","used_by":[{"id":"0d9c4c5e-8a2b-4a9e-9d62-8f4f2f1f2a10","name":"github-mcp"}]}],"total":1,"next_cursor":null}"#;
