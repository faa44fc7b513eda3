//! Registering servers, looking at them, changing them, removing them.

use super::{ETAG, IF_MATCH, IF_NONE_MATCH, SERVER_ID};
use crate::access::Action;
use crate::api::input::{MOST_BODY, PATCH_REMOTE, PATCH_STDIO, REGISTER};
use crate::api::paging::{CURSOR, LIMIT};
use crate::api::problem::Kind;
use crate::api::route::{Access, Answer, Body, Content, Header, Method, Operation, Route};
use crate::api::schema::Schema;
use crate::api::view::{ServerList, ServerView};

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
        body: Some(Body { schema: Schema::Tagged(&REGISTER), most: MOST_BODY }),
        answers: &[Answer {
            status: 201,
            doc: "The server.",
            content: Content::Json(ServerView::SCHEMA),
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
                content: Content::Json(ServerList::SCHEMA),
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
                content: Content::Json(ServerView::SCHEMA),
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
        body: Some(Body { schema: Schema::AnyOf(&[&PATCH_REMOTE, &PATCH_STDIO]), most: MOST_BODY }),
        answers: &[Answer {
            status: 200,
            doc: "The server as it is now.",
            content: Content::Json(ServerView::SCHEMA),
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
