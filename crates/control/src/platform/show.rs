//! Servers as the API shows them: what was asked for, and what has become of it.

use serde_json::Value;
use trunkline_catalog::config::Transport;
use trunkline_gateway::{ServerInfo, State};
use trunkline_store::ServerRecord;

use super::Platform;
use super::clock;
use super::login::may_log_in;
use super::roster::{Entry, Origin};
use crate::access::{Principal, Role};
use crate::api::problem::{About, Kind, Problem};
use crate::api::view::{AuthView, HealthView, LastError, ServerView, Status};
use crate::health::{Phase, Reason, Ward};
use crate::logins::login_path;

/// One server: what is said about it, and what a change of it has to know.
#[derive(Debug)]
pub struct Shown {
    pub json: Value,
    pub revision: i64,
}

impl Platform {
    /// One page, by name: those after `after`; and how many there are in all.
    pub fn servers(
        &self,
        after: Option<&str>,
        limit: usize,
        asker: &Principal,
    ) -> (Vec<(String, Value)>, usize) {
        let roster = self.roster();
        let mut all: Vec<&Entry> = roster.all().filter(|it| sees(asker, &it.name)).collect();
        all.sort_by(|a, b| (&a.name, &a.id).cmp(&(&b.name, &b.id)));
        let later = |entry: &&&Entry| after.is_none_or(|after| *place(entry) > *after);
        let page = all.iter().filter(later).take(limit);
        let show = |entry: &&Entry| (place(entry), self.show(entry, Some(asker)).json);
        (page.map(show).collect(), all.len())
    }

    /// What is not there for this asker is not there.
    pub fn must_see(&self, id: &str, asker: &Principal) -> Result<(), Problem> {
        let roster = self.roster();
        let entry = roster.find(id).filter(|entry| sees(asker, &entry.name));
        entry.map(drop).ok_or_else(|| no_such_server(id))
    }

    pub fn server(&self, id: &str, asker: &Principal) -> Result<Shown, Problem> {
        let roster = self.roster();
        Ok(self.show(roster.find(id).ok_or_else(|| no_such_server(id))?, Some(asker)))
    }

    /// Right after it was registered: a first try that has failed already is not the last one. And who
    /// has registered it hears that, though another may have removed it since.
    pub(super) fn registered(&self, record: ServerRecord) -> Shown {
        let roster = self.roster();
        let entry = roster.of_id(&record.id).cloned().unwrap_or_else(|| Entry::of(record));
        let is_tried_again = !self.0.troubles.lock().contains_key(&entry.id);
        match self.status(&entry) {
            Status::Error if is_tried_again => self.show_as(&entry, Status::Connecting, None),
            status => self.show_as(&entry, status, None),
        }
    }

    /// As this asker may see it; without one, all of it.
    pub(super) fn show(&self, entry: &Entry, asker: Option<&Principal>) -> Shown {
        self.show_as(entry, self.status(entry), asker)
    }

    fn show_as(&self, entry: &Entry, status: Status, asker: Option<&Principal>) -> Shown {
        let info = self.info(entry);
        let ward = self.0.wards.ward(&entry.id);
        let is_operator = asker.is_none_or(runs);
        let why = self.why(entry, info.as_ref(), ward.as_ref(), is_operator);
        let is_bad = matches!(status, Status::Degraded | Status::Error);
        let reason = why.as_ref().filter(|_| is_bad).map(|why| why.message.clone());
        let last = why.or_else(|| {
            let call = ward.as_ref().and_then(|ward| ward.failed_call.as_ref());
            let call = call.map(|call| Why::of_call(call.at, &call.what));
            call.into_iter().chain(last_failure(info.as_ref(), is_operator)).max_by_key(|it| it.at)
        });
        let times_back = ward.as_ref().map_or(0, |ward| ward.times_back);
        let health = ward.map_or(HealthView::UNKNOWN, |ward| ward.health);
        let nowhere = Transport::Stdio {
            command: String::new(),
            args: Vec::new(),
            env: Vec::new(),
            cwd: None,
        };
        let (transport, connection) = match &entry.origin {
            Origin::File(transport, _) => (transport, None),
            Origin::Api(_, connection) => {
                (connection.as_ref().map_or(&nowhere, |it| &it.transport), connection.as_ref())
            }
        };
        let record = entry.record();
        let auth = self.auth(entry, info.as_ref(), transport);
        let era = info.as_ref().and_then(|info| info.is_modern);
        let view = ServerView {
            id: &entry.id,
            name: &entry.name,
            description: record.map(|it| it.description.as_str()).filter(|it| !it.is_empty()),
            transport,
            status,
            source: entry.source(),
            auto_connect: record.is_none_or(|record| record.auto_connect),
            health_check_url: record.and_then(|record| record.health_check_url.as_deref()),
            call_timeout: connection.and_then(|connection| connection.call_timeout),
            max_concurrency: connection.and_then(|connection| connection.max_concurrency),
            health: &health,
            tools: info.as_ref().map_or(0, |info| self.tools_seen(entry, info, asker)),
            era: era.map(|is_modern| if is_modern { "modern" } else { "legacy" }),
            protocol_version: info.as_ref().and_then(|info| info.protocol.as_deref()),
            oauth: connection.and_then(|connection| connection.oauth.as_ref()),
            auth: auth.as_ref(),
            reason: reason.as_deref(),
            last_error: last.as_ref().map(|last| LastError {
                at: last.at,
                message: &last.message,
                hint: last.hint.as_deref(),
            }),
            restarts: times_back,
            registered_at: entry.times().first_seen,
            updated_at: entry.times().changed,
            revision: record.map_or(0, |record| record.revision),
        };
        Shown { json: view.json(), revision: view.revision }
    }

