//! `Assembler`: assembles views beside the threads that move bytes, one after the other, where there is much to
//! assemble.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock, Weak};

use tokio::runtime::Handle;

use crate::lock::{Mutex, rank};
use crate::registry::View;

/// Servers and entries of their lists of which a view is assembled where it is asked for: some microseconds each. Where
/// there are more, that is done beside the threads that move bytes.
pub(crate) const ASSEMBLED_AT_ONCE: usize = 512;

#[derive(Debug, Default)]
pub(crate) struct Assembler {
    queue: Arc<AssemblyQueue>,
    /// Where views are assembled; empty: nowhere, so that whoever needs one does it.
    runtime: OnceLock<Handle>,
}

#[derive(Debug, Default)]
struct AssemblyQueue {
    // Held to put a view in or take one out: a reader of a view that is assembled does not wait for it.
    state: Mutex<QueueState, rank::AssemblyQueue>,
}

#[derive(Debug, Default)]
struct QueueState {
    // Weak: a view that nobody uses any more is not assembled. Each view is in it once.
    views: VecDeque<Weak<View>>,
    /// A thread takes views out.
    is_served: bool,
}

impl Assembler {
    /// From now on views are assembled on a thread of this runtime.
    pub(crate) fn open(&self, runtime: Handle) {
        self.runtime.get_or_init(|| runtime);
    }

    pub(super) fn is_open(&self) -> bool {
        self.runtime.get().is_some()
    }

    /// Has a view assembled soon, beside its reader. False: it is up to the reader.
    pub(super) fn accepts(&self, view: &Arc<View>) -> bool {
        let Some(runtime) = self.runtime.get() else { return false };
        let mut state = self.queue.state.lock();
        if !state.views.iter().any(|known| std::ptr::eq(known.as_ptr(), Arc::as_ptr(view))) {
            state.views.push_back(Arc::downgrade(view));
        }
        let is_idle = !std::mem::replace(&mut state.is_served, true);
        drop(state);
        if is_idle {
            let queue = Arc::clone(&self.queue);
            // One thread at a time: calls get the other processors. It ends with the queue.
            drop(runtime.spawn_blocking(move || queue.serve()));
        }
        true
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
        while let Some(view) = self.next() {
            // Before it begins: who waits for a later version has put it in again.
            let version = view.registry.version();
            if catch_unwind(AssertUnwindSafe(|| view.renew())).is_err() {
                tracing::error!(
                    "an internal error: a catalog could not be assembled; the one from before serves, if its settings \
                     still hold (please report this)"
                );
                view.fail(version);
            }
        }
    }

    fn next(&self) -> Option<Arc<View>> {
        let mut state = self.state.lock();
        while let Some(view) = state.views.pop_front() {
            if let Some(view) = view.upgrade() {
                return Some(view);
            }
        }
        // Under the lock in which it was found empty: a view that comes behind it begins anew.
        state.is_served = false;
        None
    }
}
