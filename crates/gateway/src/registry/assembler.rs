//! `Assembler`: assembles views beside the threads that move bytes, where there is much to assemble: a few at a time,
//! and those first without which somebody cannot be served.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock, Weak};

use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use crate::lock::{Mutex, rank};
use crate::registry::View;

/// Servers and entries of their lists of which a view is assembled where it is asked for: some microseconds each. Where
/// there are more, that is done beside the threads that move bytes.
pub(crate) const ASSEMBLED_AT_ONCE: usize = 512;

/// Threads that assemble views, at most: half of the processors are left to calls.
const MOST_WORKERS: usize = 4;

/// Views at a time that are assembled on threads of their own, because those who need them have waited long.
const MOST_HURRIED: usize = 2;

#[derive(Debug, Default)]
pub(crate) struct Assembler {
    queue: Arc<AssemblyQueue>,
    hurried: HurriedPlaces,
    /// Where views are assembled; empty: nowhere, so that whoever needs one does it.
    runtime: OnceLock<Handle>,
}

#[derive(Debug)]
struct HurriedPlaces(Semaphore);

impl Default for HurriedPlaces {
    fn default() -> Self {
        Self(Semaphore::new(MOST_HURRIED))
    }
}

#[derive(Debug, Default)]
struct AssemblyQueue {
    // Held to put a view in or take one out: a reader of a view that is assembled does not wait for it.
    state: Mutex<QueueState, rank::AssemblyQueue>,
}

#[derive(Debug, Default)]
struct QueueState {
    // Weak: a view that nobody uses any more is not assembled. Each view is in one of the first two, once.
    /// Nothing of these may be served until they are assembled: they go first.
    urgent: VecDeque<Weak<View>>,
    /// What there was before serves meanwhile.
    others: VecDeque<Weak<View>>,
    /// A worker is at them: no second one waits for it.
    renewing: Vec<Weak<View>>,
    /// They have threads of their own.
    hurried: Vec<Weak<View>>,
    /// Threads that take views out.
    workers: usize,
}

impl Assembler {
    /// From now on views are assembled on threads of this runtime.
    pub(crate) fn open(&self, runtime: Handle) {
        self.runtime.get_or_init(|| runtime);
    }

    pub(super) fn is_open(&self) -> bool {
        self.runtime.get().is_some()
    }

    /// Has a view assembled soon, beside its reader. False: it is up to the reader.
    pub(super) fn accepts(&self, view: &Arc<View>) -> bool {
        let Some(runtime) = self.runtime.get() else { return false };
        // Before the lock: it looks at the servers.
        let is_urgent = view.must_be_awaited();
        let mut state = self.queue.state.lock();
        state.put(view, is_urgent);
        let begins = state.workers < most_workers();
        state.workers += usize::from(begins);
        drop(state);
        if begins {
            let queue = Arc::clone(&self.queue);
            // It ends with the queue.
            drop(runtime.spawn_blocking(move || queue.serve()));
        }
        true
    }

    /// Assembles a view on a thread of its own, for somebody who does not wait for the others any longer. Whoever comes
    /// while that is done waits for it. False: it failed.
    pub(crate) async fn hurry(view: &Arc<View>) -> bool {
        let assembler = &view.registry.assembler;
        match HurriedView::take(&assembler.queue, view) {
            Some(hurried) => {
                let _place = assembler.hurried.0.acquire().await;
                if view.must_be_awaited() {
                    let assemble = move |view: Arc<View>| drop((view.report(), hurried));
                    let view = Arc::clone(view);
                    return spawn_blocking(move || assemble(view)).await.is_ok();
                }
            }
            None => Arc::clone(view).assembled().await,
        }
        !view.must_be_awaited()
    }
}

fn most_workers() -> usize {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    (processors / 2).clamp(1, MOST_WORKERS)
}

impl QueueState {
    fn put(&mut self, view: &Arc<View>, is_urgent: bool) {
        let place = |queue: &VecDeque<Weak<View>>| {
            queue.iter().position(|known| std::ptr::eq(known.as_ptr(), Arc::as_ptr(view)))
        };
        if place(&self.urgent).is_some() {
            return;
        }
        match (is_urgent, place(&self.others)) {
            (true, at) => {
                at.and_then(|at| self.others.remove(at));
                self.urgent.push_back(Arc::downgrade(view));
            }
            (false, None) => self.others.push_back(Arc::downgrade(view)),
            (false, Some(_)) => {}
        }
    }

