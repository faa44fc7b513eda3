//! Connecting and disconnecting servers, how they do, what they offer.

use super::servers::NOT_MODIFIED;
use super::{ETAG, IF_NONE_MATCH, SERVER_ID};
use crate::access::Action;
use crate::api::paging::{CURSOR, LIMIT};
use crate::api::problem::Kind;
use crate::api::route::{Access, Answer, Content, Method, Operation, Route};
use crate::api::view::{
    Connecting, DetailsView, Disconnected, HealthReport, ServerTools, StderrView,
};

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
            content: Content::Json(Connecting::SCHEMA),
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
            content: Content::Json(Disconnected::SCHEMA),
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
            content: Content::Json(HealthReport::SCHEMA),
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
            content: Content::Json(DetailsView::SCHEMA),
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
            content: Content::Json(StderrView::SCHEMA),
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
                content: Content::Json(ServerTools::SCHEMA),
                headers: &[ETAG],
            },
            NOT_MODIFIED,
        ],
        problems: &[Kind::NoSuchServer, Kind::StoreUnavailable],
    },
];
