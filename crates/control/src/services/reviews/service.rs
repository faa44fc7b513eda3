//! `ReviewService`: the definitions that wait for a person, shown with what they differ in, approved and rejected.

use std::sync::Arc;

use trunkline_catalog::config::OnChange;
use trunkline_catalog::pins::{
    Choice, Decided, Decision, Definition, DiffLength, FieldDiff, PinRecord, UnknownChoice,
    WaitingDefinition, diff, findings,
};
use trunkline_catalog::scan::Finding;
use trunkline_gateway::PinHome;
use trunkline_store::{Change, NewAudit, PinsRecord, Store, StoreError};

use crate::access::Principal;
use crate::clock;
use crate::fault::{Problem, ProblemKind};
use crate::keys::Actor;
use crate::llm::{Opinion, SecondOpinions};
use crate::services::directory::ServerEntry;
use crate::services::live::LiveServers;
use crate::services::problems::store_problem;
use crate::services::recall::{Recall, definition_words, some_of, stored};
use crate::services::records::server_record;

#[derive(Debug)]
pub struct ReviewService {
    pub(in crate::services) recall: Recall,
    pub(in crate::services) live: Arc<LiveServers>,
    pub(in crate::services) opinions: Option<SecondOpinions>,
}

/// What waits of one server.
#[derive(Debug, Clone)]
pub(crate) struct ServerReview {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) on_change: OnChange,
    pub(crate) waiting: Vec<WaitingReview>,
}

/// One definition that waits.
#[derive(Debug, Clone)]
pub(crate) struct WaitingReview {
    pub(crate) waiting: WaitingDefinition,
    /// What callers have, or would have, in its place.
    pub(crate) approved: Option<Definition>,
    /// The name and version of the server when that was approved.
    pub(crate) approved_identity: Option<String>,
    /// Callers are not shown it.
    pub(crate) is_held: bool,
    /// More has changed than is shown at once, or the text is not kept: approving it needs the whole hash.
    pub(crate) is_cut: bool,
    /// What the scanner finds in it, the worst first.
    pub(crate) findings: Vec<(Finding, Option<Opinion>)>,
    pub(crate) diff: Vec<FieldDiff>,
}

/// Others may write the same record at the same time; more often than that is no coincidence.
const MOST_TRIES: usize = 10;

impl ReviewService {
    /// Where the data plane keeps its pins.
    pub fn home(&self) -> Arc<dyn PinHome> {
        self.recall.pin_home()
    }

    fn store(&self) -> &Store {
        self.recall.store()
    }

    /// Everything that waits, by server.
    pub(crate) async fn list(&self, asker: &Principal) -> Result<Vec<ServerReview>, Problem> {
        let stored = self.store().waiting_pins().await.map_err(|error| store_problem(&error))?;
        let directory = self.live.directory();
        let mut reviews: Vec<_> = directory
            .all()
            .filter(|entry| may_decide(asker, entry))
            .filter_map(|entry| {
                let record = PinRecord::read(&self.current(entry, &stored)?.document).ok()?;
                Some(self.review(entry, &record))
            })
            .collect();
        reviews.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(reviews)
    }

    /// One definition that waits, with every line that differs.
    pub(crate) async fn whole(
        &self,
        id: &str,
        choice: &Choice,
        asker: &Principal,
    ) -> Result<(ServerEntry, WaitingReview), Problem> {
        let entry = self.live.entry(id)?;
        if !may_decide(asker, &entry) {
            return Err(for_some_tools());
        }
        let stored = self.store().waiting_pins().await.map_err(|error| store_problem(&error))?;
        let record = self.current(&entry, &stored);
        let record = record.and_then(|record| PinRecord::read(&record.document).ok());
        let found = record.and_then(|record| {
            let waiting = record.waiting.iter().find(|it| choice.names(&it.definition))?;
            Some(self.waiting(&entry, &record, waiting, DiffLength::Whole))
        });
        let found = found.ok_or_else(|| {
            Problem::new(ProblemKind::NothingWaits, "nothing that was seen like this waits")
        })?;
        Ok((entry, found))
    }

    fn review(&self, entry: &ServerEntry, record: &PinRecord) -> ServerReview {
        let one = |waiting| self.waiting(entry, record, waiting, DiffLength::Short);
        ServerReview {
            id: entry.id.clone(),
            name: entry.name.clone(),
            on_change: entry.on_change().unwrap_or_default(),
            waiting: record.waiting.iter().map(one).collect(),
        }
    }

