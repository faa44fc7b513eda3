//! `WaitRules`: which calls of a server wait, and how long.

use std::time::Duration;

use trunkline_catalog::config::CallRules;

#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitRules {
    /// Calls are kept while their server is away.
    pub(in crate::upstream) waits_for_restart: bool,
    /// A call that was sent is kept as well, to be made again if the server is gone.
    pub(in crate::upstream) repeats: bool,
    /// How many calls the server is given at a time.
    pub(in crate::upstream) max_concurrency: Option<usize>,
    /// How long a call waits for its server.
    pub(in crate::upstream) patience: Duration,
}

impl WaitRules {
    /// What the config says of the calls of a server; they do not wait for a server that is gone.
    pub(in crate::upstream) fn of(calls: &CallRules) -> Self {
        Self {
            waits_for_restart: false,
            repeats: false,
            max_concurrency: calls.max_concurrency,
            patience: Duration::ZERO,
        }
    }

    /// Are calls of a server that is there looked at?
    pub(in crate::upstream) fn looks_at_calls(&self) -> bool {
        self.repeats || self.max_concurrency.is_some()
    }
}