    /// Why a server is not well now; none if it is. What it writes on stderr is for operators.
    pub(super) fn why(
        &self,
        entry: &Entry,
        info: Option<&ServerInfo>,
        ward: Option<&Ward>,
        is_operator: bool,
    ) -> Option<Why> {
        if let Some(trouble) = self.0.troubles.lock().get(&entry.id).cloned() {
            return Some(Why { at: trouble.at, message: trouble.message, hint: None });
        }
        let failure = || last_failure(info, is_operator);
        match info.map(|info| &info.state) {
            Some(State::Failed(_)) => return failure(),
            Some(State::Running) => {}
            _ => return None,
        }
        let (reason, trouble) = ward.and_then(|ward| ward.reason.as_ref())?;
        let before = || last_failure(info, false).map(|why| (why.at, why.message));
        let last = match trouble {
            Some(trouble) => Some((trouble.at, trouble.what.clone())),
            None if matches!(reason, Reason::Restarts { .. }) => before(),
            None => None,
        };
        let hint = match reason {
            Reason::Errors { .. } => CALLS_FAIL,
            Reason::Restarts { .. } => "its last lines on stderr say why it ends",
            Reason::Checks { .. } => {
                "calls to it are refused; it is started or connected again when it has no calls open, at the latest after ten failed checks in a row"
            }
            Reason::Slow { .. } => "look at what it depends on",
        };
        let at = last.as_ref().map_or_else(clock::now, |(at, _)| *at);
        let last = last.map(|(_, what)| format!("; last: {what}")).unwrap_or_default();
        Some(Why { at, message: format!("{reason}{last}"), hint: Some(hint.to_owned()) })
    }

    /// Whether somebody has logged in there for us, as far as that matters.
    fn auth(
        &self,
        entry: &Entry,
        info: Option<&ServerInfo>,
        transport: &Transport,
    ) -> Option<AuthView> {
        let known = self.logins().oauth().known(&entry.id);
        let needs = match info.map(|info| &info.state) {
            Some(State::Failed(failure)) => failure.needs_login,
            _ => false,
        };
        if !may_log_in(transport) || (known.is_none() && !needs) {
            return None;
        }
        let base = self.0.settings.public.clone().unwrap_or_default();
        let scope = known.as_ref().and_then(|known| known.scope.clone()).unwrap_or_default();
        Some(AuthView {
            needs_login: needs,
            login_url: login_path(&base, &entry.id),
            scopes: scope.split(' ').filter(|it| !it.is_empty()).map(str::to_owned).collect(),
            issuer: known.map(|known| known.issuer),
        })
    }

    /// How many tools of it are there for the asker.
    pub(super) fn tools_seen(
        &self,
        entry: &Entry,
        info: &ServerInfo,
        asker: Option<&Principal>,
    ) -> usize {
        match asker.filter(|asker| !runs(asker)).map(Principal::grants) {
            Some(grants) if !grants.all_of(&entry.name) => self.tools_for(entry, grants),
            _ => info.tools,
        }
    }

    pub(super) fn info(&self, entry: &Entry) -> Option<ServerInfo> {
        self.0.fleet.get()?.server(&entry.id)
    }

    /// What has become of the connection.
    pub(super) fn phase(&self, entry: &Entry) -> Phase {
        if !entry.wanted {
            return Phase::Disconnected;
        }
        if self.0.troubles.lock().contains_key(&entry.id) {
            return Phase::Failed;
        }
        match self.info(entry).map(|info| info.state) {
            Some(State::Running) => Phase::Connected,
            Some(State::Failed(_)) => Phase::Failed,
            Some(State::Initializing | State::Stopped) | None => Phase::Connecting,
        }
    }

