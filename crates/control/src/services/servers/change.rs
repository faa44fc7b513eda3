//! Changes of what is wanted: servers registered, edited, removed, connected and disconnected. Each is one
//! transaction with its audit record.

use std::time::Duration;

use tokio::sync::SemaphorePermit;
use tokio::time::{Instant, timeout};
use trunkline_store::{Change, DesiredState, NewAudit, ServerRecord, StoreError};

use super::checks::name_taken;
use super::edits::{ServerVersion, edits};
use super::precondition::Precondition;
use super::report::ServerReport;
use super::secret_binding::check_left_secrets;
use super::service::ServerService;
use crate::access::Action;
use crate::clock;
use crate::fault::{Pointer, Problem, ProblemKind};
use crate::health::ConnectionPhase;
use crate::keys::Actor;
use crate::secrets::{Connection, SecretError};
use crate::services::connections::connection_problem;
use crate::services::directory::{ServerEntry, ServerOrigin};
use crate::services::events::ServerEvent;
use crate::services::ids::new_id;
use crate::services::problems::{no_such_server, store_problem};
use crate::services::records::server_record;
use crate::services::settings::DISCONNECT_GRACE;

/// How often a change is tried that others overtake, each time with what there is then: the others are
/// people, or a few programs.
const ATTEMPTS: usize = 8;
/// For a caller that has named a revision: this replica may not have heard of it yet.
const NAMED_ATTEMPTS: usize = 2;

/// How long a change waits for another one.
const TURN: Duration = Duration::from_secs(2);

/// A server that is to be registered.
#[derive(Debug)]
pub(crate) struct NewServer {
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    pub(crate) auto_connect: bool,
    pub(crate) connection: Connection,
}

/// What an edit makes of a server.
#[derive(Debug)]
pub(crate) struct ServerEdit {
    /// `None`: it keeps its name.
    pub(crate) name: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) auto_connect: Option<bool>,
    pub(crate) connection: Connection,
    /// The places in the request where secrets stay as they were.
    pub(crate) left_secrets: Vec<Pointer>,
}

impl ServerService {
    pub(crate) async fn register(
        &self,
        new: NewServer,
        by: Actor<'_>,
    ) -> Result<ServerReport, Problem> {
        let NewServer { name, description, auto_connect, connection } = new;
        let action = Action::RegisterServer;
        // Permissions first: a caller without them learns nothing about names and networks.
        self.check_command(&connection.transport, action, &name, by)?;
        self.check_sandbox(None, &connection, action, &name, by)?;
        self.check_references(None, &connection, action, &name, by)?;
        self.check_limit(None, (&name, &connection), action, by)?;
        self.check_name(&name)?;
        self.check_places(&connection)?;
        let (id, at) = (new_id()?, clock::now());
        let sealed = self.opener.safe.seal(&id, &connection, at);
        let sealed = sealed.map_err(|error| connection_problem(&error))?;
        let record = ServerRecord {
            id,
            name,
            description: description.unwrap_or_default(),
            transport: sealed.transport,
            config: sealed.config.clone(),
            auto_connect,
            wanted: if auto_connect { DesiredState::Connected } else { DesiredState::Disconnected },
            health_check_url: sealed.health_check_url.clone(),
            created_at: at,
            updated_at: at,
            revision: 1,
        };
        let audit = server_record("register-server", &record.id, &record.name, by, at);
        let mut changes = vec![Change::InsertServer(record.clone())];
        changes.extend(sealed.changes(&[]));
        self.commit(changes, audit, &record.name).await?;
        self.publish(&record, "registered");
        self.live.known.refresh_and_reconcile().await;
        Ok(self.registered(record))
    }

    /// `edit` makes the new server of the old record and its connection. It runs anew after each change that overtakes this
    /// one.
    pub(crate) async fn edit(
        &self,
        id: &str,
        precondition: &Precondition,
        by: Actor<'_>,
        edit: impl Fn(&ServerRecord, &Connection) -> Result<ServerEdit, Problem>,
    ) -> Result<ServerReport, Problem> {
        let _turn = self.turn().await;
        let mut left = attempts(precondition);
        loop {
            let done = self.edit_once(id, precondition, by, &edit).await;
            left -= 1;
            if left == 0 || !is_stale(&done) {
                return done;
            }
            self.live.known.refresh_and_reconcile().await;
        }
    }

