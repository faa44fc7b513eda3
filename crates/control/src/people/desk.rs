//! `PeopleDesk`: sends browsers to the issuer, and asks it who has come back.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};
use trunkline_http::{Url, write_form};

use super::error::SignInFault;
use super::exchanges::Exchanges;
use super::provider::{self, ProviderMetadata};
use super::seed::SignInSeed;
use super::settings::PeopleSettings;
use crate::access::{IdToken, Issuer, Jwks, JwtFault, verify_id_token};
use crate::issuer::IssuerClients;
use crate::net::Response;
use crate::oauth::{Auth, Callback, OAuthClient, Secret, is_about_client, shown, token_request};

/// What the issuer says of itself is asked for again after that long: its keys may have been withdrawn.
const FRESH: Duration = Duration::from_secs(10 * 60);
/// While it cannot be reached, what it said last is good for this long.
const LONGEST_USE: Duration = Duration::from_secs(24 * 60 * 60);
/// Strangers make us ask it: no more often than this while it fails.
const BETWEEN_TRIES: Duration = Duration::from_secs(2);
/// Metadata and keys together: a person waits for it.
const ALL: Duration = Duration::from_secs(8);

#[derive(Debug)]
pub struct PeopleDesk {
    settings: PeopleSettings,
    clients: IssuerClients,
    /// A leaf lock: held for a look or a change, across no await.
    known: Mutex<KnownProvider>,
    /// Held while the issuer is asked.
    turn: Semaphore,
    exchanges: Exchanges,
}

#[derive(Debug, Default)]
struct KnownProvider {
    provider: Option<(Instant, Arc<Provider>)>,
    /// When it was last asked in vain, and why.
    failed: Option<(Instant, SignInFault)>,
}

/// What the issuer says of itself.
#[derive(Debug)]
struct Provider {
    metadata: ProviderMetadata,
    keys: Arc<Jwks>,
}

/// Where a browser has to go, and what it has to keep meanwhile.
#[derive(Debug)]
pub struct BegunSignIn {
    pub url: String,
    pub seed: SignInSeed,
}

/// Whom the issuer should ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Account {
    /// Whoever is signed in there already need not do so again.
    Any,
    /// Somebody else wants to sign in.
    Another,
}

impl PeopleDesk {
    pub fn new(settings: PeopleSettings, clients: IssuerClients) -> Self {
        let turn = Semaphore::new(1);
        Self { settings, clients, known: Mutex::default(), turn, exchanges: Exchanges::default() }
    }

    pub fn settings(&self) -> &PeopleSettings {
        &self.settings
    }

    pub async fn begin(&self, account: Account) -> Result<BegunSignIn, SignInFault> {
        let provider = self.provider().await?;
        let seed = SignInSeed::new()?;
        let url = authorization(&self.settings, &provider.metadata, &seed, account);
        Ok(BegunSignIn { url, seed })
    }

    /// Who has come back with this query, from there, to the browser that holds this seed? `now` in seconds since 1970.
    pub async fn finish(
        &self,
        seed: Option<&SignInSeed>,
        query: &str,
        from: IpAddr,
        now: u64,
    ) -> Result<IdToken, SignInFault> {
        let callback = Callback::parse(query).map_err(SignInFault::Unreadable)?;
        // Before anything is asked of the issuer: nobody may have a browser finish a sign-in that it has not begun
        // (login CSRF).
        let seed = seed.filter(|seed| seed.has_state(&callback.state));
        let seed = seed.ok_or(SignInFault::NotBegunHere)?;
        let provider = self.provider().await?;
        // RFC 9207, 2.4: the issuer in the answer is compared before the code is sent anywhere.
        let code = callback.check(self.issuer(), provider.metadata.says_iss)?;
        let token = {
            let exchange = self.exchanges.begin(from).await?;
            let redeemed = self.redeem(&provider.metadata, seed, code).await;
            // RFC 6749, 5.2. Every other error is the issuer's or ours.
            if matches!(&redeemed, Err(SignInFault::Token(why)) if why.contains("invalid_grant")) {
                exchange.note_wrong().await;
            }
            redeemed?
        };
        let nonce = seed.nonce();
        match self.verified(&provider, &token, &nonce, now) {
            // The issuer may have changed its keys.
            Err(JwtFault::UnknownKey) => {
                let renewed = self.renewed(&provider).await?;
                self.verified(&renewed, &token, &nonce, now)
            }
            decided => decided,
        }
        .map_err(SignInFault::IdToken)
    }

