//! What the platform says about itself: figures, clients, settings, metrics, its API, whether it is up.
use crate::access::Action;
use crate::api::answer::ApiResponse;
use crate::api::problem::Problem;
use crate::api::request::ApiRequest;
use crate::api::route::{Access, Handler, Method, Parameter, Response, Route};
use crate::api::schema::{Schema, any_text};
use crate::api::view::{ClientList, LIVE, OverviewView, READY, SettingsView};
use crate::api::{docs, openapi, render};
use crate::metrics;

const TAG: &str = "The platform";

pub(in crate::api) const ROUTES: &[Route] = &[
    Route::new(
        "streamEvents",
        (Method::Get, "/api/v1/events"),
        Access::Needs(Action::ReadEvents),
        Handler::Stream,
    )
    .about(
        TAG,
        "Hear what happens",
        "Server-sent events without an end: servers that are registered, changed, removed, \
         connected or lost, and tools that come and go. Each has a number as its id; who comes \
         back with `Last-Event-ID` gets what it missed, as far as it is still kept.",
    )
    .parameters(&[
        // One that is none of ours is no mistake: browsers send what they have.
        Parameter::header("Last-Event-ID", any_text(), "The id of the last event you have."),
    ])
    .answers(&[Response::text("Events, as they happen.", "text/event-stream")]),
    Route::new(
        "getOverview",
        (Method::Get, "/api/v1/overview"),
        Access::Needs(Action::ReadMetrics),
        Handler::Async(|asked| Box::pin(overview(asked))),
    )
    .about(
        TAG,
        "See how everything does",
        "The servers that the token sees, together: how many are up, what was called in the last \
         five minutes and how long it took, and what the list of tools costs each kind of client.",
    )
    .answers(&[Response::json(200, "The figures.", OverviewView::SCHEMA)]),
    Route::new(
        "listClients",
        (Method::Get, "/api/v1/clients"),
        Access::Needs(Action::ReadClients),
        Handler::Sync(clients),
    )
    .about(
        TAG,
        "See who is connected",
        "MCP clients of this process, newest first. A stateless client stays listed for a while after \
         its last request.",
    )
    .answers(&[Response::json(200, "Everybody.", ClientList::SCHEMA)]),
    Route::new(
        "getSettings",
        (Method::Get, "/api/v1/settings"),
        Access::Needs(Action::ReadSettings),
        Handler::Sync(settings),
    )
    .about(
        TAG,
        "See what this Trunkline runs with",
        "Its version, its addresses, its store, and what its flags allow. No secrets.",
    )
    .answers(&[Response::json(200, "The settings.", SettingsView::SCHEMA)]),
    Route::new(
        "getMetrics",
        (Method::Get, "/metrics"),
        Access::Needs(Action::ReadMetrics),
        Handler::Sync(metrics_text),
    )
    .about(TAG, "Metrics for Prometheus", "In the text format of Prometheus.")
    .answers(&[Response::text("Metrics.", "text/plain")]),
    Route::new(
        "getOpenApi",
        (Method::Get, "/api/v1/openapi.json"),
        Access::Needs(Action::ReadOpenApi),
        Handler::Sync(open_api),
    )
    .about(TAG, "This API as OpenAPI 3.1", "For generators of clients and for testing tools.")
    .answers(&[
        Response::json(200, "The document.", Schema::AnyObject).showing(r#"{"openapi":"3.1.0"}"#)
    ]),
    Route::new(
        "getDocs",
        (Method::Get, "/api/v1/docs"),
        Access::Needs(Action::ReadOpenApi),
        Handler::Sync(docs_page),
    )
    .about(TAG, "This API to read", "One page that needs nothing from elsewhere.")
    .answers(&[Response::text("The page.", "text/html")]),
    Route::new(
        "getDocsStyle",
        (Method::Get, "/api/v1/docs.css"),
        Access::Needs(Action::ReadOpenApi),
        Handler::Sync(docs_style),
    )
    .about(TAG, "How the page looks", "The style sheet of /api/v1/docs.")
    .answers(&[Response::text("The style sheet.", "text/css")]),
    Route::new("getLiveness", (Method::Get, "/healthz"), Access::Open, Handler::Gateway)
        .about(TAG, "Is it alive?", "Answers as long as the process does.")
        .answers(&[Response::json(200, "It is.", Schema::Object(&LIVE))]),
    Route::new("getReadiness", (Method::Get, "/readyz"), Access::Open, Handler::Gateway)
        .about(
            TAG,
            "Is it ready?",
            "Once every server has been up or has failed, until the end begins.",
        )
        .answers(&[
            Response::json(200, "It is.", Schema::Object(&READY)),
            Response::json(503, "Not yet, or no longer.", Schema::Object(&READY))
                .showing(r#"{"status":"starting","waiting":[]}"#),
        ]),
];

async fn overview(asked: &ApiRequest<'_>) -> Result<ApiResponse, Problem> {
    asked.no_query()?;
    let overview = asked.plane.overview().overview(&asked.principal).await;
    Ok(ApiResponse::json(200, &render::overview(&overview)))
}

pub(super) async fn details(asked: &ApiRequest<'_>) -> Result<ApiResponse, Problem> {
    asked.no_query()?;
    let details = asked.plane.servers().details(asked.id(), &asked.principal).await?;
    Ok(ApiResponse::json(200, &render::details(&details)))
}

pub(super) fn stderr(asked: &ApiRequest<'_>) -> Result<ApiResponse, Problem> {
    asked.no_query()?;
    let lines = asked.plane.servers().stderr(asked.id(), &asked.principal)?;
    Ok(ApiResponse::json(200, &render::stderr(&lines)))
}

fn clients(asked: &ApiRequest<'_>) -> Result<ApiResponse, Problem> {
    asked.no_query()?;
    Ok(ApiResponse::json(200, &render::clients(&asked.plane.clients().list())))
}

fn settings(asked: &ApiRequest<'_>) -> Result<ApiResponse, Problem> {
    asked.no_query()?;
    let plane = asked.plane;
    Ok(ApiResponse::json(200, &render::instance(plane.settings(), plane.keys())))
}

fn metrics_text(asked: &ApiRequest<'_>) -> Result<ApiResponse, Problem> {
    asked.no_query()?;
    let text = asked.plane.overview().metrics(&asked.principal);
    Ok(ApiResponse::text(200, metrics::MEDIA_TYPE, text.into_bytes()))
}

fn open_api(asked: &ApiRequest<'_>) -> Result<ApiResponse, Problem> {
    asked.no_query()?;
    Ok(asked.cached(ApiResponse::json_bytes(200, openapi::document(asked.routes))))
}

fn docs_page(asked: &ApiRequest<'_>) -> Result<ApiResponse, Problem> {
    asked.no_query()?;
    let page =
        ApiResponse::text(200, "text/html; charset=utf-8", docs::page(asked.routes).into_bytes());
    Ok(page.header("Content-Security-Policy", docs::SECURITY_POLICY.to_owned()))
}

fn docs_style(asked: &ApiRequest<'_>) -> Result<ApiResponse, Problem> {
    asked.no_query()?;
    Ok(ApiResponse::text(200, "text/css; charset=utf-8", docs::STYLE.as_bytes().to_vec()))
}
