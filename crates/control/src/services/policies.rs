//! `PolicyService`: policies of files and of the store, listed; stored ones put and removed, and applied at once.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{Semaphore, SemaphorePermit};
use trunkline_catalog::name::escaped;
use trunkline_policy::{Policies, PolicyFault, PolicyInfo, PolicySource};
use trunkline_store::{Change, NewAudit, PolicyRecord, PolicySetRecord, Store, StoreError};

use super::page::{Page, Paged};
use super::policy_trial::{PolicyDraft, PolicyTrial, TriedDecision};
use super::problems::store_problem;
use super::records::record;
use super::servers::Precondition;
use crate::clock;
use crate::fault::{Pointer, Problem, ProblemKind, RequestFault};
use crate::keys::{Actor, ApiKeys};
use crate::policies::{PolicyHolder, is_policy_id, policy_changes, stored_name};

/// Far more than anybody writes by hand; each is read again at each change.
const MOST_STORED: usize = 1_000;
/// Changes of other replicas that may overtake one before it gives up.
const ATTEMPTS: usize = 5;
/// What the ids of files begin with; no stored policy's does.
const FILE: &str = "file:";
/// The source of a text that is tried and takes no other's place.
const DRAFT: &str = "draft";

#[derive(Debug)]
pub struct PolicyService {
    pub(super) store: Store,
    pub(super) holder: Arc<PolicyHolder>,
    pub(super) keys: Arc<ApiKeys>,
    /// One permit, held while the set is read and applied: an older reading must not come last.
    pub(super) turn: Semaphore,
    /// The revision of the stored set that was last looked at. A leaf lock, held for a copy.
    pub(super) applied: Mutex<Option<i64>>,
}

/// Where a text with policies is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PolicyOrigin {
    File,
    Stored(PolicyRecord),
}

/// A text with policies, and what it is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PolicyText {
    pub(crate) id: String,
    pub(crate) origin: PolicyOrigin,
    pub(crate) text: String,
    /// Those that are in force.
    pub(crate) policies: Vec<PolicyInfo>,
    /// Why it is not in force.
    pub(crate) problem: Option<String>,
}

impl PolicyService {
    /// At the start: what cannot be used refuses everything, and the log says what to do.
    pub(super) async fn load(&self) -> Result<(), StoreError> {
        let _turn = self.turn().await;
        let set = self.store.policies().await?;
        *self.applied.lock() = Some(set.revision);
        if let Err(faults) = self.holder.set_stored(sources(&set)) {
            tracing::error!(
                "the stored policies cannot be used: everything is refused to everybody but the admin token. Mend or \
                 delete them with the admin token (PUT or DELETE /api/v1/policies/ID, or the dashboard), or take what \
                 is in their way out of the policy files\n{}",
                lines(&faults)
            );
            self.holder.lock_down(sources(&set));
        }
        Ok(())
    }

    /// Another replica may have changed them.
    pub(super) async fn follow(&self) {
        let _turn = self.turn().await;
        // What the store does not say now, it says at the next look.
        let Ok(revision) = self.store.policies_revision().await else { return };
        if *self.applied.lock() == Some(revision) {
            return;
        }
        let Ok(set) = self.store.policies().await else { return };
        *self.applied.lock() = Some(set.revision);
        match self.holder.set_stored(sources(&set)) {
            Ok(()) => tracing::info!("the stored policies have changed"),
            Err(faults) => tracing::error!(
                "the stored policies have changed and cannot be used here; those from before stay in force\n{}",
                lines(&faults)
            ),
        }
    }

    /// One page, by id.
    pub(crate) async fn list(&self, page: &Page) -> Result<Paged<PolicyText>, Problem> {
        let set = self.store.policies().await.map_err(|error| store_problem(&error))?;
        let all = self.texts(set);
        let total = all.len();
        let is_later =
            |it: &PolicyText| page.after.as_deref().is_none_or(|after| it.id.as_str() > after);
        let mut rest = all.into_iter().filter(is_later);
        let items: Vec<PolicyText> = rest.by_ref().take(page.limit).collect();
        let last = items.last().map(|it| it.id.clone());
        Ok(Paged { next: last.filter(|_| rest.next().is_some()), items, total })
    }

    pub(crate) async fn get(&self, id: &str) -> Result<PolicyText, Problem> {
        let set = self.store.policies().await.map_err(|error| store_problem(&error))?;
        self.texts(set).into_iter().find(|it| it.id == id).ok_or_else(|| no_such_policy(id))
    }

