//! `Aside`: the large messages of one stream, handled beside the pump one after the other. To look through one takes as
//! long as thousands of small calls, which would wait.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tokio::runtime::Handle;

use crate::lock::{Mutex, rank};
use crate::pump::handle::SourceHandle;
use crate::pump::outbox::{FlushSet, Outbox};

/// A message at least this long is handled aside: a millisecond or more.
const ASIDE_FROM: usize = 1024 * 1024;

/// The reader's side of it.
#[derive(Debug)]
pub(crate) struct Aside {
    /// Where; `None`: nowhere, so that its reader does it.
    runtime: Option<Handle>,
    // Held to look at it or change it: nothing is handled under it.
    state: Arc<Mutex<AsideState, rank::AsideState>>,
    /// A message was handed over, and perhaps is still being handled.
    is_used: bool,
    /// The source is held, and nothing else will resume it.
    is_holding: bool,
}

#[derive(Default)]
struct AsideState {
    /// A message is being handled.
    is_busy: bool,
    /// What follows it: the stream has ended meanwhile.
    last: Option<LastWork>,
    /// What the last message was put into: the source waits for whoever does not read it.
    filled: Vec<Outbox>,
}

/// What is done when a stream has ended.
pub(crate) type LastWork = Box<dyn FnOnce(&mut FlushSet) + Send>;

impl std::fmt::Debug for AsideState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AsideState").field("is_busy", &self.is_busy).finish_non_exhaustive()
    }
}

impl Aside {
    /// Messages are handled on threads of the runtime that this is called on.
    pub(crate) fn new() -> Self {
        let runtime = Handle::try_current().ok();
        Self { runtime, state: Arc::default(), is_used: false, is_holding: false }
    }

    /// Is a message of so many bytes to be handled aside?
    pub(crate) fn takes(&self, length: usize) -> bool {
        length >= ASIDE_FROM && self.runtime.is_some()
    }

    /// Holds the source while a message is being handled. True: then its reader takes nothing until it is poked.
    pub(crate) fn hold_while_busy(&mut self, source: &SourceHandle) -> bool {
        // Nearly always: no lock is taken for small messages.
        if !self.is_used {
            return false;
        }
        let mut state = self.state.lock();
        let (is_busy, filled) = (state.is_busy, std::mem::take(&mut state.filled));
        drop(state);
        self.is_used = is_busy;
        if is_busy {
            // Somebody else may have resumed it: what comes must not gather here.
            source.hold();
            self.is_holding = true;
        } else if std::mem::take(&mut self.is_holding) {
            source.resume();
            filled.iter().for_each(|outbox| outbox.hold_if_crowded(source));
        }
        is_busy
    }

    /// Handles a message that it `takes`. Its reader takes nothing more, and is poked afterwards. `failed`: that, or what
    /// is done behind it when the stream has ended, has panicked.
    pub(crate) fn run(
        &mut self,
        source: &SourceHandle,
        work: impl FnOnce(&mut FlushSet) + Send + 'static,
        failed: impl Fn(&mut FlushSet) + Send + 'static,
    ) {
        let Some(runtime) = &self.runtime else { return };
        self.state.lock().is_busy = true;
        (self.is_used, self.is_holding) = (true, true);
        source.hold();
        let (state, source) = (Arc::clone(&self.state), source.clone());
        drop(runtime.spawn_blocking(move || {
            let mut touched = FlushSet::default();
            guarded(&mut touched, work, &failed);
            let filled = touched.outboxes().to_vec();
            touched.flush();
            // Whatever ends the stream comes behind its message.
            let last = {
                let mut state = state.lock();
                state.is_busy = state.last.is_some();
                state.filled = filled;
                state.last.take()
            };
            match last {
                Some(last) => {
                    guarded(&mut touched, last, &failed);
                    touched.flush();
                }
                None => source.poke(),
            }
        }));
    }

    /// The stream has ended: does this behind the message that is being handled. What is returned is to be done now.
    #[must_use]
    pub(crate) fn finish(&self, last: LastWork) -> Option<LastWork> {
        let mut state = self.state.lock();
        if !state.is_busy {
            return Some(last);
        }
        state.last = Some(last);
        None
    }
}

/// A panic ends the connection, and nothing else: whoever comes behind is not kept waiting.
fn guarded(
    touched: &mut FlushSet,
    work: impl FnOnce(&mut FlushSet),
    failed: &impl Fn(&mut FlushSet),
) {
    if catch_unwind(AssertUnwindSafe(|| work(touched))).is_ok() {
        return;
    }
    tracing::error!("an internal error ends one connection; the others go on (please report this)");
    if catch_unwind(AssertUnwindSafe(|| failed(touched))).is_err() {
        tracing::error!("an internal error while a connection is ended (please report this)");
    }
}
