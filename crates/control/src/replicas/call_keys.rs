//! `SharedKeys`: idempotency keys in the store, the same for all replicas. Answers are sealed there.

use std::sync::Arc;
use std::time::Duration;

use ring::rand::{SecureRandom as _, SystemRandom};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use trunkline_gateway::{
    CallKeys, ClaimFuture, ClaimedCall, KEYS_KEPT, KeptAnswer, KeyFault, KeyOutcome, KeyState,
    KeyedCall, ROUNDS_KEPT, TakenKey,
};
use trunkline_store::{
    CallKey, CallKeyOutcome, CallKeyState, EndedCall, KeyClaimant, Store, StoreError,
};

use super::ended_calls::{EndedCalls, EndedKey};
use super::set::alive;
use crate::secrets::Safe;

/// A call that still runs may end at once: it is looked for so often before whoever asks hears of it.
const LOOKS: u32 = 4;
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Calls that ask for their keys at once. A store that hangs must not gather all that come meanwhile; one that works
/// answers so many within a moment.
const ASKING: usize = 1_024;
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
    /// A permit for each call that may ask for its key.
    asking: Semaphore,
    ended: EndedCalls,
}

impl SharedKeys {
    pub(super) fn new(store: &Store, safe: &Arc<Safe>, replica: String) -> Self {
        Self(Arc::new(KeysState {
            store: store.clone(),
            safe: Arc::clone(safe),
            replica,
            asking: Semaphore::new(ASKING),
            ended: EndedCalls::new(),
        }))
    }

    /// Writes down how calls end, and forgets old keys, until the end.
    pub(crate) async fn run(&self, end: CancellationToken) {
        let Some(mut unwritten) = self.0.ended.take_receiver() else { return };
        let mut some = Vec::new();
        tokio::select! {
            () = self.write_each(&mut unwritten, &mut some) => {}
            () = self.prune_each() => {}
            () = end.cancelled() => {}
        }
        // What is still there came before the end: no call is open any more.
        while let Ok(one) = unwritten.try_recv() {
            some.push(one);
        }
        self.write_last(self.sealed(&some)).await;
    }

    /// `some`: those that are being written. Dropped, this leaves them there.
    async fn write_each(&self, unwritten: &mut mpsc::Receiver<EndedKey>, some: &mut Vec<EndedKey>) {
        while unwritten.recv_many(some, AT_ONCE).await > 0 {
            self.write(self.sealed(some)).await;
            self.0.ended.free(some.len());
            some.clear();
        }
    }

