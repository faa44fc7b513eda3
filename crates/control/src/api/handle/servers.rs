//! Servers: registered, listed, changed, removed, connected, disconnected, and how they do.

use super::{figures, tools};
use crate::access::Action;
use crate::api::answer::Answer;
use crate::api::input::{PATCH_REMOTE, PATCH_STDIO, REGISTER, RegisterServer};
use crate::api::paging::{self, CURSOR, LIMIT, List, cursor};
use crate::api::parameters::{ETAG, IF_MATCH, IF_NONE_MATCH, NOT_MODIFIED, SERVER_ID};
use crate::api::problem::{Kind, Problem};
use crate::api::request::Asked;
use crate::api::route::{Access, Handler, Header, Method, Response, Route};
use crate::api::schema::Schema;
use crate::api::view::{
    Connecting, DetailsView, Disconnected, HealthReport, ServerList, ServerTools, ServerView,
    Status, StderrView,
};
use crate::api::{PREFIX, etag};

const SERVERS: &str = "Servers";
const LIFECYCLE: &str = "Lifecycle and health";

pub(in crate::api) const ROUTES: &[Route] = &[
    Route::new(
        "registerServer",
        (Method::Post, "/api/v1/aggregator/servers"),
        Access::Needs(Action::RegisterServer),
        Handler::Async(|asked| Box::pin(register(asked))),
    )
    .about(
        SERVERS,
        "Register a server",
        "The server is kept from now on. With `auto_connect` (true unless said otherwise) it is \
         being connected when the answer comes. A server of transport STDIO is a command on this \
         machine: only an admin can register one, and only if Trunkline was started with \
         `--allow-stdio-registration` or allows that command.",
    )
    .body(Schema::Tagged(&REGISTER))
    .answers(&[Response::json(201, "The server.", ServerView::SCHEMA)
        .showing(r#"{"status":"CONNECTING"}"#)
        .with(&[ETAG, Header { name: "Location", doc: "The path of the server." }])])
    .fails(&[Kind::StdioForbidden, Kind::NameTaken, Kind::StoreUnavailable, Kind::StoreFull]),
    Route::new(
        "listServers",
        (Method::Get, "/api/v1/aggregator/servers"),
        Access::Needs(Action::ReadServers),
        Handler::Sync(list),
    )
    .about(
        SERVERS,
        "List the servers",
        "By name, those of the config file among them, each with its health.",
    )
    .parameters(&[LIMIT, CURSOR, IF_NONE_MATCH])
    .answers(&[
        Response::json(200, "A page of servers.", ServerList::SCHEMA).with(&[ETAG]),
        NOT_MODIFIED,
    ])
    .fails(&[Kind::StoreUnavailable]),
    Route::new(
        "getServer",
        (Method::Get, "/api/v1/aggregator/servers/{id}"),
        Access::Needs(Action::ReadServers),
        Handler::Sync(get),
    )
    .about(SERVERS, "Look at a server", "Values of headers and variables are shown as `***`.")
    .parameters(&[SERVER_ID, IF_NONE_MATCH])
    .answers(&[Response::json(200, "The server.", ServerView::SCHEMA).with(&[ETAG]), NOT_MODIFIED])
    .fails(&[Kind::NoSuchServer, Kind::StoreUnavailable]),
    Route::new(
        "patchServer",
        (Method::Patch, "/api/v1/aggregator/servers/{id}"),
        Access::Needs(Action::EditServer),
        Handler::Async(|asked| Box::pin(patch(asked))),
    )
    .about(
        SERVERS,
        "Change a server",
        "A JSON merge patch: what is not named stays, null takes away, `headers` and `env` are \
         changed member by member, and a value that comes back as `***` stays as it is. A new name \
         renames the server's tools. A connected server whose `connection_config` has changed is \
         connected anew. What a STDIO server runs can be changed by those only who may register \
         one.",
    )
    .parameters(&[SERVER_ID, IF_MATCH])
    .body(Schema::AnyOf(&[&PATCH_REMOTE, &PATCH_STDIO]))
    .answers(&[Response::json(200, "The server as it is now.", ServerView::SCHEMA).with(&[ETAG])])
    .fails(&[
        Kind::BadHeader,
        Kind::StdioForbidden,
        Kind::NoSuchServer,
        Kind::NameTaken,
        Kind::FromFile,
        Kind::Stale,
        Kind::StoreUnavailable,
        Kind::StoreFull,
    ]),
    Route::new(
        "deleteServer",
        (Method::Delete, "/api/v1/aggregator/servers/{id}"),
        Access::Needs(Action::DeleteServer),
        Handler::Async(|asked| Box::pin(delete(asked))),
    )
    .about(
        SERVERS,
        "Remove a server",
        "With its tools and its credentials. Calls that are open have 30 seconds to end.",
    )
    .parameters(&[SERVER_ID, IF_MATCH])
    .answers(&[Response::empty(204, "It is gone.")])
    .fails(&[
        Kind::BadHeader,
        Kind::NoSuchServer,
        Kind::FromFile,
        Kind::Stale,
        Kind::StoreUnavailable,
        Kind::StoreFull,
    ]),
    Route::new(
        "connectServer",
        (Method::Post, "/api/v1/aggregator/servers/{id}/connect"),
        Access::Needs(Action::Connect),
        Handler::Async(|asked| Box::pin(connect(asked))),
    )
    .about(
        LIFECYCLE,
        "Connect a server",
        "The answer comes at once; `GET` the server to see what came of it. A server that is \
         connected already stays so, and the answer says CONNECTED.",
    )
    .parameters(&[SERVER_ID])
    .answers(&[Response::json(202, "The connection is being made.", Connecting::SCHEMA)])
    .fails(&[Kind::NoSuchServer, Kind::StoreUnavailable, Kind::StoreFull])
    .audited("connect-server"),
    Route::new(
        "disconnectServer",
        (Method::Post, "/api/v1/aggregator/servers/{id}/disconnect"),
        Access::Needs(Action::Disconnect),
        Handler::Async(|asked| Box::pin(disconnect(asked))),
    )
    .about(
        LIFECYCLE,
        "Disconnect a server",
        "Its tools are gone at once. Calls that are open have 30 seconds to end; the answer comes \
         when they have, and says how many had not.",
    )
    .parameters(&[SERVER_ID])
    .answers(&[Response::json(200, "The server is disconnected.", Disconnected::SCHEMA)])
    .fails(&[Kind::NoSuchServer, Kind::StoreUnavailable, Kind::StoreFull])
    .audited("disconnect-server"),
    Route::new(
        "getServerHealth",
        (Method::Get, "/api/v1/aggregator/servers/{id}/health"),
        Access::Needs(Action::ReadHealth),
        Handler::Async(|asked| Box::pin(health(asked))),
    )
    .about(
        LIFECYCLE,
        "See how a server does",
        "Now, within windows of time, and by its last checks, `limit` of them.",
    )
    .parameters(&[SERVER_ID, LIMIT])
    .answers(&[Response::json(200, "Its health.", HealthReport::SCHEMA)])
    .fails(&[Kind::NoSuchServer, Kind::StoreUnavailable]),
    Route::new(
        "getServerDetails",
        (Method::Get, "/api/v1/aggregator/servers/{id}/details"),
        Access::Needs(Action::ReadServers),
        Handler::Async(|asked| Box::pin(figures::details(asked))),
    )
    .about(
        LIFECYCLE,
        "Look into a server",
        "Its process, what it says about itself, the names under which each kind of client gets \
         its tools, and its last five minutes.",
    )
    .parameters(&[SERVER_ID])
    .answers(&[Response::json(200, "All that is known.", DetailsView::SCHEMA)])
    .fails(&[Kind::NoSuchServer]),
    Route::new(
        "getServerStderr",
        (Method::Get, "/api/v1/aggregator/servers/{id}/stderr"),
        Access::Needs(Action::ReadStderr),
        Handler::Sync(figures::stderr),
    )
    .about(
        LIFECYCLE,
        "Read what a server writes to stderr",
        "The last lines, without secrets: of the process that runs, or of the last one. A server \
         in the network has none.",
    )
    .parameters(&[SERVER_ID])
    .answers(&[Response::json(200, "Its last words.", StderrView::SCHEMA)])
    .fails(&[Kind::NoSuchServer]),
    Route::new(
        "listServerTools",
        (Method::Get, "/api/v1/aggregator/servers/{id}/tools"),
        Access::Needs(Action::ReadTools),
        Handler::Sync(tools::of_server),
    )
    .about(
        LIFECYCLE,
        "List the tools of a server",
        "Those the token may see, by name. A server that is not connected has none.",
    )
    .parameters(&[SERVER_ID, LIMIT, CURSOR, IF_NONE_MATCH])
    .answers(&[
        Response::json(200, "A page of its tools.", ServerTools::SCHEMA).with(&[ETAG]),
        NOT_MODIFIED,
    ])
    .fails(&[Kind::NoSuchServer, Kind::StoreUnavailable]),
];

async fn register(asked: &Asked<'_>) -> Result<Answer, Problem> {
    asked.no_query()?;
    let new = RegisterServer::read(&asked.body())?;
    let shown = asked.platform.register(new, asked.by()).await?;
    let id = shown.json.get("id").and_then(|id| id.as_str()).unwrap_or_default();
    let place = format!("{PREFIX}/aggregator/servers/{id}");
    let answer = Answer::json(201, &shown.json);
    let tag = etag::tag(shown.revision, answer.body());
    Ok(answer.header("ETag", tag).header("Location", place))
}

fn list(asked: &Asked<'_>) -> Result<Answer, Problem> {
    let (_, page) = paging::query(asked.route, asked.raw_query(), List::Servers)?;
    let (mut servers, total) =
        asked.platform.servers(page.after.as_deref(), page.limit + 1, &asked.principal);
    let more = servers.len() > page.limit;
    servers.truncate(page.limit);
    let next = servers.last().filter(|_| more).map(|(place, _)| cursor(List::Servers, place));
    let servers = servers.into_iter().map(|(_, json)| json).collect();
    let list = ServerList { servers, total, next_cursor: next };
    Ok(asked.cached(Answer::json(200, &list.json())))
}

fn get(asked: &Asked<'_>) -> Result<Answer, Problem> {
    asked.no_query()?;
    asked.platform.must_see(asked.id(), &asked.principal)?;
    let shown = asked.platform.server(asked.id(), &asked.principal)?;
    let answer = Answer::json(200, &shown.json);
    let tag = etag::tag(shown.revision, answer.body());
    Ok(asked.tagged(answer, tag))
}

async fn patch(asked: &Asked<'_>) -> Result<Answer, Problem> {
    asked.no_query()?;
    let (body, if_match) = (asked.body(), asked.if_match());
    let shown = asked.platform.patch(asked.id(), &body, if_match, asked.by()).await?;
    let answer = Answer::json(200, &shown.json);
    let tag = etag::tag(shown.revision, answer.body());
    Ok(answer.header("ETag", tag))
}

async fn delete(asked: &Asked<'_>) -> Result<Answer, Problem> {
    asked.no_query()?;
    asked.platform.delete(asked.id(), asked.if_match(), asked.by()).await?;
    Ok(Answer::empty(204))
}

async fn connect(asked: &Asked<'_>) -> Result<Answer, Problem> {
    asked.no_query()?;
    let is_there = asked.platform.connect(asked.id(), asked.by()).await?;
    Ok(Answer::json(202, &if is_there { Connecting::ALREADY } else { Connecting::BEGUN }.json()))
}

async fn disconnect(asked: &Asked<'_>) -> Result<Answer, Problem> {
    asked.no_query()?;
    let pending = asked.platform.disconnect(asked.id(), asked.by()).await?;
    Ok(Answer::json(
        200,
        &Disconnected { status: Status::Disconnected, pending_requests: pending }.json(),
    ))
}

async fn health(asked: &Asked<'_>) -> Result<Answer, Problem> {
    let (_, page) = paging::query(asked.route, asked.raw_query(), List::Health)?;
    asked.platform.must_see(asked.id(), &asked.principal)?;
    let report = asked.platform.health(asked.id(), page.limit).await?;
    Ok(Answer::json(200, &report))
}
