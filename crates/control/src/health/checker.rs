//! `Checker`: checks a server again and again, by its URL or by what its messages say.

use std::fmt::Debug;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use ring::rand::{SecureRandom, SystemRandom};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use trunkline_http::Url;
use trunkline_store::HealthSample;

use super::check::{Checkup, Inference, Silence, infer, is_checked, pause, unanswered};
use super::judge::ConnectionPhase;
use super::status::ServerStatus as Status;
use super::table::{CheckOutcome, HealthTable};
use crate::net::{Client, FetchError, Limits, Redirects, Request};

pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// For one check (US5-AC8).
const PATIENCE: Duration = Duration::from_secs(5);
/// A server that fails so many checks in a row is replaced although calls are open; fewer, and its calls may
/// still end. At the usual interval this is five minutes of silence.
const CHECKS_UNTIL_REPLACED: u32 = 10;
/// Only the status counts, but an answer has to end somewhere.
const MOST_BODY: usize = 64 * 1024;

/// The server that is checked, as the data plane knows it.
pub trait CheckedServer: Debug + Send + Sync {
    fn phase(&self) -> ConnectionPhase;

    /// Which of its lives it has now, as a number that no other has; none if it does not run.
    fn life(&self) -> Option<u64>;

    /// Since it last said anything; none if it never did.
    fn silent_for(&self) -> Option<Duration>;

    /// Does it have calls of clients to work on?
    fn is_busy(&self) -> bool;

    /// Asks it something it always has to answer: a ping, a list. Dropped, the question is taken back.
    fn ask(&self) -> BoxFuture<'_, Result<(), String>>;

    /// Its name, for the log.
    fn name(&self) -> String;

    /// Whether this life is an error because of its checks: while it is, calls to it are refused at once.
    fn set_failing(&self, life: u64, is_failing: bool);

    /// This life has not answered too often, the last time for this reason: it is of no use as it is.
    fn condemn(&self, life: u64, why: &str);
}

/// Which server to check, and how often.
#[derive(Debug, Clone)]
pub struct CheckPlan {
    pub server_id: String,
    /// With its references resolved.
    pub url: Option<Url>,
    pub interval: Duration,
}

impl CheckPlan {
    /// Unless said otherwise.
    pub const INTERVAL: Duration = Duration::from_secs(30);
}

#[derive(Debug, Clone)]
pub struct Checker {
    pub table: Arc<HealthTable>,
    pub client: Client,
    /// For `samples::keep`. A sample without room is dropped: the next one comes soon.
    pub samples: mpsc::Sender<HealthSample>,
    /// Milliseconds since 1970.
    pub clock: fn() -> i64,
}

impl Checker {
    /// One task per server. Ends with `end`, in the middle of a check if need be.
    pub async fn watch(
        &self,
        plan: &CheckPlan,
        server: &dyn CheckedServer,
        end: &CancellationToken,
    ) {
        let rounds = async {
            // Counted from the beginning: a fixed sleep after each check would drift by how long
            // the check takes.
            let mut next = Instant::now();
            loop {
                // A check that took long has used up the pause: the next one comes as if it had not.
                next = (next + pause(plan.interval, chance())).max(Instant::now());
                sleep_until(next).await;
                // Looked at anew each time: a phase may change while the task sleeps.
                if is_checked(server.phase()) {
                    self.check(plan, server).await;
                }
            }
        };
        tokio::select! {
            () = rounds => {}
            () = end.cancelled() => {}
        }
    }

