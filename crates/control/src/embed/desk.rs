//! `Embeddings`: keeps what the endpoint has said, asks it about the rest beside everything else, and
//! leaves it alone for a while when it fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;
use trunkline_gateway::{AskedEmbedder, Embedder};
use trunkline_search::Vector;

use super::ask::{BatchLimit, EmbeddingError, LiesWith, ask};
use super::known::{Questions, Tools};
use crate::net::{ModelLine, ModelPlace};

/// For a request about tools.
// Nobody waits for it: the built-in model is used until all vectors are there.
const PATIENCE: Duration = Duration::from_secs(30);
/// For a question: a caller waits for it, and the built-in model answers at once.
const SHORT: Duration = Duration::from_millis(300);
/// After a failure it is not asked for so long; twice as long after each further one, up to this.
const PAUSE: Duration = Duration::from_secs(1);
// Bounds how long it is left alone after it is well again.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Cheap to clone; all clones are one.
#[derive(Debug, Clone)]
pub struct Embeddings(Arc<EmbeddingClient>);

#[derive(Debug)]
struct EmbeddingClient {
    line: ModelLine,
    /// Leaf locks: none is held while the endpoint is asked, nor together with another.
    tools: Mutex<Tools>,
    questions: Mutex<Questions>,
    state: Mutex<EndpointState>,
    /// Counts the times that all known tools had a vector: the index reads them then.
    version: AtomicU64,
    bell: Notify,
}

#[derive(Debug, Default)]
struct EndpointState {
    /// How long its vectors are.
    width: Option<usize>,
    /// Why the built-in model is used.
    trouble: Option<String>,
    failures: u32,
    rests_until: Option<Instant>,
}

/// How far the endpoint has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbeddingProgress {
    pub model: String,
    /// Tools with a vector of the endpoint, and those that wait for one.
    pub known: usize,
    pub waiting: usize,
    pub trouble: Option<String>,
}

impl Embeddings {
    pub fn new(place: ModelPlace) -> Result<Self, String> {
        Ok(Self(Arc::new(EmbeddingClient {
            line: ModelLine::new(place, "/embeddings")?,
            tools: Mutex::default(),
            questions: Mutex::default(),
            state: Mutex::default(),
            version: AtomicU64::new(0),
            bell: Notify::new(),
        })))
    }

    pub fn progress(&self) -> EmbeddingProgress {
        let (known, waiting) = self.0.tools.lock().count();
        let trouble = self.0.state.lock().trouble.clone();
        EmbeddingProgress { model: self.0.line.model().to_owned(), known, waiting, trouble }
    }

    /// Asks about tools for ever; `learnt` is called whenever all that waited are known.
    pub async fn run<F: Future<Output = ()>>(&self, learnt: impl Fn() -> F) -> ! {
        let mut portion = BatchLimit::WHOLE;
        loop {
            let texts = self.0.tools.lock().next(portion.texts);
            if texts.is_empty() {
                self.0.bell.notified().await;
                continue;
            }
            if let Some(until) = self.resting() {
                tokio::time::sleep_until(until).await;
            }
            let said = self.ask(&texts, portion, PATIENCE).await;
            let smaller = portion.smaller();
            let is_refused = said.as_ref().is_err_and(|it| it.lies_with != LiesWith::Endpoint);
            portion = smaller.filter(|_| is_refused).unwrap_or(BatchLimit::WHOLE);
            if is_refused && smaller.is_some() {
                continue;
            }
            let Some(vectors) = self.note(said) else { continue };
            self.0.tools.lock().learn(&texts, vectors);
            if self.0.tools.lock().next(1).is_empty() {
                // After the vectors were put: a reader of the new version finds them.
                self.0.version.fetch_add(1, Ordering::AcqRel);
                learnt().await;
            }
        }
    }

    fn resting(&self) -> Option<Instant> {
        self.0.state.lock().rests_until.filter(|until| Instant::now() < *until)
    }

    /// Vectors of another length than before cannot be compared with those.
    async fn ask(
        &self,
        texts: &[String],
        portion: BatchLimit,
        patience: Duration,
    ) -> Result<Vec<Vector>, EmbeddingError> {
        let (vectors, width) = ask(&self.0.line, texts, portion, patience).await?;
        // The first answer decides: the operator may have changed the model behind the URL.
        let before = *self.0.state.lock().width.get_or_insert(width);
        match before == width {
            true => Ok(vectors),
            false => Err(format!("its vectors have {width} numbers, and had {before}").into()),
        }
    }

    /// What has come of it is remembered: after a failure it is left alone for a while.
    fn note(&self, said: Result<Vec<Vector>, EmbeddingError>) -> Option<Vec<Vector>> {
        let mut state = self.0.state.lock();
        match said {
            Ok(vectors) => {
                if state.trouble.take().is_some() {
                    tracing::info!("the embedding endpoint answers again");
                }
                (state.failures, state.rests_until) = (0, None);
                Some(vectors)
            }
            Err(EmbeddingError { why, .. }) => {
                if state.trouble.is_none() {
                    tracing::warn!(
                        "the embedding endpoint is of no use: {why}; the built-in model is used \
                         until it answers (see --embed-url)"
                    );
                }
                let pause = PAUSE.saturating_mul(1 << state.failures.min(6)).min(LONGEST_PAUSE);
                state.rests_until = Some(Instant::now() + pause);
                state.failures += 1;
                state.trouble = Some(why);
                None
            }
        }
    }

    async fn ask_question(&self, text: &str) -> Option<Vector> {
        if let Some(known) = self.0.questions.lock().get(text) {
            return Some(known);
        }
        if self.resting().is_some() {
            return None;
        }
        let said = self.ask(&[text.to_owned()], BatchLimit::WHOLE, SHORT).await;
        if said.as_ref().is_err_and(|it| it.lies_with == LiesWith::Texts) {
            // A question that the endpoint does not take says nothing about the endpoint.
            return None;
        }
        let vector = self.note(said)?.pop()?;
        self.0.questions.lock().put(text, vector.clone());
        Some(vector)
    }
}

impl Embedder for Embeddings {
    fn tools(&self, texts: &[String]) -> Vec<Option<Vector>> {
        let mut tools = self.0.tools.lock();
        let vectors: Vec<_> = texts.iter().map(|text| tools.get(text)).collect();
        drop(tools);
        if vectors.iter().any(Option::is_none) {
            self.0.bell.notify_one();
        }
        vectors
    }

    fn version(&self) -> u64 {
        self.0.version.load(Ordering::Acquire)
    }

    fn question(&self, text: &str) -> AskedEmbedder {
        let (own, text) = (self.clone(), text.to_owned());
        Box::pin(async move { own.ask_question(&text).await })
    }
}
