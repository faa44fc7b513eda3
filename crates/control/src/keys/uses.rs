//! When keys were last used: remembered at each use, written down now and then.

use std::collections::HashMap;

use crate::access::KeyId;

/// A key that is used all the time is written down this often (ms).
const EVERY: i64 = 60_000;

#[derive(Debug, Default)]
pub(super) struct Uses(HashMap<KeyId, Used>);

#[derive(Debug, Clone, Copy)]
struct Used {
    last: i64,
    written: Option<i64>,
}

impl Uses {
    pub(super) fn note(&mut self, id: &KeyId, now: i64) {
        match self.0.get_mut(id) {
            Some(used) => used.last = used.last.max(now),
            None => {
                self.0.insert(id.clone(), Used { last: now, written: None });
            }
        }
    }

    /// When it was last used, if that is not long ago.
    pub(super) fn last(&self, id: &KeyId) -> Option<i64> {
        self.0.get(id).map(|used| used.last)
    }

    /// Those to be written down now. A key that was not used since is forgotten, so that the list
    /// does not grow.
    pub(super) fn due(&mut self, now: i64) -> Vec<(String, i64)> {
        self.0.retain(|_, used| used.written != Some(used.last) || now < used.last + EVERY);
        let due = |used: &Used| match used.written {
            Some(written) => used.last > written && now >= written + EVERY,
            None => true,
        };
        let due = self.0.iter().filter(|(_, used)| due(used));
        due.map(|(id, used)| (id.to_string(), used.last)).collect()
    }

    /// All that is not written down yet: at the end.
    pub(super) fn unwritten(&self) -> Vec<(String, i64)> {
        let open = self.0.iter().filter(|(_, used)| used.written != Some(used.last));
        open.map(|(id, used)| (id.to_string(), used.last)).collect()
    }

    pub(super) fn wrote(&mut self, uses: &[(String, i64)]) {
        for (id, at) in uses {
            if let Some(used) = KeyId::read(id).and_then(|id| self.0.get_mut(&id)) {
                used.written = Some(*at);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_use_is_written_at_once_and_then_once_a_minute() {
        let id = KeyId::read("abcdefghij").unwrap();
        let written = |at| vec![("abcdefghij".to_owned(), at)];
        let mut uses = Uses::default();
        assert_eq!(uses.due(0), []);
        uses.note(&id, 1_000);
        assert_eq!(uses.due(1_000), written(1_000));
        assert_eq!(uses.due(1_000), written(1_000), "not written yet");
        uses.wrote(&written(1_000));
        assert_eq!(uses.due(1_000), []);
        uses.note(&id, 2_000);
        uses.note(&id, 1_500);
        assert_eq!(uses.due(60_999), []);
        assert_eq!(uses.unwritten(), written(2_000));
        assert_eq!(uses.due(61_000), written(2_000));
        uses.wrote(&written(2_000));
        assert_eq!(uses.due(61_000), []);
        assert_eq!(uses.due(200_000), []);
        assert!(uses.0.is_empty(), "forgotten");
    }
}
