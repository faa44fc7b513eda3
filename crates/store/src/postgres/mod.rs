//! Connections to Postgres: a few, made when they are needed and again when they broke.

mod listen;
mod tls;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Semaphore, watch};
use tokio::time::{Instant, timeout};
use tokio_postgres::{Client, NoTls};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::error::StoreError;
use crate::limits::{
    CONNECT, CONNECTIONS, FIRST_PAUSE, LAST_PAUSE, MIGRATION, OPERATION, PATIENCE,
};
use crate::schema::{self, SchemaGoal};
use crate::session::{Doing, PostgresSession, Redial, Session, TransactionMode, postgres_fault};
use crate::url::PostgresAddress;

use tls::Connector;

#[derive(Debug, Clone)]
pub(crate) struct Pool(Arc<PoolState>);

struct PoolState {
    config: tokio_postgres::Config,
    connector: Connector,
    // Both locks are leaves: held for a few instructions and across no await.
    idle: Mutex<Vec<Session>>,
    trouble: Mutex<Outage>,
    /// One for each connection, so that a burst waits here and not in Postgres.
    places: Semaphore,
    /// Each connection is driven by a task; it ends with its session.
    tasks: TaskTracker,
    /// What was heard of changes, if anybody wants to know.
    heard: OnceLock<watch::Receiver<u64>>,
    /// Ends the listening, as does dropping it.
    end: CancellationToken,
    _end: DropGuard,
}

/// What is known about a Postgres that cannot be reached.
#[derive(Debug, Default)]
struct Outage {
    pause: Duration,
    until: Option<Instant>,
    reason: String,
}

impl std::fmt::Debug for PoolState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inner").finish_non_exhaustive()
    }
}

impl Pool {
    pub(crate) async fn open(
        address: &PostgresAddress,
        schema: SchemaGoal,
    ) -> Result<Self, StoreError> {
        let end = CancellationToken::new();
        let pool = Self(Arc::new(PoolState {
            config: settled(address.config.clone()),
            connector: Connector::new(&address.tls)?,
            idle: Mutex::default(),
            trouble: Mutex::default(),
            // As many places as connections: a waiter then finds an idle session or may open one.
            places: Semaphore::new(CONNECTIONS),
            tasks: TaskTracker::new(),
            heard: OnceLock::new(),
            _end: end.clone().drop_guard(),
            end,
        }));
        let mut session = Session::Postgres(PostgresSession::new(pool.connect().await?));
        // Before the migration: a database with another encoding must stay untouched.
        session.begin(TransactionMode::Read).await?;
        within(OPERATION, encoding(&mut session)).await?;
        session.commit().await?;
        within(MIGRATION, schema::settle(&mut session, schema)).await?;
        pool.0.idle.lock().push(session);
        Ok(pool)
    }

