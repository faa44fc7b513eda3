//! A login: where a person is sent, and what is made of what they bring back.

use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use tokio::time::Instant;
use trunkline_http::{Scheme, Url};

use crate::net::{Request, Response};
use crate::oauth::authorize::{Ask, Proof, link, random};
use crate::oauth::callback::{Callback, shown};
use crate::oauth::challenge::Challenge;
use crate::oauth::discover;
use crate::oauth::driver::{OAuth, OAuthState};
use crate::oauth::error::LoginError;
use crate::oauth::grant::{Grant, HeldTokens};
use crate::oauth::issuer::Issuer;
use crate::oauth::pending::PATIENCE;
use crate::oauth::places::is_loopback;
use crate::oauth::registration::{self, ClientOptions, ClientSource, OAuthClient, Registered};
use crate::oauth::resource::Resource;
use crate::oauth::scope;
use crate::oauth::secret::Secret;
use crate::oauth::token::{self, TokenAnswer};
use crate::oauth::vault::{Parked, VaultError};
use crate::oauth::waiting::WaitingLogin;

// A conflict needs a renewal that ends between load and save; three in a row do not happen.
/// To keep a grant that others write to.
const ATTEMPTS: usize = 3;

/// What a login is for.
#[derive(Debug, Clone, Copy)]
pub struct Login<'a> {
    /// Its id.
    pub server: &'a str,
    pub url: &'a str,
    /// What the server said when it refused a request; without it, it is asked.
    pub challenge: Option<&'a Challenge>,
    pub redirect_uri: &'a str,
    /// A client registered by hand.
    pub client: Option<&'a Registered>,
    /// What to ask for, whatever the server wants.
    pub scope: Option<&'a str>,
}

/// A login under way. For ten minutes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Started {
    /// For a browser: https, or http to this machine.
    pub authorization_url: String,
    pub state: String,
    pub issuer: String,
    /// Who granted access before, if that was somebody else: people should be told.
    pub previous_issuer: Option<String>,
    pub scope: Option<String>,
}

/// A login that worked. The grant is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Granted {
    pub server: String,
    pub issuer: String,
    pub scope: Option<String>,
    pub expires_at: Option<i64>,
}

/// A login that somebody has come back from.
#[derive(Debug)]
pub struct Back(WaitingLogin);

impl Back {
    /// Of who began it.
    pub fn note(&self) -> Option<&str> {
        self.0.note.as_deref()
    }

    /// Who grants it.
    pub fn issuer(&self) -> &str {
        &self.0.issuer
    }
}

impl OAuth {
    pub async fn begin(&self, login: Login<'_>) -> Result<Started, LoginError> {
        self.begin_noted(login, None).await
    }

    /// The note is there when the browser has come back, in whichever process that is.
    pub async fn begin_noted(
        &self,
        login: Login<'_>,
        note: Option<&str>,
    ) -> Result<Started, LoginError> {
        let shared = &self.shared;
        let (net, limits) = (&shared.net, shared.settings.limits);
        let server = url("the server's address", login.url)?;
        // Before anything is fetched: a redirect to a foreign host would hand the code to it.
        check_redirect(login.redirect_uri)?;
        let challenge = match login.challenge {
            Some(challenge) => Some(challenge.clone()),
            None => discover::challenge(net, limits, &server).await,
        };
        let resource = discover::resource(net, limits, &server, challenge.as_ref()).await?;
        // Loaded before a client is chosen: a login again should use the client that the issuer
        // knows already.
        let earlier = shared.vault.load(login.server).await?.map(|kept| kept.grant);
        let id = choose_issuer(&resource, login.client, earlier.as_ref());
        // RFC 8414, 3.3: the metadata must name exactly the issuer that was looked up, or another
        // could pose as it.
        let issuer = discover::issuer(net, limits, &server, id).await?;
        let granted = earlier.as_ref().filter(|grant| grant.issuer == issuer.id);
        let scope = scope::choose(
            login.scope.or(challenge.as_ref().and_then(|challenge| challenge.scope.as_deref())),
            &resource.scopes,
            granted.and_then(|grant| grant.scope.as_deref()),
            &issuer.scopes,
        );
        let client = shared.client(&issuer, login, earlier.as_ref(), scope.as_deref()).await?;
        let previous = earlier.filter(|grant| grant.issuer != issuer.id).map(|grant| grant.issuer);
        let waiting = WaitingLogin {
            server: login.server.to_owned(),
            issuer: issuer.id.clone(),
            says_iss: issuer.says_iss,
            token_endpoint: issuer.token.clone(),
            revocation_endpoint: issuer.revocation.clone(),
            client,
            // Filled in by `wait_for_answer`: the verifier is made last, when nothing can fail any
            // more but the store.
            verifier: Secret::new(""),
            redirect_uri: login.redirect_uri.to_owned(),
            resource: resource.id,
            scope,
            note: note.map(str::to_owned),
            is_shared: false,
        };
        shared.wait_for_answer(&issuer, waiting, previous).await
    }

