//! An authorization server on the loopback: registers clients, grants codes, rotates refresh tokens,
//! and remembers everything it was asked.

use std::collections::{HashMap, HashSet};
use std::io::Read as _;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use super::wire::{Request, fields, query, respond};

#[derive(Debug, Clone)]
pub(super) struct Authority {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
pub(super) struct State {
    /// Seconds an access token lives.
    pub(super) lifetime: u64,
    /// Clients may be documents.
    pub(super) takes_documents: bool,
    /// Clients may register themselves.
    pub(super) registers: bool,
    /// What the browser is told instead of who granted the code.
    pub(super) other_iss: Option<String>,
    /// Where the metadata says that tokens are to be had, instead of here.
    pub(super) token_endpoint: Option<String>,
    /// Where the token endpoint sends its askers.
    pub(super) token_redirect: Option<String>,
    /// What clients have to show in the form of every request, though the metadata speaks of headers.
    pub(super) form_secret: Option<String>,
    /// Nobody who asks for a token is answered before they hang up; and how many have asked.
    pub(super) stalls: bool,
    pub(super) stalled: usize,
    /// No grant is renewed any more.
    pub(super) is_revoked: bool,
    pub(super) access: HashSet<String>,
    pub(super) refresh: Option<String>,
    /// Every token there ever was.
    pub(super) tokens: Vec<String>,
    pub(super) refreshes: usize,
    /// A refresh token that was used up came again.
    pub(super) reused: usize,
    pub(super) revocations: Vec<String>,
    pub(super) clients: Vec<Value>,
    /// The queries of `/authorize`.
    pub(super) asked: Vec<HashMap<String, String>>,
    /// Every request, as it came.
    pub(super) requests: Vec<String>,
    codes: HashMap<String, HashMap<String, String>>,
    count: usize,
}

impl Authority {
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = State { lifetime: 3600, registers: true, ..State::default() };
        let own = Self { address, state: Arc::new(Mutex::new(state)) };
        let serving = own.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let own = serving.clone();
                std::thread::spawn(move || own.answer(stream));
            }
        });
        own
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state());
    }

    /// No access token is good any more; the refresh token is.
    pub(super) fn expire(&self) {
        self.state().access.clear();
    }

    pub(super) fn takes(&self, authorization: Option<&str>) -> bool {
        let token = authorization.and_then(|value| value.strip_prefix("Bearer "));
        token.is_some_and(|token| self.state().access.contains(token))
    }

    fn answer(&self, mut stream: TcpStream) {
        let Some(request) = Request::read(&mut stream, &mut Vec::new()) else { return };
        let raw = String::from_utf8_lossy(&request.raw).into_owned();
        self.state().requests.push(raw);
        let (path, search) = request.target.split_once('?').unwrap_or((&request.target, ""));
        if path == "/token" && self.state().stalls {
            self.state().stalled += 1;
            drop(stream.read(&mut [0]));
            return;
        }
        let (status, headers, body) = match path {
            "/.well-known/oauth-authorization-server" => (200, String::new(), self.metadata()),
            "/register" => (201, String::new(), self.register(&request.body)),
            "/authorize" => (302, self.authorize(search), Value::Null),
            "/token" => self.token(&request.body),
            "/revoke" => self.revoke(&request.body),
            _ => (404, String::new(), json!({})),
        };
        respond(&mut stream, status, &headers, &body.to_string());
    }

    fn metadata(&self) -> Value {
        let (url, state) = (self.url(), self.state());
        let token = state.token_endpoint.clone().unwrap_or_else(|| format!("{url}/token"));
        json!({
            "issuer": url,
            "authorization_endpoint": format!("{url}/authorize"),
            "token_endpoint": token,
            "registration_endpoint": state.registers.then(|| format!("{url}/register")),
            "revocation_endpoint": format!("{url}/revoke"),
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": match state.form_secret {
                None => ["none", "client_secret_post"],
                Some(_) => ["client_secret_post", "client_secret_basic"],
            },
            "authorization_response_iss_parameter_supported": true,
            "client_id_metadata_document_supported": state.takes_documents,
        })
    }

    fn register(&self, body: &str) -> Value {
        let mut client: Value = serde_json::from_str(body).unwrap();
        let mut state = self.state();
        client["client_id"] = format!("client-{}", state.clients.len()).into();
        state.clients.push(client.clone());
        client
    }

    /// The person agrees: where the browser goes next.
    fn authorize(&self, search: &str) -> String {
        let asked = query(search);
        let mut state = self.state();
        state.count += 1;
        let code = format!("code-{}", state.count);
        let iss = state.other_iss.clone().unwrap_or_else(|| self.url());
        let to =
            format!("{}?code={code}&state={}&iss={iss}", asked["redirect_uri"], asked["state"]);
        state.codes.insert(code, asked.clone());
        state.asked.push(asked);
        format!("Location: {to}\r\n")
    }

    fn revoke(&self, body: &str) -> (u16, String, Value) {
        let mut fields = fields(body);
        let mut state = self.state();
        if state.form_secret.is_some() && fields.get("client_secret") != state.form_secret.as_ref()
        {
            return (400, String::new(), json!({ "error": "invalid_request" }));
        }
        let token = fields.remove("token").unwrap_or_default();
        state.access.remove(&token);
        state.revocations.push(token);
        (200, String::new(), json!({}))
    }

    fn token(&self, body: &str) -> (u16, String, Value) {
        let mut fields = fields(body);
        let mut state = self.state();
        if state.form_secret.is_some() && fields.get("client_secret") != state.form_secret.as_ref()
        {
            return (401, String::new(), json!({ "error": "invalid_client" }));
        }
        if let Some(to) = &state.token_redirect {
            return (307, format!("Location: {to}\r\n"), Value::Null);
        }
        let refused = |why: &str| (400, String::new(), json!({ "error": why }));
        if fields["grant_type"] == "refresh_token" {
            let shown = fields.remove("refresh_token");
            if state.is_revoked {
                return refused("invalid_grant");
            }
            if shown != state.refresh {
                // Somebody has stolen it: whoever has the newer one loses it, too.
                state.reused += 1;
                state.refresh = None;
                state.access.clear();
                return refused("invalid_grant");
            }
            state.refreshes += 1;
        } else {
            let code = fields.remove("code").unwrap_or_default();
            let Some(asked) = state.codes.remove(&code) else { return refused("invalid_grant") };
            let proof = super::wire::challenge(&fields["code_verifier"]);
            let same = |name: &str| asked.get(name) == fields.get(name);
            let whole = same("redirect_uri") && same("client_id") && same("resource");
            if asked["code_challenge"] != proof
                || asked["code_challenge_method"] != "S256"
                || !whole
            {
                return refused("invalid_request");
            }
        }
        state.count += 1;
        let access = format!("canary-access-{}-7f3a9c51", state.count);
        let refresh = format!("canary-refresh-{}-e8d2b604", state.count);
        state.access.insert(access.clone());
        state.refresh = Some(refresh.clone());
        state.tokens.extend([access.clone(), refresh.clone()]);
        let answer = json!({
            "access_token": access, "refresh_token": refresh, "token_type": "Bearer",
            "expires_in": state.lifetime, "scope": "read",
        });
        (200, String::new(), answer)
    }
}
