//! `ServerReport`: one server, with what was asked for and what has become of it.

use trunkline_catalog::config::{CallRules, OnChange, SandboxRules, Transport};
use trunkline_gateway::{ServerInfo, State};
use trunkline_store::ServerRecord;

use super::service::ServerService;
use crate::access::Principal;
use crate::fault::Problem;
use crate::health::{Health, ServerStatus};
use crate::logins::login_path;
use crate::services::connections::may_log_in;
use crate::services::directory::{ServerEntry, ServerOrigin};
use crate::services::grants::{is_operator, sees};
use crate::services::live::Diagnosis;
use crate::services::page::{Page, Paged};

/// As one asker may see it.
#[derive(Debug, Clone)]
pub(crate) struct ServerReport {
    pub(crate) entry: ServerEntry,
    pub(crate) status: ServerStatus,
    pub(crate) health: Health,
    /// How many the asker may call.
    pub(crate) tools: usize,
    /// `None`: it was not connected yet.
    pub(crate) is_modern: Option<bool>,
    pub(crate) protocol_version: Option<String>,
    /// `None`: it has no login, and wants none.
    pub(crate) login: Option<LoginState>,
    /// Why it is degraded or in error.
    pub(crate) reason: Option<String>,
    /// The last thing that went wrong, also of one that is well again.
    pub(crate) last_error: Option<Diagnosis>,
    /// How often it came back after it had gone, since Trunkline knows it.
    pub(crate) restarts: u32,
}

/// Trunkline's login at a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LoginState {
    pub(crate) needs_login: bool,
    pub(crate) login_url: String,
    pub(crate) scopes: Vec<String>,
    pub(crate) issuer: Option<String>,
}

impl ServerReport {
    /// Zero for servers of the config file: they cannot be changed over REST.
    pub(crate) fn revision(&self) -> i64 {
        self.entry.record().map_or(0, |record| record.revision)
    }

    /// Where it stands in the list.
    fn place(entry: &ServerEntry) -> String {
        format!("{}\n{}", entry.name, entry.id)
    }
}

impl ServerService {
    /// One page, by name.
    pub(crate) fn list(&self, page: &Page, asker: &Principal) -> Paged<ServerReport> {
        let directory = self.live.directory();
        let mut all: Vec<&ServerEntry> =
            directory.all().filter(|it| sees(asker, &it.name)).collect();
        all.sort_by(|a, b| (&a.name, &a.id).cmp(&(&b.name, &b.id)));
        let is_later = |entry: &&&ServerEntry| {
            page.after.as_ref().is_none_or(|after| ServerReport::place(entry) > *after)
        };
        let mut rest = all.iter().filter(is_later);
        let shown: Vec<&&ServerEntry> = rest.by_ref().take(page.limit).collect();
        let last = shown.last().filter(|_| rest.next().is_some());
        Paged {
            total: all.len(),
            next: last.map(|entry| ServerReport::place(entry)),
            items: shown.iter().map(|entry| self.report(entry, Some(asker))).collect(),
        }
    }

    /// A server that the asker does not see is not there.
    pub(crate) fn get(&self, id: &str, asker: &Principal) -> Result<ServerReport, Problem> {
        self.live.check_seen(id, asker)?;
        Ok(self.report(&self.live.entry(id)?, Some(asker)))
    }

    /// Right after it was registered: a first try that has failed already is not the last one. It is
    /// reported even if another caller has removed it since.
    pub(super) fn registered(&self, record: ServerRecord) -> ServerReport {
        let directory = self.live.directory();
        let entry = directory.by_id(&record.id).cloned();
        let entry = entry.unwrap_or_else(|| ServerEntry::of(record));
        let is_tried_again = !self.live.has_connect_problem(&entry.id);
        match self.live.status(&entry) {
            ServerStatus::Error if is_tried_again => {
                self.report_as(&entry, ServerStatus::Connecting, None)
            }
            status => self.report_as(&entry, status, None),
        }
    }

    /// Without an asker, all of it.
    pub(super) fn report(&self, entry: &ServerEntry, asker: Option<&Principal>) -> ServerReport {
        self.report_as(entry, self.live.status(entry), asker)
    }