    /// Runs an operation in a transaction. A caller that goes away takes its connection along, and
    /// Postgres undoes what was not committed.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        limit: Duration,
        mode: TransactionMode,
        operation: impl for<'a> FnOnce(&'a mut Session) -> Doing<'a, T> + Send + 'static,
    ) -> Result<T, StoreError> {
        // The place is waited for before a session is taken, so that a waiter holds no connection.
        let place = timeout(PATIENCE, self.0.places.acquire());
        let _place = match place.await {
            Ok(Ok(place)) => place,
            Ok(Err(_)) => return Err(StoreError::unavailable("it has been closed")),
            Err(_) => return Err(StoreError::unavailable("all connections to Postgres are busy")),
        };
        let mut session = self.begun(mode).await?;
        let outcome = match within(limit, operation(&mut session)).await {
            // It has asked for its commit itself.
            Err(StoreError::Unavailable { reason }) if is_uncertain(&session) => {
                Err(StoreError::Uncertain { reason })
            }
            Ok(done) => match timeout(OPERATION, session.commit()).await {
                Ok(outcome) => outcome.map(|()| done),
                // The commit may have been made: neither success nor failure may be reported, and
                // the caller has to look.
                Err(_) => Err(StoreError::Uncertain { reason: "no answer".to_owned() }),
            },
            Err(error) => Err(error),
        };
        // A session is used again only if no transaction is left open on it; otherwise it is
        // dropped, and Postgres rolls back.
        let clean = outcome.is_ok() || within(CONNECT, session.rollback()).await.is_ok();
        if clean && is_open(&session) {
            self.keep(session);
        }
        outcome
    }

    /// Counts up whenever something may have changed.
    pub(crate) fn listen(&self) -> watch::Receiver<u64> {
        let start = || {
            let (told, heard) = watch::channel(0);
            let (config, connector) = (self.0.config.clone(), self.0.connector.clone());
            self.0.tasks.spawn(listen::listen(config, connector, told, self.0.end.clone()));
            heard
        };
        // Once for all who want to hear: each listener costs a connection of its own.
        self.0.heard.get_or_init(start).clone()
    }

    pub(crate) async fn close(&self) {
        self.0.end.cancel();
        // Closed before the idle sessions go: a caller that waits for a place must not open another
        // one.
        self.0.places.close();
        self.0.idle.lock().clear();
        self.0.tasks.close();
        // Those that are still at work end with what they do.
        drop(timeout(OPERATION, self.0.tasks.wait()).await);
    }

    /// A session in a new transaction. A connection that broke while it was idle is noticed with the first
    /// statement, before anything was done, and another one takes its place.
    async fn begun(&self, mode: TransactionMode) -> Result<Session, StoreError> {
        let mut session = match self.idle() {
            Some(mut session) => {
                if let Session::Postgres(session) = &mut session {
                    session.may_be_dead(Some(self.redial()));
                }
                session
            }
            None => Session::Postgres(PostgresSession::new(self.connect().await?)),
        };
        session.begin(mode).await?;
        Ok(session)
    }

    fn redial(&self) -> Redial {
        let pool = self.clone();
        Box::new(|| {
            Box::pin(async move {
                // Whatever ended one connection has ended the others, too: each would cost a wait.
                pool.0.idle.lock().clear();
                pool.connect().await
            })
        })
    }

    /// For the next operation.
    fn keep(&self, mut session: Session) {
        if let Session::Postgres(session) = &mut session {
            // What redials holds the pool, and the pool holds what is idle.
            session.may_be_dead(None);
        }
        self.0.idle.lock().push(session);
    }

    fn idle(&self) -> Option<Session> {
        let mut idle = self.0.idle.lock();
        idle.retain(is_open);
        idle.pop()
    }

    /// While Postgres is gone it is asked now and then, and not by everybody at once.
    async fn connect(&self) -> Result<Client, StoreError> {
        // The guard lives for this line only: it must not be held while dialing.
        if let Some(reason) = self.0.trouble.lock().forbids(Instant::now()) {
            return Err(StoreError::Unavailable { reason });
        }
        let connected = within(CONNECT, self.dial()).await;
        // Taken anew after the await; of two that dialed at once the later result counts, which is
        // the newer knowledge.
        let mut trouble = self.0.trouble.lock();
        match &connected {
            Ok(_) => *trouble = Outage::default(),
            Err(StoreError::Unavailable { reason }) => trouble.again(Instant::now(), reason),
            // It is there and does not want us; that is no reason to wait.
            Err(_) => {}
        }
        connected
    }

    async fn dial(&self) -> Result<Client, StoreError> {
        let config = &self.0.config;
        let fault = |error: tokio_postgres::Error| postgres_fault(&error);
        let client = match &self.0.connector {
            Connector::Plain => {
                let (client, connection) = config.connect(NoTls).await.map_err(fault)?;
                // The future drives the socket: without a task for it no query would ever be
                // answered.
                self.0.tasks.spawn(async move { drop(connection.await) });
                client
            }
            Connector::Tls(tls) => {
                let (client, connection) = config.connect(tls.clone()).await.map_err(fault)?;
                self.0.tasks.spawn(async move { drop(connection.await) });
                client
            }
        };
        Ok(client)
    }
}

impl Outage {
    fn forbids(&self, now: Instant) -> Option<String> {
        self.until.is_some_and(|until| now < until).then(|| self.reason.clone())
    }

    fn again(&mut self, now: Instant, reason: &str) {
        // Doubled within bounds: a database that restarts is found soon, one that is down is not
        // hammered.
        self.pause = (self.pause * 2).clamp(FIRST_PAUSE, LAST_PAUSE);
        *self =
            Self { pause: self.pause, until: Some(now + self.pause), reason: reason.to_owned() };
    }
}

fn settled(mut config: tokio_postgres::Config) -> tokio_postgres::Config {
    if config.get_application_name().is_none() {
        config.application_name("trunkline");
    }
    // Without it the driver waits for TCP to give up, which takes minutes.
    config.connect_timeout(CONNECT);
    config
}

/// Other encodings cannot hold every text, and would refuse some only later.
async fn encoding(session: &mut Session) -> Result<(), StoreError> {
    let row = session.row("SELECT current_setting('server_encoding')", vec![]).await?;
    match row.map(|mut row| row.text()).transpose()?.as_deref() {
        Some("UTF8") => Ok(()),
        other => Err(StoreError::invalid(format!(
            "the encoding of the Postgres database is {}, and UTF8 is needed",
            other.unwrap_or("unknown")
        ))),
    }
}

fn is_uncertain(session: &Session) -> bool {
    matches!(session, Session::Postgres(session) if session.is_uncertain())
}

fn is_open(session: &Session) -> bool {
    // A closed client is known only after its driver task has ended; `begun` catches the others.
    !matches!(session, Session::Postgres(session) if session.is_closed())
}

async fn within<T>(
    limit: Duration,
    doing: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    match timeout(limit, doing).await {
        Ok(outcome) => outcome,
        Err(_) => Err(StoreError::unavailable("Postgres does not answer")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_to_connect_become_rarer_and_start_anew_after_a_success() {
        let start = Instant::now();
        let mut trouble = Outage::default();
        assert_eq!(trouble.forbids(start), None);
        for expected in [50, 100, 200, 400, 800, 1600, 2000, 2000] {
            trouble.again(start, "gone");
            let pause = Duration::from_millis(expected);
            assert_eq!(trouble.forbids(start + pause - FIRST_PAUSE / 50).as_deref(), Some("gone"));
            assert_eq!(trouble.forbids(start + pause), None, "{expected}");
        }
    }
}
