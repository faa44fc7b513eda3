//! `LoginService`: logins at servers that want one. An operator begins one, a browser that comes back ends it,
//! and it is forgotten on request. Each leaves an audit record.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use trunkline_catalog::config::Transport;
use trunkline_store::NewAudit;

use super::connections::{ConnectionOpener, may_log_in};
use super::directory::{ServerEntry, ServerOrigin};
use super::events::{EventBus, ServerEvent};
use super::live::LiveServers;
use super::records::{hex, own_record, server_record};
use super::settings::Settings;
use crate::audit::Audit;
use crate::clock;
use crate::fault::{Problem, ProblemKind};
use crate::keys::Actor;
use crate::logins::Logins;
use crate::oauth::{
    self, Back, Callback, Granted, LoginError, OAuth, Registered, Secret, VaultError,
};

/// How long a person may take, as `oauth` has it.
const PATIENCE: Duration = Duration::from_secs(10 * 60);
pub(crate) const CALLBACK: &str = "/oauth/callback";
/// Where the client document is published, for authorization servers that fetch it.
pub(crate) const DOCUMENT: &str = "/oauth/client.json";
pub(crate) const CLIENT_NAME: &str = "Trunkline";

/// What a login needs to know of its server.
struct LoginTarget {
    url: String,
    client: Option<Registered>,
    scope: Option<String>,
}

/// The server of a login that has succeeded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedIn {
    pub id: String,
    pub name: String,
}

/// A browser that has come back.
#[derive(Debug)]
pub(crate) enum CameBack {
    LoggedIn(LoggedIn),
    /// It is not known to be the one that the login was begun in: its person has to agree.
    Asks(ConsentQuestion),
}

/// What a person is asked before what they have granted is kept, and what their answer has to carry.
#[derive(Debug)]
pub(crate) struct ConsentQuestion {
    pub(crate) server: String,
    /// Who began the login.
    pub(crate) principal: String,
    pub(crate) issuer: String,
    /// In the place of the state.
    pub(crate) ticket: String,
    pub(crate) callback: Callback,
}

/// What a browser shows that a login was begun in: no other site can give it this cookie.
pub(crate) fn browser_proof(state: &str) -> String {
    hex(&Sha256::new().chain_update("trunkline login ").chain_update(state).finalize())
}

/// A login that has begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StartedLogin {
    /// Where a person has to go.
    pub(crate) authorization_url: String,
    /// In milliseconds since 1970.
    pub(crate) expires_at: i64,
    pub(crate) issuer: String,
    /// Of the login before, if it was another one.
    pub(crate) previous_issuer: Option<String>,
    pub(crate) scope: Option<String>,
}

#[derive(Debug)]
pub struct LoginService {
    pub(super) logins: Logins,
    pub(super) live: Arc<LiveServers>,
    pub(super) opener: ConnectionOpener,
    pub(super) audit: Audit,
    pub(super) events: Arc<EventBus>,
    pub(super) settings: Arc<Settings>,
}

impl LoginService {
    /// As the data plane asks for tokens.
    pub fn logins(&self) -> &Logins {
        &self.logins
    }

    pub(super) fn oauth(&self) -> &OAuth {
        self.logins.oauth()
    }

    pub(crate) async fn begin(&self, id: &str, by: Actor<'_>) -> Result<StartedLogin, Problem> {
        let entry = &self.live.entry(id)?;
        let target = self.target(entry).await?;
        let Some(base) = &self.settings.public_url else {
            let why = "nobody knows how a browser reaches this Trunkline";
            return Err(
                Problem::new(ProblemKind::NoLogin, why).hint("start it with --public-url URL")
            );
        };
        let redirect_uri = format!("{base}{CALLBACK}");
        let login = oauth::Login {
            server: &entry.id,
            url: &target.url,
            challenge: None,
            redirect_uri: &redirect_uri,
            client: target.client.as_ref(),
            scope: target.scope.as_deref(),
        };
        // Kept with the state: the browser may come back to another replica.
        let note = note_of(&server_record("login", &entry.id, &entry.name, by, clock::now()));
        let started = self.logins.begin(login, Some(&note)).await;
        let started = started.map_err(|error| self.not_begun(entry, &error))?;
        let at = clock::now();
        let until = at.saturating_add(i64::try_from(PATIENCE.as_millis()).unwrap_or(i64::MAX));
        Ok(StartedLogin {
            authorization_url: started.authorization_url,
            expires_at: until,
            issuer: started.issuer,
            previous_issuer: started.previous_issuer,
            scope: started.scope,
        })
    }

    /// The browser has come back, with this proof that the login was begun in it. Why it did not work.
    ///
    /// Whoever logs in grants access in their name to everybody here. So nobody may have a browser of
    /// somebody else finish a login: one that does not show the proof is asked first.
    pub(crate) async fn came_back(
        &self,
        query: &str,
        proof: Option<&str>,
    ) -> Result<CameBack, String> {
        let callback = Callback::parse(query).map_err(|bad| bad.to_string())?;
        // An answer with an unknown state belongs to no login: there is nothing to record.
        let back = self.logins.oauth().came_back(&callback.state).await;
        let back = back.map_err(|error| error.to_string())?;
        if !callback.has_code() || proof == Some(&browser_proof(&callback.state)) {
            return self.finish(back, &callback).await.map(CameBack::LoggedIn);
        }
        let record = record_of(back.note().unwrap_or_default());
        let issuer = back.issuer().to_owned();
        let ticket = self.logins.oauth().wait_for_consent(back).await;
        Ok(CameBack::Asks(ConsentQuestion {
            server: record.server_name.unwrap_or_default(),
            principal: record.principal,
            issuer,
            ticket: ticket.map_err(|error| error.to_string())?,
            callback,
        }))
    }

