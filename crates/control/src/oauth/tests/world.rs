//! A protected server and its authorization server in one, which check what they are sent.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use parking_lot::Mutex;
use serde_json::{Value, json};
use trunkline_http::read_form;

use super::memory::Memory;
use crate::net::fake::{Answer, Asked, Fake};
use crate::net::{Client, Limits};
use crate::oauth::{
    Callback, Challenge, Early, Granted, Login, LoginError, NoToken, OAuth, Secret, Settings,
    Started, Token,
};

pub(super) const SERVER: &str = "server-1";
pub(super) const BACK: &str = "http://127.0.0.1:9/callback";
/// Of an access token, in seconds.
pub(super) const LIFE: i64 = 1000;

pub(super) struct World {
    fake: Fake,
    pub(super) issuer: Arc<Mutex<Authority>>,
    pub(super) vault: Arc<Memory>,
    now: Arc<Mutex<i64>>,
    pub(super) oauth: OAuth,
}

/// What the authorization server knows and does.
#[derive(Default)]
pub(super) struct Authority {
    pub(super) heard: Vec<Asked>,
    /// Answers by path, instead of the right ones.
    pub(super) instead: HashMap<&'static str, Answer>,
    /// What happens elsewhere while the next token is asked for.
    pub(super) meanwhile: Option<Box<dyn FnOnce() + Send>>,
    /// Changes to its metadata and to that of the server.
    pub(super) metadata: Vec<(&'static str, Value)>,
    pub(super) resource: Vec<(&'static str, Value)>,
    /// What was agreed on in the browser, by code.
    codes: HashMap<String, HashMap<String, String>>,
    refresh: Option<String>,
    count: u32,
}

impl World {
    pub(super) async fn new() -> Self {
        Self::with(|_| {}).await
    }

    pub(super) async fn with(change: impl FnOnce(&mut Settings)) -> Self {
        let issuer = Arc::new(Mutex::new(Authority::default()));
        let ears = Arc::clone(&issuer);
        let fake = Fake::start(move |asked| ears.lock().answer(&asked)).await;
        let now = Arc::new(Mutex::new(1_000_000_000));
        let clock = Arc::clone(&now);
        let limits = Limits { deadline: Duration::from_secs(20), max_body: 64 * 1024 };
        let mut settings = Settings {
            limits,
            clock: Arc::new(move || *clock.lock()),
            early: Early::default(),
            ..Settings::default()
        };
        change(&mut settings);
        let vault = Arc::new(Memory::default());
        let oauth = OAuth::new(loopback_only(), Arc::clone(&vault) as _, settings);
        Self { fake, issuer, vault, now, oauth }
    }

    /// Another process with the same vault.
    pub(super) fn another(&self) -> OAuth {
        let shared = &self.oauth.shared;
        OAuth::new(shared.net.clone(), Arc::clone(&shared.vault), shared.settings.clone())
    }

    pub(super) fn url(&self) -> String {
        self.fake.url("/mcp")
    }

    pub(super) fn base(&self) -> String {
        self.fake.url("")
    }

    pub(super) fn pass(&self, seconds: i64) {
        *self.now.lock() += seconds * 1000;
    }

    pub(super) fn instead(&self, path: &'static str, answer: Answer) {
        self.issuer.lock().instead.insert(path, answer);
    }

    pub(super) async fn begin(&self) -> Result<Started, LoginError> {
        let (server, redirect_uri) = (SERVER, BACK);
        let login = Login {
            server,
            url: &self.url(),
            challenge: None,
            redirect_uri,
            client: None,
            scope: None,
        };
        self.oauth.begin(login).await
    }

    /// What a person does: follows the link and agrees.
    pub(super) fn agree(&self, started: &Started) -> Callback {
        let (_, query) = started.authorization_url.split_once('?').unwrap();
        let fields: HashMap<_, _> = read_form(query).unwrap().into_iter().collect();
        let mut issuer = self.issuer.lock();
        issuer.count += 1;
        let code = format!("code-{}", issuer.count);
        let state = fields["state"].clone();
        issuer.codes.insert(code.clone(), fields);
        Callback::new(&state, &code, None)
    }

    pub(super) async fn log_in(&self) -> Granted {
        let started = self.begin().await.unwrap();
        self.oauth.finish(&self.agree(&started)).await.unwrap()
    }

    pub(super) async fn token(&self) -> Result<String, NoToken> {
        let token = self.oauth.access_token(SERVER, &self.url()).await;
        token.map(|token| token.value.reveal().to_owned())
    }

    pub(super) async fn rejected(&self, token: &str) -> Result<String, NoToken> {
        let token = Token { value: Secret::new(token), expires_at: None };
        let header =
            format!("Bearer error=\"invalid_token\", resource_metadata=\"{}/meta\"", self.base());
        let challenge = Challenge::find([header.as_str()]);
        let other = self.oauth.rejected(SERVER, &self.url(), &token, challenge.as_ref()).await;
        other.map(|token| token.value.reveal().to_owned())
    }

    /// Requests for this path.
    pub(super) fn asked(&self, path: &str) -> Vec<Asked> {
        let issuer = self.issuer.lock();
        issuer.heard.iter().filter(|asked| asked.target == path).cloned().collect()
    }

    /// Refresh tokens as they were sent, in order.
    pub(super) fn refreshes(&self) -> Vec<String> {
        let sent = self.asked("/token");
        let fields = sent.iter().map(fields_of);
        fields.filter_map(|fields| fields.get("refresh_token").cloned()).collect()
    }

    /// Waits until nothing is under way any more.
    pub(super) async fn settle(&self) {
        self.oauth.shared.tasks.close();
        self.oauth.shared.tasks.wait().await;
        self.oauth.shared.tasks.reopen();
    }
}

pub(super) fn fields_of(asked: &Asked) -> HashMap<String, String> {
    read_form(str::from_utf8(&asked.body).unwrap()).unwrap().into_iter().collect()
}

pub(super) fn loopback_only() -> Client {
    Client::new(Arc::new(|address| match address.is_loopback() {
        true => Ok(()),
        false => Err("not in this test".to_owned()),
    }))
}

/// Somebody who should not be asked, and how often that happened.
pub(super) async fn listener() -> (Fake, Arc<Mutex<u32>>) {
    let heard = Arc::new(Mutex::new(0));
    let ears = Arc::clone(&heard);
    let fake = Fake::start(move |_| {
        *ears.lock() += 1;
        Answer::json(200, "{}")
    });
    (fake.await, heard)
}

impl Authority {
    fn answer(&mut self, asked: &Asked) -> Answer {
        let base = format!("http://{}", asked.header("host").unwrap());
        let path = asked.target.clone();
        self.heard.push(asked.clone());
        if path == "/token" {
            self.meanwhile.take().into_iter().for_each(|happens| happens());
        }
        if let Some(answer) = self.instead.get(path.as_str()) {
            return answer.clone();
        }
        match path.as_str() {
            "/mcp" => {
                let challenge = format!("Bearer resource_metadata=\"{base}/meta\", scope=\"r w\"");
                Answer::with(401, &[("WWW-Authenticate", &challenge)], "")
            }
            "/meta" => self.document(
                &self.resource,
                json!({
                    "resource": format!("{base}/mcp"),
                    "authorization_servers": [format!("{base}/tenant")],
                }),
            ),
            "/.well-known/oauth-authorization-server/tenant" => self.document(
                &self.metadata,
                json!({
                    "issuer": format!("{base}/tenant"),
                    "authorization_endpoint": format!("{base}/authorize"),
                    "token_endpoint": format!("{base}/token"),
                    "registration_endpoint": format!("{base}/register"),
                    "revocation_endpoint": format!("{base}/revoke"),
                    "code_challenge_methods_supported": ["S256"],
                }),
            ),
            "/register" => {
                let wish: Value = serde_json::from_slice(&asked.body).unwrap();
                assert_eq!(wish["redirect_uris"], json!([BACK]));
                Answer::json(201, r#"{"client_id":"dynamic-1"}"#)
            }
            "/token" => self.token(&fields_of(asked)),
            "/revoke" => Answer::json(200, ""),
            _ => Answer::with(404, &[], ""),
        }
    }

    fn document(&self, changes: &[(&'static str, Value)], mut document: Value) -> Answer {
        for (name, value) in changes {
            document[*name] = value.clone();
        }
        Answer::json(200, &document.to_string())
    }

    fn token(&mut self, fields: &HashMap<String, String>) -> Answer {
        let granted = match fields["grant_type"].as_str() {
            "authorization_code" => self.redeem(fields),
            "refresh_token" => {
                // Each is good once; a second use is a theft, and ends the grant.
                let sent = fields.get("refresh_token").cloned();
                let known = self.refresh.take();
                known.is_some() && known == sent
            }
            other => panic!("{other}"),
        };
        if !granted {
            return Answer::json(400, r#"{"error":"invalid_grant"}"#);
        }
        self.count += 1;
        let refresh = format!("refresh-{}", self.count);
        self.refresh = Some(refresh.clone());
        let answer = json!({
            "access_token": format!("access-{}", self.count),
            "token_type": "Bearer",
            "expires_in": LIFE,
            "refresh_token": refresh,
        });
        Answer::json(200, &answer.to_string())
    }

    fn redeem(&mut self, fields: &HashMap<String, String>) -> bool {
        let Some(agreed) = self.codes.remove(&fields["code"]) else { return false };
        let challenge =
            ring::digest::digest(&ring::digest::SHA256, fields["code_verifier"].as_bytes());
        let id = fields.get("client_id");
        agreed["code_challenge"] == BASE64_URL_SAFE_NO_PAD.encode(challenge)
            && agreed["code_challenge_method"] == "S256"
            && agreed["resource"] == fields["resource"]
            && agreed["redirect_uri"] == fields["redirect_uri"]
            && id.is_none_or(|id| *id == agreed["client_id"])
    }

    /// The person takes the grant back.
    pub(super) fn revoke(&mut self) {
        self.refresh = None;
    }
}
