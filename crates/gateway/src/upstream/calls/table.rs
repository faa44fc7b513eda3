//! What is open under numbers that count up: nearly all of it is recent, and found by counting.

use std::collections::{HashMap, VecDeque};

use foldhash::fast::RandomState;

/// Things under numbers. The recent ones lie in a row, so that finding one is a subtraction; those
/// that outlast thousands of younger ones move to a map.
#[derive(Debug)]
pub(in crate::upstream) struct CallTable<T> {
    /// Those numbered from `first` on, without a gap: `None` is over, or never was.
    recent: VecDeque<Option<T>>,
    first: u32,
    old: HashMap<u32, T, RandomState>,
    len: usize,
}

/// The row is at most this long.
const ROW: usize = 512;

/// Room kept when nothing is open any more.
const KEPT_CAPACITY: usize = 1024;

impl<T> Default for CallTable<T> {
    fn default() -> Self {
        Self { recent: VecDeque::new(), first: 0, old: HashMap::default(), len: 0 }
    }
}

impl<T> CallTable<T> {
    pub(in crate::upstream) fn len(&self) -> usize {
        self.len
    }

    fn place(&self, number: u32) -> Option<usize> {
        let place = usize::try_from(number.checked_sub(self.first)?).ok()?;
        (place < self.recent.len()).then_some(place)
    }

    pub(in crate::upstream) fn get(&self, number: u32) -> Option<&T> {
        match self.place(number) {
            Some(place) => self.recent.get(place)?.as_ref(),
            None => self.old.get(&number),
        }
    }

    pub(in crate::upstream) fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        match self.place(number) {
            Some(place) => self.recent.get_mut(place)?.as_mut(),
            None => self.old.get_mut(&number),
        }
    }

    /// Notes it under a number that nothing is open under.
    #[inline]
    pub(in crate::upstream) fn insert(&mut self, number: u32, value: T) {
        self.len += 1;
        if self.recent.is_empty() {
            self.first = number;
        }
        let place = number.checked_sub(self.first).and_then(|place| usize::try_from(place).ok());
        match place.filter(|place| (self.recent.len()..ROW).contains(place)) {
            Some(place) => {
                self.recent.resize_with(place, || None);
                self.recent.push_back(Some(value));
            }
            None => self.insert_elsewhere(number, value),
        }
    }

    /// It is not next in the row, or the row is full.
    #[cold]
    fn insert_elsewhere(&mut self, number: u32, value: T) {
        if self.place(number).is_some() {
            self.old.insert(number, value); // numbers went round
            return;
        }
        let row = std::mem::take(&mut self.recent);
        let numbered = (self.first..).zip(row);
        self.old.extend(numbered.filter_map(|(number, value)| Some((number, value?))));
        self.first = number;
        self.recent.push_back(Some(value));
    }

    #[inline]
    pub(in crate::upstream) fn remove(&mut self, number: u32) -> Option<T> {
        let removed = match self.place(number) {
            Some(place) => self.recent.get_mut(place).and_then(Option::take),
            None => None,
        };
        let removed = match removed {
            Some(removed) => removed,
            None => self.old.remove(&number)?,
        };
        self.len -= 1;
        while let Some(None) = self.recent.front() {
            self.recent.pop_front();
            self.first += 1;
        }
        if self.len == 0 && self.recent.capacity() + self.old.capacity() > KEPT_CAPACITY {
            self.recent.shrink_to(0);
            self.old.shrink_to(0);
        }
        Some(removed)
    }

    pub(in crate::upstream) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        let recent = (self.first..).zip(&self.recent);
        let recent = recent.filter_map(|(number, value)| Some((number, value.as_ref()?)));
        recent.chain(self.old.iter().map(|(number, value)| (*number, value)))
    }

    /// Everything; nothing stays.
    pub(in crate::upstream) fn take(&mut self) -> Vec<(u32, T)> {
        let Self { recent, first, old, .. } = std::mem::take(self);
        let recent = (first..).zip(recent);
        recent.filter_map(|(number, value)| Some((number, value?))).chain(old).collect()
    }

    #[cfg(test)]
    pub(in crate::upstream) fn capacity(&self) -> usize {
        self.recent.capacity() + self.old.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thing that knows its number, among everything that is open.
    fn check(open: &CallTable<u32>, expected: &[u32]) {
        let mut all: Vec<u32> = open
            .iter()
            .map(|(number, value)| {
                assert_eq!(number, *value);
                number
            })
            .collect();
        all.sort_unstable();
        assert_eq!(all, expected);
        assert_eq!(open.len(), expected.len());
        for number in expected {
            assert_eq!(open.get(*number), Some(number));
        }
    }

    #[test]
    fn what_is_removed_is_gone_and_nothing_else() {
        let mut open = CallTable::default();
        for number in [100, 101, 103, 104] {
            open.insert(number, number);
        }
        check(&open, &[100, 101, 103, 104]);
        assert_eq!(open.get(102), None);
        assert_eq!((open.remove(102), open.remove(99), open.remove(105)), (None, None, None));
        assert_eq!(open.remove(101), Some(101));
        assert_eq!(open.remove(101), None);
        assert_eq!(open.remove(100), Some(100));
        check(&open, &[103, 104]);
        *open.get_mut(104).unwrap() = 104;
        assert_eq!(open.take().len(), 2);
        check(&open, &[]);
    }

    #[test]
    fn what_lasts_does_not_keep_the_row_long() {
        let mut open = CallTable::default();
        open.insert(1, 1);
        for number in 2..50_000 {
            open.insert(number, number);
            assert_eq!(open.remove(number), Some(number));
            assert!(open.recent.len() <= ROW);
        }
        check(&open, &[1]);
        open.insert(60_000, 60_000);
        check(&open, &[1, 60_000]);
        assert_eq!(open.remove(1), Some(1));
        check(&open, &[60_000]);
    }

    #[test]
    fn numbers_may_begin_again() {
        let mut open = CallTable::default();
        for number in [7, 8, 9, 2, 3, 8_000, 4] {
            open.insert(number, number);
        }
        check(&open, &[2, 3, 4, 7, 8, 9, 8_000]);
        open.insert(5, 5);
        for number in [2, 3, 4, 5, 7, 8, 9, 8_000] {
            assert_eq!(open.remove(number), Some(number));
        }
        check(&open, &[]);
    }

    #[test]
    fn a_burst_is_given_back() {
        let mut open = CallTable::default();
        for number in 0..20_000 {
            open.insert(number, number);
        }
        assert_eq!(open.len(), 20_000);
        for number in (0..20_000).rev() {
            assert_eq!(open.remove(number), Some(number));
        }
        assert!(open.capacity() <= KEPT_CAPACITY);
    }
}
