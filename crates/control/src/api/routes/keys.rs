//! Keys, who is asking, and what was done.

use super::{ID, json};
use crate::access::Action;
use crate::api::input::{MOST_BODY, NEW_KEY};
use crate::api::paging::{CURSOR, LIMIT};
use crate::api::problem::Kind;
use crate::api::route::{
    Access, Answer, Body, Content, Header, Method, Operation, Parameter, Place, Route,
};
use crate::api::shape::{Case, Form, Shape, Words, text};
use crate::api::view::{AUDIT_LIST, CREATED_KEY, KEY_LIST, ME, OUTCOMES};

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
        body: Some(Body {
            shape: Shape::Object(&NEW_KEY),
            most: MOST_BODY,
            example: r#"{"name":"ci","role":"caller","tools":["github-mcp.*"]}"#,
        }),
        answers: &[Answer {
            status: 201,
            doc: "The key.",
            content: json(&CREATED_KEY, CREATED_EXAMPLE),
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
            content: json(&KEY_LIST, KEYS_EXAMPLE),
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
            shape: ID,
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
            content: json(&ME, ME_EXAMPLE),
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
            filter("since", text(20, 40, Form::Time), "Only from this moment on."),
            filter("until", text(20, 40, Form::Time), "Only before this moment."),
            filter("principal", text(1, 200, Form::Line), "Only what this one did."),
            filter("action", text(1, 100, Form::Line), "Only this action."),
            filter("server", text(1, 200, Form::Line), "Only on the server with this name or id."),
            filter("tool", text(1, 1000, Form::Line), "Only this tool, as its server calls it."),
            filter(
                "outcome",
                Shape::Word(&ENDINGS),
                "Only what ended so. A `change-status` ends in the status, in small letters.",
            ),
            filter(
                "match",
                Shape::Word(&MATCHES),
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
            content: json(&AUDIT_LIST, AUDIT_EXAMPLE),
            headers: &[],
        }],
        problems: &[Kind::StoreUnavailable],
    },
];

static MATCHES: Words = Words { known: &["exact", "contains"], case: Case::AsWritten };

const fn filter(name: &'static str, shape: Shape, doc: &'static str) -> Parameter {
    Parameter { name, place: Place::Query, shape, doc }
}

static ENDINGS: Words = Words { known: &OUTCOMES, case: Case::AsWritten };

const CREATED_EXAMPLE: &str = r#"{"id":"k7Qm2xVd","name":"ci","role":"caller","key":"tl_k7Qm2xVd_…","tools":["github-mcp.*"],"created_at":"2025-01-08T10:00:00Z","expires_at":null}"#;

const KEYS_EXAMPLE: &str = r#"{"keys":[{"id":"k7Qm2xVd","name":"ci","role":"caller","tools":["github-mcp.*"],"created_at":"2025-01-08T10:00:00Z","expires_at":null,"last_used_at":"2025-01-08T10:05:00Z","revoked_at":null}],"total":1,"next_cursor":null}"#;

const ME_EXAMPLE: &str = r#"{"name":"ci","role":"caller","credential":"key","tools":["github-mcp.*"],"actions":["read-tools","call-tool"]}"#;

const AUDIT_EXAMPLE: &str = r#"{"records":[{"seq":42,"at":"2025-01-08T10:05:00Z","principal":"ci","credential_id":"k7Qm2xVd","address":"127.0.0.1","action":"call-tool","server_id":"0d9c4c5e-8a2b-4a9e-9d62-8f4f2f1f2a10","server_name":"github-mcp","tool":"create_issue","argument_hash":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","outcome":"ok","detail":null,"duration_us":450200,"request_id":null,"hash":"60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752"}],"next_cursor":null}"#;
