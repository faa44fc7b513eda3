//! `Llm`: asks the model, a few tools at a time, and waits no longer than they are worth.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::answer::{self, LlmVerdict};
use super::prompt::{self, Form, ToolDescription};
use crate::net::{Limits, ModelLine, ModelPlace};
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
// While it is down, every classification would wait for its whole patience.
const FAILURES: u32 = 3;
const PAUSE: Duration = Duration::from_secs(60);

/// Cheap to clone; all clones are one.
#[derive(Debug, Clone)]
pub struct Llm(Arc<LlmClient>);

#[derive(Debug)]
struct LlmClient {
    line: ModelLine,
    turns: Semaphore,
    /// It does not know schemas.
    // Relaxed for both: a hint and a count, each used alone. An old value costs a request more or
    // one pause less.
    is_plain: AtomicBool,
    failures: AtomicU32,
    /// It is not asked before.
    // A leaf lock: held for a look or a change, never while the model is asked.
    rests_until: Mutex<Option<Instant>>,
}

impl Llm {
    pub fn new(place: ModelPlace) -> Result<Self, String> {
        Ok(Self(Arc::new(LlmClient {
            line: ModelLine::new(place, "/chat/completions")?,
            turns: Semaphore::new(AT_ONCE),
            is_plain: AtomicBool::new(false),
            failures: AtomicU32::new(0),
            rests_until: Mutex::new(None),
        })))
    }

    /// What it is called there.
    pub fn model(&self) -> &str {
        self.0.line.model()
    }

    /// What it says about each of these tools, at most `TOGETHER`; or why it says nothing.
    pub async fn classify(
        &self,
        taxonomy: &Taxonomy,
        server: (&str, &str),
        tools: &[ToolDescription<'_>],
    ) -> Result<Vec<Option<LlmVerdict>>, String> {
        let patience = PATIENCE * u32::try_from(tools.len().max(1)).unwrap_or(1);
        self.in_turn(patience, self.ask(taxonomy, server, tools, patience)).await
    }

    /// What it says, as JSON, to what `body` makes of an unpredictable word; or why it says nothing.
    pub(super) async fn say(
        &self,
        body: impl Fn(&str) -> Value,
        patience: Duration,
    ) -> Result<Value, String> {
        let asked = async {
            match self.post_body(body, patience).await? {
                (200..300, answer) => answer::said(&answer).map_err(str::to_owned),
                (status, _) => Err(format!("it answered with HTTP {status}")),
            }
        };
        self.in_turn(patience, asked).await
    }

    /// A few at a time, not for longer than `patience`, and not while it is left alone.
    async fn in_turn<T>(
        &self,
        patience: Duration,
        asked: impl Future<Output = Result<T, String>>,
    ) -> Result<T, String> {
        let inner = &self.0;
        if inner.rests_until.lock().is_some_and(|until| Instant::now() < until) {
            return Err("it has failed too often and is left alone for a while".to_owned());
        }
        let _turn = inner.turns.acquire().await; // it is never closed
        let said = tokio::time::timeout(patience, asked).await;
        let said = said.unwrap_or_else(|_| Err("it did not answer in time".to_owned()));
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
        tools: &[ToolDescription<'_>],
        patience: Duration,
    ) -> Result<Vec<Option<LlmVerdict>>, String> {
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
        tools: &[ToolDescription<'_>],
        form: Form,
        patience: Duration,
    ) -> Result<(u16, Vec<u8>), String> {
        let body = |fence: &str| prompt::body(self.model(), taxonomy, server, tools, fence, form);
        self.post_body(body, patience).await
    }

    async fn post_body(
        &self,
        body: impl Fn(&str) -> Value,
        patience: Duration,
    ) -> Result<(u16, Vec<u8>), String> {
        let fence = crate::access::random::<12>().map_err(|error| error.to_string())?;
        let fence: String = fence.iter().map(|byte| format!("{byte:02x}")).collect();
        let limits = Limits { deadline: patience, max_body: MOST_BODY };
        let answer = self.0.line.post(&body(&fence), limits).await?;
        Ok((answer.status, answer.body))
    }
}