    fn report_as(
        &self,
        entry: &ServerEntry,
        status: ServerStatus,
        asker: Option<&Principal>,
    ) -> ServerReport {
        let info = self.live.info(entry);
        let health = self.live.health.of_server(&entry.id);
        let is_operator = asker.is_none_or(is_operator);
        let why = self.live.diagnose(entry, info.as_ref(), health.as_ref(), is_operator);
        let is_bad = matches!(status, ServerStatus::Degraded | ServerStatus::Error);
        let reason = why.as_ref().filter(|_| is_bad).map(|why| why.message.clone());
        let last_error = why.or_else(|| {
            let call = health.as_ref().and_then(|health| health.failed_call.as_ref());
            let call = call.map(Diagnosis::of_call).into_iter();
            call.chain(Diagnosis::last_failure(info.as_ref(), is_operator)).max_by_key(|it| it.at)
        });
        ServerReport {
            status,
            tools: info.as_ref().map_or(0, |info| self.tools_seen(entry, info, asker)),
            is_modern: info.as_ref().and_then(|info| info.is_modern),
            login: self.login_state(entry, info.as_ref()),
            protocol_version: info.and_then(|info| info.protocol),
            reason,
            last_error,
            restarts: health.as_ref().map_or(0, |health| health.times_back),
            health: health.map_or(Health::UNKNOWN, |health| health.health),
            entry: entry.clone(),
        }
    }

    /// How many tools of it the asker may call.
    fn tools_seen(
        &self,
        entry: &ServerEntry,
        info: &ServerInfo,
        asker: Option<&Principal>,
    ) -> usize {
        match asker.filter(|asker| !is_operator(asker)).map(Principal::grants) {
            Some(grants) if !grants.all_of(&entry.name) => self.live.count_allowed(entry, grants),
            _ => info.tools,
        }
    }

    fn login_state(&self, entry: &ServerEntry, info: Option<&ServerInfo>) -> Option<LoginState> {
        let known = self.logins.oauth().known(&entry.id);
        let needs_login = match info.map(|info| &info.state) {
            Some(State::Failed(failure)) => failure.needs_login,
            _ => false,
        };
        let can_log_in = entry.transport().is_some_and(may_log_in);
        if !can_log_in || (known.is_none() && !needs_login) {
            return None;
        }
        let base = self.settings.public_url.clone().unwrap_or_default();
        let scope = known.as_ref().and_then(|known| known.scope.clone()).unwrap_or_default();
        Some(LoginState {
            needs_login,
            login_url: login_path(&base, &entry.id),
            scopes: scope.split(' ').filter(|it| !it.is_empty()).map(str::to_owned).collect(),
            issuer: known.map(|known| known.issuer),
        })
    }
}

impl ServerEntry {
    /// As it may be shown; `None` if its record cannot be read.
    pub(crate) fn transport(&self) -> Option<&Transport> {
        match &self.origin {
            ServerOrigin::File { transport, .. } => Some(transport),
            ServerOrigin::Api(_, connection) => connection.as_ref().map(|it| &it.transport),
        }
    }

    /// Wherever it was defined; none if its record cannot be read.
    pub(crate) fn calls(&self) -> CallRules {
        match &self.origin {
            ServerOrigin::File { calls, .. } => *calls,
            ServerOrigin::Api(_, connection) => {
                connection.as_ref().map(|it| it.calls).unwrap_or_default()
            }
        }
    }

    /// The walls around it; `None`: the platform's default, or it is no command.
    pub(crate) fn sandbox(&self) -> Option<&SandboxRules> {
        match &self.origin {
            ServerOrigin::File { sandbox, .. } => sandbox.as_ref(),
            ServerOrigin::Api(_, connection) => {
                connection.as_ref().and_then(|it| it.sandbox.as_ref())
            }
        }
    }

    /// What happens when its definitions change; `None`: the default.
    pub(crate) fn on_change(&self) -> Option<OnChange> {
        match &self.origin {
            ServerOrigin::File { on_change, .. } => *on_change,
            ServerOrigin::Api(_, connection) => connection.as_ref().and_then(|it| it.on_change),
        }
    }
}
