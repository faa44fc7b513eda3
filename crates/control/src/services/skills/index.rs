//! `SkillIndex`: which skills there are, which of them each tool has, and the embedding of each skill.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use trunkline_search::Vector;

use crate::skills::{AssignedSkills, Embeddings, SkillSource, Taxonomy};

/// A leaf lock around all of it: embeddings, which take a while, are made outside.
#[derive(Debug, Default)]
pub(crate) struct SkillIndex(Mutex<SkillIndexState>);

#[derive(Debug, Default)]
struct SkillIndexState {
    taxonomy: Arc<Taxonomy>,
    /// By the server's id and its own name for the tool.
    tools: BTreeMap<String, BTreeMap<String, ClassifiedTool>>,
    embeddings: Arc<Embeddings>,
    /// When the embeddings were last made.
    made_at: i64,
    /// Something has changed since.
    is_stale: bool,
    /// What of each server was read last.
    read: HashMap<String, [u8; 32]>,
    /// What the store said then.
    mark: Option<[i64; 4]>,
    /// How many skills were suggested for each server's tools.
    suggested: HashMap<String, usize>,
    /// A digest of the skills of each server's tools, made when it is asked for.
    digests: HashMap<String, [u8; 32]>,
}

/// A tool that was judged.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ClassifiedTool {
    pub(crate) assigned: AssignedSkills,
    /// Where the tool points.
    pub(crate) vector: Option<Vector>,
}

impl SkillIndex {
    pub(crate) fn taxonomy(&self) -> Arc<Taxonomy> {
        Arc::clone(&self.0.lock().taxonomy)
    }

    pub(crate) fn embeddings(&self) -> (Arc<Embeddings>, i64) {
        let state = self.0.lock();
        (Arc::clone(&state.embeddings), state.made_at)
    }

    pub(crate) fn of_tool(&self, server: &str, tool: &str) -> Option<AssignedSkills> {
        let state = self.0.lock();
        state.tools.get(server)?.get(tool).map(|known| known.assigned.clone())
    }

    /// A digest of the skills of a server's tools.
    pub(crate) fn digest_of(&self, server: &str) -> [u8; 32] {
        let mut state = self.0.lock();
        if let Some(digest) = state.digests.get(server) {
            return *digest;
        }
        let mut sum = Sha256::new();
        for (tool, known) in state.tools.get(server).into_iter().flatten() {
            for part in [tool, &known.assigned.json().to_string()] {
                sum.update(part.len().to_le_bytes());
                sum.update(part);
            }
            sum.update(known.assigned.source.as_str());
        }
        let digest = sum.finalize().into();
        state.digests.insert(server.to_owned(), digest);
        digest
    }

    /// Of each tool that was judged: server's id, name, skills.
    pub(crate) fn all(&self) -> Vec<(String, String, AssignedSkills)> {
        let state = self.0.lock();
        let of_server = |(server, tools): (&String, &BTreeMap<String, ClassifiedTool>)| {
            let one = |(tool, known): (&String, &ClassifiedTool)| {
                (server.clone(), tool.clone(), known.assigned.clone())
            };
            tools.iter().map(one).collect::<Vec<_>>()
        };
        state.tools.iter().flat_map(of_server).collect()
    }

    /// Notes the version of the store's skills. True: it is another one than the last time.
    pub(crate) fn note_mark(&self, mark: [i64; 4]) -> bool {
        self.0.lock().mark.replace(mark) != Some(mark)
    }

    /// Other skills, or others' skills: everything has to be looked at again.
    pub(crate) fn set_taxonomy(&self, taxonomy: Taxonomy) {
        let mut state = self.0.lock();
        state.taxonomy = Arc::new(taxonomy);
        state.read.clear();
        state.is_stale = true;
    }

    /// Was this read of the server last?
    pub(crate) fn has_read(&self, server: &str, digest: [u8; 32]) -> bool {
        self.0.lock().read.get(server) == Some(&digest)
    }

    /// The server's tools are these.
    pub(crate) fn set_server(
        &self,
        server: &str,
        digest: [u8; 32],
        tools: BTreeMap<String, ClassifiedTool>,
    ) {
        let mut state = self.0.lock();
        state.read.insert(server.to_owned(), digest);
        state.tools.insert(server.to_owned(), tools);
        state.digests.remove(server);
        state.is_stale = true;
    }