    /// Where people sign out of the issuer, too; `None`: it has no such place, or cannot be asked.
    pub async fn end_url(&self) -> Option<String> {
        let end = self.provider().await.ok()?.metadata.end_session.clone()?;
        // No `id_token_hint`: tokens are not kept. The issuer may ask the person instead.
        let fields = [
            ("client_id", self.settings.rules.client_id.as_str()),
            ("post_logout_redirect_uri", self.settings.after.as_str()),
        ];
        Some(with_query(&end, &fields))
    }

    fn issuer(&self) -> &str {
        &self.settings.rules.issuer
    }

    fn verified(
        &self,
        provider: &Provider,
        token: &Secret,
        nonce: &str,
        now: u64,
    ) -> Result<IdToken, JwtFault> {
        let trusted = Issuer {
            issuer: self.issuer().to_owned(),
            audiences: vec![self.settings.rules.client_id.clone()],
            keys: Arc::clone(&provider.keys),
        };
        verify_id_token(token.reveal(), &trusted, nonce, now)
    }

    async fn redeem(
        &self,
        metadata: &ProviderMetadata,
        seed: &SignInSeed,
        code: &Secret,
    ) -> Result<Secret, SignInFault> {
        let auth = match &self.settings.client_secret {
            Some(secret) => Auth::Basic(secret.clone()),
            None => Auth::None,
        };
        let id = self.settings.rules.client_id.clone();
        let client = OAuthClient { id, auth, redirect_uri: None, expires_at: None };
        let proof = seed.proof();
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", code.reveal()),
            // RFC 6749, 4.1.3: repeated exactly as it was sent.
            ("redirect_uri", self.settings.redirect_uri.as_str()),
            ("code_verifier", proof.verifier.reveal()),
        ];
        let ask = |client: &OAuthClient| {
            let request = token_request(metadata.token.clone(), client, &fields);
            self.clients.send(&self.settings.trusted, request)
        };
        let first = ask(&client).await?;
        // How the client shows its secret, the issuer may know better.
        if let Some(other) = client.other_way().filter(|_| is_about_client(&first))
            && let Ok(token) = id_token(&ask(&other).await?)
        {
            return Ok(token);
        }
        // If the other way fails as well, the first answer is the one that explains.
        id_token(&first).map_err(SignInFault::Token)
    }

    async fn provider(&self) -> Result<Arc<Provider>, SignInFault> {
        // Released before the issuer is asked.
        let known = self.known.lock().within(FRESH);
        match known {
            Some(provider) => Ok(provider),
            None => self.asked(None).await,
        }
    }

    /// With other keys than these, if the issuer has others. Not bounded in time: tokens come from nobody but the issuer.
    async fn renewed(&self, before: &Arc<Provider>) -> Result<Arc<Provider>, SignInFault> {
        self.asked(Some(before)).await
    }

    /// What the issuer says of itself now; what it said last, if it cannot be asked.
    async fn asked(&self, before: Option<&Arc<Provider>>) -> Result<Arc<Provider>, SignInFault> {
        // One fetch for all who wait. The semaphore is never closed.
        let _turn = self.turn.acquire().await;
        let is_other = |new: &Arc<Provider>| before.is_none_or(|old| !Arc::ptr_eq(new, old));
        let came_meanwhile = self.known.lock().within(FRESH).filter(is_other);
        if let Some(provider) = came_meanwhile {
            return Ok(provider);
        }
        let failed = self.known.lock().failure().filter(|_| before.is_none());
        let failed = match failed {
            Some(failed) => failed,
            None => match timeout(ALL, self.fetch()).await.unwrap_or_else(|_| Err(late())) {
                Ok(provider) => return Ok(self.known.lock().learn(provider)),
                Err(error) => {
                    tracing::warn!(issuer = self.issuer(), %error, "people cannot sign in");
                    self.known.lock().failed = Some((Instant::now(), error.clone()));
                    error
                }
            },
        };
        self.known.lock().within(LONGEST_USE).ok_or(failed)
    }

    async fn fetch(&self) -> Result<Provider, SignInFault> {
        let trusted = &self.settings.trusted;
        let place = provider::place(trusted.url());
        let place =
            place.ok_or_else(|| SignInFault::Away("its metadata has no address".to_owned()))?;
        let shown = place.to_string();
        let answer = self.clients.get(trusted, place).await?;
        if answer.status != 200 {
            let why = format!("{shown} answers with status {}", answer.status);
            return Err(SignInFault::Away(why));
        }
        let metadata = provider::read(&answer.body, self.issuer(), trusted.url())?;
        let keys = self.clients.keys_at(trusted, metadata.key_set.clone()).await?;
        if keys.usable() == 0 {
            return Err(SignInFault::Away("it has no key that can be used".to_owned()));
        }
        Ok(Provider { metadata, keys: Arc::new(keys) })
    }
}

