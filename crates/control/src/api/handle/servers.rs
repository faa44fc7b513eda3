//! Servers: registered, listed, changed, removed, connected, disconnected, and how they do.

use trunkline_catalog::config::Transport;
use trunkline_store::ServerRecord;

use super::Asked;
use super::answer::Answer;
use crate::api::fault::Pointer;
use crate::api::input::{Declared, OAuthClient, PatchServer, RegisterServer, TransportType};
use crate::api::paging::{self, List};
use crate::api::problem::Problem;
use crate::api::view::{connected, connecting, disconnected};
use crate::api::{PREFIX, etag, render};
use crate::secrets::{self, Connection};
use crate::services::{NewServer, ServerEdit, ServerReport};

pub(super) async fn register(asked: &Asked<'_>) -> Result<Answer, Problem> {
    asked.no_query()?;
    let new = RegisterServer::read(&asked.body())?;
    let new = NewServer {
        name: new.name,
        description: new.description,
        auto_connect: new.auto_connect,
        connection: Connection {
            transport: new.transport,
            health_check_url: new.health_check_url,
            call_timeout: new.call_timeout,
            max_concurrency: new.max_concurrency,
            oauth: new.oauth.map(kept_client),
        },
    };
    let report = asked.plane.servers().register(new, asked.by()).await?;
    let place = format!("{PREFIX}/aggregator/servers/{}", report.entry.id);
    let (answer, tag) = shown(201, &report);
    Ok(answer.header("ETag", tag).header("Location", place))
}

pub(super) fn list(asked: &Asked<'_>) -> Result<Answer, Problem> {
    let (_, page) = paging::query(asked.route, asked.raw_query(), List::Servers)?;
    let listed = asked.plane.servers().list(&page, &asked.principal);
    Ok(asked.cached(Answer::json(200, &render::servers(&listed))))
}

pub(super) fn get(asked: &Asked<'_>) -> Result<Answer, Problem> {
    asked.no_query()?;
    let (answer, tag) = shown(200, &asked.plane.servers().get(asked.id(), &asked.principal)?);
    Ok(asked.tagged(answer, tag))
}

pub(super) async fn patch(asked: &Asked<'_>) -> Result<Answer, Problem> {
    asked.no_query()?;
    let (body, precondition) = (asked.body(), asked.precondition());
    let edit = |record: &ServerRecord, before: &Connection| edited(&body, record, before);
    let servers = asked.plane.servers();
    let report = servers.edit(asked.id(), &precondition, asked.by(), edit).await?;
    let (answer, tag) = shown(200, &report);
    Ok(answer.header("ETag", tag))
}

pub(super) async fn delete(asked: &Asked<'_>) -> Result<Answer, Problem> {
    asked.no_query()?;
    asked.plane.servers().delete(asked.id(), &asked.precondition(), asked.by()).await?;
    Ok(Answer::empty(204))
}

pub(super) async fn connect(asked: &Asked<'_>) -> Result<Answer, Problem> {
    asked.no_query()?;
    let is_there = asked.plane.servers().connect(asked.id(), asked.by()).await?;
    Ok(Answer::json(202, &if is_there { connected() } else { connecting() }))
}

pub(super) async fn disconnect(asked: &Asked<'_>) -> Result<Answer, Problem> {
    asked.no_query()?;
    let pending = asked.plane.servers().disconnect(asked.id(), asked.by()).await?;
    Ok(Answer::json(200, &disconnected(pending)))
}

pub(super) async fn health(asked: &Asked<'_>) -> Result<Answer, Problem> {
    let (_, page) = paging::query(asked.route, asked.raw_query(), List::Health)?;
    let history = asked.plane.servers().health(asked.id(), page.limit, &asked.principal).await?;
    Ok(Answer::json(200, &render::health_history(&history)))
}

/// The answer, and the tag it goes by.
fn shown(status: u16, report: &ServerReport) -> (Answer, String) {
    let answer = Answer::json(status, &render::server(report));
    let tag = etag::tag(report.revision(), answer.body());
    (answer, tag)
}

/// What the body of a patch makes of a server. How it is read depends on the server's transport.
fn edited(
    body: &Declared<'_>,
    record: &ServerRecord,
    before: &Connection,
) -> Result<ServerEdit, Problem> {
    let patch = PatchServer::read(body, TransportType::of(&before.transport))?;
    let left_secrets = left_secrets(&patch, before);
    let mut connection = before.clone();
    patch.config.apply(&mut connection.transport);
    connection.health_check_url = patch.health_check_url.of_url(connection.health_check_url);
    connection.call_timeout = patch.call_timeout.of(connection.call_timeout);
    connection.max_concurrency = patch.max_concurrency.of(connection.max_concurrency);
    let client = before.oauth.as_ref().map(render::oauth_client);
    connection.oauth = patch.oauth.of_client(client).map(kept_client);
    Ok(ServerEdit {
        name: patch.name,
        description: patch.description.of(Some(record.description.clone())),
        auto_connect: patch.auto_connect,
        connection,
        left_secrets,
    })
}

/// Where the patch leaves secret values as they were.
fn left_secrets(patch: &PatchServer, before: &Connection) -> Vec<Pointer> {
    let config = Pointer::root().key("connection_config");
    let mut places: Vec<Pointer> = match &before.transport {
        Transport::Stdio { env, .. } => {
            let left = patch.config.leaves_variables(env);
            left.map(|name| config.key("env").key(name)).collect()
        }
        Transport::Remote { headers, .. } => {
            let left = patch.config.leaves_headers(headers);
            left.map(|name| config.key("headers").key(name)).collect()
        }
    };
    if patch.leaves_client_secret(before.oauth.as_ref().map(render::oauth_client).as_ref()) {
        places.push(Pointer::root().key("oauth").key("client_secret"));
    }
    places
}

fn kept_client(client: OAuthClient) -> secrets::OAuthClient {
    let OAuthClient { client_id, client_secret, scopes } = client;
    secrets::OAuthClient { client_id, client_secret, scopes }
}
