//! `Llm`: asks the model, a few tools at a time, and waits no longer than they are worth.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use trunkline_http::Url;

use super::answer::{self, Verdict};
use super::prompt::{self, Described, Form};
use crate::net::{Client, Limits, Request, endpoint};
use crate::skills::Taxonomy;

/// Tools that are asked about in one request: enough to save requests, few enough that one slow answer
/// holds up few.
pub const TOGETHER: usize = 4;
/// Requests at a time, of all servers together.
const AT_ONCE: usize = 6;
/// For each tool (NFR-P5).
const PATIENCE: Duration = Duration::from_secs(3);
/// A few hundred bytes for each tool, in any sane answer.
const MOST_BODY: usize = 256 * 1024;
/// So many failures in a row, and it is left alone for a while.
const FAILURES: u32 = 3;
const PAUSE: Duration = Duration::from_secs(60);

/// Where the model is, and who we are to it.
#[derive(Clone)]
pub struct Place {
    /// Up to `/v1`, or with `/chat/completions`.
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

/// Cheap to clone; all clones are one.
#[derive(Debug, Clone)]
pub struct Llm(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    place: Place,
    url: Url,
    client: Client,
    turns: Semaphore,
    /// It does not know schemas.
    is_plain: AtomicBool,
    failures: AtomicU32,
    /// It is not asked before.
    rests_until: Mutex<Option<Instant>>,
}

impl Llm {
    /// The operator names the address: it may be anywhere.
    pub fn new(place: Place) -> Result<Self, String> {
        let url = endpoint(&place.url, "/chat/completions")?;
        let client = Client::new(Arc::new(|_| Ok(())));
        Ok(Self(Arc::new(Inner {
            place,
            url,
            client,
            turns: Semaphore::new(AT_ONCE),
            is_plain: AtomicBool::new(false),
            failures: AtomicU32::new(0),
            rests_until: Mutex::new(None),
        })))
    }

    /// What it is called there.
    pub fn model(&self) -> &str {
        &self.0.place.model
    }

    /// What it says about each of these tools, at most `TOGETHER`; or why it says nothing.
    pub async fn classify(
        &self,
        taxonomy: &Taxonomy,
        server: (&str, &str),
        tools: &[Described<'_>],
    ) -> Result<Vec<Option<Verdict>>, String> {
        let inner = &self.0;
        if inner.rests_until.lock().is_some_and(|until| Instant::now() < until) {
            return Err("it has failed too often and is left alone for a while".to_owned());
        }
        let _turn = inner.turns.acquire().await; // it is never closed
        let patience = PATIENCE * u32::try_from(tools.len().max(1)).unwrap_or(1);
        let asked = tokio::time::timeout(patience, self.ask(taxonomy, server, tools, patience));
        let said = asked.await.unwrap_or_else(|_| Err("it did not answer in time".to_owned()));
        match &said {
            Ok(_) => inner.failures.store(0, Ordering::Relaxed),
            Err(_) if inner.failures.fetch_add(1, Ordering::Relaxed) + 1 >= FAILURES => {
                inner.failures.store(0, Ordering::Relaxed);
                *inner.rests_until.lock() = Some(Instant::now() + PAUSE);
            }
            Err(_) => {}
        }
        said
    }

    async fn ask(
        &self,
        taxonomy: &Taxonomy,
        server: (&str, &str),
        tools: &[Described<'_>],
        patience: Duration,
    ) -> Result<Vec<Option<Verdict>>, String> {
        let inner = &self.0;
        let is_plain = inner.is_plain.load(Ordering::Relaxed);
        let form = if is_plain { Form::Words } else { Form::Schema };
        let mut answer = self.post(taxonomy, server, tools, form, patience).await?;
        if answer.0 == 400 && !is_plain {
            // Many compatible ones do not know schemas: the words ask for the same.
            answer = self.post(taxonomy, server, tools, Form::Words, patience).await?;
            inner.is_plain.store((200..300).contains(&answer.0), Ordering::Relaxed);
        }
        match answer {
            (200..300, body) => answer::read(&body, tools.len(), taxonomy).map_err(str::to_owned),
            (status, _) => Err(format!("it answered with HTTP {status}")),
        }
    }

    async fn post(
        &self,
        taxonomy: &Taxonomy,
        server: (&str, &str),
        tools: &[Described<'_>],
        form: Form,
        patience: Duration,
    ) -> Result<(u16, Vec<u8>), String> {
        let inner = &self.0;
        let fence = crate::access::random::<12>().map_err(|error| error.to_string())?;
        let fence: String = fence.iter().map(|byte| format!("{byte:02x}")).collect();
        let body = prompt::body(&inner.place.model, taxonomy, server, tools, &fence, form);
        let body = body.to_string().into_bytes();
        let mut request = Request::post(inner.url.clone(), "application/json", body);
        if let Some(key) = &inner.place.key {
            request = request.header("Authorization", &format!("Bearer {key}"));
        }
        let limits = Limits { deadline: patience, max_body: MOST_BODY };
        let answer = inner.client.send(request, limits).await.map_err(|error| error.to_string())?;
        Ok((answer.status, answer.body))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_no_key() {
        let url = Url::parse("https://x.example.com/v1?key=hunter2").unwrap();
        let place = Place { url, model: "m".to_owned(), key: Some("hunter2".to_owned()) };
        assert!(!format!("{:?}", Llm::new(place).unwrap()).contains("hunter2"));
    }
}