    pub(super) fn status(&self, entry: &Entry) -> Status {
        match self.phase(entry) {
            Phase::Disconnected => Status::Disconnected,
            Phase::Connecting => Status::Connecting,
            Phase::Failed => Status::Error,
            Phase::Connected => {
                let judged = self.0.wards.status(&entry.id);
                judged
                    .filter(|status| {
                        *status != Status::Connecting && *status != Status::Disconnected
                    })
                    .unwrap_or(Status::Connected)
            }
        }
    }

    /// The server a problem is about.
    pub(super) fn about(&self, entry: &Entry) -> About {
        let status = self.status(entry).as_str();
        About { id: entry.id.clone(), name: entry.name.clone(), status }
    }

    /// The same as it stands now, if it was looked up a while ago.
    pub(super) fn about_now(&self, entry: &Entry) -> About {
        let roster = self.roster();
        self.about(roster.of_id(&entry.id).unwrap_or(entry))
    }

    /// How long its last checks and calls took and what they came to.
    pub async fn health(&self, id: &str, limit: usize) -> Result<Value, Problem> {
        use crate::api::view::{HealthReport, SampleView};
        let roster = self.roster();
        let entry = roster.find(id).ok_or_else(|| no_such_server(id))?;
        let ward = self.0.wards.ward(&entry.id);
        let (health, windows) =
            ward.map_or((HealthView::UNKNOWN, Vec::new()), |ward| (ward.health, vec![ward.window]));
        let samples = self.0.store.health(&entry.id, limit).await;
        let samples = samples.map_err(|error| store_problem(&error))?;
        let samples: Vec<_> = samples
            .iter()
            .map(|sample| SampleView {
                at: sample.at,
                ok: sample.ok,
                response_time_ms: sample.response_ms.map(|millis| millis as f64),
                detail: sample.detail.as_deref(),
            })
            .collect();
        let report = HealthReport { health: &health, windows: &windows, samples: &samples };
        Ok(report.json())
    }
}

/// Where an entry stands in the list.
fn place(entry: &Entry) -> String {
    format!("{}\n{}", entry.name, entry.id)
}

/// What went wrong with a server: when (ms since 1970), what, and what to do about it.
#[derive(Debug, Clone)]
pub(super) struct Why {
    pub(super) at: i64,
    pub(super) message: String,
    pub(super) hint: Option<String>,
}

impl Why {
    fn of_call(at: i64, what: &str) -> Self {
        Self { at, message: format!("a call failed: {what}"), hint: Some(CALLS_FAIL.to_owned()) }
    }
}

const CALLS_FAIL: &str = "call one of its tools to see what it says: an expired token or a service \
                          that is down are the usual causes";

/// Why the connection to it was last lost or not made.
fn last_failure(info: Option<&ServerInfo>, is_operator: bool) -> Option<Why> {
    let (at, failure) = info
        .and_then(|info| info.last_failure.clone())
        .and_then(|past| Some((past.at?, past.why)))?;
    let hint = Some(failure.advice.clone()).filter(|advice| !advice.is_empty());
    let failure = if is_operator { failure } else { failure.brief() };
    Some(Why { at: clock::at(at), message: failure.to_string(), hint })
}

/// Who runs the servers sees all of them; who uses them, those with a tool that may be called.
pub(crate) fn sees(asker: &Principal, server: &str) -> bool {
    runs(asker) || asker.grants().touches(server)
}

/// Is it one of those who run the servers?
fn runs(asker: &Principal) -> bool {
    asker.role() >= Role::Operator
}

pub(super) fn no_such_tool(id: &str) -> Problem {
    let shown = trunkline_catalog::name::escaped(id);
    Problem::new(Kind::NoSuchTool, format!("there is no tool `{shown}`"))
}

pub(super) fn no_such_server(id: &str) -> Problem {
    let shown = trunkline_catalog::name::escaped(id);
    Problem::new(Kind::NoSuchServer, format!("there is no server `{shown}`"))
}

/// The store has refused something.
pub fn store_problem(error: &trunkline_store::StoreError) -> Problem {
    use trunkline_store::StoreError;
    let kind = match error {
        StoreError::Conflict { .. } => Kind::NameTaken,
        StoreError::Stale => Kind::Stale,
        StoreError::NotFound => Kind::NoSuchServer,
        StoreError::Full { .. } => Kind::StoreFull,
        StoreError::Invalid { .. } => Kind::Invalid,
        StoreError::Unavailable { .. } | StoreError::Uncertain { .. } => Kind::StoreUnavailable,
        StoreError::Corrupt { .. } | StoreError::Newer { .. } => Kind::StoreUnavailable,
    };
    Problem::new(kind, error.to_string())
}
