//! Fetches the keys of an issuer: its metadata says where they are, unless the operator does.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use trunkline_http::Url;
use trunkline_http::reach::Policy;

use super::trusted::Trusted;
use crate::access::{BadJwks, Jwks};
use crate::net::{Client, FetchError, Limits, Request, Response};
use crate::oauth::issuer::{BadIssuer, key_set};
use crate::oauth::places;

/// How places are reached: those of the operator's choice wherever they are, those that the issuer
/// names only where everybody may send us.
#[derive(Debug, Clone)]
pub struct IssuerClients {
    chosen: Client,
    named: Client,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoKeys {
    #[error(transparent)]
    Fetch(#[from] FetchError),
    #[error("the issuer has no metadata where the specifications look for it; see --jwks-url")]
    NoMetadata,
    #[error("the issuer cannot be used: {0}")]
    Metadata(#[from] BadIssuer),
    #[error("the address of the issuer's keys answers with status {0}")]
    Status(u16),
    #[error(transparent)]
    Jwks(#[from] BadJwks),
    #[error("the issuer's keys did not come within {} s", ALL.as_secs())]
    Late,
}

/// Metadata and keys together. Requests wait for it, and a little longer than this.
const ALL: Duration = Duration::from_secs(8);

/// For one of them. A key set has at most 256 KiB.
const EACH: Limits = Limits { deadline: Duration::from_secs(5), max_body: 256 * 1024 };

impl IssuerClients {
    /// `reach`: where the places may be that the issuer names.
    pub fn new(reach: Policy) -> Self {
        let judge = move |address| reach.judge(address).map_err(|refused| refused.to_string());
        Self { chosen: Client::new(Arc::new(|_| Ok(()))), named: Client::new(Arc::new(judge)) }
    }

    pub(super) async fn key_set(&self, trusted: &Trusted) -> Result<Jwks, NoKeys> {
        timeout(ALL, self.all(trusted)).await.unwrap_or(Err(NoKeys::Late))
    }

    async fn all(&self, trusted: &Trusted) -> Result<Jwks, NoKeys> {
        // Each time anew: an issuer that moves its keys says so in its metadata.
        let place = match trusted.key_set() {
            Some(place) => place.clone(),
            None => self.discover(trusted).await?,
        };
        self.keys_at(trusted, place).await
    }

    /// The keys at this place.
    pub(crate) async fn keys_at(&self, trusted: &Trusted, place: Url) -> Result<Jwks, NoKeys> {
        let answer = self.get(trusted, place).await?;
        if answer.status != 200 {
            return Err(NoKeys::Status(answer.status));
        }
        Ok(Jwks::parse(&answer.body)?)
    }

    async fn discover(&self, trusted: &Trusted) -> Result<Url, NoKeys> {
        for place in places::of_issuer(trusted.url()) {
            let answer = self.get(trusted, place).await?;
            if answer.status == 200 {
                return Ok(key_set(&answer.body, trusted.name(), trusted.url())?);
            }
        }
        Err(NoKeys::NoMetadata)
    }

    /// Redirects are not followed: an operator who wants the keys from elsewhere names that place.
    pub(crate) async fn get(&self, trusted: &Trusted, place: Url) -> Result<Response, FetchError> {
        self.send(trusted, Request::get(place).header("Accept", "application/json")).await
    }

    pub(crate) async fn send(
        &self,
        trusted: &Trusted,
        request: Request,
    ) -> Result<Response, FetchError> {
        let client = if trusted.names_host_of(&request.url) { &self.chosen } else { &self.named };
        client.send(request, EACH).await
    }
}
