//! What the platform says about itself: events, metrics, its API, whether it is up.

use super::json;
use crate::access::Action;
use crate::api::route::{Access, Answer, Content, Method, Operation, Parameter, Place, Route};
use crate::api::shape::{Shape, any_text};
use crate::api::view::{CLIENT_LIST, LIVE, OVERVIEW, READY, SETTINGS};

const TAG: &str = "The platform";

pub(super) const ROUTES: &[Route] = &[
    Route {
        operation: Operation::StreamEvents,
        method: Method::Get,
        path: "/api/v1/events",
        access: Access::Needs(Action::ReadEvents),
        tag: TAG,
        summary: "Hear what happens",
        description: "Server-sent events without an end: servers that are registered, changed, \
                      removed, connected or lost, and tools that come and go. Each has a number \
                      as its id; who comes back with `Last-Event-ID` gets what it missed, as far \
                      as it is still kept.",
        parameters: &[Parameter {
            name: "Last-Event-ID",
            place: Place::Header,
            // One that is none of ours is no mistake: browsers send what they have.
            shape: any_text(),
            doc: "The id of the last event you have.",
        }],
        body: None,
        answers: &[text_answer("Events, as they happen.", "text/event-stream")],
        problems: &[],
    },
    Route {
        operation: Operation::GetOverview,
        method: Method::Get,
        path: "/api/v1/overview",
        access: Access::Needs(Action::ReadMetrics),
        tag: TAG,
        summary: "See how everything does",
        description: "The servers that the token sees, together: how many are up, what was called in \
                      the last five minutes and how long it took, and what the list of tools costs \
                      each kind of client.",
        parameters: &[],
        body: None,
        answers: &[json_answer("The figures.", json(&OVERVIEW, OVERVIEW_EXAMPLE))],
        problems: &[],
    },
    Route {
        operation: Operation::ListClients,
        method: Method::Get,
        path: "/api/v1/clients",
        access: Access::Needs(Action::ReadClients),
        tag: TAG,
        summary: "See who is connected",
        description: "Clients of MCP of this process, those that came last first. One that makes \
                      requests that stand for themselves is named for a while after its last.",
        parameters: &[],
        body: None,
        answers: &[json_answer("Everybody.", json(&CLIENT_LIST, CLIENTS_EXAMPLE))],
        problems: &[],
    },
    Route {
        operation: Operation::GetSettings,
        method: Method::Get,
        path: "/api/v1/settings",
        access: Access::Needs(Action::ReadSettings),
        tag: TAG,
        summary: "See what this Trunkline runs with",
        description: "Its version, its addresses, its store, and what its flags allow. No secrets.",
        parameters: &[],
        body: None,
        answers: &[json_answer("The settings.", json(&SETTINGS, SETTINGS_EXAMPLE))],
        problems: &[],
    },
    Route {
        operation: Operation::GetMetrics,
        method: Method::Get,
        path: "/metrics",
        access: Access::Needs(Action::ReadMetrics),
        tag: TAG,
        summary: "Metrics for Prometheus",
        description: "In the text format of Prometheus.",
        parameters: &[],
        body: None,
        answers: &[text_answer("Metrics.", "text/plain")],
        problems: &[],
    },
    Route {
        operation: Operation::GetOpenApi,
        method: Method::Get,
        path: "/api/v1/openapi.json",
        access: Access::Needs(Action::ReadOpenApi),
        tag: TAG,
        summary: "This API as OpenAPI 3.1",
        description: "For generators of clients and for testing tools.",
        parameters: &[],
        body: None,
        answers: &[Answer {
            status: 200,
            doc: "The document.",
            content: Content::Json { shape: Shape::AnyObject, example: r#"{"openapi":"3.1.0"}"# },
            headers: &[],
        }],
        problems: &[],
    },
    Route {
        operation: Operation::GetDocs,
        method: Method::Get,
        path: "/api/v1/docs",
        access: Access::Needs(Action::ReadOpenApi),
        tag: TAG,
        summary: "This API to read",
        description: "One page that needs nothing from elsewhere.",
        parameters: &[],
        body: None,
        answers: &[text_answer("The page.", "text/html")],
        problems: &[],
    },
    Route {
        operation: Operation::GetDocsStyle,
        method: Method::Get,
        path: "/api/v1/docs.css",
        access: Access::Needs(Action::ReadOpenApi),
        tag: TAG,
        summary: "How the page looks",
        description: "The style sheet of /api/v1/docs.",
        parameters: &[],
        body: None,
        answers: &[text_answer("The style sheet.", "text/css")],
        problems: &[],
    },
    Route {
        operation: Operation::GetLiveness,
        method: Method::Get,
        path: "/healthz",
        access: Access::Open,
        tag: TAG,
        summary: "Is it alive?",
        description: "Answers as long as the process does.",
        parameters: &[],
        body: None,
        answers: &[Answer {
            status: 200,
            doc: "It is.",
            content: json(&LIVE, r#"{"status":"ok"}"#),
            headers: &[],
        }],
        problems: &[],
    },
    Route {
        operation: Operation::GetReadiness,
        method: Method::Get,
        path: "/readyz",
        access: Access::Open,
        tag: TAG,
        summary: "Is it ready?",
        description: "Once every server has been up or has failed, until the end begins.",
        parameters: &[],
        body: None,
        answers: &[
            Answer {
                status: 200,
                doc: "It is.",
                content: json(&READY, r#"{"status":"ready"}"#),
                headers: &[],
            },
            Answer {
                status: 503,
                doc: "Not yet, or no longer.",
                content: json(&READY, r#"{"status":"starting","waiting":[]}"#),
                headers: &[],
            },
        ],
        problems: &[],
    },
];

const OVERVIEW_EXAMPLE: &str = r#"{"servers":{"total":2,"connected":2,"degraded":0,"connecting":0,"error":0,"disconnected":0},"tools":31,"seconds":300,"calls_per_minute":12,"calls":57,"failed_calls":0,"tool_errors":0,"error_rate":0.0,"response_time_ms":{"p50":38.2,"p95":121.7},"open_calls":1,"waiting_calls":0,"restarts":0,"clients":1,"context":[{"client":"cursor","title":"Cursor","tools":31,"bytes":20480,"tokens":5120}],"series":[{"at":"2025-01-08T10:05:00Z","calls":2,"failed_calls":0,"tool_errors":0,"p50":35.1,"p95":40.0}],"hour":[{"at":"2025-01-08T10:05:00Z","calls":2,"failed_calls":0,"tool_errors":0,"p50":35.1,"p95":40.0}]}"#;

const CLIENTS_EXAMPLE: &str = r#"{"clients":[{"name":"claude-code","version":"2.1.0","way":"session","revision":"2025-11-25","who":"laptop","credential":"key:abcdefghij","address":"127.0.0.1","since":"2025-01-08T10:00:00Z","last_heard":"2025-01-08T10:05:00Z","open_calls":0}],"total":1}"#;

const SETTINGS_EXAMPLE: &str = r#"{"version":"0.1.0","listen":"127.0.0.1:3006","public_url":"http://127.0.0.1:3006","data_dir":"/var/lib/trunkline","store":"sqlite","store_url":"sqlite:/var/lib/trunkline/trunkline.db","is_locked":false,"mcp_without_token":true,"stdio_registration":"refused","stdio_commands":[],"allowed_networks":[],"health_interval":30,"issuer":null,"traces":false,"language_model":null}"#;

const fn json_answer(doc: &'static str, content: Content) -> Answer {
    Answer { status: 200, doc, content, headers: &[] }
}

const fn text_answer(doc: &'static str, media_type: &'static str) -> Answer {
    Answer { status: 200, doc, content: Content::Text(media_type), headers: &[] }
}
