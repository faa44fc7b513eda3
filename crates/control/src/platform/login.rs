//! Logins at servers that want one: begun by an operator, ended by the browser that comes back,
//! forgotten on request. Each leaves a record.

use std::time::Duration;

use serde_json::{Value, json};
use trunkline_catalog::config::{ServerSpec, Transport};
use trunkline_store::NewAudit;

use super::change::audit;
use super::roster::{ServerEntry, ServerOrigin};
use super::show::no_such_server;
use super::{Platform, ServerEvent, clock};
use crate::api::problem::{Kind, Problem};
use crate::api::time;
use crate::keys::Actor;
use crate::logins::Logins;
use crate::oauth::{self, Callback, Granted, LoginError, Registered, Secret, VaultError};

/// How long a person may take, as `oauth` has it.
const PATIENCE: Duration = Duration::from_secs(10 * 60);
pub(crate) const CALLBACK: &str = "/oauth/callback";
/// Where it is published who we are to authorization servers that take a document for it.
pub(crate) const DOCUMENT: &str = "/oauth/client.json";
pub(super) const CLIENT_NAME: &str = "Trunkline";

/// What a login needs to know of its server.
struct LoginTarget {
    url: String,
    client: Option<Registered>,
    scope: Option<String>,
}

/// The server that somebody has logged in at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedIn {
    pub id: String,
    pub name: String,
}

impl Platform {
    pub fn logins(&self) -> &Logins {
        &self.0.logins
    }

    /// Where somebody has to go.
    pub async fn login(&self, id: &str, by: Actor<'_>) -> Result<Value, Problem> {
        let roster = self.roster();
        let entry = roster.find(id).ok_or_else(|| no_such_server(id))?;
        let place = self.place(entry).await?;
        let Some(base) = &self.0.settings.public else {
            let why = "nobody knows how a browser reaches this Trunkline";
            return Err(Problem::new(Kind::NoLogin, why).hint("start it with --public-url URL"));
        };
        let redirect_uri = format!("{base}{CALLBACK}");
        let login = oauth::Login {
            server: &entry.id,
            url: &place.url,
            challenge: None,
            redirect_uri: &redirect_uri,
            client: place.client.as_ref(),
            scope: place.scope.as_deref(),
        };
        let note = noted(&self.record("login", entry, by));
        let started = self.0.logins.begin(login, Some(&note)).await;
        let started = started.map_err(|error| self.not_begun(entry, &error))?;
        let at = clock::now();
        let until = at.saturating_add(i64::try_from(PATIENCE.as_millis()).unwrap_or(i64::MAX));
        Ok(json!({
            "authorization_url": started.authorization_url,
            "expires_at": time::format(until),
            "issuer": started.issuer,
            "previous_issuer": started.previous_issuer,
            "scope": started.scope,
        }))
    }

    /// The browser has come back. The server, or why it did not work.
    pub async fn logged_in(&self, query: &str) -> Result<LoggedIn, String> {
        let callback = Callback::parse(query).map_err(|bad| bad.to_string())?;
        // Nobody asked for an answer whose state is not known: there is nothing to be told.
        let back = self.0.logins.oauth().came_back(&callback.state).await;
        let back = back.map_err(|error| error.to_string())?;
        let record = record_of(back.note().unwrap_or_default());
        let finished = self.0.logins.complete(back, &callback).await;
        let name = record.server_name.clone().unwrap_or_default();
        let (outcome, detail) = match &finished {
            Ok(Granted { issuer, .. }) => ("ok", format!("granted by {issuer}")),
            Err(error) => ("failed", error.to_string()),
        };
        let told = record.server_id.clone();
        let record = NewAudit {
            at: clock::now(),
            outcome: outcome.to_owned(),
            detail: Some(detail),
            ..record
        };
        self.0.audit.record(record);
        if finished.is_ok() {
            let id = told.clone().unwrap_or_default();
            self.0.news.publish(ServerEvent::Changed { id, name: name.clone(), what: "logged in" });
        }
        let server = LoggedIn { id: told.unwrap_or_default(), name };
        finished.map(|_| server).map_err(|error| error.to_string())
    }

    /// Forgets what was granted, and tells who granted it.
    pub async fn logout(&self, id: &str, by: Actor<'_>) -> Result<(), Problem> {
        let roster = self.roster();
        let entry = roster.find(id).ok_or_else(|| no_such_server(id))?;
        let told = self.0.logins.forget(&entry.id).await.map_err(|error| vault(&error))?;
        let detail = match told {
            true => "the authorization server was told",
            false => "the authorization server was not told",
        };
        let record = self.record("logout", entry, by);
        self.0.audit.record(NewAudit { detail: Some(detail.to_owned()), ..record });
        let (id, name) = (entry.id.clone(), entry.name.clone());
        self.0.news.publish(ServerEvent::Changed { id, name, what: "logged out" });
        Ok(())
    }