    async fn prune_each(&self) {
        loop {
            sleep(PRUNE_EVERY).await;
            self.prune().await;
        }
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

    fn sealed(&self, some: &[EndedKey]) -> Vec<EndedCall> {
        some.iter().map(|one| self.sealed_one(one)).collect()
    }

    fn sealed_one(&self, EndedKey { claimed, outcome, .. }: &EndedKey) -> EndedCall {
        let ClaimedCall { call: KeyedCall { id, .. }, taken: TakenKey { before, number } } =
            claimed;
        let seal = |answer: &KeptAnswer| self.0.safe.sealed_answer(id, &answer.body).ok();
        let outcome = match outcome {
            KeyOutcome::NotRun => CallKeyOutcome::NotRun { before: before.clone() },
            KeyOutcome::Unknown => CallKeyOutcome::Unknown,
            KeyOutcome::NotKept => CallKeyOutcome::NotKept,
            KeyOutcome::Answered(answer) => match seal(answer) {
                Some(sealed) => CallKeyOutcome::Answered { code: answer.code, sealed },
                None => CallKeyOutcome::NotKept,
            },
            KeyOutcome::Asked(answer) => match seal(answer) {
                Some(sealed) => CallKeyOutcome::Asked { code: answer.code, sealed },
                None => CallKeyOutcome::NotKept,
            },
        };
        EndedCall { id: id.clone(), number: *number, outcome }
    }

    /// Asks for the key; of a call that runs, several times: it may end at once.
    async fn look_again(&self, call: &KeyedCall) -> Result<KeyState, NotKnown> {
        for _ in 1..LOOKS {
            match self.look(call).await? {
                KeyState::Running => sleep(LOOK_EVERY).await,
                state => return Ok(state),
            }
        }
        self.look(call).await
    }

    async fn look(&self, call: &KeyedCall) -> Result<KeyState, NotKnown> {
        let number = number().ok_or(NotKnown::NoRandom)?;
        let KeyedCall { id, request, round } = call.clone();
        let by = KeyClaimant {
            replica: self.0.replica.clone(),
            number,
            kept: ms(KEYS_KEPT),
            alive: alive(),
            rounds: ROUNDS_KEPT,
        };
        let state = self.0.store.claim_call_key(CallKey { id, request, round }, by).await;
        let state = state.map_err(|error| NotKnown::Away { number, error })?;
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
    fn give_back(&self, call: KeyedCall, number: i64) {
        // What a later round went on from is not known here: to give the key back would let the first one run again.
        let outcome = match call.round.is_empty() {
            true => KeyOutcome::NotRun,
            false => KeyOutcome::Unknown,
        };
        let taken = TakenKey { before: None, number };
        self.settle(ClaimedCall { call, taken }, outcome);
    }
}

/// Why it cannot be known what a key stands for.
#[derive(Debug)]
enum NotKnown {
    NoRandom,
    /// The key was asked for under this number.
    Away {
        number: i64,
        error: StoreError,
    },
}

impl CallKeys for SharedKeys {
    fn claim(&self, call: KeyedCall) -> ClaimFuture {
        let keys = self.clone();
        Box::pin(async move {
            // Refused and not waited for: what waits here would hold its call's bytes.
            let _asking = keys.0.asking.try_acquire().map_err(|_| KeyFault::Busy)?;
            let place = keys.0.ended.place().ok_or(KeyFault::Busy)?;
            match keys.look_again(&call).await {
                Ok(KeyState::Taken(taken)) => {
                    place.keep();
                    Ok(KeyState::Taken(taken))
                }
                Ok(state) => Ok(state),
                Err(NotKnown::NoRandom) => {
                    Err(KeyFault::Away("the system gives no random numbers".to_owned()))
                }
                Err(NotKnown::Away { number, error }) => {
                    place.keep();
                    keys.give_back(call, number);
                    Err(KeyFault::Away(error.to_string()))
                }
            }
        })
    }

    fn settle(&self, claimed: ClaimedCall, outcome: KeyOutcome) {
        if !self.0.ended.put(claimed, outcome) {
            tracing::warn!(
                "a call with an idempotency key has ended after the store was closed: who makes it again hears that it \
                 may have run"
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

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll, Waker};

    use tokio::task::JoinSet;
    use trunkline_gateway::{KEPT_ANSWER, QUEUED_ANSWERS};
    use trunkline_store::seal::{Keyring, SealKey};

    use super::*;
    use crate::scratch::Folder;

    async fn keys(folder: &Folder) -> SharedKeys {
        let store = folder.store().await;
        let keyring = Keyring::new(SealKey::new([7; 32]));
        let safe = Safe::unlock(&store, keyring).await.unwrap();
        SharedKeys::new(&store, &Arc::new(safe), "1".to_owned())
    }

    fn call(number: usize) -> KeyedCall {
        KeyedCall { id: number.to_string(), request: "a".to_owned(), round: String::new() }
    }

    async fn take(keys: &SharedKeys, call: KeyedCall) -> ClaimedCall {
        match keys.claim(call.clone()).await {
            Ok(KeyState::Taken(taken)) => ClaimedCall { call, taken },
            other => panic!("{} is not free: {other:?}", call.id),
        }
    }

    /// What is known of a call once its end is written.
    async fn ended(keys: &SharedKeys, call: KeyedCall) -> KeyState {
        loop {
            match keys.claim(call.clone()).await.unwrap() {
                KeyState::Running => {}
                state => return state,
            }
        }
    }

    #[tokio::test]
    async fn answers_that_wait_to_be_written_are_bounded_in_bytes_and_every_call_has_its_end() {
        let folder = Folder::new();
        let keys = keys(&folder).await;
        let fits = QUEUED_ANSWERS / KEPT_ANSWER;
        // Nothing is written yet, as while the store is away.
        for number in 0..fits + 3 {
            let claimed = take(&keys, call(number)).await;
            let size = if number == 1 { KEPT_ANSWER + 1 } else { KEPT_ANSWER };
            let answer = KeptAnswer { code: 0, body: vec![b'x'; size] };
            keys.settle(claimed, KeyOutcome::Answered(answer));
        }
        let (writing, end) = (keys.clone(), CancellationToken::new());
        let ending = end.clone();
        let mut task = JoinSet::new();
        task.spawn(async move { Box::pin(writing.run(ending)).await });
        let mut kept = Vec::new();
        for number in 0..fits + 3 {
            match ended(&keys, call(number)).await {
                KeyState::Answered(answer) => {
                    assert_eq!(answer.body.len(), KEPT_ANSWER);
                    kept.push(number);
                }
                state => assert_eq!(state, KeyState::NotKept, "call {number}"),
            }
        }
        let expected: Vec<usize> = (0..=fits).filter(|number| *number != 1).collect();
        assert_eq!(kept, expected);
        // What is written makes room.
        let claimed = take(&keys, call(1_000)).await;
        let answer = KeptAnswer { code: 0, body: vec![b'x'; KEPT_ANSWER] };
        keys.settle(claimed, KeyOutcome::Answered(answer.clone()));
        assert_eq!(ended(&keys, call(1_000)).await, KeyState::Answered(answer));
        end.cancel();
        task.join_all().await;
    }

    #[tokio::test]
    async fn so_many_calls_ask_for_their_keys_at_once_and_others_hear_that_they_did_not_run() {
        let folder = Folder::new();
        let keys = keys(&folder).await;
        // A call that runs is looked for several times: whoever asks waits.
        let running = take(&keys, call(0)).await;
        let mut polled = Context::from_waker(Waker::noop());
        let mut asking: Vec<_> = (0..ASKING).map(|_| keys.claim(call(0))).collect();
        for one in &mut asking {
            assert!(one.as_mut().poll(&mut polled).is_pending());
        }
        let Poll::Ready(Err(fault)) = keys.claim(call(1)).as_mut().poll(&mut polled) else {
            panic!("one more than may ask was not refused");
        };
        assert_eq!(fault, KeyFault::Busy);
        assert!(fault.may_retry() && fault.to_string().contains("did not run"), "{fault}");
        drop(asking);
        take(&keys, call(1)).await;
        drop(running);
    }
}