    /// A person has agreed on the page that asked them, which has given their browser this proof.
    pub(crate) async fn agreed(&self, form: &str, proof: Option<&str>) -> Result<LoggedIn, String> {
        let callback = Callback::parse(form).map_err(|bad| bad.to_string())?;
        if proof != Some(&browser_proof(&callback.state)) {
            return Err("this browser was not asked; begin the login again".to_owned());
        }
        let back = self.logins.oauth().came_back(&callback.state).await;
        self.finish(back.map_err(|error| error.to_string())?, &callback).await
    }

    async fn finish(&self, back: Back, callback: &Callback) -> Result<LoggedIn, String> {
        let record = record_of(back.note().unwrap_or_default());
        let finished = self.logins.complete(back, callback).await;
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
        self.audit.record(record);
        if finished.is_ok() {
            let id = told.clone().unwrap_or_default();
            self.events.publish(ServerEvent::Changed { id, name: name.clone(), what: "logged in" });
        }
        let server = LoggedIn { id: told.unwrap_or_default(), name };
        finished.map(|_| server).map_err(|error| error.to_string())
    }

    /// Forgets what was granted, and tells who granted it.
    pub(crate) async fn log_out(&self, id: &str, by: Actor<'_>) -> Result<(), Problem> {
        let entry = &self.live.entry(id)?;
        let told = self.logins.forget(&entry.id).await.map_err(|error| vault_problem(&error))?;
        let detail = match told {
            true => "the authorization server was told",
            false => "the authorization server was not told",
        };
        let record = server_record("logout", &entry.id, &entry.name, by, clock::now());
        self.audit.record(NewAudit { detail: Some(detail.to_owned()), ..record });
        let (id, name) = (entry.id.clone(), entry.name.clone());
        self.events.publish(ServerEvent::Changed { id, name, what: "logged out" });
        Ok(())
    }

    /// The client id and the redirect URI of the document that says who Trunkline is, where authorization
    /// servers can fetch it.
    pub(crate) fn client_document(&self) -> Option<(String, String)> {
        let base = self.settings.public_url.as_ref().filter(|base| base.starts_with("https://"))?;
        Some((format!("{base}{DOCUMENT}"), format!("{base}{CALLBACK}")))
    }

    /// A grant could not be renewed. It happens in the background, so that only the log tells of it.
    pub(super) fn record_lost(live: &LiveServers, audit: &Audit, login: &str, why: &str) {
        let directory = live.directory();
        let Some(entry) = directory.by_id(login) else { return };
        let record = own_record("lose-login", entry, "failed", clock::now());
        audit.record(NewAudit { detail: Some(why.to_owned()), ..record });
    }

    async fn target(&self, entry: &ServerEntry) -> Result<LoginTarget, Problem> {
        let about = |problem: Problem| problem.server(self.live.about(entry));
        let (transport, client) = match &entry.origin {
            ServerOrigin::File { transport, .. } => (transport.clone(), None),
            ServerOrigin::Api(record, _) => {
                let opened = self.opener.resolved(record).await;
                let opened = opened.map_err(|why| {
                    about(Problem::new(ProblemKind::StoreUnavailable, why.to_string()))
                })?;
                (opened.0.connection.transport, opened.0.connection.oauth)
            }
        };
        let is_free = may_log_in(&transport);
        match transport {
            Transport::Remote { url, .. } if is_free => {
                let scope = client.as_ref().map(|client| client.scopes.join(" "));
                let client = client.map(|client| Registered {
                    issuer: client.issuer,
                    client_id: client.client_id,
                    client_secret: client.client_secret.map(Secret::new),
                });
                Ok(LoginTarget { url, client, scope: scope.filter(|scope| !scope.is_empty()) })
            }
            Transport::Remote { .. } => {
                let why = "it has an `Authorization` header of its own";
                Err(about(Problem::new(ProblemKind::NoLogin, why)))
            }
            Transport::Stdio { .. } => {
                Err(about(Problem::new(ProblemKind::NoLogin, "it is a command on this machine")))
            }
        }
    }

    fn not_begun(&self, entry: &ServerEntry, error: &LoginError) -> Problem {
        let problem = match error {
            LoginError::Vault(error) => vault_problem(error),
            error => Problem::new(ProblemKind::LoginFailed, error.to_string()),
        };
        problem.server(self.live.about(entry))
    }
}

/// Who began a login, for the record of its end, which another replica may write.
fn note_of(record: &NewAudit) -> String {
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

fn vault_problem(error: &VaultError) -> Problem {
    Problem::new(ProblemKind::StoreUnavailable, error.to_string())
}