    pub(crate) fn set_tool(&self, server: &str, tool: &str, assigned: AssignedSkills) {
        let mut state = self.0.lock();
        let known = state.tools.get_mut(server).and_then(|tools| tools.get_mut(tool));
        if let Some(known) = known {
            known.assigned = assigned;
            state.digests.remove(server);
            state.is_stale = true;
        }
    }

    /// Unless a person has set them meanwhile.
    pub(crate) fn set_tool_unless_by_hand(
        &self,
        server: &str,
        tool: &str,
        assigned: AssignedSkills,
    ) {
        let held = self.of_tool(server, tool);
        if held.is_none_or(|held| held.source != SkillSource::Manual) {
            self.set_tool(server, tool, assigned);
        }
    }

    /// How many of the `wanted` suggestions for a server's tools there is room for; it is taken.
    pub(crate) fn reserve_suggestions(&self, server: &str, wanted: usize, most: usize) -> usize {
        let mut state = self.0.lock();
        let taken = state.suggested.entry(server.to_owned()).or_default();
        // Taken at once: portions of one server ask side by side.
        let room = wanted.min(most.saturating_sub(*taken));
        *taken += room;
        room
    }

    /// So many of them were no new ones.
    pub(crate) fn give_back_suggestions(&self, server: &str, unused: usize) {
        if let Some(taken) = self.0.lock().suggested.get_mut(server) {
            *taken = taken.saturating_sub(unused);
        }
    }

    /// Has to be looked at again.
    pub(crate) fn forget_reading(&self, server: &str) {
        self.0.lock().read.remove(server);
    }

    /// Forgets all servers but these.
    pub(crate) fn keep_only(&self, is_there: impl Fn(&str) -> bool) {
        let mut state = self.0.lock();
        let before = state.tools.len();
        state.tools.retain(|server, _| is_there(server));
        state.read.retain(|server, _| is_there(server));
        state.digests.retain(|server, _| is_there(server));
        state.suggested.retain(|server, _| is_there(server));
        state.is_stale |= state.tools.len() < before;
    }

    /// Makes the embeddings anew of all tools, if anything has changed since they were. Takes a while
    /// where there are many.
    pub(crate) fn make_embeddings(&self, now: i64) {
        let (taxonomy, tools) = {
            let mut state = self.0.lock();
            if !std::mem::take(&mut state.is_stale) {
                return;
            }
            let known = state.tools.values().flat_map(BTreeMap::values);
            let pointing = known.filter_map(|it| Some((it.vector.clone()?, it.assigned.clone())));
            (Arc::clone(&state.taxonomy), pointing.collect::<Vec<_>>())
        };
        // Without the lock: REST and the classification go on meanwhile.
        let made = Embeddings::new(&taxonomy, tools.iter().map(|(at, skills)| (at, skills)));
        let mut state = self.0.lock();
        state.embeddings = Arc::new(made);
        state.made_at = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_gone_takes_its_tools_out_of_the_embeddings() {
        let model = trunkline_search::Model::embedded().unwrap();
        let known = ClassifiedTool {
            assigned: AssignedSkills {
                skills: vec![("database".to_owned(), 0.8)],
                source: SkillSource::Head,
            },
            vector: model.embed("an abacus of amber beads"),
        };
        let index = SkillIndex::default();
        index.set_taxonomy(Taxonomy::new(&[]));
        index.make_embeddings(1);
        let before = index.embeddings().0;
        index.set_server("s", [1; 32], [("t".to_owned(), known)].into());
        index.make_embeddings(2);
        assert_ne!(index.embeddings().0, before);
        let digest = index.digest_of("s");
        let by_hand = AssignedSkills {
            skills: vec![("finance".to_owned(), 1.0)],
            source: SkillSource::Manual,
        };
        index.set_tool("s", "t", by_hand);
        assert_ne!(index.digest_of("s"), digest);
        index.make_embeddings(2);
        assert!(index.has_read("s", [1; 32]) && !index.has_read("s", [2; 32]));
        index.make_embeddings(3);
        assert_eq!(index.embeddings().1, 2, "nothing has changed");
        index.keep_only(|id| id != "s");
        index.make_embeddings(4);
        assert_eq!(index.embeddings(), (before, 4));
        assert!(!index.has_read("s", [1; 32]));
    }
}
