//! `SharedKeys`: idempotency keys in the store, the same for all replicas. Answers are sealed there.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use ring::rand::{SecureRandom as _, SystemRandom};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use trunkline_gateway::{
    CallKeys, ClaimFuture, ClaimedCall, KEPT_ANSWER, KEYS_KEPT, KeptAnswer, KeyOutcome, KeyState,
    KeyedCall, TakenKey,
};
use trunkline_store::{
    CallKey, CallKeyOutcome, CallKeyState, EndedCall, KeyClaimant, Store, StoreError,
};

use super::set::alive;
use crate::secrets::Safe;

/// A call that still runs may end at once: it is looked for so often before whoever asks hears of it.
const LOOKS: u32 = 4;
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Calls whose end waits to be written: as many as may be open when the store goes away, for none begins without it.
const WAITING: usize = 65_536;
/// Calls whose ends are written at a time: 4 MiB of answers at most, which a slow link takes within the store's limits.
const AT_ONCE: usize = 16;
/// Until it is tried again to write them.
const AGAIN: Duration = Duration::from_millis(250);
/// What is written when this process ends may take so long: less than a step of its shutdown.
const LAST: Duration = Duration::from_secs(4);
/// How often old keys are removed, by one of the replicas.
const PRUNE_EVERY: Duration = Duration::from_secs(60);
const PRUNING: &str = "call-keys";
/// Bytes of all answers that are kept; the oldest go first.
const MOST_BYTES: i64 = 256 * 1024 * 1024;

/// Cheap to clone; all clones are one.
#[derive(Debug, Clone)]
pub(crate) struct SharedKeys(Arc<KeysState>);

#[derive(Debug)]
struct KeysState {
    store: Store,
    safe: Arc<Safe>,
    /// The run of this replica.
    replica: String,
    ended: mpsc::Sender<(ClaimedCall, KeyOutcome)>,
    /// Taken by the task that writes them down.
    unwritten: Mutex<Option<mpsc::Receiver<(ClaimedCall, KeyOutcome)>>>,
}

impl SharedKeys {
    pub(super) fn new(store: &Store, safe: &Arc<Safe>, replica: String) -> Self {
        let (ended, unwritten) = mpsc::channel(WAITING);
        Self(Arc::new(KeysState {
            store: store.clone(),
            safe: Arc::clone(safe),
            replica,
            ended,
            unwritten: Mutex::new(Some(unwritten)),
        }))
    }

    /// Writes down how calls end, and forgets old keys, until the end.
    pub(crate) async fn run(&self, end: CancellationToken) {
        let Some(mut unwritten) = self.0.unwritten.lock().take() else { return };
        let mut prune = Instant::now() + PRUNE_EVERY;
        loop {
            let mut some = Vec::new();
            tokio::select! {
                _ = unwritten.recv_many(&mut some, AT_ONCE) => {}
                () = sleep_until(prune) => {
                    prune = Instant::now() + PRUNE_EVERY;
                    self.prune().await;
                    continue;
                }
                () = end.cancelled() => break,
            }
            let ended = self.sealed(some);
            tokio::select! {
                () = self.write(ended.clone()) => {}
                () = end.cancelled() => {
                    self.write_last(ended).await;
                    break;
                }
            }
        }
        // What is still there came before the end: no call is open any more.
        let mut some = Vec::new();
        while let Ok(one) = unwritten.try_recv() {
            some.push(one);
        }
        self.write_last(self.sealed(some)).await;
    }

    async fn write(&self, ended: Vec<EndedCall>) {
        let mut was_told = false;
        while let Err(error) = self.0.store.settle_call_keys(ended.clone()).await {
            if !std::mem::replace(&mut was_told, true) {
                tracing::warn!(
                    %error,
                    "the outcomes of calls with an idempotency key cannot be written down: who makes one again hears \
                     that it still runs"
                );
            }
            sleep(AGAIN).await;
        }
    }

    async fn write_last(&self, ended: Vec<EndedCall>) {
        if ended.is_empty() {
            return;
        }
        let written = timeout(LAST, self.0.store.settle_call_keys(ended)).await;
        if !matches!(written, Ok(Ok(()))) {
            tracing::warn!(
                "the outcomes of some calls with an idempotency key could not be written down: who makes one again \
                 hears that it may have run"
            );
        }
    }

