//! `Api`: answers requests for `/api/v1`, `/metrics` and OAuth metadata. It checks the token before it
//! looks at anything else of a request.

mod admit;
mod audit;
mod events;
mod figures;
mod findings;
mod idempotency;
mod inside;
mod keys;
mod logins;
mod metadata;
mod policies;
mod policy_test;
mod reviews;
mod search;
mod secrets;
mod servers;
mod skills;
mod tools;

use std::net::SocketAddr;

use trunkline_gateway::{Attachment, BodyRule, WebReply, WebRequest};

use self::admit::Sender;
pub use self::audit::shown as audit_json;
pub use self::inside::{Inside, NotRecognised};
pub use self::logins::login_cookie;
use super::answer::ApiResponse;
use super::input::{MOST_ARGUMENTS, MOST_BODY};
use super::problem::{Kind, Problem};
use super::query;
use super::request::ApiRequest;
use super::route::{Handler, RouteTables};
use super::router::{RouteMatch, find};
use crate::clock::now;
use crate::services::ControlPlane;

/// The routes of each resource, in the order of the document.
pub const TABLES: RouteTables = &[
    servers::ROUTES,
    findings::ROUTES,
    logins::ROUTES,
    tools::ROUTES,
    search::ROUTES,
    skills::ROUTES,
    reviews::ROUTES,
    secrets::ROUTES,
    keys::ROUTES,
    policies::ROUTES,
    policy_test::ROUTES,
    figures::ROUTES,
];

#[derive(Debug, Clone)]
pub struct Api {
    plane: ControlPlane,
}

impl Api {
    pub fn new(plane: ControlPlane) -> Self {
        Self { plane }
    }
}

const METRICS: &str = "/metrics";
/// The answer to "Grant access?": a state, a code and an issuer.
const MOST_FORM: usize = 16 * 1024;

impl Attachment for Api {
    fn owns(&self, path: &str) -> bool {
        let is_api = path == METRICS || path == "/api" || path.starts_with("/api/");
        is_api || logins::owns(&self.plane, path) || metadata::of(&self.plane, path).is_some()
    }

    fn body_rule(&self, head: &WebRequest) -> BodyRule {
        let path = head.path();
        // The answer to "Grant access?" is a form of a browser.
        if head.method == "POST" && logins::owns(&self.plane, path) {
            return BodyRule::Stranger(MOST_FORM);
        }
        // What else needs no token needs no body.
        if !matches!(find(&head.method, path), RouteMatch::Route { .. }) {
            return BodyRule::Unread;
        }
        let limit = if path.ends_with("/tools/call") { MOST_ARGUMENTS } else { MOST_BODY };
        match admit::sender(&self.plane, head) {
            Sender::Known => BodyRule::Caller(limit),
            Sender::Perhaps => BodyRule::Stranger(limit),
            Sender::Nobody => BodyRule::Unread,
        }
    }

    fn handle(&self, visit: WebRequest, reply: WebReply) {
        let plane = self.plane.clone();
        self.plane.background().tasks().spawn(async move { serve(&plane, visit, reply).await });
    }
}

async fn serve(plane: &ControlPlane, visit: WebRequest, reply: WebReply) {
    let path = visit.path().to_owned();
    if let Some(resource) = metadata::of(plane, &path) {
        return metadata::answer(resource, &visit.method, &path).send(reply);
    }
    if logins::owns(plane, &path) {
        return logins::answer(plane, &visit, &path).await.send(reply);
    }
    let found = find(&visit.method, &path);
    let (route, params) = match found {
        RouteMatch::Route { route, params, .. } => (route, params),
        RouteMatch::Options(allowed) => {
            return ApiResponse::empty(204).header("Allow", allowed).send(reply);
        }
        missing => {
            let answer = missing.problem().map(|(problem, allowed)| {
                let answer = ApiResponse::problem(&problem.instance(&path));
                match allowed {
                    Some(allowed) => answer.header("Allow", allowed.to_owned()),
                    None => answer,
                }
            });
            return answer.unwrap_or_else(|| ApiResponse::empty(404)).send(reply);
        }
    };
    let principal = match admit::admitted(plane, route, &params, &visit).await {
        Ok(principal) => principal,
        Err(answer) => return answer.send(reply),
    };
    if visit.unread {
        // Its token was made while it was on its way.
        let detail =
            "the token was not known when the request began, so that its body was not read";
        let problem = Problem::new(Kind::Unauthenticated, detail).hint("send it again");
        return ApiResponse::problem(&problem.instance(&path)).send(reply);
    }
    if let Err(full) = plane.tools().count_connection(&visit.connection, &principal) {
        let problem = Problem::new(Kind::TooMany, full.message).retry_after(full.again);
        return ApiResponse::problem(&problem.instance(&path)).send(reply);
    }
    let address = shown(visit.peer);
    let asked = ApiRequest {
        plane,
        routes: TABLES,
        route,
        params: &params,
        visit: &visit,
        principal,
        address,
    };
    if let Handler::Stream = route.handler {
        return match query::whole(route, visit.query().unwrap_or_default()) {
            Ok(_) => events::stream(&asked, reply).await,
            Err(problem) => ApiResponse::problem(&problem.instance(&path)).send(reply),
        };
    }
    // One that its client can ask for again goes on without it.
    let answer = match route.is_abandonable && !idempotency::is_keyed(&visit) {
        false => answer(&asked).await,
        // Dropping a call cancels it: its server is told, and its place is free again.
        true => tokio::select! {
            answer = answer(&asked) => answer,
            () = visit.connection.closed() => {
                let detail = "its client has closed the connection: the call was cancelled and may have run";
                Err(Problem::new(Kind::Timeout, detail))
            }
        },
    };
    answer.unwrap_or_else(|problem| ApiResponse::problem(&problem.instance(&path))).send(reply);
}

/// Records changes that fail because of the request: a name that is taken, a body with mistakes.
async fn answer(asked: &ApiRequest<'_>) -> Result<ApiResponse, Problem> {
    if let Some(server) = admit::server_in(asked.route, asked.params) {
        Box::pin(asked.plane.look_for_server(server)).await;
    }
    let answered = dispatch(asked).await;
    if let (Err(problem), Some(action)) = (&answered, asked.route.audit_action())
        && matches!(problem.status(), 409 | 422)
    {
        let detail = format!("{} {}: {}", problem.status(), problem.kind.name(), problem.detail());
        let server = admit::server_in(asked.route, asked.params);
        asked.plane.servers().record_refusal(action, server, &detail, asked.by());
    }
    answered
}

async fn dispatch(asked: &ApiRequest<'_>) -> Result<ApiResponse, Problem> {
    // Held until the answer is made: it is open as long.
    let counted = match asked.route.is_counted {
        true => asked.plane.tools().count_request(&asked.visit.connection, &asked.principal)?,
        false => None,
    };
    let answered = match asked.route.handler {
        Handler::Sync(handler) => handler(asked),
        Handler::Async(handler) => handler(asked).await,
        // `serve` has handed streams to their writer, and the gateway its own routes to itself.
        Handler::Stream | Handler::Gateway => Ok(ApiResponse::empty(404)),
    };
    if let (Some(counted), Ok(answer)) = (counted, &answered) {
        counted.charge(answer.body().len());
    }
    answered
}

fn shown(peer: SocketAddr) -> String {
    peer.ip().to_string()
}

fn seconds() -> u64 {
    u64::try_from(now() / 1000).unwrap_or_default()
}
