//! `Background`: the parent of every task of the control plane, and the signal that ends them.

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Cheap to clone; all clones are one.
#[derive(Debug, Clone, Default)]
pub struct Background {
    tasks: TaskTracker,
    end: CancellationToken,
}

impl Background {
    /// Where work for requests is done: shutdown waits for it.
    pub fn tasks(&self) -> &TaskTracker {
        &self.tasks
    }

    /// Cancelled when the control plane shuts down.
    pub fn end(&self) -> &CancellationToken {
        &self.end
    }

    /// Runs a task that watches `end` itself.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(task);
    }

    /// Runs a task that is dropped where it stands when the control plane shuts down.
    pub(super) fn spawn_until_end(&self, task: impl Future<Output = ()> + Send + 'static) {
        let end = self.end.clone();
        self.tasks.spawn(async move {
            tokio::select! {
                // Cancellation needs no order of its own: the task is dropped at its next await in
                // any case.
                () = end.cancelled() => {}
                () = task => {}
            }
        });
    }

    /// For work that takes a thread for a while.
    pub(super) fn spawn_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        self.tasks.spawn_blocking(work)
    }
}