    async fn prune(&self) {
        let (store, replica) = (&self.0.store, &self.0.replica);
        // An error: the store is away, and there is another minute.
        if store.take_lease(PRUNING, replica, PRUNE_EVERY / 2).await.is_ok_and(|taken| taken)
            && let Err(error) = store.prune_call_keys(ms(KEYS_KEPT), MOST_BYTES).await
        {
            tracing::debug!(%error, "old idempotency keys were not removed");
        }
    }

    fn sealed(&self, some: Vec<(ClaimedCall, KeyOutcome)>) -> Vec<EndedCall> {
        some.into_iter().map(|(claimed, outcome)| self.sealed_one(claimed, outcome)).collect()
    }

    fn sealed_one(&self, claimed: ClaimedCall, outcome: KeyOutcome) -> EndedCall {
        let ClaimedCall { call: KeyedCall { id, .. }, taken: TakenKey { before, number } } =
            claimed;
        let seal = |answer: &KeptAnswer| match answer.body.len() <= KEPT_ANSWER {
            true => self.0.safe.sealed_answer(&id, &answer.body).ok(),
            false => None,
        };
        let outcome = match outcome {
            KeyOutcome::NotRun => CallKeyOutcome::NotRun { before },
            KeyOutcome::Unknown => CallKeyOutcome::Unknown,
            KeyOutcome::Answered(answer) => match seal(&answer) {
                Some(sealed) => CallKeyOutcome::Answered { code: answer.code, sealed },
                None => CallKeyOutcome::NotKept,
            },
            KeyOutcome::Asked(answer) => match seal(&answer) {
                Some(sealed) => CallKeyOutcome::Asked { code: answer.code, sealed },
                None => CallKeyOutcome::NotKept,
            },
        };
        EndedCall { id, number, outcome }
    }

    async fn look(&self, call: &KeyedCall) -> Result<KeyState, String> {
        let number = number().ok_or("the system gives no random numbers")?;
        let KeyedCall { id, request, round } = call.clone();
        let by = KeyClaimant {
            replica: self.0.replica.clone(),
            number,
            kept: ms(KEYS_KEPT),
            alive: alive(),
        };
        let state = self.0.store.claim_call_key(CallKey { id, request, round }, by).await;
        let state = state.map_err(|error| self.not_known(call, number, &error))?;
        Ok(match state {
            CallKeyState::Taken { before } => KeyState::Taken(TakenKey { before, number }),
            CallKeyState::Running => KeyState::Running,
            CallKeyState::OtherCall => KeyState::OtherCall,
            CallKeyState::NotKept => KeyState::NotKept,
            CallKeyState::Unknown => KeyState::Unknown,
            // Under another key of the store it does not open: the call has run all the same.
            CallKeyState::Answered { code, sealed } => {
                match self.0.safe.opened_answer(&call.id, &sealed) {
                    Ok(body) => KeyState::Answered(KeptAnswer { code, body }),
                    Err(_) => KeyState::NotKept,
                }
            }
        })
    }

    /// The key may have been taken before the store went away: then it is given back.
    fn not_known(&self, call: &KeyedCall, number: i64, error: &StoreError) -> String {
        let taken = TakenKey { before: None, number };
        // What a later round went on from is not known here: to give the key back would let the first one run again.
        let outcome = match call.round.is_empty() {
            true => KeyOutcome::NotRun,
            false => KeyOutcome::Unknown,
        };
        self.settle(ClaimedCall { call: call.clone(), taken }, outcome);
        error.to_string()
    }
}

impl CallKeys for SharedKeys {
    fn claim(&self, call: KeyedCall) -> ClaimFuture {
        let keys = self.clone();
        Box::pin(async move {
            for _ in 1..LOOKS {
                match keys.look(&call).await? {
                    KeyState::Running => sleep(LOOK_EVERY).await,
                    state => return Ok(state),
                }
            }
            keys.look(&call).await
        })
    }

    fn settle(&self, claimed: ClaimedCall, outcome: KeyOutcome) {
        if self.0.ended.try_send((claimed, outcome)).is_err() {
            tracing::warn!(
                "too many calls with an idempotency key have ended at once: who makes one again hears that it still runs"
            );
        }
    }
}

/// One that nobody else takes a key under.
fn number() -> Option<i64> {
    let mut bytes = [0; 8];
    SystemRandom::new().fill(&mut bytes).ok()?;
    Some(i64::from_le_bytes(bytes))
}

fn ms(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}
