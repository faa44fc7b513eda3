//! Changes of what is wanted: servers registered, changed, removed, connected and disconnected. Each is
//! one transaction with the record that tells of it.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::sync::SemaphorePermit;
use tokio::time::{Instant, timeout};
use trunkline_catalog::config::Transport;
use trunkline_http::reach::ReachRefused;
use trunkline_store::{Change, CredentialRecord, DesiredState, NewAudit, ServerRecord, StoreError};

use super::edits::{Side, edits};
use super::entrust::left_behind;
use super::reconcile::PATIENCE;
use super::roster::{Entry, Origin};
use super::show::{no_such_server, store_problem};
use super::{News, Platform, Shown, clock, custom};
use crate::access::{self, Action};
use crate::api::etag;
use crate::api::fault::{Fault, Pointer};
use crate::api::input::{Declared, PatchServer, RegisterServer, TransportType};
use crate::api::problem::{Kind, Problem};
use crate::health::Phase;
use crate::keys::By;
use crate::secrets::{self, Connection, SecretError, Unresolved};

/// How often a change is tried that others overtake, each time with what there is then: they are
/// people, or a few programs.
const ATTEMPTS: usize = 8;

/// How long a change waits for another one.
const TURN: Duration = Duration::from_secs(2);

/// Who has named a version wants no other; but this replica may not have heard of it yet.
fn attempts(if_match: &[Vec<u8>]) -> usize {
    if if_match.is_empty() { ATTEMPTS } else { 2 }
}

impl Platform {
    pub async fn register(&self, new: RegisterServer, by: By<'_>) -> Result<Shown, Problem> {
        let connection = Connection {
            transport: new.transport,
            health_check_url: new.health_check_url,
            call_timeout: new.call_timeout,
            max_concurrency: new.max_concurrency,
            oauth: new.oauth,
        };
        self.check_command(&connection.transport, Action::RegisterServer, &new.name, by)?;
        let action = Action::RegisterServer;
        self.check_references(None, &connection, action, &new.name, by)?;
        self.check_name(&new.name)?;
        self.check_places(&connection)?;
        let (id, at) = (new_id()?, clock::now());
        let kept = self.0.safe.seal(&id, &connection, at).map_err(|error| secret(&error))?;
        let wanted =
            if new.auto_connect { DesiredState::Connected } else { DesiredState::Disconnected };
        let record = ServerRecord {
            id: id.clone(),
            name: new.name,
            description: new.description.unwrap_or_default(),
            transport: kept.transport,
            config: kept.config.clone(),
            auto_connect: new.auto_connect,
            wanted,
            health_check_url: kept.health_check_url.clone(),
            created_at: at,
            updated_at: at,
            revision: 1,
        };
        let audit = told("register-server", &record, by, at);
        let mut changes = vec![Change::InsertServer(record.clone())];
        changes.extend(kept.changes(&[]));
        self.commit(changes, audit, &record.name).await?;
        self.told(&record, "registered");
        self.changed().await;
        Ok(self.registered(record))
    }

    pub async fn patch(
        &self,
        id: &str,
        body: &Declared<'_>,
        if_match: Vec<Vec<u8>>,
        by: By<'_>,
    ) -> Result<Shown, Problem> {
        let _turn = self.turn().await;
        for _ in 1..attempts(&if_match) {
            match self.patch_once(id, body, &if_match, by).await {
                Err(overtaken) if overtaken.kind == Kind::Stale => self.changed().await,
                done => return done,
            }
        }
        self.patch_once(id, body, &if_match, by).await
    }

