//! The operator's embedding endpoint: asked about the tools there are, and who embedded a search.

use std::sync::Arc;

use trunkline_gateway::Embedder as _;
use trunkline_search::Vector;

use super::service::ToolService;

/// Whose vectors a search has used, and how far the endpoint has come.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct EmbeddingStatus {
    /// Or else the built-in model.
    pub(crate) by_endpoint: bool,
    pub(crate) model: String,
    pub(crate) tools_known: usize,
    pub(crate) tools_waiting: usize,
    pub(crate) trouble: Option<String>,
}

impl ToolService {
    /// Starts asking the endpoint, if there is one.
    pub(in crate::services) fn start_embedding(self: &Arc<Self>) {
        let (Some(embeddings), Some(fleet)) = (self.settings.embeddings.clone(), self.live.fleet())
        else {
            return;
        };
        fleet.set_embedder(Arc::new(embeddings.clone()));
        let own = Arc::clone(self);
        self.background
            .spawn_until_end(async move { embeddings.run(|| own.read_tools_again()).await });
    }

    /// The search index takes over what the endpoint has said.
    async fn read_tools_again(&self) {
        let Some(fleet) = self.live.fleet().cloned() else { return };
        if let Err(error) = self.background.spawn_blocking(move || fleet.read_tools()).await {
            tracing::warn!(%error, "tools cannot be read into the search index; searches use the old one");
        }
    }

    pub(super) async fn embed(&self, text: &str) -> Option<Vector> {
        self.settings.embeddings.as_ref()?.question(text).await
    }

    /// `None`: there is only the built-in model.
    pub(super) fn embedding_status(&self, by_endpoint: bool) -> Option<EmbeddingStatus> {
        let standing = self.settings.embeddings.as_ref()?.progress();
        Some(EmbeddingStatus {
            by_endpoint,
            model: standing.model,
            tools_known: standing.known,
            tools_waiting: standing.waiting,
            trouble: standing.trouble,
        })
    }
}