    /// What the browser brought. A grant is kept before this says that there is one.
    pub async fn finish(&self, callback: &Callback) -> Result<Granted, LoginError> {
        let back = self.came_back(&callback.state).await?;
        self.complete(back, callback).await
    }

    /// The login that somebody has come back from: once, whichever process began it.
    pub async fn came_back(&self, state: &str) -> Result<Back, LoginError> {
        let shared = &self.shared;
        // Taken and not looked at: a state is good once, also if two tabs come back.
        let own = shared.pending.lock().take(state, Instant::now());
        let waiting = match own.filter(|own| !own.is_shared) {
            Some(own) => Some(own),
            None => {
                let kept = shared.vault.unpark(&id_of(state), shared.now()).await?;
                // Zeroized: the parked login holds the PKCE verifier and perhaps the client's
                // secret.
                kept.map(zeroize::Zeroizing::new)
                    .and_then(|kept| WaitingLogin::from_json(&kept).ok())
            }
        };
        waiting.map(Back).ok_or(LoginError::Unknown)
    }

    /// Waits for a person who says that they meant it: under a new state, which only their page knows.
    pub async fn wait_for_consent(&self, back: Back) -> Result<String, LoginError> {
        let state = BASE64_URL_SAFE_NO_PAD.encode(random().ok_or(LoginError::Random)?);
        self.shared.keep_waiting(&state, back.0).await?;
        Ok(state)
    }

    pub async fn complete(&self, back: Back, callback: &Callback) -> Result<Granted, LoginError> {
        let waiting = back.0;
        // RFC 9207, 2.4: the issuer in the answer is compared before the code is sent anywhere.
        let code = callback.check(&waiting.issuer, waiting.says_iss)?.clone();
        let shared = Arc::clone(&self.shared);
        // A browser that hangs up does not take the grant with it.
        let task = self.shared.tasks.spawn(async move { shared.redeem(waiting, &code).await });
        task.await.unwrap_or_else(|_| Err(LoginError::Token("it was interrupted".to_owned())))
    }
}

impl OAuthState {
    async fn client(
        &self,
        issuer: &Issuer,
        login: Login<'_>,
        earlier: Option<&Grant>,
        scope: Option<&str>,
    ) -> Result<OAuthClient, LoginError> {
        let options = ClientOptions {
            given: login.client,
            earlier: earlier.map(|grant| (grant.issuer.as_str(), &grant.client)),
            document: self.settings.client_document.as_deref(),
            redirect_uri: login.redirect_uri,
            now: self.now(),
        };
        match registration::choose(issuer, options) {
            Ok(ClientSource::Ready(client)) => Ok(client),
            Ok(ClientSource::Dynamic(endpoint, method)) => {
                // Somebody who starts a login twice does not need two clients.
                let started =
                    // A leaf lock, held for one look; the registration itself happens without it.
                    self.pending.lock().client(login.server, &issuer.id, login.redirect_uri);
                if let Some(client) = started {
                    return Ok(client);
                }
                self.register(issuer, endpoint, method, login.redirect_uri, scope).await
            }
            Err(why) => Err(LoginError::NoClient { issuer: issuer.id.clone(), why }),
        }
    }