    async fn patch_once(
        &self,
        id: &str,
        body: &Declared<'_>,
        if_match: &[Vec<u8>],
        by: By<'_>,
    ) -> Result<Shown, Problem> {
        let before = self.editable(id)?;
        let was = before.clone();
        etag::may_change(if_match.iter().map(Vec::as_slice), before.revision)?;
        let (opened, credentials) = self.opened_whole(&before).await?;
        let patch = PatchServer::read(body, TransportType::of(&opened.transport))?;
        let mut connection = opened.clone();
        patch.config.clone().apply(&mut connection.transport);
        connection.health_check_url =
            patch.health_check_url.clone().of_url(connection.health_check_url);
        connection.call_timeout = patch.call_timeout.clone().of(connection.call_timeout);
        connection.max_concurrency = patch.max_concurrency.clone().of(connection.max_concurrency);
        connection.oauth = patch.oauth.clone().of_client(connection.oauth);
        if connection.transport != opened.transport {
            self.check_command(&connection.transport, Action::EditServer, &before.name, by)?;
        }
        let action = Action::EditServer;
        self.check_references(Some(&opened), &connection, action, &before.name, by)?;
        left_behind(&patch, &opened, &connection)?;
        let name = patch.name.unwrap_or_else(|| before.name.clone());
        if name != before.name {
            self.check_name(&name)?;
        }
        self.check_places(&connection)?;
        let at = clock::now();
        let kept = self.0.safe.seal(&before.id, &connection, at).map_err(|error| secret(&error))?;
        let record = ServerRecord {
            name,
            description: patch.description.of(Some(before.description)).unwrap_or_default(),
            config: kept.config.clone(),
            auto_connect: patch.auto_connect.unwrap_or(before.auto_connect),
            health_check_url: kept.health_check_url.clone(),
            updated_at: at,
            id: before.id,
            transport: before.transport,
            wanted: before.wanted,
            created_at: before.created_at,
            revision: before.revision,
        };
        let edits = edits(
            Side { record: &was, connection: &opened },
            Side { record: &record, connection: &connection },
        );
        let audit = NewAudit { detail: Some(edits), ..told("edit-server", &record, by, at) };
        let expected = before.revision;
        let mut changes = vec![Change::UpdateServer { record: record.clone(), expected }];
        changes.extend(kept.changes(&credentials));
        self.commit(changes, audit, &record.name).await?;
        self.told(&record, "changed");
        self.changed().await;
        if let Some(fleet) = self.0.fleet.get().filter(|_| record.name != before.name) {
            // Whoever has the answer may use the new name.
            fleet.rename(&record.id, &record.name);
        }
        self.server(&record.id, by.principal)
    }

    pub async fn delete(
        &self,
        id: &str,
        if_match: Vec<Vec<u8>>,
        by: By<'_>,
    ) -> Result<(), Problem> {
        for _ in 1..attempts(&if_match) {
            match self.delete_once(id, &if_match, by).await {
                Err(overtaken) if overtaken.kind == Kind::Stale => self.changed().await,
                done => return done,
            }
        }
        self.delete_once(id, &if_match, by).await
    }

    async fn delete_once(&self, id: &str, if_match: &[Vec<u8>], by: By<'_>) -> Result<(), Problem> {
        let record = self.editable(id)?;
        etag::may_change(if_match.iter().map(Vec::as_slice), record.revision)?;
        let expected = (!if_match.is_empty()).then_some(record.revision);
        let change = Change::DeleteServer { id: record.id.clone(), expected };
        let audit = told("delete-server", &record, by, clock::now());
        // It goes with the record; who granted it is told afterwards.
        let grant = self.0.logins.oauth().kept(&record.id).await.ok().flatten();
        self.commit(vec![change], audit, &record.name).await?;
        if let Some(grant) = grant {
            let (logins, id) = (self.0.logins.clone(), record.id.clone());
            self.0.tasks.spawn(async move { logins.oauth().give_back(&id, &grant).await });
        }
        self.0.wards.forget(&record.id);
        self.0.troubles.lock().remove(&record.id);
        self.told(&record, "removed");
        self.changed().await;
        self.0.sort.notify_one();
        Ok(())
    }

