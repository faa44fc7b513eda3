//! `Api`: requests under `/api/v1`, `/metrics` and for metadata, from the listener to the services and back.
//! Who asks is known before anything is looked at.

mod admit;
mod answer;
mod audit;
mod events;
mod figures;
mod inside;
mod keys;
mod logins;
mod metadata;
mod search;
mod secrets;
mod servers;
mod skills;
mod tools;

use std::net::SocketAddr;

use trunkline_gateway::{Attachment, WebReply, WebVisit};

use self::answer::Answer;
pub use self::inside::Inside;
use super::input::{Declared, MOST_ARGUMENTS, MOST_BODY};
use super::problem::Problem;
use super::route::{Operation, Route};
use super::router::{Found, Params, find};
use super::{docs, openapi, query};
use crate::access::Principal;
use crate::clock::now;
use crate::keys::Actor;
use crate::metrics;
use crate::services::{ControlPlane, Precondition};

#[derive(Debug, Clone)]
pub struct Api {
    plane: ControlPlane,
}

/// A request whose asker is known.
struct Asked<'a> {
    plane: &'a ControlPlane,
    route: &'static Route,
    params: &'a Params,
    visit: &'a WebVisit,
    principal: Principal,
    address: String,
}

impl Api {
    pub fn new(plane: ControlPlane) -> Self {
        Self { plane }
    }
}

const METRICS: &str = "/metrics";

impl Attachment for Api {
    fn owns(&self, path: &str) -> bool {
        let is_api = path == METRICS || path == "/api" || path.starts_with("/api/");
        is_api || logins::owns(&self.plane, path) || metadata::of(&self.plane, path).is_some()
    }

    fn body_limit(&self, path: &str) -> usize {
        if path.ends_with("/tools/call") { MOST_ARGUMENTS } else { MOST_BODY }
    }

    fn visit(&self, visit: WebVisit, reply: WebReply) {
        let plane = self.plane.clone();
        let tasks = self.plane.background().tasks();
        tasks.spawn(async move { serve(&plane, visit, reply).await });
    }
}

async fn serve(plane: &ControlPlane, visit: WebVisit, reply: WebReply) {
    let path = visit.path().to_owned();
    if let Some(resource) = metadata::of(plane, &path) {
        return metadata::answer(resource, &visit.method, &path).send(reply);
    }
    if logins::owns(plane, &path) {
        return logins::answer(plane, &visit, &path).await.send(reply);
    }
    let found = find(&visit.method, &path);
    let (route, params) = match found {
        Found::Route { route, params, .. } => (route, params),
        Found::Options(allowed) => {
            return Answer::empty(204).header("Allow", allowed).send(reply);
        }
        missing => {
            let answer = missing.problem().map(|(problem, allowed)| {
                let answer = Answer::problem(&problem.instance(&path));
                match allowed {
                    Some(allowed) => answer.header("Allow", allowed.to_owned()),
                    None => answer,
                }
            });
            return answer.unwrap_or_else(|| Answer::empty(404)).send(reply);
        }
    };
    let principal = match admit::admitted(plane, route, &params, &visit).await {
        Ok(principal) => principal,
        Err(answer) => return answer.send(reply),
    };
    let address = shown(visit.peer);
    let asked = Asked { plane, route, params: &params, visit: &visit, principal, address };
    if route.operation == Operation::StreamEvents {
        return match query::whole(route, visit.query().unwrap_or_default()) {
            Ok(_) => events::stream(&asked, reply).await,
            Err(problem) => Answer::problem(&problem.instance(&path)).send(reply),
        };
    }
    let answer = answer(&asked).await;
    answer.unwrap_or_else(|problem| Answer::problem(&problem.instance(&path))).send(reply);
}