    fn waiting(
        &self,
        entry: &ServerEntry,
        record: &PinRecord,
        waiting: &WaitingDefinition,
        length: DiffLength,
    ) -> WaitingReview {
        let spec = self.live.fleet().and_then(|fleet| fleet.spec(&entry.id));
        let scan = spec.map(|spec| spec.texts.scan).unwrap_or_default();
        let definition = &waiting.definition;
        let pin = record.pin(definition);
        WaitingReview {
            diff: diff(record.base(definition), definition.bytes.as_deref(), length),
            findings: findings(definition, record, &scan)
                .into_iter()
                .map(|finding| {
                    let opinion = self.opinions.as_ref().and_then(|all| all.of(&finding));
                    (finding, opinion)
                })
                .collect(),
            is_cut: record.is_cut(waiting),
            is_held: waiting.is_withheld(entry.on_change().unwrap_or_default()),
            approved_identity: pin.and_then(|pin| pin.identity.clone()),
            approved: pin.map(|pin| pin.definition.clone()),
            waiting: waiting.clone(),
        }
    }

    /// Decides on definitions of one server, each as the asker has seen it. Callers are shown what was decided at
    /// once.
    pub(crate) async fn decide(
        &self,
        id: &str,
        decision: Decision,
        choices: &[Choice],
        by: Actor<'_>,
    ) -> Result<Vec<Decided>, Problem> {
        let entry = self.live.entry(id)?;
        if !may_decide(by.principal, &entry) {
            return Err(for_some_tools());
        }
        for _ in 0..MOST_TRIES {
            let all = self.store().waiting_pins().await.map_err(|error| store_problem(&error))?;
            let nothing =
                || Problem::new(ProblemKind::NothingWaits, "nothing of this server waits");
            let before = self.current(&entry, &all).ok_or_else(nothing)?;
            let mut record = PinRecord::read(&before.document).map_err(|_| nothing())?;
            let now = clock::now();
            let seconds = u64::try_from(now / 1000).unwrap_or_default();
            let decided = record.decide(decision, choices, seconds).map_err(|why| unknown(&why))?;
            match self.commit(before, &record, &decided, (decision, &entry, by), now).await {
                Err(StoreError::Stale) => continue,
                Err(error) => return Err(store_problem(&error)),
                Ok(()) => {}
            }
            if let Some(fleet) = self.live.fleet() {
                self.recall.reconsider(fleet, &self.live.directory()).await;
            }
            return Ok(decided);
        }
        Err(store_problem(&StoreError::Stale))
    }

    async fn commit(
        &self,
        before: &PinsRecord,
        record: &PinRecord,
        decided: &[Decided],
        (decision, entry, by): (Decision, &ServerEntry, Actor<'_>),
        now: i64,
    ) -> Result<(), StoreError> {
        let action = match decision {
            Decision::Approve => "approve-definitions",
            Decision::Reject => "reject-definitions",
        };
        let words = decided.iter().map(|it| {
            let before = it.before.as_deref();
            definition_words(it.kind.word(), &it.name, decision.done(), before, &it.after)
        });
        let audit = NewAudit {
            detail: Some(some_of(words.collect())),
            ..server_record(action, &entry.id, &entry.name, by, now)
        };
        let record = PinsRecord {
            // Later than any before, whatever the clock says: other replicas notice it by this.
            decided_at: now.max(before.decided_at + 1),
            ..stored(&before.entry, &before.server_id, record, now)
        };
        let change = Change::PutPins { record, expected: Some(before.revision) };
        self.store().commit(vec![change], vec![audit]).await.map(drop)
    }

    /// The pins of the entry as it is now: one that was edited has left others behind.
    fn current<'p>(&self, entry: &ServerEntry, all: &'p [PinsRecord]) -> Option<&'p PinsRecord> {
        let running = self.live.fleet().and_then(|fleet| fleet.pinned_entry(&entry.id));
        let mut own = all.iter().filter(|it| it.server_id == entry.id);
        match running {
            Some(running) => own.find(|it| it.entry == running.id),
            None => own.next(), // the last that was written comes first
        }
    }
}

/// Who may call some tools only does not decide what others are shown.
fn may_decide(asker: &Principal, entry: &ServerEntry) -> bool {
    asker.grants().all_of(&entry.name)
}

fn for_some_tools() -> Problem {
    Problem::new(ProblemKind::Forbidden, "the token is for some tools of this server only")
}

fn unknown(why: &UnknownChoice) -> Problem {
    let kind = match why {
        UnknownChoice::Unknown { .. } => ProblemKind::NothingWaits,
        UnknownChoice::Other { .. } | UnknownChoice::NotShown { .. } => ProblemKind::ChangedAgain,
        UnknownChoice::Unseen { .. } => ProblemKind::NotSeenWhole,
    };
    Problem::new(kind, why.to_string())
}