impl KnownProvider {
    /// What was said no longer ago than this.
    fn within(&self, age: Duration) -> Option<Arc<Provider>> {
        let recent = self.provider.as_ref().filter(|(at, _)| at.elapsed() < age);
        recent.map(|(_, provider)| Arc::clone(provider))
    }

    /// Why it was asked in vain a moment ago.
    fn failure(&self) -> Option<SignInFault> {
        let recent = self.failed.as_ref().filter(|(at, _)| at.elapsed() < BETWEEN_TRIES);
        recent.map(|(_, failed)| failed.clone())
    }

    fn learn(&mut self, provider: Provider) -> Arc<Provider> {
        let provider = Arc::new(provider);
        self.provider = Some((Instant::now(), Arc::clone(&provider)));
        self.failed = None;
        provider
    }
}

fn late() -> SignInFault {
    SignInFault::Away(format!("it did not answer within {} s", ALL.as_secs()))
}

fn authorization(
    settings: &PeopleSettings,
    metadata: &ProviderMetadata,
    seed: &SignInSeed,
    account: Account,
) -> String {
    let (state, nonce, proof) = (seed.state(), seed.nonce(), seed.proof());
    let mut fields = vec![
        ("response_type", "code"),
        ("client_id", settings.rules.client_id.as_str()),
        ("redirect_uri", settings.redirect_uri.as_str()),
        ("scope", settings.scope.as_str()),
        ("state", &state),
        ("nonce", &nonce),
        ("code_challenge", &proof.challenge),
        ("code_challenge_method", "S256"),
    ];
    if account == Account::Another {
        fields.push(("prompt", "login"));
    }
    with_query(&metadata.authorization, &fields)
}

fn with_query(endpoint: &Url, fields: &[(&str, &str)]) -> String {
    let endpoint = endpoint.to_string();
    let joint = match endpoint.as_str() {
        endpoint if endpoint.ends_with(['?', '&']) => "",
        endpoint if endpoint.contains('?') => "&",
        _ => "?",
    };
    format!("{endpoint}{joint}{}", write_form(fields))
}

/// The ID token in the answer of the token endpoint, or what it says instead.
fn id_token(answer: &Response) -> Result<Secret, String> {
    let document: Option<Value> = serde_json::from_slice(&answer.body).ok();
    let text = |name: &str| document.as_ref()?.get(name)?.as_str();
    match (answer.status, text("id_token"), text("error")) {
        (200, Some(token), _) => Ok(Secret::new(token)),
        (200, None, _) => Err("its answer holds no ID token".to_owned()),
        (_, _, Some(error)) => Err(shown(error, text("error_description"))),
        (status, _, None) => Err(format!("it answered {status}")),
    }
}
