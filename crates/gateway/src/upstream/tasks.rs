//! Which server each task is with: what is said about one later is for the same server.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::limits::KNOWN_TASKS;

#[derive(Debug, Default)]
pub(crate) struct Tasks(Mutex<Known>);

/// The oldest are forgotten first.
#[derive(Debug, Default)]
struct Known {
    owners: HashMap<String, Arc<str>>,
    order: VecDeque<String>,
}

impl Tasks {
    pub(super) fn remember(&self, task: String, server: &Arc<str>) {
        let mut known = self.0.lock();
        if known.owners.insert(task.clone(), Arc::clone(server)).is_none() {
            known.order.push_back(task);
        }
        if known.order.len() > KNOWN_TASKS
            && let Some(oldest) = known.order.pop_front()
        {
            known.owners.remove(&oldest);
        }
    }

    /// The id of the server that has this task.
    pub(crate) fn owner(&self, task: &str) -> Option<Arc<str>> {
        self.0.lock().owners.get(task).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_are_forgotten() {
        let (tasks, server) = (Tasks::default(), Arc::from("a"));
        for number in 0..=KNOWN_TASKS {
            tasks.remember(number.to_string(), &server);
        }
        assert_eq!(tasks.owner("0"), None);
        assert_eq!(tasks.owner("1"), Some(Arc::clone(&server)));
        assert_eq!(tasks.owner(&KNOWN_TASKS.to_string()), Some(server));
    }
}
