//! Connecting and disconnecting servers, how they do, what they offer.

use super::servers::NOT_MODIFIED;
use super::{ETAG, IF_NONE_MATCH, SERVER_ID, json};
use crate::access::Action;
use crate::api::paging::{CURSOR, LIMIT};
use crate::api::problem::Kind;
use crate::api::route::{Access, Answer, Method, Operation, Route};
use crate::api::view::{CONNECTING, DETAILS, DISCONNECTED, HEALTH_REPORT, SERVER_TOOLS, STDERR};

const TAG: &str = "Lifecycle and health";

pub(super) const ROUTES: &[Route] = &[
    Route {
        operation: Operation::ConnectServer,
        method: Method::Post,
        path: "/api/v1/aggregator/servers/{id}/connect",
        access: Access::Needs(Action::Connect),
        tag: TAG,
        summary: "Connect a server",
        description: "The answer comes at once; `GET` the server to see what came of it. A server \
                      that is connected already stays so, and the answer says CONNECTED.",
        parameters: &[SERVER_ID],
        body: None,
        answers: &[Answer {
            status: 202,
            doc: "The connection is being made.",
            content: json(
                &CONNECTING,
                r#"{"status":"CONNECTING","message":"Connection initiated"}"#,
            ),
            headers: &[],
        }],
        problems: &[Kind::NoSuchServer, Kind::StoreUnavailable, Kind::StoreFull],
    },
    Route {
        operation: Operation::DisconnectServer,
        method: Method::Post,
        path: "/api/v1/aggregator/servers/{id}/disconnect",
        access: Access::Needs(Action::Disconnect),
        tag: TAG,
        summary: "Disconnect a server",
        description: "Its tools are gone at once. Calls that are open have 30 seconds to end; \
                      the answer comes when they have, and says how many had not.",
        parameters: &[SERVER_ID],
        body: None,
        answers: &[Answer {
            status: 200,
            doc: "The server is disconnected.",
            content: json(&DISCONNECTED, r#"{"status":"DISCONNECTED","pending_requests":0}"#),
            headers: &[],
        }],
        problems: &[Kind::NoSuchServer, Kind::StoreUnavailable, Kind::StoreFull],
    },
    Route {
        operation: Operation::GetServerHealth,
        method: Method::Get,
        path: "/api/v1/aggregator/servers/{id}/health",
        access: Access::Needs(Action::ReadHealth),
        tag: TAG,
        summary: "See how a server does",
        description: "Now, within windows of time, and by its last checks, `limit` of them.",
        parameters: &[SERVER_ID, LIMIT],
        body: None,
        answers: &[Answer {
            status: 200,
            doc: "Its health.",
            content: json(&HEALTH_REPORT, HEALTH_EXAMPLE),
            headers: &[],
        }],
        problems: &[Kind::NoSuchServer, Kind::StoreUnavailable],
    },
    Route {
        operation: Operation::GetServerDetails,
        method: Method::Get,
        path: "/api/v1/aggregator/servers/{id}/details",
        access: Access::Needs(Action::ReadServers),
        tag: TAG,
        summary: "Look into a server",
        description: "Its process, what it says about itself, the names under which each kind of \
                      client gets its tools, and its last five minutes.",
        parameters: &[SERVER_ID],
        body: None,
        answers: &[Answer {
            status: 200,
            doc: "All that is known.",
            content: json(&DETAILS, DETAILS_EXAMPLE),
            headers: &[],
        }],
        problems: &[Kind::NoSuchServer],
    },
    Route {
        operation: Operation::GetServerStderr,
        method: Method::Get,
        path: "/api/v1/aggregator/servers/{id}/stderr",
        access: Access::Needs(Action::ReadStderr),
        tag: TAG,
        summary: "Read what a server writes to stderr",
        description: "The last lines, without secrets: of the process that runs, or of the last \
                      one. A server in the network has none.",
        parameters: &[SERVER_ID],
        body: None,
        answers: &[Answer {
            status: 200,
            doc: "Its last words.",
            content: json(&STDERR, STDERR_EXAMPLE),
            headers: &[],
        }],
        problems: &[Kind::NoSuchServer],
    },
    Route {
        operation: Operation::ListServerTools,
        method: Method::Get,
        path: "/api/v1/aggregator/servers/{id}/tools",
        access: Access::Needs(Action::ReadTools),
        tag: TAG,
        summary: "List the tools of a server",
        description: "Those the token may see, by name. A server that is not connected has none.",
        parameters: &[SERVER_ID, LIMIT, CURSOR, IF_NONE_MATCH],
        body: None,
        answers: &[
            Answer {
                status: 200,
                doc: "A page of its tools.",
                content: json(&SERVER_TOOLS, TOOLS_EXAMPLE),
                headers: &[ETAG],
            },
            NOT_MODIFIED,
        ],
        problems: &[Kind::NoSuchServer, Kind::StoreUnavailable],
    },
];

const HEALTH_EXAMPLE: &str = r#"{"health":{"status":"healthy","last_check":"2025-01-08T10:05:00Z","calls":412,"failed_calls":0,"tool_errors":0,"error_rate":0.0,"response_time_ms":{"p50":38.2,"p95":121.7},"check_time_ms":{"p50":1.1,"p95":3.8},"consecutive_failures":0,"restarts":0},"windows":[{"seconds":300,"checks":10,"failed_checks":0,"calls":412,"failed_calls":0,"tool_errors":0,"response_time_ms":{"p50":38.2,"p95":121.7},"error_rate":0.0}],"samples":[{"at":"2025-01-08T10:05:00Z","ok":true,"response_time_ms":35.1,"detail":null}]}"#;

const DETAILS_EXAMPLE: &str = r#"{"id":"0d9c4c5e-8a2b-4a9e-9d62-8f4f2f1f2a10","name":"github-mcp","process":{"state":"running","since":"2025-01-08T10:00:00Z","pid":null,"started_in_ms":412,"restarts":0,"open_calls":0,"waiting_calls":0,"next_try":null,"failures":0},"identity":"github 1.4.0","capabilities":["tools"],"instructions":null,"stderr":[],"names":[{"tool":"create_issue","name":"github-mcp.create_issue","others":[{"name":"github-mcp_create_issue","clients":["cursor"]}]}],"series":[{"at":"2025-01-08T10:05:00Z","calls":2,"failed_calls":0,"tool_errors":0,"p50":35.1,"p95":40.0}],"hour":[{"at":"2025-01-08T10:05:00Z","calls":2,"failed_calls":0,"tool_errors":0,"p50":35.1,"p95":40.0}]}"#;

const STDERR_EXAMPLE: &str = r#"{"id":"0d9c4c5e-8a2b-4a9e-9d62-8f4f2f1f2a10","name":"github-mcp","state":"running","lines":["listening for requests"]}"#;

const TOOLS_EXAMPLE: &str = r#"{"id":"0d9c4c5e-8a2b-4a9e-9d62-8f4f2f1f2a10","name":"github-mcp","status":"CONNECTED","tools":[{"id":"1","name":"github-mcp.create_issue","original_name":"create_issue","description":"Create a new GitHub issue","input_schema":{"type":"object"}}],"total":1,"next_cursor":null}"#;
