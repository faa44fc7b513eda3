//! Asks a server who grants access to it, and that issuer how.

use serde_json::Value;
use trunkline_http::Url;

use crate::net::{Client, FetchError, Limits, Redirects, Request, Response};
use crate::oauth::challenge::Challenge;
use crate::oauth::error::LoginError;
use crate::oauth::issuer::{self, BadIssuer, Issuer};
use crate::oauth::places;
use crate::oauth::resource::{self, Resource};

/// What the server says to a request without a token. A server that says nothing useful may still
/// have its metadata in the usual places, so this is no error.
pub(super) async fn challenge(net: &Client, limits: Limits, server: &Url) -> Option<Challenge> {
    let ping = br#"{"jsonrpc":"2.0","id":0,"method":"ping"}"#.to_vec();
    let request = Request::post(server.clone(), "application/json", ping)
        .header("Accept", "application/json, text/event-stream");
    let answer = net.send(request, limits).await.ok()?;
    (answer.status == 401).then(|| Challenge::find(answer.texts("www-authenticate"))).flatten()
}

pub(super) async fn resource(
    net: &Client,
    limits: Limits,
    server: &Url,
    challenge: Option<&Challenge>,
) -> Result<Resource, LoginError> {
    const WHAT: &str = "the server's metadata";
    let named = challenge.and_then(|challenge| challenge.resource_metadata.as_deref());
    let named = named.map(|text| metadata_url(server, text)).transpose()?;
    for place in places::of_resource(server, named.as_ref()) {
        if let Some(answer) = fetch(net, limits, WHAT, place).await? {
            return resource::read(&answer.body, server).map_err(LoginError::Resource);
        }
    }
    Err(LoginError::NoResource)
}

/// `id` as the server spells it.
pub(super) async fn issuer(
    net: &Client,
    limits: Limits,
    server: &Url,
    id: &str,
) -> Result<Issuer, LoginError> {
    let bad = |why: BadIssuer| LoginError::Issuer { issuer: id.to_owned(), why };
    let what = "the authorization server's metadata";
    let base = Url::parse(id).map_err(|why| LoginError::Url { what, why: why.to_string() })?;
    for place in places::of_issuer(&base) {
        if let Some(answer) = fetch(net, limits, what, place).await? {
            return issuer::read(&answer.body, id, server).map_err(bad);
        }
    }
    Err(bad(BadIssuer::Absent))
}

/// The document at this place, if there is one: some servers answer everything with a page.
async fn fetch(
    net: &Client,
    limits: Limits,
    what: &'static str,
    place: Url,
) -> Result<Option<Response>, LoginError> {
    let request = Request::get(place).header("Accept", "application/json");
    match net.send(request.following(Redirects::SameOrigin), limits).await {
        Ok(answer) => Ok((answer.status == 200 && is_object(&answer.body)).then_some(answer)),
        // Leads to a page to log in, say: nothing is here.
        Err(FetchError::Redirect { .. }) => Ok(None),
        Err(error) => Err(LoginError::Fetch { what, error }),
    }
}

fn is_object(body: &[u8]) -> bool {
    serde_json::from_slice(body).is_ok_and(|document: Value| document.is_object())
}

fn metadata_url(server: &Url, text: &str) -> Result<Url, LoginError> {
    let bad = |why: String| LoginError::Url { what: "the place of the server's metadata", why };
    let url = Url::parse(text).map_err(|why| bad(why.to_string()))?;
    if places::may_name(server, &url) { Ok(url) } else { Err(bad("it is not https".to_owned())) }
}