/// What somebody wanted to change and could not is written down: names that are taken, requests with
/// mistakes.
async fn answer(asked: &Asked<'_>) -> Result<Answer, Problem> {
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

async fn dispatch(asked: &Asked<'_>) -> Result<Answer, Problem> {
    match asked.route.operation {
        Operation::RegisterServer => servers::register(asked).await,
        Operation::ListServers => servers::list(asked),
        Operation::GetServer => servers::get(asked),
        Operation::PatchServer => servers::patch(asked).await,
        Operation::DeleteServer => servers::delete(asked).await,
        Operation::ConnectServer => servers::connect(asked).await,
        Operation::DisconnectServer => servers::disconnect(asked).await,
        Operation::LoginServer => logins::begin(asked).await,
        Operation::LogoutServer => logins::end(asked).await,
        Operation::GetServerHealth => servers::health(asked).await,
        Operation::ListServerTools => tools::of_server(asked),
        Operation::ListTools => tools::list(asked),
        Operation::GetTool => tools::one(asked),
        Operation::CallTool => tools::call(asked).await,
        Operation::SearchTools => search::search(asked).await,
        Operation::Skills(of) => skills::answer(asked, of).await,
        Operation::ListAudit => audit::list(asked).await,
        Operation::CreateKey => keys::create(asked).await,
        Operation::ListKeys => keys::list(asked).await,
        Operation::RevokeKey => keys::revoke(asked).await,
        Operation::ListSecrets | Operation::PutSecret | Operation::DeleteSecret => {
            secrets::answer(asked).await
        }
        Operation::GetMe => keys::me(asked),
        Operation::GetOverview
        | Operation::GetServerDetails
        | Operation::GetServerStderr
        | Operation::ListClients
        | Operation::GetSettings => figures::answer(asked).await,
        Operation::GetOpenApi
        | Operation::GetDocs
        | Operation::GetDocsStyle
        | Operation::GetMetrics => text(asked),
        // Answered before anything comes here.
        Operation::StreamEvents | Operation::GetLiveness | Operation::GetReadiness => {
            Ok(Answer::empty(404))
        }
    }
}

/// What is no JSON of a service.
fn text(asked: &Asked<'_>) -> Result<Answer, Problem> {
    asked.no_query()?;
    Ok(match asked.route.operation {
        Operation::GetOpenApi => asked.cached(Answer::json_bytes(200, openapi::document())),
        Operation::GetDocs => {
            let page = Answer::text(200, "text/html; charset=utf-8", docs::page().into_bytes());
            page.header("Content-Security-Policy", docs::SECURITY_POLICY.to_owned())
        }
        Operation::GetDocsStyle => {
            Answer::text(200, "text/css; charset=utf-8", docs::STYLE.as_bytes().to_vec())
        }
        // Nothing else is asked for here.
        _ => {
            let text = asked.plane.overview().metrics(&asked.principal);
            Answer::text(200, metrics::MEDIA_TYPE, text.into_bytes())
        }
    })
}

impl Asked<'_> {
    fn by(&self) -> Actor<'_> {
        Actor { principal: &self.principal, address: Some(&self.address), request_id: None }
    }

    fn id(&self) -> &str {
        self.params.get("id").unwrap_or_default()
    }

    fn raw_query(&self) -> &str {
        self.visit.query().unwrap_or_default()
    }

    fn no_query(&self) -> Result<(), Problem> {
        query::whole(self.route, self.raw_query()).map(drop)
    }

    fn body(&self) -> Declared<'_> {
        Declared { content_type: self.visit.headers.get("content-type"), bytes: &self.visit.body }
    }

    fn precondition(&self) -> Precondition {
        super::etag::precondition(self.visit.headers.all("if-match"))
    }

    /// With a tag over the whole body, or nothing if the asker has it already.
    fn cached(&self, answer: Answer) -> Answer {
        let tag = super::etag::list_tag(answer.body());
        self.tagged(answer, tag)
    }

    /// Does the asker have what goes by this tag?
    fn has(&self, tag: &str) -> bool {
        super::etag::is_known(self.visit.headers.all("if-none-match"), tag)
    }

    fn tagged(&self, answer: Answer, tag: String) -> Answer {
        match self.has(&tag) {
            true => Answer::empty(304).header("ETag", tag),
            false => answer.header("ETag", tag),
        }
    }
}

fn shown(peer: SocketAddr) -> String {
    peer.ip().to_string()
}

fn seconds() -> u64 {
    u64::try_from(now() / 1000).unwrap_or_default()
}