    /// Wants it connected; one that is being waited for is tried at once. Is it there already?
    pub async fn connect(&self, id: &str, by: By<'_>) -> Result<bool, Problem> {
        let id = self.want(id, true, by).await?;
        if let Some(fleet) = self.0.fleet.get() {
            fleet.reconnect(&id);
        }
        let phase = self.roster().of_id(&id).map(|entry| self.phase(entry));
        Ok(phase == Some(Phase::Connected))
    }

    /// Wants it disconnected; how many calls it still has, which may end.
    pub async fn disconnect(&self, id: &str, by: By<'_>) -> Result<usize, Problem> {
        let id = self.want(id, false, by).await?;
        let retired = self.0.fleet.get().and_then(|fleet| fleet.retire(&id, PATIENCE));
        let Some(retired) = retired else { return Ok(0) };
        let began = Instant::now();
        retired.finished().await;
        // Those that had not ended by then have an error that says so.
        Ok(if began.elapsed() < PATIENCE { 0 } else { retired.pending })
    }

    /// Its id.
    async fn want(&self, id: &str, connected: bool, by: By<'_>) -> Result<String, Problem> {
        let _turn = self.turn().await;
        for _ in 1..ATTEMPTS {
            match self.want_once(id, connected, by).await {
                Err(overtaken) if overtaken.kind == Kind::Stale => self.changed().await,
                done => return done,
            }
        }
        self.want_once(id, connected, by).await
    }

    async fn want_once(&self, id: &str, connected: bool, by: By<'_>) -> Result<String, Problem> {
        let roster = self.roster();
        let entry = roster.find(id).ok_or_else(|| no_such_server(id))?;
        let action = if connected { "connect-server" } else { "disconnect-server" };
        match &entry.origin {
            Origin::File(..) => self.want_of_file(entry, connected, action, by).await?,
            Origin::Api(record, _) => {
                let wanted =
                    if connected { DesiredState::Connected } else { DesiredState::Disconnected };
                let at = clock::now();
                let next = ServerRecord { wanted, updated_at: at, ..(**record).clone() };
                let audit = told(action, &next, by, at);
                let change = match record.wanted == wanted {
                    true => Vec::new(),
                    false => vec![Change::UpdateServer { record: next, expected: record.revision }],
                };
                self.commit(change, audit, &entry.name).await?;
            }
        }
        self.changed().await;
        Ok(entry.id.clone())
    }

    async fn want_of_file(
        &self,
        entry: &Entry,
        connected: bool,
        action: &str,
        by: By<'_>,
    ) -> Result<(), Problem> {
        let mut audit = audit(action, by, clock::now());
        audit.server_id = Some(entry.id.clone());
        audit.server_name = Some(entry.name.clone());
        self.commit(Vec::new(), audit, &entry.name).await?;
        let mut file = self.0.file.lock();
        match connected {
            true => drop(file.disconnected.remove(&entry.name)),
            false => drop(file.disconnected.insert(entry.name.clone())),
        }
        Ok(())
    }