    /// The next one that no worker is at.
    fn take(&mut self) -> Option<Arc<View>> {
        for queue in [&mut self.urgent, &mut self.others] {
            let is_free = |view: &Weak<View>| !self.renewing.iter().any(|known| known.ptr_eq(view));
            while let Some(at) = queue.iter().position(is_free) {
                if let Some(view) = queue.remove(at).as_ref().and_then(Weak::upgrade) {
                    self.renewing.push(Arc::downgrade(&view));
                    return Some(view);
                }
            }
        }
        None
    }
}

/// A view that has a thread of its own, until this is dropped.
struct HurriedView {
    queue: Arc<AssemblyQueue>,
    view: Weak<View>,
}

impl HurriedView {
    /// `None`: it has one already.
    fn take(queue: &Arc<AssemblyQueue>, view: &Arc<View>) -> Option<Self> {
        let mut state = queue.state.lock();
        let view = Arc::downgrade(view);
        if state.hurried.iter().any(|known| known.ptr_eq(&view)) {
            return None;
        }
        state.hurried.push(Weak::clone(&view));
        drop(state);
        Some(Self { queue: Arc::clone(queue), view })
    }
}

impl Drop for HurriedView {
    fn drop(&mut self) {
        self.queue.state.lock().hurried.retain(|known| !known.ptr_eq(&self.view));
    }
}

/// Where a test lets each assembly go on.
static TEST_PIPE: OnceLock<PathBuf> = OnceLock::new();

/// For tests: whoever assembles a large view waits until somebody writes to this named pipe, if it is there.
/// A release build does not do it.
pub fn hold_assemblies(pipe: PathBuf) {
    if cfg!(debug_assertions) {
        TEST_PIPE.get_or_init(|| pipe);
    }
}

pub(super) fn wait_for_test() {
    if let Some(pipe) = TEST_PIPE.get() {
        drop(std::fs::read(pipe)); // an error: there is none (any more)
    }
}

impl AssemblyQueue {
    fn serve(&self) {
        let mut done = None;
        while let Some(view) = self.next(done.take()) {
            // Before it begins: who waits for a later version has put it in again.
            let version = view.registry.version();
            if catch_unwind(AssertUnwindSafe(|| view.renew())).is_err() {
                tracing::error!(
                    "an internal error: a catalog could not be assembled; the one from before serves, if its settings \
                     still hold (please report this)"
                );
                view.fail(version);
            }
            done = Some(Arc::downgrade(&view));
        }
    }

    /// `done`: what this worker was at.
    fn next(&self, done: Option<Weak<View>>) -> Option<Arc<View>> {
        let mut state = self.state.lock();
        if let Some(done) = done {
            state.renewing.retain(|known| !known.ptr_eq(&done));
        }
        let next = state.take();
        // Under the lock in which nothing was found: a view that comes behind it begins anew, and one that another
        // worker is at is looked for by that one.
        state.workers -= usize::from(next.is_none());
        next
    }
}

#[cfg(test)]
mod tests {
    use trunkline_catalog::name::Naming;

    use super::*;
    use crate::registry::Registry;

    #[test]
    fn what_somebody_cannot_be_served_without_goes_first_and_to_one_worker() {
        let registry = Arc::new(Registry::new(Arc::default()));
        let view = || Arc::new(View::new(Arc::clone(&registry), Naming::default()));
        let [one, two, three] = [view(), view(), view()];
        let queue = Arc::<AssemblyQueue>::default();
        let mut state = queue.state.lock();
        state.workers = 1;
        for (view, is_urgent) in
            [(&one, false), (&two, true), (&three, false), (&three, true), (&two, false)]
        {
            state.put(view, is_urgent);
        }
        for expected in [&two, &three, &one] {
            assert!(state.take().is_some_and(|view| Arc::ptr_eq(&view, expected)));
        }
        assert!(state.take().is_none(), "each is in it once");
        state.put(&two, true);
        assert!(state.take().is_none(), "a worker is at it");
        drop(state);
        let next = queue.next(Some(Arc::downgrade(&two)));
        assert!(next.is_some_and(|view| Arc::ptr_eq(&view, &two)));
        assert!(queue.next(Some(Arc::downgrade(&two))).is_none());
        assert_eq!(queue.state.lock().workers, 0);
    }

    #[test]
    fn a_view_has_one_thread_of_its_own_however_many_wait_for_it() {
        let registry = Arc::new(Registry::new(Arc::default()));
        let view = || Arc::new(View::new(Arc::clone(&registry), Naming::default()));
        let (one, other) = (view(), view());
        let queue = Arc::default();
        let held = HurriedView::take(&queue, &one);
        assert!(held.is_some() && HurriedView::take(&queue, &one).is_none());
        assert!(HurriedView::take(&queue, &other).is_some());
        drop(held);
        assert!(HurriedView::take(&queue, &one).is_some());
    }
}
