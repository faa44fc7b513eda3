//! Servers: registered, listed, changed, removed, connected, disconnected, and how they do.
use super::{figures, tools};
use crate::access::Action;
use crate::api::answer::ApiResponse;
use crate::api::fault::Pointer;
use crate::api::input::{
    Declared, PATCH_REMOTE, PATCH_STDIO, PatchServer, REGISTER, RegisterServer, TransportType,
};
use crate::api::paging::{self, CURSOR, LIMIT, List};
use crate::api::parameters::{ETAG, IF_MATCH, IF_NONE_MATCH, NOT_MODIFIED, SERVER_ID};
use crate::api::problem::{Kind, Problem};
use crate::api::request::ApiRequest;
use crate::api::route::{Access, Handler, Header, Method, Response, Route};
use crate::api::schema::Schema;
use crate::api::view::{
    Connecting, DetailsView, Disconnected, HealthReport, ServerList, ServerTools, ServerView,
    Status, StderrView,
};
use crate::api::{PREFIX, etag, render};
use crate::secrets::Connection;
use crate::services::{NewServer, ServerEdit, ServerReport};
use trunkline_catalog::config::Transport;
use trunkline_store::ServerRecord;

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
        "Actor name, those of the config file among them, each with its health.",
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
         one, and its `sandbox` by others only to something narrower.",
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

async fn register(asked: &ApiRequest<'_>) -> Result<ApiResponse, Problem> {
    asked.no_query()?;
    let new = RegisterServer::read(&asked.body())?;
    let new = NewServer {
        name: new.name,
        description: new.description,
        auto_connect: new.auto_connect,
        connection: Connection {
            transport: new.transport,
            health_check_url: new.health_check_url,
            calls: new.calls,
            on_change: new.on_change,
            oauth: new.oauth,
            sandbox: new.sandbox,
        },
    };
    let report = asked.plane.servers().register(new, asked.by()).await?;
    let place = format!("{PREFIX}/aggregator/servers/{}", report.entry.id);
    let (answer, tag) = shown(201, &report);
    Ok(answer.header("ETag", tag).header("Location", place))
}

fn list(asked: &ApiRequest<'_>) -> Result<ApiResponse, Problem> {
    let (_, page) = paging::query(asked.route, asked.raw_query(), List::SERVERS)?;
    let listed = asked.plane.servers().list(&page, &asked.principal);
    Ok(asked.cached(ApiResponse::json(200, &render::servers(&listed))))
}

fn get(asked: &ApiRequest<'_>) -> Result<ApiResponse, Problem> {
    asked.no_query()?;
    let (answer, tag) = shown(200, &asked.plane.servers().get(asked.id(), &asked.principal)?);
    Ok(asked.tagged(answer, tag))
}

async fn patch(asked: &ApiRequest<'_>) -> Result<ApiResponse, Problem> {
    asked.no_query()?;
    let (body, precondition) = (asked.body(), asked.precondition());
    let edit = |record: &ServerRecord, before: &Connection| edited(&body, record, before);
    let servers = asked.plane.servers();
    let report = servers.edit(asked.id(), &precondition, asked.by(), edit).await?;
    let (answer, tag) = shown(200, &report);
    Ok(answer.header("ETag", tag))
}

async fn delete(asked: &ApiRequest<'_>) -> Result<ApiResponse, Problem> {
    asked.no_query()?;
    asked.plane.servers().delete(asked.id(), &asked.precondition(), asked.by()).await?;
    Ok(ApiResponse::empty(204))
}

async fn connect(asked: &ApiRequest<'_>) -> Result<ApiResponse, Problem> {
    asked.no_query()?;
    let is_there = asked.plane.servers().connect(asked.id(), asked.by()).await?;
    Ok(ApiResponse::json(
        202,
        &if is_there { Connecting::ALREADY } else { Connecting::BEGUN }.json(),
    ))
}

async fn disconnect(asked: &ApiRequest<'_>) -> Result<ApiResponse, Problem> {
    asked.no_query()?;
    let pending = asked.plane.servers().disconnect(asked.id(), asked.by()).await?;
    Ok(ApiResponse::json(
        200,
        &Disconnected { status: Status::Disconnected, pending_requests: pending }.json(),
    ))
}

async fn health(asked: &ApiRequest<'_>) -> Result<ApiResponse, Problem> {
    let (_, page) = paging::query(asked.route, asked.raw_query(), List::HEALTH)?;
    let history = asked.plane.servers().health(asked.id(), page.limit, &asked.principal).await?;
    Ok(ApiResponse::json(200, &render::health_history(&history)))
}

/// The answer, and the tag it goes by.
fn shown(status: u16, report: &ServerReport) -> (ApiResponse, String) {
    let answer = ApiResponse::json(status, &render::server(report));
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
    connection.calls = patch.calls.of(connection.calls);
    connection.on_change = patch.on_change.of(connection.on_change);
    connection.oauth = patch.oauth.of_client(connection.oauth);
    connection.sandbox = patch.sandbox.of(connection.sandbox);
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
    if patch.leaves_client_secret(before.oauth.as_ref()) {
        places.push(Pointer::root().key("oauth").key("client_secret"));
    }
    places
}