    /// Who we are to authorization servers that read it themselves.
    pub fn client_document(&self) -> Option<Value> {
        let base = self.0.settings.public.as_ref().filter(|base| base.starts_with("https://"))?;
        let (id, redirect) = (format!("{base}{DOCUMENT}"), format!("{base}{CALLBACK}"));
        Some(oauth::document(&id, CLIENT_NAME, &redirect))
    }

    /// A grant could not be renewed, and nobody asked for that.
    pub(super) fn login_lost(&self, login: &str, why: &str) {
        let roster = self.roster();
        let Some(entry) = roster.all().find(|entry| entry.id == login) else { return };
        self.0.audit.record(NewAudit {
            at: clock::now(),
            principal: "trunkline".to_owned(),
            action: "lose-login".to_owned(),
            server_id: Some(entry.id.clone()),
            server_name: Some(entry.name.clone()),
            outcome: "failed".to_owned(),
            detail: Some(why.to_owned()),
            ..NewAudit::default()
        });
    }

    fn record(&self, action: &str, entry: &ServerEntry, by: Actor<'_>) -> NewAudit {
        NewAudit {
            server_id: Some(entry.id.clone()),
            server_name: Some(entry.name.clone()),
            ..audit(action, by, clock::now())
        }
    }

    async fn place(&self, entry: &ServerEntry) -> Result<LoginTarget, Problem> {
        let about = |problem: Problem| problem.server(self.about(entry));
        let (transport, client) = match &entry.origin {
            ServerOrigin::File(transport, _) => (transport.clone(), None),
            ServerOrigin::Api(record, _) => {
                let opened = self.opened(record).await;
                let opened = opened
                    .map_err(|why| about(Problem::new(Kind::StoreUnavailable, why.to_string())))?;
                (opened.0.connection.transport, opened.0.connection.oauth)
            }
        };
        let is_free = may_log_in(&transport);
        match transport {
            Transport::Remote { url, .. } if is_free => {
                let scope = client.as_ref().map(|client| client.scopes.join(" "));
                let client = client.map(|client| Registered {
                    issuer: None,
                    client_id: client.client_id,
                    client_secret: client.client_secret.map(Secret::new),
                });
                Ok(LoginTarget { url, client, scope: scope.filter(|scope| !scope.is_empty()) })
            }
            Transport::Remote { .. } => {
                let why = "it has an `Authorization` header of its own";
                Err(about(Problem::new(Kind::NoLogin, why)))
            }
            Transport::Stdio { .. } => {
                Err(about(Problem::new(Kind::NoLogin, "it is a command on this machine")))
            }
        }
    }

    fn not_begun(&self, entry: &ServerEntry, error: &LoginError) -> Problem {
        let problem = match error {
            LoginError::Vault(error) => vault(error),
            error => Problem::new(Kind::LoginFailed, error.to_string()),
        };
        problem.server(self.about(entry))
    }
}

/// Who began a login, for the record of its end: that may be another replica's to write.
fn noted(record: &NewAudit) -> String {
    json!({
        "principal": record.principal,
        "credential_id": record.credential_id,
        "address": record.address,
        "server_id": record.server_id,
        "server_name": record.server_name,
        "request_id": record.request_id,
    })
    .to_string()
}

fn record_of(note: &str) -> NewAudit {
    let note: Value = serde_json::from_str(note).unwrap_or_default();
    let text = |name: &str| note.get(name).and_then(Value::as_str).map(str::to_owned);
    NewAudit {
        principal: text("principal").unwrap_or_default(),
        credential_id: text("credential_id"),
        address: text("address"),
        action: "login".to_owned(),
        server_id: text("server_id"),
        server_name: text("server_name"),
        request_id: text("request_id"),
        ..NewAudit::default()
    }
}

fn vault(error: &VaultError) -> Problem {
    Problem::new(Kind::StoreUnavailable, error.to_string())
}

/// Says under what the logins of the config file's servers are kept, where they may want one.
pub fn with_logins(servers: Vec<ServerSpec>) -> Vec<ServerSpec> {
    let named = |spec: ServerSpec| {
        let login = may_log_in(&spec.transport).then(|| spec.id.clone());
        ServerSpec { login, ..spec }
    };
    servers.into_iter().map(named).collect()
}

/// A server in the network that is told nothing else about who we are.
pub(super) fn may_log_in(transport: &Transport) -> bool {
    match transport {
        Transport::Stdio { .. } => false,
        Transport::Remote { headers, .. } => {
            !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"))
        }
    }
}
