//! A model at an address that the operator has named, OpenAI-compatible: JSON there and back.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;
use trunkline_http::Url;

use super::{Client, Limits, Request, Response};

/// Where a model is, and who we are to it.
#[derive(Clone)]
pub struct ModelPlace {
    /// Up to `/v1`, or the whole way.
    pub url: Url,
    pub model: String,
    pub key: Option<String>,
}

/// Without the key; the query of a URL may be one, too.
impl fmt::Debug for ModelPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelPlace")
            .field("origin", &self.url.origin().to_string())
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

pub(crate) struct ModelLine {
    place: ModelPlace,
    url: Url,
    client: Client,
}

impl fmt::Debug for ModelLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelLine").field("place", &self.place).finish_non_exhaustive()
    }
}

impl ModelLine {
    /// `path`: what stands behind `/v1`. The operator names the address: it may be anywhere.
    pub(crate) fn new(place: ModelPlace, path: &str) -> Result<Self, String> {
        let url = endpoint(&place.url, path)?;
        Ok(Self { place, url, client: Client::new(Arc::new(|_| Ok(()))) })
    }

    /// What the model is called there.
    pub(crate) fn model(&self) -> &str {
        &self.place.model
    }

    pub(crate) async fn post(&self, body: &Value, limits: Limits) -> Result<Response, String> {
        let body = body.to_string().into_bytes();
        let mut request = Request::post(self.url.clone(), "application/json", body).repeatable();
        if let Some(key) = &self.place.key {
            request = request.header("Authorization", &format!("Bearer {key}"));
        }
        self.client.send(request, limits).await.map_err(|error| error.to_string())
    }
}

/// The address below a base; one that is whole already stays.
fn endpoint(base: &Url, path: &str) -> Result<Url, String> {
    let (whole, query) = (base.to_string(), base.target().split_once('?').map(|(_, query)| query));
    let bare = whole.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
    if bare.ends_with(path) {
        return Ok(base.clone());
    }
    let query = query.map_or_else(String::new, |query| format!("?{query}"));
    Url::parse(&format!("{bare}{path}{query}")).map_err(|bad| bad.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_no_key() {
        let url = Url::parse("https://x.example.com/v1?key=hunter2").unwrap();
        let place = ModelPlace { url, model: "m".to_owned(), key: Some("hunter2".to_owned()) };
        assert!(!format!("{place:?}").contains("hunter2"));
        let line = ModelLine::new(place, "/embeddings").unwrap();
        assert!(!format!("{line:?}").contains("hunter2"));
    }

    #[test]
    fn a_base_is_completed() {
        for (base, expected) in [
            ("https://api.example.com/v1", "https://api.example.com/v1/chat/completions"),
            ("https://api.example.com/v1/", "https://api.example.com/v1/chat/completions"),
            ("http://127.0.0.1:11434", "http://127.0.0.1:11434/chat/completions"),
            (
                "https://x.example.com/a/chat/completions?api-version=1",
                "https://x.example.com/a/chat/completions?api-version=1",
            ),
            ("https://x.example.com/a?v=1", "https://x.example.com/a/chat/completions?v=1"),
        ] {
            let url = endpoint(&Url::parse(base).unwrap(), "/chat/completions").unwrap();
            assert_eq!(url.to_string(), expected);
        }
    }
}
