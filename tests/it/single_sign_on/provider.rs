//! An `OpenID` provider on the loopback, at another host than the dashboard: people sign in there with a click, and it
//! remembers everything it was asked.

use std::collections::HashMap;
use std::io::Write as _;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use kit::platform::percent;
use serde_json::{Value, json};

use crate::logins::wire::{Request, challenge, fields, query, respond};
use crate::platform_issuer::signer::{Signer, base64, with};

pub(crate) const CLIENT: &str = "trunkline";
pub(crate) const SECRET: &str = "canary-client-s3cret/of the tests";

#[derive(Debug, Clone)]
pub(crate) struct Provider {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    /// … was changed by the test.
    changed: Arc<Condvar>,
}

#[derive(Debug)]
pub(crate) struct State {
    signer: Signer,
    /// How keys are named; tokens are signed with the one that was published last.
    pub(crate) kid: String,
    /// Nobody is answered.
    pub(crate) is_away: bool,
    /// The people there are, and the claims that only they have.
    pub(crate) people: HashMap<String, Value>,
    /// Who signs in without being asked.
    pub(crate) who: Option<String>,
    /// What the metadata says besides, or instead.
    pub(crate) metadata: Value,
    /// What tokens say instead of what they should.
    pub(crate) claims: Value,
    /// What the browser is told instead of who grants the code; empty: nothing.
    pub(crate) iss: Option<String>,
    /// A secret is taken in the form only.
    pub(crate) wants_form: bool,
    /// Who shows a code that nobody was given waits for the answer.
    pub(crate) holds_wrong_codes: bool,
    /// Those that wait.
    pub(crate) held: usize,
    /// Another client than that with the secret.
    pub(crate) is_public: bool,
    /// Every ID token there ever was.
    pub(crate) tokens: Vec<String>,
    /// The queries of `/auth` and `/logout`.
    pub(crate) asked: Vec<HashMap<String, String>>,
    pub(crate) ended: Vec<HashMap<String, String>>,
    /// Requests for tokens.
    pub(crate) redeemed: usize,
    codes: HashMap<String, (String, HashMap<String, String>)>,
}

