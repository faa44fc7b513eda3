//! LLM classification: asks the operator's language model for the skills of tools, keeps its answers, and
//! queues the skills it misses for a person to decide on.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::task::TaskTracker;
use trunkline_store::{PENDING, SuggestionRecord};

use super::batch::{ToolBatch, record_of};
use super::service::SkillService;
use crate::clock;
use crate::llm::{Llm, LlmVerdict, SuggestedSkill, TOGETHER, ToolDescription};
use crate::services::ids::new_id;
use crate::skills::{AssignedSkills, SkillSource};

/// For all tools of one server together: US3-AC7 allows 60 s, and the rest takes a little.
const PATIENCE: Duration = Duration::from_secs(55);
/// Of one server, while this process runs: a person would not read more suggestions than that.
const MOST_SUGGESTIONS: usize = 20;

impl SkillService {
    /// In a task of its own: these tools, by their places in the batch, get the model's skills when it has
    /// answered, and keep those they have until then.
    pub(super) fn ask_llm_later(
        self: &Arc<Self>,
        server: String,
        batch: ToolBatch,
        wanted: Vec<usize>,
    ) {
        let Some(llm) = self.llm.clone() else { return };
        let own = Arc::clone(self);
        self.background.spawn_until_end(async move {
            own.ask_llm(&llm, &server, batch, wanted).await;
        });
    }

    async fn ask_llm(
        self: &Arc<Self>,
        llm: &Llm,
        server: &str,
        batch: ToolBatch,
        wanted: Vec<usize>,
    ) {
        let deadline = Instant::now() + PATIENCE;
        let batch = Arc::new(batch);
        let asking = TaskTracker::new();
        let portions: Vec<Vec<usize>> = wanted.chunks(TOGETHER).map(<[usize]>::to_vec).collect();
        for portion in portions {
            let (own, llm, server) = (Arc::clone(self), llm.clone(), server.to_owned());
            let batch = Arc::clone(&batch);
            asking.spawn(async move {
                let asked = own.ask_llm_portion(&llm, &server, &batch, &portion);
                if tokio::time::timeout_at(deadline, asked).await.is_err() {
                    let (server, seconds) = (batch.server(), PATIENCE.as_secs());
                    tracing::warn!(
                        server,
                        "the language model did not answer within {seconds} s: the skills of the built-in \
                         model stay (see --llm-url)"
                    );
                }
            });
        }
        asking.close();
        asking.wait().await;
        self.wake.notify_one();
    }

    /// Keeps what the model says about these tools; nothing changes about others.
    pub(super) async fn ask_llm_portion(
        &self,
        llm: &Llm,
        server: &str,
        batch: &ToolBatch,
        portion: &[usize],
    ) {
        let described: Vec<ToolDescription<'_>> =
            portion.iter().filter_map(|at| batch.words(*at)).collect();
        let about = batch.described();
        let said = llm.classify(&batch.taxonomy, (about.name, about.description), &described).await;
        let verdicts = match said {
            Ok(verdicts) => verdicts,
            Err(why) => {
                let (server, tools) = (batch.server(), portion.len());
                tracing::warn!(
                    server,
                    tools,
                    "the language model (--llm-url) gives no usable answer, the skills of the built-in model \
                     stay: {why}"
                );
                return;
            }
        };
        let (mut records, mut suggestions) = (Vec::new(), Vec::new());
        // Not the batch's: a person may have changed it while the model was thinking.
        let taxonomy = self.index.taxonomy();
        for (at, verdict) in portion.iter().zip(verdicts) {
            let (Some(tool), Some(verdict)) = (batch.tools.get(*at), verdict) else { continue };
            let LlmVerdict { mut skills, suggested } = verdict;
            skills.retain(|(id, _)| taxonomy.get(id).is_some());
            if skills.is_empty() {
                continue;
            }
            let assigned = AssignedSkills { skills, source: SkillSource::Llm };
            let print = batch.fingerprint(*at, SkillSource::Llm);
            records.push(record_of(server, &tool.name, print, &assigned));
            suggestions.extend(suggested.map(|it| (tool.name.clone(), it)));
            self.index.set_tool_unless_by_hand(server, &tool.name, assigned);
        }
        self.keep(records).await;
        self.suggest(server, suggestions).await;
    }

    async fn suggest(&self, server: &str, suggestions: Vec<(String, SuggestedSkill)>) {
        let at = clock::now();
        let record = |(tool, it): (String, SuggestedSkill)| {
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
        let room = self.index.reserve_suggestions(server, suggestions.len(), MOST_SUGGESTIONS);
        let suggestions = suggestions.into_iter().take(room);
        let records: Vec<SuggestionRecord> = suggestions.filter_map(record).collect();
        if records.is_empty() {
            return;
        }
        let new = match self.store.suggest_skills(records).await {
            Ok(new) => usize::try_from(new).unwrap_or(room),
            Err(error) => {
                tracing::warn!(%error, "the store does not keep the suggested skills; they are lost");
                0
            }
        };
        self.index.give_back_suggestions(server, room.saturating_sub(new));
    }
}
