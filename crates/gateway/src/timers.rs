//! `Timers`: what is to be done later, and what ends with the gateway if it has not come to that.

use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The parent of tasks that outlast the connection they were begun for. Dropping it ends them all.
#[derive(Debug)]
pub(crate) struct Timers {
    /// Where it was made; `None` in tests without a runtime.
    runtime: Option<Handle>,
    tasks: TaskTracker,
    end: CancellationToken,
}

impl Timers {
    pub(crate) fn new() -> Self {
        let (tasks, end) = (TaskTracker::new(), CancellationToken::new());
        Self { runtime: Handle::try_current().ok(), tasks, end }
    }

    /// Runs this beside everything else. False: there is no runtime, and it is not run.
    pub(crate) fn run(&self, task: impl Future<Output = ()> + Send + 'static) -> bool {
        let Some(runtime) = &self.runtime else { return false };
        let end = self.end.clone();
        drop(self.tasks.spawn_on(
            async move {
                end.run_until_cancelled(task).await; // None: it is over
            },
            runtime,
        ));
        true
    }
}

impl Drop for Timers {
    fn drop(&mut self) {
        self.end.cancel();
    }
}
