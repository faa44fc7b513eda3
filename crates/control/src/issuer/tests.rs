//! Against an issuer on the loopback: its keys are found, fetched once for all, and kept.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use trunkline_http::Url;
use trunkline_http::reach::Policy;

use super::{IssuerClients, IssuerKeys, NoKeys, Trusted};
use crate::access::tests::{AUDIENCE, NOW, Signer, claims, header};
use crate::access::{Pepper, Principal, Refusal, Role, WithoutToken, decide};
use crate::keys::{ApiKeys, FixedTokens};
use crate::net::FetchError;
use crate::net::fake::{Answer, Asked, Fake};
use crate::scratch::Folder;

pub(crate) const OAUTH: &str = "/.well-known/oauth-authorization-server";
const OIDC: &str = "/.well-known/openid-configuration";

/// An issuer that counts who fetches its keys.
pub(crate) struct World {
    pub(crate) signer: Arc<Signer>,
    pub(crate) fake: Fake,
    fetches: Arc<AtomicUsize>,
    _folder: Folder,
    pub(crate) holder: Arc<ApiKeys>,
}

impl World {
    /// `answer` for everything but `/keys`, with the issuer's own address.
    async fn new(answer: impl Fn(&str, &Asked) -> Answer + Send + Sync + 'static) -> Self {
        let signer = Arc::new(Signer::new());
        let fetches = Arc::new(AtomicUsize::new(0));
        let (counted, keys) = (Arc::clone(&fetches), signer.key_set().to_string());
        let fake = Fake::start(move |asked| match asked.target.as_str() {
            "/keys" => {
                counted.fetch_add(1, Ordering::SeqCst);
                Answer::json(200, &keys)
            }
            _ => answer(&format!("http://{}", asked.header("host").unwrap()), &asked),
        });
        let folder = Folder::new();
        let fixed = FixedTokens {
            pepper: Arc::new(Pepper::new(&[1; 32])),
            admin_token: None,
            static_token: None,
            without_token: WithoutToken::Refused,
            certificates: Arc::default(),
            people: None,
            max_stale: std::time::Duration::from_secs(30),
            is_locked: false,
        };
        let holder = ApiKeys::open(folder.store().await, fixed).await.unwrap();
        Self { signer, fake: fake.await, fetches, _folder: folder, holder: Arc::new(holder) }
    }

    /// Whose metadata is at this path.
    pub(crate) async fn described_at(path: &'static str) -> Self {
        Self::new(move |own, asked| match asked.target == path {
            true => Answer::json(200, &described(own, &format!("{own}/keys"))),
            false => Answer::with(404, &[], ""),
        })
        .await
    }

    fn trusted(&self, key_set: Option<&str>) -> Trusted {
        let key_set = key_set.map(|path| Url::parse(&self.fake.url(path)).unwrap());
        let public = Url::parse(AUDIENCE).unwrap();
        Trusted::new(&self.fake.url(""), key_set, Vec::new(), &public).unwrap()
    }

    pub(crate) fn keys(&self, key_set: Option<&str>) -> Arc<IssuerKeys> {
        let clients = IssuerClients::new(Policy::default());
        Arc::new(IssuerKeys::new(self.trusted(key_set), clients, Arc::clone(&self.holder)))
    }

    fn token(&self, kid: &str) -> String {
        let claims = claims(&json!({"iss": self.fake.url("")}));
        self.signer.sign("EdDSA", &header("EdDSA", kid, &json!({})), &claims)
    }

    fn asks(&self, token: &str) -> Result<Principal, Refusal> {
        decide(Some(token), &self.holder.known(), NOW)
    }

    fn fetches(&self) -> usize {
        self.fetches.load(Ordering::SeqCst)
    }
}

fn described(issuer: &str, keys: &str) -> String {
    json!({"issuer": issuer, "jwks_uri": keys}).to_string()
}