    /// Keeps a text in the place of the one with this id, if there is one. True: it is new.
    pub(crate) async fn put(
        &self,
        id: &str,
        text: &str,
        precondition: &Precondition,
        by: Actor<'_>,
    ) -> Result<(bool, PolicyText), Problem> {
        self.check_not_of_file(id)?;
        if !is_policy_id(id) {
            let fault = RequestFault::parameter("id", "is not an id a stored policy can have");
            let fault = fault.hint("letters, digits, `-`, `_` and `.`, no `.` at its beginning");
            return Err(Problem::invalid(vec![fault]));
        }
        let changed = self.change(by, "put-policy", |set| {
            let before = set.policies.iter().find(|it| it.id == id);
            match (before, precondition) {
                (Some(before), _) => precondition.check(before.revision)?,
                (None, Precondition::None) => {}
                // There is no revision that it could name.
                (None, _) => precondition.check_absent()?,
            }
            if before.is_none() && set.policies.len() >= MOST_STORED {
                let what = format!("would be one more than the {MOST_STORED} that are kept");
                let fault = RequestFault::at(&Pointer::root(), what);
                return Err(Problem::invalid(vec![
                    fault.hint("put several policies into one text"),
                ]));
            }
            self.check_text(set, id, text)?;
            let now = clock::now();
            let after = PolicyRecord {
                id: id.to_owned(),
                text: text.to_owned(),
                created_at: before.map_or(now, |before| before.created_at),
                updated_at: now,
                updated_by: by.principal.name().to_owned(),
                revision: set.revision + 1,
            };
            Ok(PolicyChange { before: before.cloned(), after: Some(after) })
        });
        let (set, is_new) = changed.await?;
        let put = self.texts(set).into_iter().find(|it| it.id == id);
        Ok((is_new, put.ok_or_else(|| no_such_policy(id))?))
    }

    pub(crate) async fn delete(
        &self,
        id: &str,
        precondition: &Precondition,
        by: Actor<'_>,
    ) -> Result<(), Problem> {
        self.check_not_of_file(id)?;
        let deleted = self.change(by, "delete-policy", |set| {
            let before = set.policies.iter().find(|it| it.id == id);
            let before = before.ok_or_else(|| no_such_policy(id))?;
            precondition.check(before.revision)?;
            Ok(PolicyChange { before: Some(before.clone()), after: None })
        });
        deleted.await.map(drop)
    }

    /// What would be decided now, or with the trial's draft.
    pub(crate) async fn try_out(&self, trial: &PolicyTrial) -> Result<TriedDecision, Problem> {
        let policies = match &trial.draft {
            None => self.holder.current(),
            Some(draft) => Arc::new(self.with_draft(draft).await?),
        };
        trial.decide(&policies, &self.holder, &self.keys.known())
    }

    async fn with_draft(&self, draft: &PolicyDraft) -> Result<Policies, Problem> {
        let set = self.store.policies().await.map_err(|error| store_problem(&error))?;
        let name = draft.id.as_deref().map_or_else(|| DRAFT.to_owned(), stored_name);
        let drafted = self.with_text(&set, &name, &draft.text);
        drafted.map_err(|faults| {
            let (own, others): (Vec<_>, Vec<_>) =
                faults.into_iter().partition(|fault| fault.source == name);
            match own.is_empty() {
                false => Problem::invalid(mistakes(own)),
                true => {
                    let at = Pointer::root().key("text");
                    let what = format!("would not hold: others are broken: {}", lines(&others));
                    Problem::invalid(vec![RequestFault::at(&at, what)])
                }
            }
        })
    }

    /// All together, with this text in the place of the source of that name.
    fn with_text(
        &self,
        set: &PolicySetRecord,
        name: &str,
        text: &str,
    ) -> Result<Policies, Vec<PolicyFault>> {
        let mut sources = sources(set);
        sources.retain(|source| source.name != name);
        // Last: of two policies with one id, the later is blamed.
        sources.push(PolicySource { name: name.to_owned(), text: text.to_owned() });
        self.holder.with_stored(&sources)
    }

    /// Reads the set, has it changed, stores and applies it. Another replica may be faster: then all of it is done
    /// again. Returns the set as it is, and whether something is new in it.
    async fn change(
        &self,
        by: Actor<'_>,
        action: &str,
        decide: impl Fn(&PolicySetRecord) -> Result<PolicyChange, Problem>,
    ) -> Result<(PolicySetRecord, bool), Problem> {
        let _turn = self.turn().await;
        let mut left = ATTEMPTS;
        loop {
            let mut set = self.store.policies().await.map_err(|error| store_problem(&error))?;
            let change = decide(&set)?;
            let audit = change.audit(action, by);
            let wanted = change.wanted(set.revision);
            left -= 1;
            match self.store.commit(vec![wanted], vec![audit]).await {
                Ok(_) => {
                    let is_new = change.before.is_none();
                    change.apply(&mut set);
                    *self.applied.lock() = Some(set.revision);
                    // Before the answer: its receiver sees the change at once.
                    if let Err(faults) = self.holder.set_stored(sources(&set)) {
                        // It was broken before, and this was one step to mend it.
                        tracing::warn!(
                            "some stored policies cannot be used yet\n{}",
                            lines(&faults)
                        );
                    }
                    return Ok((set, is_new));
                }
                Err(StoreError::Stale) if left > 0 => {}
                Err(error) => return Err(store_problem(&error)),
            }
        }
    }

