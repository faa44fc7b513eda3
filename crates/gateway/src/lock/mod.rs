//! Locks with a rank: debug builds panic where a thread takes two in the wrong order.

pub(crate) mod rank;

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use crate::lock::rank::Rank;

/// A lock for short sections without `await`. `R` is its place in the table of `rank`: a thread that
/// holds a lock may take only those below it in the table. In release builds it is the plain lock.
pub(crate) struct Mutex<T, R> {
    lock: parking_lot::Mutex<T>,
    rank: PhantomData<R>,
}

/// A lock that many may read behind at a time.
pub(crate) struct RwLock<T, R> {
    lock: parking_lot::RwLock<T>,
    rank: PhantomData<R>,
}

impl<T, R: Rank> Mutex<T, R> {
    pub(crate) const fn new(value: T) -> Self {
        Self { lock: parking_lot::Mutex::new(value), rank: PhantomData }
    }

    #[inline]
    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        // Checked before the lock is waited for: a deadlock would never get to a check behind it.
        let held = order::take::<R>();
        Guard { guard: self.lock.lock(), _held: held }
    }

    pub(crate) fn get_mut(&mut self) -> &mut T {
        self.lock.get_mut()
    }
}

impl<T, R: Rank> RwLock<T, R> {
    pub(crate) const fn new(value: T) -> Self {
        Self { lock: parking_lot::RwLock::new(value), rank: PhantomData }
    }

    pub(crate) fn read(&self) -> Guard<parking_lot::RwLockReadGuard<'_, T>> {
        let held = order::take::<R>();
        Guard { guard: self.lock.read(), _held: held }
    }

    pub(crate) fn write(&self) -> Guard<parking_lot::RwLockWriteGuard<'_, T>> {
        let held = order::take::<R>();
        Guard { guard: self.lock.write(), _held: held }
    }
}

impl<T: Default, R: Rank> Default for Mutex<T, R> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T: Default, R> Default for RwLock<T, R> {
    fn default() -> Self {
        Self { lock: parking_lot::RwLock::default(), rank: PhantomData }
    }
}

impl<T: fmt::Debug, R> fmt::Debug for Mutex<T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lock.fmt(f)
    }
}

impl<T: fmt::Debug, R> fmt::Debug for RwLock<T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lock.fmt(f)
    }
}

pub(crate) type MutexGuard<'a, T> = Guard<parking_lot::MutexGuard<'a, T>>;

/// The value behind a lock, until it is dropped.
#[derive(Debug)]
pub(crate) struct Guard<G> {
    guard: G,
    _held: order::HeldRank,
}

impl<G: Deref> Deref for Guard<G> {
    type Target = G::Target;

    #[inline]
    fn deref(&self) -> &G::Target {
        &self.guard
    }
}

impl<G: DerefMut> DerefMut for Guard<G> {
    #[inline]
    fn deref_mut(&mut self) -> &mut G::Target {
        &mut self.guard
    }
}

/// The check of debug builds: which locks this thread holds.
#[cfg(debug_assertions)]
mod order {
    use std::cell::RefCell;

    use crate::lock::rank::Rank;

    thread_local! {
        static HELD: RefCell<Vec<(u8, &'static str)>> = const { RefCell::new(Vec::new()) };
    }

    /// Notes that a lock is taken. Panics if one of the same or a lower place in the table is held.
    pub(super) fn take<R: Rank>() -> HeldRank {
        let before = HELD.with_borrow_mut(|held| {
            let before = held.iter().copied().filter(|(place, _)| *place >= R::PLACE).max();
            if before.is_none() {
                held.push((R::PLACE, R::NAME));
            }
            before
        });
        // A panic that unwinds may find locks in any order: a second one would end the process.
        if let Some((_, before)) = before
            && !std::thread::panicking()
        {
            wrong_order(R::NAME, before);
        }
        HeldRank { place: before.is_none().then_some(R::PLACE) }
    }

    #[cold]
    #[expect(clippy::panic, reason = "debug builds only: a test has to fail here")]
    fn wrong_order(taken: &str, held: &str) {
        panic!("the lock `{taken}` is taken while `{held}` is held: see gateway/src/lock/rank.rs");
    }

    #[derive(Debug)]
    pub(super) struct HeldRank {
        place: Option<u8>,
    }

    impl Drop for HeldRank {
        fn drop(&mut self) {
            // By its place and not from the top: guards may be dropped in any order.
            HELD.with_borrow_mut(|held| held.retain(|(place, _)| Some(*place) != self.place));
        }
    }
}

/// In release builds there is nothing to be done.
#[cfg(not(debug_assertions))]
mod order {
    #[derive(Debug)]
    pub(super) struct HeldRank;

    #[inline]
    pub(super) const fn take<R>() -> HeldRank {
        HeldRank
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    #[test]
    fn locks_are_taken_downwards_in_the_table() {
        let calls: Mutex<u8, rank::OpenCalls> = Mutex::new(1);
        let queue: Mutex<u8, rank::OutboxQueue> = Mutex::new(2);
        let (first, second) = (calls.lock(), queue.lock());
        assert_eq!(*first + *second, 3);
        drop(first); // in the order they were taken, and again
        drop(second);
        let (first, second) = (calls.lock(), queue.lock());
        drop((second, first));
        drop(queue.lock());
        drop(calls.lock());
    }

    #[test]
    fn a_wrong_order_names_both_locks() {
        let calls: Mutex<(), rank::OpenCalls> = Mutex::default();
        let queue: Mutex<(), rank::OutboxQueue> = Mutex::default();
        let other: Mutex<(), rank::OutboxQueue> = Mutex::default();
        let message = |wrong: &dyn Fn()| {
            let panic = catch_unwind(AssertUnwindSafe(wrong)).unwrap_err();
            panic.downcast_ref::<String>().unwrap().clone()
        };
        let backwards = message(&|| {
            let _queue = queue.lock();
            drop(calls.lock());
        });
        assert!(backwards.contains("`OpenCalls`") && backwards.contains("`OutboxQueue`"));
        let twice = message(&|| {
            let _queue = queue.lock();
            drop(other.lock());
        });
        assert!(twice.contains("`OutboxQueue` is taken while `OutboxQueue`"));
        // What was held when it panicked is held no longer.
        drop(calls.lock());
        drop(queue.lock());
    }
}
