//! One request to the endpoint.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use trunkline_http::Url;
use trunkline_search::Vector;

use super::answer;
use crate::net::{Client, Limits, Request, endpoint};

/// A few dozen vectors of a few thousand numbers, as text.
const MOST_BODY: usize = 16 * 1024 * 1024;

/// Where the endpoint is, and who we are to it.
#[derive(Clone)]
pub struct Place {
    /// Up to `/v1`, or with `/embeddings`.
    pub url: Url,
    pub model: String,
    pub key: Option<String>,
}

/// Without the key; the query of a URL may be one, too.
impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Place")
            .field("origin", &self.url.origin().to_string())
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

#[derive(Debug)]
pub(super) struct Line {
    place: Place,
    url: Url,
    client: Client,
}

impl Line {
    /// The operator names the address: it may be anywhere.
    pub(super) fn new(place: Place) -> Result<Self, String> {
        let url = endpoint(&place.url, "/embeddings")?;
        Ok(Self { place, url, client: Client::new(Arc::new(|_| Ok(()))) })
    }

    pub(super) fn model(&self) -> &str {
        &self.place.model
    }

    /// Where each of the texts points, and the length of what says so.
    pub(super) async fn ask(
        &self,
        texts: &[String],
        deadline: Duration,
    ) -> Result<(Vec<Vector>, usize), String> {
        let texts: Vec<&str> = texts.iter().map(|text| beginning(text)).collect();
        let body = json!({ "model": self.place.model, "input": texts, "encoding_format": "float" });
        let body = body.to_string().into_bytes();
        let mut request = Request::post(self.url.clone(), "application/json", body);
        if let Some(key) = &self.place.key {
            request = request.header("Authorization", &format!("Bearer {key}"));
        }
        let limits = Limits { deadline, max_body: MOST_BODY };
        let answer = self.client.send(request, limits).await.map_err(|error| error.to_string())?;
        match answer.status {
            200..300 => answer::read(&answer.body, texts.len()),
            status => Err(format!("it answered with HTTP {status}")),
        }
    }
}

/// Models refuse what is too long for them; what a tool is for stands at the beginning.
fn beginning(text: &str) -> &str {
    text.get(..text.floor_char_boundary(LONGEST_TEXT)).unwrap_or(text)
}

/// In bytes some 1,500 tokens.
const LONGEST_TEXT: usize = 6_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_no_key() {
        let url = Url::parse("https://x.example.com/v1?key=hunter2").unwrap();
        let place = Place { url, model: "m".to_owned(), key: Some("hunter2".to_owned()) };
        assert!(!format!("{place:?}").contains("hunter2"));
    }
}
