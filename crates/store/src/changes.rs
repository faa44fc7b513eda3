//! Word that somebody, here or elsewhere, may have changed something.

use tokio::sync::watch;

/// Never more than a hint: where a store cannot tell (`SQLite`, a broken connection), nothing comes,
/// and whoever has to know looks now and then all the same.
#[derive(Debug, Clone)]
pub struct Changes(Option<watch::Receiver<u64>>);

impl Changes {
    pub(crate) fn told_by(counter: watch::Receiver<u64>) -> Self {
        Self(Some(counter))
    }

    pub(crate) fn never() -> Self {
        Self(None)
    }

    /// Returns when something may have changed since the last time. Nothing is lost if it is
    /// dropped and called again.
    pub async fn next(&mut self) {
        if let Some(counter) = &mut self.0
            && counter.changed().await.is_ok()
        {
            return;
        }
        // It is closed, or cannot tell.
        std::future::pending::<()>().await;
    }
}