    /// One change at a time, as far as that is ours to say: else they would overtake each other. Elapsed:
    /// the store is slow, and who waits is better told so by it.
    async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        timeout(TURN, self.0.changing.acquire()).await.ok()?.ok()
    }

    /// How a server is reached, and what is kept of it. They are read one after the other: what was
    /// changed in between does not fit.
    async fn opened_whole(
        &self,
        record: &ServerRecord,
    ) -> Result<(Connection, Vec<CredentialRecord>), Problem> {
        let credentials = self.0.store.credentials(&record.id).await;
        let credentials = credentials.map_err(|error| store_problem(&error))?;
        let error = match self.0.safe.open(record, &credentials) {
            Ok(opened) => return Ok((opened, credentials)),
            Err(error) => error,
        };
        match self.0.store.server(&record.id).await {
            Err(StoreError::NotFound) => Err(no_such_server(&record.id)),
            Ok(now) if now.revision != record.revision => Err(store_problem(&StoreError::Stale)),
            _ => Err(secret(&error)),
        }
    }

    /// A registered server; one of the config file cannot be changed here.
    fn editable(&self, id: &str) -> Result<ServerRecord, Problem> {
        let roster = self.roster();
        let entry = roster.find(id).ok_or_else(|| no_such_server(id))?;
        entry.record().cloned().ok_or_else(|| {
            let detail = format!("`{}` comes from the config file", entry.name);
            Problem::new(Kind::FromFile, detail).server(self.about(entry))
        })
    }

    async fn commit(
        &self,
        changes: Vec<Change>,
        audit: NewAudit,
        name: &str,
    ) -> Result<(), Problem> {
        // Its log cannot be told from a damaged one, which it need not be.
        if self.0.safe.is_locked() {
            return Err(secret(&SecretError::Locked));
        }
        let committed = self.0.store.commit(changes, vec![audit]).await;
        committed.map(drop).map_err(|error| match error {
            StoreError::Conflict { .. } => taken(name),
            error => store_problem(&error),
        })
    }

    /// Known here at once, and made so soon.
    async fn changed(&self) {
        let read = self.reload().await;
        self.has_read(&read);
        self.0.wish.notify_one();
    }

    fn told(&self, record: &ServerRecord, what: &'static str) {
        let (id, name) = (record.id.clone(), record.name.clone());
        self.0.news.tell(News::Changed { id, name, what });
    }

    /// Servers are found by id and by name, so neither may be another's; and the group of the custom
    /// tools is shown among them.
    fn check_name(&self, name: &str) -> Result<(), Problem> {
        if self.roster().has(name) {
            return Err(taken(name));
        }
        if custom::is_reserved(name) {
            let why = "is what the group of the custom tools is called";
            return Err(Problem::invalid(vec![Fault::at(&Pointer::root().key("name"), why)]));
        }
        Ok(())
    }

    /// A command runs on this machine: it takes an admin, and an operator who wants it so. Who tried
    /// is written down.
    fn check_command(
        &self,
        transport: &Transport,
        action: Action,
        server: &str,
        by: By<'_>,
    ) -> Result<(), Problem> {
        let Transport::Stdio { .. } = transport else { return Ok(()) };
        let why = match by.principal.require(Action::RegisterStdio) {
            Err(_) => "registering a command takes the role admin".to_owned(),
            Ok(()) => match self.0.settings.stdio.judge(transport) {
                Ok(()) => return Ok(()),
                Err(forbidden) => forbidden.to_string(),
            },
        };
        self.turned_away(action, server, &why, by);
        Err(Problem::new(Kind::StdioForbidden, why))
    }

    /// Where it leads, and what it refers to.
    fn check_places(&self, connection: &Connection) -> Result<(), Problem> {
        let config = Pointer::root().key("connection_config");
        let mut faults = Vec::new();
        let mut url = |url: &str, at: Pointer| {
            if let Err(refused) = self.judge(url) {
                faults.push(Fault::at(&at, refused.to_string()));
            }
        };
        if let Transport::Remote { url: address, .. } = &connection.transport {
            url(address, config.key("url"));
        }
        if let Some(address) = &connection.health_check_url {
            url(address, Pointer::root().key("health_check_url"));
        }
        let forbidden = secrets::forbidden(connection, &self.0.settings.allowed);
        faults.extend(forbidden.iter().map(|fault| Fault::at(&config, fault.to_string())));
        if faults.is_empty() {
            return Ok(());
        }
        let flags: BTreeSet<String> = forbidden.iter().filter_map(Unresolved::flag).collect();
        let problem = Problem::invalid(faults);
        if flags.is_empty() {
            return Err(problem);
        }
        let flags = flags.into_iter().collect::<Vec<_>>().join(" ");
        Err(problem.hint(format!(
            "start `trunkline serve` with `{flags}` and the variable set, or keep the value as a \
             secret (`PUT /api/v1/secrets/NAME`) and write `${{secret:NAME}}`"
        )))
    }

    /// By what can be told before it is resolved; the rest is judged when it is connected to.
    fn judge(&self, url: &str) -> Result<(), ReachRefused> {
        let policy = &self.0.settings.reach;
        let literal = url.split_once("${").map_or(url, |(before, _)| before);
        policy.judge_url(&policy.read_url(literal)?).map(drop)
    }
}

