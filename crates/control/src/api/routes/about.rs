//! What the platform says about itself: events, metrics, its API, whether it is up.

use crate::access::Action;
use crate::api::route::{Access, Answer, Content, Method, Operation, Parameter, Place, Route};
use crate::api::schema::{Schema, any_text};
use crate::api::view::{ClientList, LIVE, OverviewView, READY, SettingsView};

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
            schema: any_text(),
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
        answers: &[json_answer("The figures.", Content::Json(OverviewView::SCHEMA))],
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
        answers: &[json_answer("Everybody.", Content::Json(ClientList::SCHEMA))],
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
        answers: &[json_answer("The settings.", Content::Json(SettingsView::SCHEMA))],
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
            content: Content::Json(Schema::AnyObject),
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
            content: Content::Json(Schema::Object(&LIVE)),
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
                content: Content::Json(Schema::Object(&READY)),
                headers: &[],
            },
            Answer {
                status: 503,
                doc: "Not yet, or no longer.",
                content: Content::Json(Schema::Object(&READY)),
                headers: &[],
            },
        ],
        problems: &[],
    },
];

const fn json_answer(doc: &'static str, content: Content) -> Answer {
    Answer { status: 200, doc, content, headers: &[] }
}

const fn text_answer(doc: &'static str, media_type: &'static str) -> Answer {
    Answer { status: 200, doc, content: Content::Text(media_type), headers: &[] }
}