    /// `None` never comes: nobody closes the semaphore.
    async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        self.turn.acquire().await.ok()
    }

    /// What others have wrong does not keep somebody from mending one of them.
    fn check_text(&self, set: &PolicySetRecord, id: &str, text: &str) -> Result<(), Problem> {
        let name = stored_name(id);
        let faults = self.with_text(set, &name, text).err().unwrap_or_default();
        let own = mistakes(faults.into_iter().filter(|fault| fault.source == name));
        if own.is_empty() { Ok(()) } else { Err(Problem::invalid(own)) }
    }

    fn check_not_of_file(&self, id: &str) -> Result<(), Problem> {
        let Some(path) = id.strip_prefix(FILE) else { return Ok(()) };
        match self.holder.files().iter().any(|file| file.name == path) {
            true => {
                let detail = format!("`{}` is a file", escaped(path));
                Err(Problem::new(ProblemKind::PolicyOfFile, detail))
            }
            false => Err(no_such_policy(id)),
        }
    }

    /// By id.
    fn texts(&self, set: PolicySetRecord) -> Vec<PolicyText> {
        let (current, faults) = (self.holder.current(), self.holder.faults());
        let made = |id: String, origin: PolicyOrigin, source: PolicySource| {
            let own = current.infos().filter(|info| *info.source == *source.name);
            let wrong: Vec<PolicyFault> =
                faults.iter().filter(|fault| fault.source == source.name).cloned().collect();
            PolicyText {
                id,
                origin,
                text: source.text,
                policies: own.cloned().collect(),
                problem: (!wrong.is_empty()).then(|| lines(&wrong)),
            }
        };
        let files = self
            .holder
            .files()
            .into_iter()
            .map(|file| made(format!("{FILE}{}", file.name), PolicyOrigin::File, file));
        let stored = set.policies.into_iter().map(|record| {
            let source = source_of(&record);
            made(record.id.clone(), PolicyOrigin::Stored(record), source)
        });
        let mut all: Vec<PolicyText> = files.chain(stored).collect();
        all.sort_by(|a, b| a.id.cmp(&b.id));
        all
    }
}

/// One stored policy, before and after.
struct PolicyChange {
    before: Option<PolicyRecord>,
    after: Option<PolicyRecord>,
}

impl PolicyChange {
    fn id(&self) -> &str {
        self.after.as_ref().or(self.before.as_ref()).map_or("", |record| &record.id)
    }

    fn audit(&self, action: &str, by: Actor<'_>) -> NewAudit {
        let source = |record: &Option<PolicyRecord>| record.as_ref().map(source_of);
        let told = policy_changes(source(&self.before).as_ref(), source(&self.after).as_ref());
        let detail = Some(format!("{}: {told}", self.id()));
        NewAudit { detail, ..record(action, by, clock::now()) }
    }

    fn wanted(&self, expected: i64) -> Change {
        match &self.after {
            Some(record) => Change::PutPolicy { record: record.clone(), expected },
            None => Change::DeletePolicy { id: self.id().to_owned(), expected },
        }
    }

    fn apply(self, set: &mut PolicySetRecord) {
        let id = self.id().to_owned();
        set.policies.retain(|it| it.id != id);
        set.policies.extend(self.after);
        set.policies.sort_by(|a, b| a.id.cmp(&b.id));
        set.revision += 1;
    }
}

fn sources(set: &PolicySetRecord) -> Vec<PolicySource> {
    set.policies.iter().map(source_of).collect()
}

fn source_of(record: &PolicyRecord) -> PolicySource {
    PolicySource { name: stored_name(&record.id), text: record.text.clone() }
}

/// What Cedar finds wrong with the text of a request.
fn mistakes(faults: impl IntoIterator<Item = PolicyFault>) -> Vec<RequestFault> {
    let at = Pointer::root().key("text");
    let told = |PolicyFault { line, what, .. }| {
        RequestFault::at(&at, format!("has a mistake in line {line}: {what}"))
    };
    faults.into_iter().map(told).collect()
}

/// One line for each.
fn lines(faults: &[PolicyFault]) -> String {
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

fn no_such_policy(id: &str) -> Problem {
    Problem::new(ProblemKind::NoSuchPolicy, format!("there is no policy `{}`", escaped(id)))
}
