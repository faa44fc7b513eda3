//! `SkillIndex`: what is known about skills at one moment: which there are, which the tools have, and where
//! each of them points.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use trunkline_search::Vector;

use crate::skills::{AssignedSkills, Embeddings, SkillSource, Taxonomy};

#[derive(Debug, Default)]
pub(super) struct SkillIndex(Mutex<SkillIndexState>);

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
    prints: HashMap<String, [u8; 32]>,
}

/// A tool that was judged.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ClassifiedTool {
    pub(super) assigned: AssignedSkills,
    /// Where the tool points.
    pub(super) vector: Option<Vector>,
}

impl SkillIndex {
    pub(super) fn taxonomy(&self) -> Arc<Taxonomy> {
        Arc::clone(&self.0.lock().taxonomy)
    }

    pub(super) fn embeddings(&self) -> (Arc<Embeddings>, i64) {
        let pages = self.0.lock();
        (Arc::clone(&pages.embeddings), pages.made_at)
    }

    pub(super) fn of_tool(&self, server: &str, tool: &str) -> Option<AssignedSkills> {
        let pages = self.0.lock();
        pages.tools.get(server)?.get(tool).map(|known| known.assigned.clone())
    }

    /// Tells the skills of a server's tools from those it had before.
    pub(super) fn print(&self, server: &str) -> [u8; 32] {
        let mut pages = self.0.lock();
        if let Some(print) = pages.prints.get(server) {
            return *print;
        }
        let mut sum = Sha256::new();
        for (tool, known) in pages.tools.get(server).into_iter().flatten() {
            for part in [tool, &known.assigned.json().to_string()] {
                sum.update(part.len().to_le_bytes());
                sum.update(part);
            }
            sum.update(known.assigned.source.as_str());
        }
        let print = sum.finalize().into();
        pages.prints.insert(server.to_owned(), print);
        print
    }

    /// Of each tool that was judged: server's id, name, skills.
    pub(super) fn all(&self) -> Vec<(String, String, AssignedSkills)> {
        let pages = self.0.lock();
        let of_server = |(server, tools): (&String, &BTreeMap<String, ClassifiedTool>)| {
            let one = |(tool, known): (&String, &ClassifiedTool)| {
                (server.clone(), tool.clone(), known.assigned.clone())
            };
            tools.iter().map(one).collect::<Vec<_>>()
        };
        pages.tools.iter().flat_map(of_server).collect()
    }

    /// Is the store as it was when this was last asked?
    pub(super) fn is_marked(&self, mark: [i64; 4]) -> bool {
        self.0.lock().mark.replace(mark) == Some(mark)
    }

    /// Other skills, or others' skills: everything has to be looked at again.
    pub(super) fn set_taxonomy(&self, taxonomy: Taxonomy) {
        let mut pages = self.0.lock();
        pages.taxonomy = Arc::new(taxonomy);
        pages.read.clear();
        pages.is_stale = true;
    }

    /// Was this read of the server last?
    pub(super) fn has_read(&self, server: &str, digest: [u8; 32]) -> bool {
        self.0.lock().read.get(server) == Some(&digest)
    }

    /// The server's tools are these.
    pub(super) fn set_server(
        &self,
        server: &str,
        digest: [u8; 32],
        tools: BTreeMap<String, ClassifiedTool>,
    ) {
        let mut pages = self.0.lock();
        pages.read.insert(server.to_owned(), digest);
        pages.tools.insert(server.to_owned(), tools);
        pages.prints.remove(server);
        pages.is_stale = true;
    }

    pub(super) fn set_tool(&self, server: &str, tool: &str, assigned: AssignedSkills) {
        let mut pages = self.0.lock();
        let known = pages.tools.get_mut(server).and_then(|tools| tools.get_mut(tool));
        if let Some(known) = known {
            known.assigned = assigned;
            pages.prints.remove(server);
            pages.is_stale = true;
        }
    }

    /// Unless a person has spoken meanwhile.
    pub(super) fn set_tool_unless_by_hand(
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
    pub(super) fn reserve_suggestions(&self, server: &str, wanted: usize, most: usize) -> usize {
        let mut pages = self.0.lock();
        let taken = pages.suggested.entry(server.to_owned()).or_default();
        let room = wanted.min(most.saturating_sub(*taken));
        *taken += room;
        room
    }

    /// So many of them were no new ones.
    pub(super) fn give_back_suggestions(&self, server: &str, unused: usize) {
        if let Some(taken) = self.0.lock().suggested.get_mut(server) {
            *taken = taken.saturating_sub(unused);
        }
    }

    /// Has to be looked at again.
    pub(super) fn forget_reading(&self, server: &str) {
        self.0.lock().read.remove(server);
    }

    /// Forgets all servers but these.
    pub(super) fn keep_only(&self, is_there: impl Fn(&str) -> bool) {
        let mut pages = self.0.lock();
        let before = pages.tools.len();
        pages.tools.retain(|server, _| is_there(server));
        pages.read.retain(|server, _| is_there(server));
        pages.prints.retain(|server, _| is_there(server));
        pages.suggested.retain(|server, _| is_there(server));
        pages.is_stale |= pages.tools.len() < before;
    }

    /// Makes the embeddings anew of all tools, if anything has changed since they were. Takes a while
    /// where there are many.
    pub(super) fn make_embeddings(&self, now: i64) {
        let (taxonomy, tools) = {
            let mut pages = self.0.lock();
            if !std::mem::take(&mut pages.is_stale) {
                return;
            }
            let known = pages.tools.values().flat_map(BTreeMap::values);
            let pointing = known.filter_map(|it| Some((it.vector.clone()?, it.assigned.clone())));
            (Arc::clone(&pages.taxonomy), pointing.collect::<Vec<_>>())
        };
        let made = Embeddings::new(&taxonomy, tools.iter().map(|(at, skills)| (at, skills)));
        let mut pages = self.0.lock();
        pages.embeddings = Arc::new(made);
        pages.made_at = now;
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
        let book = SkillIndex::default();
        book.set_taxonomy(Taxonomy::new(&[]));
        book.make_embeddings(1);
        let before = book.embeddings().0;
        book.set_server("s", [1; 32], [("t".to_owned(), known)].into());
        book.make_embeddings(2);
        assert_ne!(book.embeddings().0, before);
        let print = book.print("s");
        let by_hand = AssignedSkills {
            skills: vec![("finance".to_owned(), 1.0)],
            source: SkillSource::Manual,
        };
        book.set_tool("s", "t", by_hand);
        assert_ne!(book.print("s"), print);
        book.make_embeddings(2);
        assert!(book.has_read("s", [1; 32]) && !book.has_read("s", [2; 32]));
        book.make_embeddings(3);
        assert_eq!(book.embeddings().1, 2, "nothing has changed");
        book.keep_only(|id| id != "s");
        book.make_embeddings(4);
        assert_eq!(book.embeddings(), (before, 4));
        assert!(!book.has_read("s", [1; 32]));
    }
}