impl Platform {
    /// Somebody may do this, but not so.
    pub(super) fn turned_away(&self, action: Action, server: &str, why: &str, by: By<'_>) {
        let mut record = audit(action.name(), by, clock::now());
        record.server_name = Some(server.to_owned());
        record.outcome = "refused".to_owned();
        record.detail = Some(why.to_owned());
        self.0.audit.record(record);
    }

    /// Somebody was refused what would have changed something. `server`: the id or name of the server that it
    /// is about.
    pub fn refused(&self, action: &str, server: Option<&str>, detail: &str, by: By<'_>) {
        let roster = self.roster();
        let entry = server.and_then(|server| roster.find(server));
        self.0.audit.record(NewAudit {
            server_id: entry.map(|entry| entry.id.clone()),
            server_name: entry.map(|entry| entry.name.clone()),
            outcome: "refused".to_owned(),
            detail: Some(detail.to_owned()),
            ..audit(action, by, clock::now())
        });
    }
}

fn taken(name: &str) -> Problem {
    Problem::new(Kind::NameTaken, format!("there is a server `{name}` already"))
}

fn secret(error: &SecretError) -> Problem {
    secret_problem(error, &Pointer::root().key("connection_config"))
}

/// `at` is where the asker's mistake is, if it is one.
pub(super) fn secret_problem(error: &SecretError, at: &Pointer) -> Problem {
    match error {
        SecretError::Locked => Problem::new(Kind::StoreUnavailable, error.to_string())
            .hint("start Trunkline with the key that this store was sealed with"),
        SecretError::Store(error) => store_problem(error),
        error if error.is_the_callers() => Problem::invalid(vec![Fault::at(at, error.to_string())]),
        error => Problem::new(Kind::Internal, error.to_string()),
    }
}

/// Random, in the form of a UUID (version 4).
pub(super) fn new_id() -> Result<String, Problem> {
    let random = access::random::<16>();
    let bytes = random.map_err(|error| Problem::new(Kind::Internal, error.to_string()))?;
    let number = u128::from_be_bytes(bytes);
    let number = (number & !(0xf << 76) & !(0x3 << 62)) | (0x4 << 76) | (0x2 << 62);
    let digits = format!("{number:032x}");
    let part = |from: usize, to: usize| digits.get(from..to).unwrap_or_default();
    let parts = [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)];
    Ok(parts.join("-"))
}

fn told(action: &str, record: &ServerRecord, by: By<'_>, at: i64) -> NewAudit {
    NewAudit {
        server_id: Some(record.id.clone()),
        server_name: Some(record.name.clone()),
        ..audit(action, by, at)
    }
}

pub(super) fn audit(action: &str, by: By<'_>, at: i64) -> NewAudit {
    NewAudit {
        at,
        principal: by.principal.name().to_owned(),
        credential_id: Some(by.principal.credential().to_string()),
        address: by.address.map(str::to_owned),
        action: action.to_owned(),
        outcome: "ok".to_owned(),
        request_id: by.request_id.map(str::to_owned),
        ..NewAudit::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_uuids_and_never_the_same() {
        let (one, other) = (new_id().unwrap(), new_id().unwrap());
        assert_ne!(one, other);
        for id in [one, other] {
            let lengths: Vec<_> = id.split('-').map(str::len).collect();
            assert_eq!(lengths, [8, 4, 4, 4, 12], "{id}");
            let bytes = id.as_bytes();
            assert_eq!(bytes[14], b'4', "{id}");
            assert!(matches!(bytes[19], b'8' | b'9' | b'a' | b'b'), "{id}");
        }
    }
}