impl Provider {
    /// Alice is an operator, Bob a viewer, and Carol is in no group that anybody here knows.
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.2:0").expect("the loopback has many addresses");
        let address = listener.local_addr().unwrap();
        let people = [
            ("alice", json!({"groups": ["ops", "dev"], "preferred_username": "alice@example.com"})),
            ("bob", json!({"groups": ["everybody"], "preferred_username": "bob@example.com"})),
            (
                "carol",
                json!({"groups": ["<sales>", "it"], "preferred_username": "carol@example.com"}),
            ),
        ];
        let state = State {
            signer: Signer::new(),
            kid: "one".to_owned(),
            is_away: false,
            people: people.map(|(name, claims)| (name.to_owned(), claims)).into(),
            who: None,
            metadata: json!({}),
            claims: json!({}),
            iss: None,
            wants_form: false,
            holds_wrong_codes: false,
            held: 0,
            is_public: false,
            tokens: Vec::new(),
            asked: Vec::new(),
            ended: Vec::new(),
            redeemed: 0,
            codes: HashMap::new(),
        };
        let (state, changed) = (Arc::new(Mutex::new(state)), Arc::default());
        let own = Self { address, state, changed };
        let serving = own.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let own = serving.clone();
                std::thread::spawn(move || own.answer(stream));
            }
        });
        own
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/realms/tests", self.address)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state());
        self.changed.notify_all();
    }

    /// From now on tokens are signed with another key, and the old one is gone.
    pub(crate) fn rotate(&self) {
        self.set(|state| (state.signer, state.kid) = (Signer::new(), "two".to_owned()));
    }

    fn answer(&self, mut stream: TcpStream) {
        let Some(request) = Request::read(&mut stream, &mut Vec::new()) else { return };
        if self.state().is_away {
            return;
        }
        let (path, search) = request.target.split_once('?').unwrap_or((&request.target, ""));
        match path.strip_prefix("/realms/tests").unwrap_or_default() {
            "/.well-known/openid-configuration" => {
                respond(&mut stream, 200, "", &self.metadata());
            }
            "/keys" => respond(&mut stream, 200, "", &self.key_set()),
            "/auth" => self.authorize(&mut stream, query(search)),
            "/token" => {
                let (status, body) = self.token(&request);
                respond(&mut stream, status, "", &body.to_string());
            }
            "/logout" => self.log_out(&mut stream, query(search)),
            _ => respond(&mut stream, 404, "", "{}"),
        }
    }

    fn metadata(&self) -> String {
        let url = self.url();
        let own = json!({
            "issuer": url,
            "authorization_endpoint": format!("{url}/auth"),
            "token_endpoint": format!("{url}/token"),
            "jwks_uri": format!("{url}/keys"),
            "end_session_endpoint": format!("{url}/logout"),
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": true,
        });
        with(own, &self.state().metadata)
    }

    fn key_set(&self) -> String {
        let state = self.state();
        let key = state.signer.ed25519_public();
        json!({"keys": [{"kty": "OKP", "kid": state.kid, "crv": "Ed25519", "x": base64(&key)}]})
            .to_string()
    }

    /// Who is it? A page with a link for each, unless that is known.
    fn authorize(&self, stream: &mut TcpStream, mut asked: HashMap<String, String>) {
        let picked = asked.remove("as");
        let known = self.state().who.clone().filter(|_| !asked.contains_key("prompt"));
        let Some(who) = picked.or(known) else {
            let page = self.page(&asked);
            let length = page.len();
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {length}\r\n\r\n"
            );
            return drop(stream.write_all(&[head, page].concat().into_bytes()));
        };
        let mut state = self.state();
        let code = format!("canary-code-{}", state.asked.len());
        let iss = state.iss.clone().unwrap_or_else(|| self.url());
        let iss = if iss.is_empty() { String::new() } else { format!("&iss={iss}") };
        let to = format!("{}?code={code}&state={}{iss}", asked["redirect_uri"], asked["state"]);
        state.who = Some(who.clone());
        state.codes.insert(code, (who, asked.clone()));
        state.asked.push(asked);
        drop(state);
        respond(stream, 302, &format!("Location: {to}\r\n"), "");
    }

    fn page(&self, asked: &HashMap<String, String>) -> String {
        let fields = asked.iter().map(|(name, value)| format!("&amp;{name}={}", percent(value)));
        let (here, state) = (fields.collect::<String>(), self.state());
        let mut names: Vec<&String> = state.people.keys().collect();
        names.sort();
        let link = |who: &&String| format!("<p><a href=\"?as={who}{here}\">I am {who}</a></p>");
        let links: String = names.iter().map(link).collect();
        format!("<!DOCTYPE html><title>Provider</title><h1>Who are you?</h1>{links}")
    }

    fn log_out(&self, stream: &mut TcpStream, asked: HashMap<String, String>) {
        let after = asked.get("post_logout_redirect_uri").cloned().unwrap_or_default();
        self.set(|state| {
            state.who = None;
            state.ended.push(asked);
        });
        respond(stream, 302, &format!("Location: {after}\r\n"), "");
    }

    fn token(&self, request: &Request) -> (u16, Value) {
        let refused = |status: u16, why: &str| (status, json!({ "error": why }));
        let mut state = self.state();
        state.redeemed += 1;
        let mut fields = fields(&request.body);
        let secret = fields.remove("client_secret");
        let header = request.header("authorization");
        let basic = "Basic dHJ1bmtsaW5lOmNhbmFyeS1jbGllbnQtczNjcmV0JTJGb2YrdGhlK3Rlc3Rz";
        let basic_too =
            "Basic dHJ1bmtsaW5lOmNhbmFyeS1jbGllbnQtczNjcmV0JTJGb2YlMjB0aGUlMjB0ZXN0cw==";
        let is_known = match (state.is_public, state.wants_form) {
            (true, _) => header.is_none() && secret.is_none(),
            (_, true) => secret.as_deref() == Some(SECRET),
            (_, false) => header == Some(basic) || header == Some(basic_too),
        };
        if !is_known || fields["client_id"] != CLIENT {
            return refused(401, "invalid_client");
        }
        let Some((who, asked)) = state.codes.remove(&fields["code"]) else {
            state.held += 1;
            drop(self.changed.wait_while(state, |state| state.holds_wrong_codes));
            return refused(400, "invalid_grant");
        };
        let is_whole = fields["grant_type"] == "authorization_code"
            && fields["redirect_uri"] == asked["redirect_uri"]
            && asked["code_challenge_method"] == "S256"
            && asked["code_challenge"] == challenge(&fields["code_verifier"]);
        if !is_whole {
            return refused(400, "invalid_grant");
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let claims = json!({
            "iss": self.url(), "aud": CLIENT, "azp": CLIENT, "sub": format!("id-of-{who}"),
            "iat": now, "exp": now + 300, "nonce": asked["nonce"], "typ": "ID",
        });
        let claims = with(claims, &state.people[&who]);
        let claims = with(serde_json::from_str(&claims).unwrap(), &state.claims);
        let header = json!({"alg": "EdDSA", "kid": state.kid, "typ": "JWT"}).to_string();
        let token = state.signer.sign("EdDSA", &header, &claims);
        state.tokens.push(token.clone());
        let answer = json!({
            "access_token": "canary-access-token", "token_type": "Bearer", "expires_in": 60,
            "id_token": token, "scope": asked["scope"],
        });
        (200, answer)
    }
}
