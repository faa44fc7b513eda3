//! What the platform says about itself: events, metrics, its API, whether it is up.

use super::json;
use crate::access::Action;
use crate::api::route::{Access, Answer, Content, Method, Operation, Parameter, Place, Route};
use crate::api::shape::{Shape, any_text};
use crate::api::view::{LIVE, READY};

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

const fn text_answer(doc: &'static str, media_type: &'static str) -> Answer {
    Answer { status: 200, doc, content: Content::Text(media_type), headers: &[] }
}