    async fn edit_once(
        &self,
        id: &str,
        precondition: &Precondition,
        by: Actor<'_>,
        edit: impl Fn(&ServerRecord, &Connection) -> Result<ServerEdit, Problem>,
    ) -> Result<ServerReport, Problem> {
        let before = self.editable(id)?;
        precondition.check(before.revision)?;
        let (opened, credentials) = self.opener.unresolved(&before).await?;
        let ServerEdit { name, description, auto_connect, connection, left_secrets } =
            edit(&before, &opened)?;
        let action = Action::EditServer;
        // An edit of something else needs no permission to run commands.
        if connection.transport != opened.transport {
            self.check_command(&connection.transport, action, &before.name, by)?;
        }
        self.check_sandbox(Some(&opened), &connection, action, &before.name, by)?;
        self.check_references(Some(&opened), &connection, action, &before.name, by)?;
        check_left_secrets(&left_secrets, &opened, &connection)?;
        let name = name.unwrap_or_else(|| before.name.clone());
        self.check_limit(Some((&before.name, &opened)), (&name, &connection), action, by)?;
        if name != before.name {
            self.check_name(&name)?;
        }
        self.check_places(&connection)?;
        let at = clock::now();
        let sealed = self.opener.safe.seal(&before.id, &connection, at);
        let sealed = sealed.map_err(|error| connection_problem(&error))?;
        let record = ServerRecord {
            name,
            description: description.unwrap_or_default(),
            config: sealed.config.clone(),
            auto_connect: auto_connect.unwrap_or(before.auto_connect),
            health_check_url: sealed.health_check_url.clone(),
            updated_at: at,
            ..before.clone()
        };
        let edits = edits(
            ServerVersion { record: &before, connection: &opened },
            ServerVersion { record: &record, connection: &connection },
        );
        let audit = NewAudit {
            detail: Some(edits),
            ..server_record("edit-server", &record.id, &record.name, by, at)
        };
        let expected = before.revision;
        let mut changes = vec![Change::UpdateServer { record: record.clone(), expected }];
        changes.extend(sealed.changes(&credentials));
        self.commit(changes, audit, &record.name).await?;
        self.publish(&record, "changed");
        self.live.known.refresh_and_apply().await;
        if let Some(fleet) = self.live.fleet().filter(|_| record.name != before.name) {
            // Before the answer: its receiver may use the new name at once.
            fleet.rename(&record.id, &record.name);
        }
        Ok(self.report(&self.live.entry(&record.id)?, Some(by.principal)))
    }

    pub(crate) async fn delete(
        &self,
        id: &str,
        precondition: &Precondition,
        by: Actor<'_>,
    ) -> Result<(), Problem> {
        let mut left = attempts(precondition);
        loop {
            let done = self.delete_once(id, precondition, by).await;
            left -= 1;
            if left == 0 || !is_stale(&done) {
                return done;
            }
            self.live.known.refresh_and_reconcile().await;
        }
    }

    async fn delete_once(
        &self,
        id: &str,
        precondition: &Precondition,
        by: Actor<'_>,
    ) -> Result<(), Problem> {
        let record = self.editable(id)?;
        precondition.check(record.revision)?;
        // Without a precondition a removal overtakes every other change.
        let expected = precondition.is_given().then_some(record.revision);
        let change = Change::DeleteServer { id: record.id.clone(), expected };
        let audit = server_record("delete-server", &record.id, &record.name, by, clock::now());
        // The grant goes with the record; its authorization server hears of it afterwards.
        let grant = self.logins.oauth().kept(&record.id).await.ok().flatten();
        self.commit(vec![change], audit, &record.name).await?;
        if let Some(grant) = grant {
            let (logins, id) = (self.logins.clone(), record.id.clone());
            // Whether the authorization server took it back changes nothing here.
            self.background.spawn(async move {
                logins.oauth().give_back(&id, &grant).await;
            });
        }
        self.live.health.forget(&record.id);
        self.live.clear_connect_problem(&record.id);
        self.publish(&record, "removed");
        self.live.known.refresh_and_reconcile().await;
        self.classify.notify_one();
        Ok(())
    }