#[tokio::test]
async fn keys_are_found_by_either_metadata_or_where_the_operator_says() {
    for (path, key_set) in [(OAUTH, None), (OIDC, None), ("/nowhere", Some("/keys"))] {
        let world = World::described_at(path).await;
        let keys = world.keys(key_set);
        let token = world.token("ed");
        assert_eq!(world.asks(&token), Err(Refusal::NeedsKeys), "{path}");
        keys.fetch().await;
        let principal = world.asks(&token).unwrap();
        assert_eq!((principal.name(), principal.role()), ("alice", Role::Caller), "{path}");
        assert_eq!(principal.good_until(), Some(NOW + 360), "the token's end, and a minute");
    }
}

#[tokio::test]
async fn what_is_wrong_with_an_issuer_is_said() {
    type Make = fn(&str, &Asked) -> Answer;
    let elsewhere: Make = |own, _| Answer::json(200, &described(own, "http://127.0.0.2:9/keys"));
    let other: Make = |_, _| Answer::json(200, &described("https://evil", "https://evil/keys"));
    let moved: Make = |_, _| Answer::with(302, &[("Location", "/keys")], "");
    let no_keys: Make = |own, _| Answer::json(200, &described(own, &format!("{own}/none")));
    for (make, expected) in [
        (elsewhere, "127.0.0.2"),
        (other, "another issuer"),
        (moved, "no metadata"),
        (no_keys, "no list"),
    ] {
        let world = World::new(make).await;
        let clients = IssuerClients::new(Policy::default());
        let error = clients.key_set(&world.trusted(None)).await.unwrap_err();
        assert!(error.to_string().contains(expected), "{expected}: {error}");
        assert_eq!(world.fetches(), 0, "{expected}");
    }
    let world = World::new(moved).await;
    let clients = IssuerClients::new(Policy::default());
    let refused = clients.key_set(&world.trusted(Some("/moved"))).await;
    assert_eq!(refused, Err(NoKeys::Status(302)));
}

#[tokio::test]
async fn a_place_that_only_the_issuer_names_is_judged() {
    let world =
        World::new(|own, _| Answer::json(200, &described(own, "http://127.0.0.2:9/keys"))).await;
    let refused = IssuerClients::new(Policy::default()).key_set(&world.trusted(None)).await;
    assert!(matches!(refused, Err(NoKeys::Fetch(FetchError::Refused { .. }))), "{refused:?}");
    let allowed = Policy { allowed: vec!["127.0.0.0/8".parse().unwrap()] };
    let reached = IssuerClients::new(allowed).key_set(&world.trusted(None)).await;
    assert!(matches!(reached, Err(NoKeys::Fetch(FetchError::Connect { .. }))), "{reached:?}");
}

#[tokio::test]
async fn many_unknown_keys_at_once_are_one_fetch() {
    let world = World::described_at(OAUTH).await;
    let keys = world.keys(None);
    let (mut waiting, mut tasks, end) = (JoinSet::new(), JoinSet::new(), CancellationToken::new());
    for _ in 0..200 {
        let keys = Arc::clone(&keys);
        waiting.spawn(async move { keys.renewed().await });
    }
    let (running, ending) = (Arc::clone(&keys), end.clone());
    tasks.spawn(async move { running.run(ending).await });
    while waiting.join_next().await.is_some() {}
    assert!(world.asks(&world.token("ed")).is_ok());
    assert_eq!(world.asks(&world.token("other")), Err(Refusal::NeedsKeys));
    // It is too early to ask again: nobody waits.
    assert!(!keys.may_come());
    for _ in 0..200 {
        keys.renewed().await;
    }
    assert_eq!(world.fetches(), 1);
    end.cancel();
    while tasks.join_next().await.is_some() {}
}

#[tokio::test]
async fn the_last_good_keys_are_kept_and_the_same_ones_change_nothing() {
    let mut world = World::described_at(OAUTH).await;
    let (keys, token) = (world.keys(None), world.token("ed"));
    keys.fetch().await;
    let version = world.holder.version();
    keys.fetch().await;
    assert_eq!((world.fetches(), world.holder.version()), (2, version));
    world.fake = Fake::start(|_| Answer::with(500, &[], "")).await;
    keys.fetch().await;
    assert_eq!(world.fetches(), 2);
    assert!(world.asks(&token).is_ok());
    assert_eq!(world.holder.version(), version);
}
