//! Has the embedding endpoint that the operator has named asked about the tools there are.

use std::sync::Arc;

use serde_json::{Value, json};

use super::Platform;
use crate::api::view::add;

impl Platform {
    /// Starts asking, if there is one.
    pub(super) fn embed(&self) {
        let (Some(embeddings), Some(fleet)) =
            (self.0.settings.embeddings.clone(), self.0.fleet.get())
        else {
            return;
        };
        fleet.set_embedder(Arc::new(embeddings.clone()));
        let own = self.clone();
        self.0.tasks.spawn(async move {
            let learnt = || own.read_again();
            tokio::select! {
                () = own.0.end.cancelled() => {}
                never = embeddings.run(learnt) => never,
            }
        });
    }

    /// The index takes over what has been learnt.
    async fn read_again(&self) {
        let Some(fleet) = self.0.fleet.get().cloned() else { return };
        if let Err(error) = self.0.tasks.spawn_blocking(move || fleet.read_tools()).await {
            tracing::warn!(%error, "the tools could not be read into the index");
        }
    }

    /// Who said where tools and the question point; `None`: there is only the model in the program.
    pub(super) fn embedded_by(&self, by_endpoint: bool) -> Option<Value> {
        let standing = self.0.settings.embeddings.as_ref()?.standing();
        let mut shown = json!({
            "source": if by_endpoint { "endpoint" } else { "built-in" },
            "model": standing.model,
            "tools_known": standing.known,
            "tools_waiting": standing.waiting,
        });
        if let Some(trouble) = standing.trouble {
            add(&mut shown, "trouble", json!(trouble));
        }
        Some(shown)
    }
}