    async fn register(
        &self,
        issuer: &Issuer,
        endpoint: Url,
        method: &str,
        redirect_uri: &str,
        scope: Option<&str>,
    ) -> Result<OAuthClient, LoginError> {
        let refused = |why: String| LoginError::Registration { issuer: issuer.id.clone(), why };
        let name = &self.settings.client_name;
        let body = registration::application(name, redirect_uri, method, scope);
        let request = Request::post(endpoint, "application/json", body);
        let request = request.header("Accept", "application/json");
        let answer = self.net.send(request, self.settings.limits).await;
        let answer =
            answer.map_err(|error| LoginError::Fetch { what: "the registration", error })?;
        // RFC 7591, 3.2.1 says 201; some servers say 200.
        if !matches!(answer.status, 200 | 201) {
            let error: Option<serde_json::Value> = serde_json::from_slice(&answer.body).ok();
            let text = |name: &str| error.as_ref()?.get(name)?.as_str();
            let words = text("error").map(|error| shown(error, text("error_description")));
            return Err(refused(words.unwrap_or_else(|| format!("it answered {}", answer.status))));
        }
        let client = registration::registered(&answer.body, redirect_uri, method);
        client.ok_or_else(|| refused("its answer holds no client that can be used".to_owned()))
    }

    async fn wait_for_answer(
        &self,
        issuer: &Issuer,
        mut waiting: WaitingLogin,
        previous_issuer: Option<String>,
    ) -> Result<Started, LoginError> {
        // RFC 7636: the verifier never leaves this process before the token request.
        let proof = Proof::from(&random().ok_or(LoginError::Random)?);
        // 256 bits: the state alone proves that the browser is the one that was sent out.
        let state = BASE64_URL_SAFE_NO_PAD.encode(random().ok_or(LoginError::Random)?);
        let ask = Ask {
            client_id: &waiting.client.id,
            redirect_uri: &waiting.redirect_uri,
            state: &state,
            challenge: &proof.challenge,
            resource: &waiting.resource,
            scope: waiting.scope.as_deref(),
        };
        let started = Started {
            authorization_url: link(issuer, ask),
            state: state.clone(),
            issuer: waiting.issuer.clone(),
            previous_issuer,
            scope: waiting.scope.clone(),
        };
        waiting.verifier = proof.verifier;
        // Parked before the link is handed out: a browser may come back within the same second.
        self.keep_waiting(&state, waiting).await?;
        Ok(started)
    }

    async fn keep_waiting(&self, state: &str, mut waiting: WaitingLogin) -> Result<(), LoginError> {
        // Zeroized when dropped: it is the one place where the secrets of a login stand in plain
        // text.
        let (secrets, now) = (zeroize::Zeroizing::new(waiting.to_json()), self.now());
        let patience = i64::try_from(PATIENCE.as_millis()).unwrap_or(i64::MAX);
        let parked = Parked {
            id: &id_of(state),
            server: &waiting.server,
            secrets: &secrets,
            now,
            until: now.saturating_add(patience),
        };
        waiting.is_shared = self.vault.park(parked).await?;
        // Also if it is shared: who begins again needs no other client.
        self.pending.lock().add(state.to_owned(), waiting, Instant::now());
        Ok(())
    }

    async fn redeem(
        &self,
        mut waiting: WaitingLogin,
        code: &Secret,
    ) -> Result<Granted, LoginError> {
        // Before the exchange: the lifetime of the token counts from its making, and early is safe.
        let now = self.now();
        let answer = self.exchange(&waiting, &waiting.client, code).await?;
        let mut verdict = token::judge(&answer);
        // How a client that was registered by hand shows its secret, its issuer may know better.
        let other = waiting.client.other_way().filter(|_| token::is_about_client(&answer));
        if let Some(other) = other {
            let again = token::judge(&self.exchange(&waiting, &other, code).await?);
            // If the other way fails as well, the first answer is the one that explains.
            if matches!(again, TokenAnswer::Granted(_)) {
                (waiting.client, verdict) = (other, again);
            }
        }
        let tokens = match verdict {
            TokenAnswer::Granted(tokens) => tokens,
            TokenAnswer::Refused(why) | TokenAnswer::Later { why, .. } => {
                return Err(LoginError::Token(why));
            }
        };
        let grant = Grant {
            issuer: waiting.issuer,
            resource: waiting.resource,
            token_endpoint: waiting.token_endpoint,
            revocation_endpoint: waiting.revocation_endpoint,
            client: waiting.client,
            scope: tokens.scope.or(waiting.scope),
            held: HeldTokens::new(tokens.access, tokens.refresh, now, tokens.lifetime),
            lost: None,
            granted_at: now,
        };
        let granted = Granted {
            server: waiting.server,
            issuer: grant.issuer.clone(),
            scope: grant.scope.clone(),
            expires_at: grant.held.expires_at,
        };
        // Kept before the slot knows it: a crash in between costs a look into the vault, not the
        // grant.
        self.replace(&granted.server, &grant).await?;
        self.slot(&granted.server, |slot| slot.start_over(grant));
        Ok(granted)
    }