    async fn check(&self, plan: &CheckPlan, server: &dyn CheckedServer) {
        let life = server.life();
        let checkup = match &plan.url {
            Some(url) => by_url(&self.client, url).await,
            None => by_messages(plan, server).await,
        };
        // What a life that is over has not answered says nothing of the next.
        if plan.url.is_none() && server.life() != life {
            return;
        }
        // After the answer: the sample says when the health was known.
        let at = (self.clock)();
        let Some(checked) = self.table.checked(&plan.server_id, &checkup, at) else { return };
        let status = checked.status;
        tell_log(server, &checked, &checkup);
        // New calls would only wait in vain, and keep it busy.
        if let Some(life) = life {
            server.set_failing(life, status == Status::Error);
        }
        // Replacing it ends its calls. They may take their time, but not for ever: a call whose client has
        // gone, or one without a deadline, must not keep a server that hangs.
        let may_be_replaced = !server.is_busy() || checked.failures >= CHECKS_UNTIL_REPLACED;
        // With a URL of its own the server is watched by its operator; we only report.
        if status == Status::Error
            && plan.url.is_none()
            && may_be_replaced
            && let Some(life) = life
        {
            server.condemn(life, checkup.detail.as_deref().unwrap_or_default());
        }
        let millis = |took: Duration| i64::try_from(took.as_millis()).unwrap_or(i64::MAX);
        let sample = HealthSample {
            server_id: plan.server_id.clone(),
            at,
            ok: checkup.ok,
            status: status.as_str().to_owned(),
            response_ms: checkup.took.map(millis),
            detail: checkup.detail,
        };
        // Never waits: a slow store must not delay the next check.
        if self.samples.try_send(sample).is_err() {
            tracing::debug!(
                server = plan.server_id,
                "the queue of health samples is full: this one is dropped"
            );
        }
    }
}

/// One line when a server becomes an error because of its checks, and one when it recovers.
fn tell_log(server: &dyn CheckedServer, checked: &CheckOutcome, checkup: &Checkup) {
    let (was_error, is_error) = (checked.before == Status::Error, checked.status == Status::Error);
    if is_error && !was_error {
        let (failures, last) = (checked.failures, checkup.detail.as_deref().unwrap_or_default());
        tracing::warn!(
            server = server.name(),
            "{failures} health checks in a row failed, the last: {last}; calls are refused until it \
             passes one or is replaced"
        );
    } else if was_error && !is_error {
        tracing::warn!(server = server.name(), "it passes its health checks again");
    }
}

async fn by_messages(plan: &CheckPlan, server: &dyn CheckedServer) -> Checkup {
    let (silent_for, is_busy) = (server.silent_for(), server.is_busy());
    // Traffic is proof enough: a busy server is not asked on top of its calls.
    if infer(silent_for, is_busy, plan.interval, PATIENCE) == Inference::Fine {
        return Checkup::inferred();
    }
    let start = Instant::now();
    match timeout(PATIENCE, server.ask()).await {
        Ok(Ok(())) => answered(start, None),
        Ok(Err(why)) => failed(why),
        // Asked again after the timeout: a server may answer calls while it is too slow for a ping.
        Err(_) => match unanswered(server.silent_for(), start.elapsed()) {
            Silence::Fine => Checkup::inferred(),
            Silence::Strike => failed(format!("no answer within {} s", PATIENCE.as_secs())),
        },
    }
}

/// Any status from 200 to 299 is good.
pub(super) async fn by_url(client: &Client, url: &Url) -> Checkup {
    let start = Instant::now();
    // Another origin would be told what was meant for this one.
    let request = Request::get(url.clone()).following(Redirects::SameOrigin);
    let limits = Limits { deadline: PATIENCE, max_body: MOST_BODY };
    match client.send(request, limits).await {
        Ok(answer) if answer.is_success() => answered(start, None),
        // A server that says a lot is alive.
        Err(FetchError::TooBig { .. }) => answered(start, None),
        Ok(answer) => answered(start, Some(format!("it answered with status {}", answer.status))),
        Err(error) => failed(error.to_string()),
    }
}

fn answered(start: Instant, fault: Option<String>) -> Checkup {
    Checkup { ok: fault.is_none(), took: Some(start.elapsed()), detail: fault }
}

fn failed(why: String) -> Checkup {
    Checkup { ok: false, took: None, detail: Some(why) }
}

/// Without random numbers all are checked at the same time, and that is all.
fn chance() -> u16 {
    let mut bytes = [0; 2];
    // Zeros then: every pause is the shortest, which is only less evenly spread.
    let _ = SystemRandom::new().fill(&mut bytes);
    u16::from_be_bytes(bytes)
}
