//! Logging in at servers that want it, and out again.

use super::SERVER_ID;
use crate::access::Action;
use crate::api::problem::Kind;
use crate::api::route::{Access, Answer, Content, Method, Operation, Route};
use crate::api::view::LoginView;

const TAG: &str = "Logins";

pub(super) const ROUTES: &[Route] = &[
    Route {
        operation: Operation::LoginServer,
        method: Method::Post,
        path: "/api/v1/aggregator/servers/{id}/login",
        access: Access::Needs(Action::Login),
        tag: TAG,
        summary: "Log in at a server",
        description: "For servers that want OAuth. The answer says where to go with a browser; when \
                      it has come back, the server is connected. Whoever logs in there grants this \
                      Trunkline, and all who may use it, access in their name.",
        parameters: &[SERVER_ID],
        body: None,
        answers: &[Answer {
            status: 200,
            doc: "Where to go.",
            content: Content::Json(LoginView::SCHEMA),
            headers: &[],
        }],
        problems: &[Kind::NoSuchServer, Kind::NoLogin, Kind::LoginFailed, Kind::StoreUnavailable],
    },
    Route {
        operation: Operation::LogoutServer,
        method: Method::Delete,
        path: "/api/v1/aggregator/servers/{id}/login",
        access: Access::Needs(Action::Logout),
        tag: TAG,
        summary: "Log out from a server",
        description: "What was granted is forgotten, and the authorization server is told if it \
                      can be.",
        parameters: &[SERVER_ID],
        body: None,
        answers: &[Answer {
            status: 204,
            doc: "It is forgotten.",
            content: Content::Nothing,
            headers: &[],
        }],
        problems: &[Kind::NoSuchServer, Kind::StoreUnavailable],
    },
];