    async fn exchange(
        &self,
        waiting: &WaitingLogin,
        client: &OAuthClient,
        code: &Secret,
    ) -> Result<Response, LoginError> {
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", code.reveal()),
            // RFC 6749, 4.1.3: it must be repeated exactly as it was sent with the authorization
            // request.
            ("redirect_uri", waiting.redirect_uri.as_str()),
            ("code_verifier", waiting.verifier.reveal()),
            // RFC 8707, 2.2: named again here, so that the token is bound to this server.
            ("resource", waiting.resource.as_str()),
        ];
        let request = token::request(waiting.token_endpoint.clone(), client, &fields);
        let answer = self.net.send(request, self.settings.limits).await;
        answer.map_err(|error| LoginError::Fetch { what: "the token", error })
    }

    /// The new grant takes the place of whatever was there, also of another issuer's.
    async fn replace(&self, server: &str, grant: &Grant) -> Result<(), VaultError> {
        // A renewal may save in between; a login is newer and wins, but not by ignoring the
        // revision.
        for _ in 0..ATTEMPTS {
            let before = self.vault.load(server).await?;
            let (same, other): (Vec<_>, Vec<_>) =
                before.into_iter().partition(|kept| kept.grant.issuer == grant.issuer);
            let after = same.first().map(|kept| kept.revision);
            match self.vault.save(server, grant, after).await {
                // What an interrupted change of the issuer has left, and is older than `before`.
                Err(VaultError::Conflict) if after.is_none() => {
                    self.vault.delete(server, &grant.issuer).await?;
                }
                Err(VaultError::Conflict) => {} // a renewal was faster: the login counts
                Err(error) => return Err(error),
                Ok(_) => {
                    for kept in other {
                        // If it stays: the newest counts.
                        let _ = self.vault.delete(server, &kept.grant.issuer).await;
                    }
                    return Ok(());
                }
            }
        }
        Err(VaultError::Conflict)
    }
}

/// Under what a login is kept: whoever reads it there does not know its state.
fn id_of(state: &str) -> String {
    // The state is a bearer secret: whoever could read the store would otherwise finish a login of
    // others.
    BASE64_URL_SAFE_NO_PAD.encode(ring::digest::digest(&ring::digest::SHA256, state.as_bytes()))
}

/// The one the client belongs to, or the one of before, or the server's first.
fn choose_issuer<'r>(
    resource: &'r Resource,
    client: Option<&Registered>,
    earlier: Option<&Grant>,
) -> &'r str {
    let listed = |wanted: &str| resource.issuers.iter().find(|issuer| *issuer == wanted);
    let own = client.and_then(|client| client.issuer.as_deref()).and_then(listed);
    let before = || earlier.and_then(|grant| listed(&grant.issuer));
    let chosen = own.or_else(before).or(resource.issuers.first());
    chosen.map_or("", String::as_str)
}

fn url(what: &'static str, text: &str) -> Result<Url, LoginError> {
    Url::parse(text).map_err(|why| LoginError::Url { what, why: why.to_string() })
}

fn check_redirect(text: &str) -> Result<(), LoginError> {
    let what = "the address to come back to";
    let address = url(what, text)?;
    // RFC 8252, 7.3: on this machine http is allowed, elsewhere the code would travel in the clear.
    if address.scheme() == Scheme::Https || is_loopback(&address) {
        return Ok(());
    }
    Err(LoginError::Url { what, why: "it is neither https nor on this machine".to_owned() })
}
