//! Registering servers, looking at them, changing them, removing them.

use super::{ETAG, IF_MATCH, IF_NONE_MATCH, SERVER_ID, json};
use crate::access::Action;
use crate::api::input::{MOST_BODY, PATCH_REMOTE, PATCH_STDIO, REGISTER};
use crate::api::paging::{CURSOR, LIMIT};
use crate::api::problem::Kind;
use crate::api::route::{Access, Answer, Body, Content, Header, Method, Operation, Route};
use crate::api::shape::Shape;
use crate::api::view::{SERVER, SERVER_LIST};

const TAG: &str = "Servers";

pub(super) const ROUTES: &[Route] = &[
    Route {
        operation: Operation::RegisterServer,
        method: Method::Post,
        path: "/api/v1/aggregator/servers",
        access: Access::Needs(Action::RegisterServer),
        tag: TAG,
        summary: "Register a server",
        description: "The server is kept from now on. With `auto_connect` (true unless said \
                      otherwise) it is being connected when the answer comes. A server of \
                      transport STDIO is a command on this machine: only an admin can register \
                      one, and only if Trunkline was started with `--allow-stdio-registration` \
                      or allows that command.",
        parameters: &[],
        body: Some(Body {
            shape: Shape::Variants(&REGISTER),
            most: MOST_BODY,
            example: REGISTRATION,
        }),
        answers: &[Answer {
            status: 201,
            doc: "The server.",
            content: json(&SERVER, SERVER_EXAMPLE),
            headers: &[ETAG, Header { name: "Location", doc: "The path of the server." }],
        }],
        problems: &[Kind::StdioForbidden, Kind::NameTaken, Kind::StoreUnavailable, Kind::StoreFull],
    },
    Route {
        operation: Operation::ListServers,
        method: Method::Get,
        path: "/api/v1/aggregator/servers",
        access: Access::Needs(Action::ReadServers),
        tag: TAG,
        summary: "List the servers",
        description: "By name, those of the config file among them, each with its health.",
        parameters: &[LIMIT, CURSOR, IF_NONE_MATCH],
        body: None,
        answers: &[
            Answer {
                status: 200,
                doc: "A page of servers.",
                content: json(&SERVER_LIST, SERVER_LIST_EXAMPLE),
                headers: &[ETAG],
            },
            NOT_MODIFIED,
        ],
        problems: &[Kind::StoreUnavailable],
    },
    Route {
        operation: Operation::GetServer,
        method: Method::Get,
        path: "/api/v1/aggregator/servers/{id}",
        access: Access::Needs(Action::ReadServers),
        tag: TAG,
        summary: "Look at a server",
        description: "Values of headers and variables are shown as `***`.",
        parameters: &[SERVER_ID, IF_NONE_MATCH],
        body: None,
        answers: &[
            Answer {
                status: 200,
                doc: "The server.",
                content: json(&SERVER, SERVER_EXAMPLE),
                headers: &[ETAG],
            },
            NOT_MODIFIED,
        ],
        problems: &[Kind::NoSuchServer, Kind::StoreUnavailable],
    },
    Route {
        operation: Operation::PatchServer,
        method: Method::Patch,
        path: "/api/v1/aggregator/servers/{id}",
        access: Access::Needs(Action::EditServer),
        tag: TAG,
        summary: "Change a server",
        description: "A JSON merge patch: what is not named stays, null takes away, `headers` and \
                      `env` are changed member by member, and a value that comes back as `***` \
                      stays as it is. A new name renames the server's tools. A connected server \
                      whose `connection_config` has changed is connected anew. What a STDIO \
                      server runs can be changed by those only who may register one.",
        parameters: &[SERVER_ID, IF_MATCH],
        body: Some(Body {
            shape: Shape::AnyOf(&[&PATCH_REMOTE, &PATCH_STDIO]),
            most: MOST_BODY,
            example: r#"{"description":"Issues and repositories","call_timeout":60}"#,
        }),
        answers: &[Answer {
            status: 200,
            doc: "The server as it is now.",
            content: json(&SERVER, SERVER_EXAMPLE),
            headers: &[ETAG],
        }],
        problems: &[
            Kind::BadHeader,
            Kind::StdioForbidden,
            Kind::NoSuchServer,
            Kind::NameTaken,
            Kind::FromFile,
            Kind::Stale,
            Kind::StoreUnavailable,
            Kind::StoreFull,
        ],
    },
    Route {
        operation: Operation::DeleteServer,
        method: Method::Delete,
        path: "/api/v1/aggregator/servers/{id}",
        access: Access::Needs(Action::DeleteServer),
        tag: TAG,
        summary: "Remove a server",
        description: "With its tools and its credentials. Calls that are open have 30 seconds to \
                      end.",
        parameters: &[SERVER_ID, IF_MATCH],
        body: None,
        answers: &[Answer {
            status: 204,
            doc: "It is gone.",
            content: Content::Nothing,
            headers: &[],
        }],
        problems: &[
            Kind::BadHeader,
            Kind::NoSuchServer,
            Kind::FromFile,
            Kind::Stale,
            Kind::StoreUnavailable,
            Kind::StoreFull,
        ],
    },
];