    /// Wants it connected; one that waits for its next try is tried at once. True: it is connected already.
    pub(crate) async fn connect(&self, id: &str, by: Actor<'_>) -> Result<bool, Problem> {
        let id = self.set_wanted(id, true, by).await?;
        if let Some(fleet) = self.live.fleet() {
            fleet.reconnect(&id);
        }
        Ok(self.live.phase_of(&id) == ConnectionPhase::Connected)
    }

    /// Wants it disconnected. How many of its calls were cut off when their grace was over.
    pub(crate) async fn disconnect(&self, id: &str, by: Actor<'_>) -> Result<usize, Problem> {
        let id = self.set_wanted(id, false, by).await?;
        let retired = self.live.fleet().and_then(|fleet| fleet.retire(&id, DISCONNECT_GRACE));
        let Some(retired) = retired else { return Ok(0) };
        let began = Instant::now();
        retired.finished().await;
        Ok(if began.elapsed() < DISCONNECT_GRACE { 0 } else { retired.pending })
    }

    /// The server's id.
    async fn set_wanted(
        &self,
        id: &str,
        is_wanted: bool,
        by: Actor<'_>,
    ) -> Result<String, Problem> {
        let _turn = self.turn().await;
        let mut left = ATTEMPTS;
        loop {
            let done = self.set_wanted_once(id, is_wanted, by).await;
            left -= 1;
            if left == 0 || !is_stale(&done) {
                return done;
            }
            self.live.known.refresh_and_reconcile().await;
        }
    }

    async fn set_wanted_once(
        &self,
        id: &str,
        is_wanted: bool,
        by: Actor<'_>,
    ) -> Result<String, Problem> {
        let directory = self.live.directory();
        let entry = directory.find(id).ok_or_else(|| no_such_server(id))?;
        let action = if is_wanted { "connect-server" } else { "disconnect-server" };
        let at = clock::now();
        let audit = server_record(action, &entry.id, &entry.name, by, at);
        match &entry.origin {
            ServerOrigin::File { .. } => {
                self.commit(Vec::new(), audit, &entry.name).await?;
                self.live.known.file().set_wanted(&entry.name, is_wanted);
            }
            ServerOrigin::Api(record, _) => {
                let wanted =
                    if is_wanted { DesiredState::Connected } else { DesiredState::Disconnected };
                let next = ServerRecord { wanted, updated_at: at, ..(**record).clone() };
                // A wish that is fulfilled already leaves a record, but no new revision.
                let change = match record.wanted == wanted {
                    true => Vec::new(),
                    false => vec![Change::UpdateServer { record: next, expected: record.revision }],
                };
                self.commit(change, audit, &entry.name).await?;
            }
        }
        self.live.known.refresh_and_reconcile().await;
        Ok(entry.id.clone())
    }

    /// One change at a time within this process: else they would overtake each other. `None`: the store is
    /// slow, and its own answer tells the caller more than a wait.
    async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        timeout(TURN, self.changing.acquire()).await.ok()?.ok()
    }

    /// A registered server; one of the config file cannot be changed over REST.
    fn editable(&self, id: &str) -> Result<ServerRecord, Problem> {
        let entry: ServerEntry = self.live.entry(id)?;
        entry.record().cloned().ok_or_else(|| {
            let detail = format!("`{}` comes from the config file", entry.name);
            Problem::new(ProblemKind::FromFile, detail).server(self.live.about(&entry))
        })
    }

    async fn commit(
        &self,
        changes: Vec<Change>,
        audit: NewAudit,
        name: &str,
    ) -> Result<(), Problem> {
        // Without the key, the end of the audit log cannot be told from a damaged one.
        if self.opener.safe.is_locked() {
            return Err(connection_problem(&SecretError::Locked));
        }
        let committed = self.opener.store.commit(changes, vec![audit]).await;
        committed.map(drop).map_err(|error| match error {
            StoreError::Conflict { .. } => name_taken(name),
            error => store_problem(&error),
        })
    }

    fn publish(&self, record: &ServerRecord, what: &'static str) {
        let (id, name) = (record.id.clone(), record.name.clone());
        self.events.publish(ServerEvent::Changed { id, name, what });
    }
}

/// Was the change overtaken by another one?
fn is_stale<T>(done: &Result<T, Problem>) -> bool {
    matches!(done, Err(problem) if problem.kind == ProblemKind::Stale)
}

fn attempts(precondition: &Precondition) -> usize {
    if precondition.is_given() { NAMED_ATTEMPTS } else { ATTEMPTS }
}
