//! The thread that owns the `SQLite` file: operations come through a bounded queue, one at a time.

mod open;

use std::path::PathBuf;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Instant;

use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use crate::error::StoreError;
use crate::limits::{PATIENCE, QUEUE};
use crate::schema::{self, SchemaGoal};
use crate::session::{Doing, Session, TransactionMode};

/// A handle to the thread; it ends when the last one is gone and all that was asked is done.
#[derive(Debug, Clone)]
pub(crate) struct Worker {
    queue: mpsc::Sender<WorkerMessage>,
}

enum WorkerMessage {
    Run(Job),
    Close(oneshot::Sender<()>),
}

type Job = Box<dyn FnOnce(&mut Session) + Send>;

impl Worker {
    pub(crate) async fn open(path: PathBuf, schema: SchemaGoal) -> Result<Self, StoreError> {
        // Bounded: callers wait to be let in rather than pile up work that nobody waits for any
        // more.
        let (queue, jobs) = mpsc::channel(QUEUE);
        let (opened, is_open) = oneshot::channel();
        // A thread of its own: SQLite blocks, which the threads of the runtime must not.
        thread::Builder::new()
            .name("store".to_owned())
            .spawn(move || match ready(&path, schema) {
                Ok(session) => {
                    // If the caller has gone, the thread ends and the file is closed.
                    if opened.send(Ok(())).is_ok() {
                        work(session, jobs);
                    }
                }
                Err(error) => drop(opened.send(Err(error))),
            })
            .map_err(|error| StoreError::unavailable(error.to_string()))?;
        is_open.await.map_err(|_| ended())??;
        Ok(Self { queue })
    }

    /// Runs an operation in a transaction. A caller that goes away before it began prevents it;
    /// later it is done to its end.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        mode: TransactionMode,
        operation: impl for<'a> FnOnce(&'a mut Session) -> Doing<'a, T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answer, answered) = oneshot::channel();
        // Counted from the request, not from when it is let in: the caller's patience is one.
        let late = Instant::now() + PATIENCE;
        let job: Job = Box::new(move |session| {
            // Before the work begins a caller that hung up costs nothing; afterwards the operation
            // is done whole.
            if answer.is_closed() {
                return;
            }
            let outcome = match Instant::now() > late {
                true => Err(busy()),
                // The answer may not be wanted any more, but the operation was: its outcome stands.
                false => at_once(transact(session, mode, operation)),
            };
            drop(answer.send(outcome));
        });
        // Sending waits while the queue is full, and no longer than the caller would.
        match timeout(PATIENCE, self.queue.send(WorkerMessage::Run(job))).await {
            Ok(Ok(())) => answered.await.map_err(|_| ended())?,
            Ok(Err(_)) => Err(ended()),
            Err(_) => Err(busy()),
        }
    }

    /// Waits until what was asked before is done and the file is closed.
    pub(crate) async fn close(&self) {
        let (closed, is_closed) = oneshot::channel();
        if self.queue.send(WorkerMessage::Close(closed)).await.is_ok() {
            drop(is_closed.await);
        }
    }
}

fn ready(path: &std::path::Path, schema: SchemaGoal) -> Result<Session, StoreError> {
    let connection = open::open(path)?;
    let mut session = Session::Sqlite(connection);
    // Nothing is changed in a file that is not ours to read, not even how it keeps its journal.
    at_once(schema::check(&mut session))?;
    if let Session::Sqlite(connection) = &session {
        open::settle(connection)?;
    }
    at_once(schema::settle(&mut session, schema))?;
    Ok(session)
}

fn work(mut session: Session, mut jobs: mpsc::Receiver<WorkerMessage>) {
    while let Some(message) = jobs.blocking_recv() {
        match message {
            WorkerMessage::Run(job) => job(&mut session),
            WorkerMessage::Close(closed) => {
                // The queue first: whoever asks from now on hears that it is closed.
                drop(jobs);
                // The file is closed before that is told: another process may open it at once.
                drop(session);
                let _ = closed.send(());
                return;
            }
        }
    }
}

async fn transact<T>(
    session: &mut Session,
    mode: TransactionMode,
    operation: impl for<'a> FnOnce(&'a mut Session) -> Doing<'a, T>,
) -> Result<T, StoreError> {
    // Of an operation before that could not be undone when it failed.
    session.rollback().await?;
    session.begin(mode).await?;
    let outcome = match operation(session).await {
        Ok(done) => session.commit().await.map(|()| done),
        Err(error) => Err(error),
    };
    if outcome.is_err()
        && let Err(error) = session.rollback().await
    {
        tracing::warn!(%error, "a failed operation could not be undone yet");
    }
    outcome
}

/// `SQLite`'s part of a session never waits, so that its futures are done when first asked.
fn at_once<T>(future: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
    // A waker that does nothing: a future that is pending here would never be woken.
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(outcome) => outcome,
        Poll::Pending => Err(StoreError::invalid("an operation waits for something else")),
    }
}

fn busy() -> StoreError {
    StoreError::unavailable("it is busy with other operations")
}

fn ended() -> StoreError {
    StoreError::unavailable("it has been closed")
}