pub(super) const NOT_MODIFIED: Answer = Answer {
    status: 304,
    doc: "It is as you have it.",
    content: Content::Nothing,
    headers: &[ETAG],
};

const REGISTRATION: &str = r#"{"name":"github-mcp","description":"GitHub MCP Server for repository operations","transport_type":"SSE","connection_config":{"url":"https://github-mcp.example.com/sse","headers":{"Authorization":"Bearer ${GITHUB_TOKEN}"}},"auto_connect":true,"health_check_url":"https://github-mcp.example.com/health"}"#;

const SERVER_EXAMPLE: &str = r#"{"id":"0d9c4c5e-8a2b-4a9e-9d62-8f4f2f1f2a10","name":"github-mcp","description":"GitHub MCP Server for repository operations","status":"CONNECTING","transport_type":"SSE","connection_config":{"url":"https://github-mcp.example.com/sse","headers":{"Authorization":"***"}},"source":"api","auto_connect":true,"health_check_url":"https://github-mcp.example.com/health","call_timeout":null,"max_concurrency":null,"health":{"status":"unknown","last_check":null,"calls":0,"failed_calls":0,"tool_errors":0,"error_rate":null,"response_time_ms":{"p50":null,"p95":null},"check_time_ms":{"p50":null,"p95":null},"consecutive_failures":0,"restarts":0},"tools":0,"era":null,"protocol_version":null,"oauth":null,"auth":null,"reason":null,"last_error":null,"restarts":0,"registered_at":"2025-01-08T10:00:00Z","updated_at":"2025-01-08T10:00:00Z","revision":1}"#;

const SERVER_LIST_EXAMPLE: &str = r#"{"servers":[{"id":"0d9c4c5e-8a2b-4a9e-9d62-8f4f2f1f2a10","name":"github-mcp","description":"GitHub MCP Server for repository operations","status":"CONNECTED","transport_type":"SSE","connection_config":{"url":"https://github-mcp.example.com/sse","headers":{"Authorization":"***"}},"source":"api","auto_connect":true,"health_check_url":"https://github-mcp.example.com/health","call_timeout":null,"max_concurrency":null,"health":{"status":"healthy","last_check":"2025-01-08T10:05:00Z","calls":412,"failed_calls":0,"tool_errors":0,"error_rate":0.0,"response_time_ms":{"p50":38.2,"p95":121.7},"check_time_ms":{"p50":1.1,"p95":3.8},"consecutive_failures":0,"restarts":0},"tools":26,"era":"legacy","protocol_version":"2025-06-18","oauth":null,"auth":null,"reason":null,"last_error":null,"restarts":0,"registered_at":"2025-01-08T10:00:00Z","updated_at":"2025-01-08T10:00:00Z","revision":1}],"total":1,"next_cursor":null}"#;
