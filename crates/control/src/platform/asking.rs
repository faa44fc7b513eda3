//! Asks the language model that the operator has named which skills tools have, keeps what it says, and
//! queues the skills it misses for a person to decide on.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::task::TaskTracker;
use trunkline_store::{PENDING, SuggestionRecord};

use super::change::new_id;
use super::sorting::{ToolBatch, record_of};
use super::{Platform, clock};
use crate::llm::{Described, Llm, Suggested, TOGETHER, Verdict};
use crate::skills::{AssignedSkills, SkillSource};

/// For all tools of one server together (US3-AC7, with a little left for the rest of the way).
const PATIENCE: Duration = Duration::from_secs(55);
/// Of one server, while this process runs: one whose tools make a model miss more than that is not worth
/// a person's time.
const MOST_SUGGESTIONS: usize = 20;

impl Platform {
    /// Beside everything else: these tools, by their places in the batch, have the model's skills
    /// when it has answered, and those they have now until then.
    pub(super) fn ask_later(&self, server: String, batch: ToolBatch, wanted: Vec<usize>) {
        let Some(llm) = self.0.settings.llm.clone() else { return };
        let own = self.clone();
        self.0.tasks.spawn(async move {
            tokio::select! {
                () = own.0.end.cancelled() => {}
                () = own.ask_about(&llm, &server, batch, wanted) => {}
            }
        });
    }

    async fn ask_about(&self, llm: &Llm, server: &str, batch: ToolBatch, wanted: Vec<usize>) {
        let deadline = Instant::now() + PATIENCE;
        let batch = Arc::new(batch);
        let asking = TaskTracker::new();
        let portions: Vec<Vec<usize>> = wanted.chunks(TOGETHER).map(<[usize]>::to_vec).collect();
        for portion in portions {
            let (own, llm, server) = (self.clone(), llm.clone(), server.to_owned());
            let batch = Arc::clone(&batch);
            asking.spawn(async move {
                let asked = own.ask_portion(&llm, &server, &batch, &portion);
                if tokio::time::timeout_at(deadline, asked).await.is_err() {
                    tracing::warn!(server = batch.server(), "the language model is too slow");
                }
            });
        }
        asking.close();
        asking.wait().await;
        self.0.sort.notify_one();
    }

    /// What the model says about these tools is kept; about others nothing changes.
    pub(super) async fn ask_portion(
        &self,
        llm: &Llm,
        server: &str,
        batch: &ToolBatch,
        portion: &[usize],
    ) {
        let described: Vec<Described<'_>> =
            portion.iter().filter_map(|at| batch.words(*at)).collect();
        let about = batch.described();
        let said = llm.classify(&batch.taxonomy, (about.name, about.description), &described).await;
        let verdicts = match said {
            Ok(verdicts) => verdicts,
            Err(why) => {
                let (server, tools) = (batch.server(), portion.len());
                tracing::warn!(server, tools, "the language model is of no use: {why}");
                return;
            }
        };
        let (mut records, mut suggestions) = (Vec::new(), Vec::new());
        let taxonomy = self.0.book.taxonomy(); // somebody may have changed it meanwhile
        for (at, verdict) in portion.iter().zip(verdicts) {
            let (Some(tool), Some(verdict)) = (batch.tools.get(*at), verdict) else { continue };
            let Verdict { mut skills, suggested } = verdict;
            skills.retain(|(id, _)| taxonomy.get(id).is_some());
            if skills.is_empty() {
                continue;
            }
            let assigned = AssignedSkills { skills, source: SkillSource::Llm };
            let print = batch.fingerprint(*at, SkillSource::Llm);
            records.push(record_of(server, &tool.name, print, &assigned));
            suggestions.extend(suggested.map(|it| (tool.name.clone(), it)));
            self.0.book.set_tool_unless_by_hand(server, &tool.name, assigned);
        }
        self.keep_skills(records).await;
        self.suggest(server, suggestions).await;
    }

    async fn suggest(&self, server: &str, suggestions: Vec<(String, Suggested)>) {
        let at = clock::now();
        let record = |(tool, it): (String, Suggested)| {
            Some(SuggestionRecord {
                id: new_id().ok()?,
                skill: it.id,
                title: it.title,
                keywords: it.keywords,
                reason: it.reason,
                server_id: server.to_owned(),
                tool,
                state: PENDING.to_owned(),
                created_at: at,
                decided_at: None,
                decided_by: None,
            })
        };
        let room = self.0.book.reserve_suggestions(server, suggestions.len(), MOST_SUGGESTIONS);
        let suggestions = suggestions.into_iter().take(room);
        let records: Vec<SuggestionRecord> = suggestions.filter_map(record).collect();
        if records.is_empty() {
            return;
        }
        let new = match self.0.store.suggest_skills(records).await {
            Ok(new) => usize::try_from(new).unwrap_or(room),
            Err(error) => {
                tracing::warn!(%error, "suggested skills cannot be kept");
                0
            }
        };
        self.0.book.give_back_suggestions(server, room.saturating_sub(new));
    }
}
