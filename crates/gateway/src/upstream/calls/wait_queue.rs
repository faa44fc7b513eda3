//! `WaitQueue`: calls that wait until their server is back, or until it is their turn. Each is sent once, or
//! ends with an error that says why not.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep};
use trunkline_catalog::config::CallRules;
use trunkline_wire::{Edits, decode, scan};

use crate::call::{CallHandle, CallOwner, Cancel, Rejected, ReplyTo};
use crate::error::{Absence, CallError};
use crate::identity::Identity;
use crate::limits::{
    LAST_STEP, LEAST_LET_IN, LONGEST_TURN, PARTS, STEP, STEPS_TO_ONE_MORE, WAITING_BYTES,
    WAITING_CALLS,
};
use crate::lock::{Mutex, rank};
use crate::pump::FlushSet;
use crate::upstream::connection::Connection;

#[derive(Debug)]
pub(crate) struct WaitQueue {
    key: Identity,
    pub(in crate::upstream) rules: WaitRules,
    // A call is opened in its client under it, so that it is cancelled here and nowhere else.
    state: Mutex<WaitQueueState, rank::WaitingCalls>,
    /// Where the server is now.
    connection: Mutex<Weak<Connection>, rank::WaitQueueConnection>,
    /// Held while waiting calls are sent: the concurrency limit is checked and used in one step.
    // Above all locks of a call: whole calls are handed over under it.
    turnstile: Mutex<(), rank::Turnstile>,
    /// Calls that waited for the server are being sent a few at a time: new ones queue behind them.
    // Relaxed where it is used: a call that reads the old value goes a moment early or late, and no
    // order is promised among calls.
    is_crowded: AtomicBool,
    /// Notified when a call starts to wait.
    bell: Arc<Notify>,
}

/// Which calls wait, and how long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitRules {
    /// Calls are kept while their server is away.
    pub(in crate::upstream) waits_for_restart: bool,
    /// A call that was sent is kept as well, to be made again if the server is gone.
    pub(in crate::upstream) repeats: bool,
    /// How many calls the server is given at a time.
    pub(in crate::upstream) max_concurrency: Option<usize>,
    /// How long a call waits for its server.
    pub(in crate::upstream) patience: Duration,
}

impl WaitRules {
    /// What the config says of the calls of a server; they do not wait for a server that is gone.
    pub(in crate::upstream) fn of(calls: &CallRules) -> Self {
        Self {
            waits_for_restart: false,
            repeats: false,
            max_concurrency: calls.max_concurrency,
            patience: Duration::ZERO,
        }
    }

    /// Are calls of a server that is there looked at?
    pub(in crate::upstream) fn looks_at_calls(&self) -> bool {
        self.repeats || self.max_concurrency.is_some()
    }
}

#[derive(Debug, Default)]
struct WaitQueueState {
    standing: Standing,
    calls: BTreeMap<u32, WaitingCall>,
    bytes: usize,
    last: u32,
    /// The server was there before.
    has_served: bool,
    /// The next step, while calls that waited for the server are sent step by step.
    step: Option<u32>,
}

/// What the queue knows about its server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Standing {
    /// It has not been there yet, or is not expected back.
    #[default]
    Shut,
    /// It is there.
    Serving,
    /// It has gone and is expected back.
    Away,
}

#[derive(Debug)]
struct WaitingCall {
    reply: ReplyTo,
    until: Instant,
    cause: WaitCause,
}

/// Why a call waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitCause {
    Away,
    Turn,
}

impl WaitQueue {
    /// The queue of a server; `None` if no call of it ever waits.
    pub(in crate::upstream) fn for_server(
        key: &Identity,
        rules: WaitRules,
        bell: &Arc<Notify>,
    ) -> Option<Self> {
        let waits = rules.waits_for_restart || rules.max_concurrency.is_some();
        waits.then(|| Self::new(key.clone(), rules, Arc::clone(bell)))
    }

    fn new(key: Identity, rules: WaitRules, bell: Arc<Notify>) -> Self {
        let (state, turnstile) = (Mutex::default(), Mutex::default());
        let (connection, is_crowded) = (Mutex::default(), AtomicBool::new(false));
        Self { key, rules, state, connection, turnstile, is_crowded, bell }
    }

    /// The queue of another process of the server: calls take turns there, and do not wait for it when
    /// it is gone.
    pub(in crate::upstream) fn private(&self) -> Option<Self> {
        let rules = WaitRules { waits_for_restart: false, repeats: false, ..self.rules };
        rules.max_concurrency?;
        Some(Self::new(self.key.clone(), rules, Arc::clone(&self.bell)))
    }

    /// Do calls take turns, because the server is given only so many at a time?
    pub(in crate::upstream) fn has_turns(&self) -> bool {
        self.rules.max_concurrency.is_some()
    }

    pub(crate) fn len(&self) -> usize {
        self.state.lock().calls.len()
    }

    /// The server is away and will be back: calls to it wait.
    pub(in crate::upstream) fn open(&self) {
        if self.rules.waits_for_restart {
            self.state.lock().standing = Standing::Away;
        }
    }

    /// A call has found this connection closed: its end will be noticed in a moment.
    pub(crate) fn missed(&self, connection: &Arc<Connection>) {
        // Only if it is still the current one: the server may be back already, in another
        // connection.
        let is_current = self.connection.lock().as_ptr() == Arc::as_ptr(connection);
        let mut state = self.state.lock();
        if is_current && state.standing == Standing::Serving {
            state.standing = Standing::Away;
        }
    }

    /// May a call whose server has gone wait here?
    pub(crate) fn takes_calls(&self) -> bool {
        self.rules.waits_for_restart && self.state.lock().standing != Standing::Shut
    }

    /// Keeps a call, which must hold its request (`replay`) and not be open in its client. `within`: how
    /// long a call to this server may take.
    pub(crate) fn admit(
        self: &Arc<Self>,
        reply: ReplyTo,
        cause: WaitCause,
        within: Option<Duration>,
    ) -> Result<(), Box<Rejected>> {
        let patience = match cause {
            WaitCause::Away => self.rules.patience,
            WaitCause::Turn => LONGEST_TURN,
        };
        let until = Instant::now() + within.unwrap_or(patience).min(patience);
        self.keep(WaitingCall { reply, until, cause })
    }

    fn keep(self: &Arc<Self>, call: WaitingCall) -> Result<(), Box<Rejected>> {
        let size = call.reply.replay.as_ref().map_or(0, |replay| replay.request.len());
        let mut state = self.state.lock();
        if call.cause == WaitCause::Away && state.standing == Standing::Shut {
            let what = "is not running".to_owned();
            return Err(Rejected::new(call.reply, self.gone(what, false)));
        }
        // Before it is opened in its client: a call that is refused must not be open there.
        if state.calls.len() >= WAITING_CALLS || state.bytes + size > WAITING_BYTES {
            let why = "too many calls wait for it";
            let error = CallError::Busy { server: self.key.to_string(), why };
            return Err(Rejected::new(call.reply, error));
        }
        let id = state.last.wrapping_add(1);
        let owner: Arc<dyn CallOwner> = Arc::clone(self) as Arc<dyn CallOwner>;
        if !call.reply.client.open(&call.reply.id, CallHandle::Sent { owner, id }) {
            return Err(Rejected::new(call.reply, CallError::duplicate_id()));
        }
        state.last = id;
        state.bytes += size;
        state.calls.insert(id, call);
        drop(state);
        // Behind the lock: the sweeper that it wakes takes it first.
        self.bell.notify_one();
        Ok(())
    }

    /// The server is there. Waiting calls are sent by `let_in` if it was away, else now.
    pub(in crate::upstream) fn welcome(self: &Arc<Self>, connection: &Arc<Connection>) {
        // The connection first: who finds the server there must find its connection, too.
        *self.connection.lock() = Arc::downgrade(connection);
        {
            let mut state = self.state.lock();
            // Step by step only where new calls can be made to wait behind those.
            let is_crowd = self.rules.looks_at_calls() && !state.calls.is_empty();
            if state.standing == Standing::Away && is_crowd {
                state.step = Some(0);
                self.is_crowded.store(true, Ordering::Relaxed);
            }
            state.standing = Standing::Serving;
            state.has_served = true;
        }
        let mut touched = FlushSet::default();
        self.release(&mut touched);
        touched.flush();
    }

    /// Sends the calls that have waited for the server to come back, a few each millisecond. All at once
    /// they would use up the machine, and every other call would be late.
    pub(in crate::upstream) async fn let_in(self: Arc<Self>) {
        while let Some(most) = self.next_portion() {
            let mut touched = FlushSet::default();
            self.release_some(most, &mut touched);
            touched.flush();
            if self.end_if_through() {
                return;
            }
            sleep(STEP).await;
        }
    }

    /// How many calls are sent in this step; `None`: there are no steps.
    fn next_portion(&self) -> Option<usize> {
        let mut state = self.state.lock();
        let step = state.step?;
        state.step = Some(step.saturating_add(1));
        Some(portion(step, state.calls.len()))
    }

    /// Ends the steps when no call waits or the last step is done: new calls then go straight to the
    /// server.
    fn end_if_through(&self) -> bool {
        let mut state = self.state.lock();
        let is_through = state.calls.is_empty() || state.step.is_none_or(|step| step > LAST_STEP);
        if is_through {
            state.step = None;
            self.is_crowded.store(false, Ordering::Relaxed);
        }
        is_through
    }

    /// Does a new call have to queue behind others, although its server is there?
    pub(in crate::upstream) fn is_crowded(&self) -> bool {
        self.is_crowded.load(Ordering::Relaxed)
    }

    /// Sends waiting calls in the order they came, as far as the server takes them; unless `let_in` does
    /// that step by step.
    pub(crate) fn release(self: &Arc<Self>, touched: &mut FlushSet) {
        if self.state.lock().step.is_none() {
            self.release_some(usize::MAX, touched);
        }
    }

    fn release_some(self: &Arc<Self>, most: usize, touched: &mut FlushSet) {
        let connection = self.connection.lock().upgrade();
        let Some(connection) = connection else { return };
        // Counting and handing over in one: else two threads would both fill the last free place.
        let _one_at_a_time = self.turnstile.lock();
        for _ in 0..most {
            if self.rules.max_concurrency.is_some_and(|most| connection.link.open_calls() >= most) {
                return;
            }
            let Some(call) = self.state.lock().next() else { return };
            // Its client may have cancelled it since it was taken out of the queue.
            if !call.reply.claim() {
                cancelled(&call.reply, touched);
                continue;
            }
            self.hand_over(call, &connection, touched);
        }
    }

    fn hand_over(
        self: &Arc<Self>,
        call: WaitingCall,
        connection: &Arc<Connection>,
        touched: &mut FlushSet,
    ) {
        let WaitingCall { reply, until, cause } = call;
        let request = reply.replay.as_ref().map(|replay| Box::clone(&replay.request));
        let request = request.unwrap_or_default();
        let Ok(message) = scan(&request) else {
            return reply.fail_taken(&CallError::Internal("a kept request is unreadable"), touched);
        };
        let sink = reply.sink.clone();
        let Err(rejected) = connection.submit_now(&message, &[], reply, touched) else {
            return sink.handed_over();
        };
        let rejected = match *rejected {
            // It has gone again at this very moment, and the call has not run.
            Rejected { reply, error: CallError::ServerGone { may_have_run: false, .. } }
                if self.rules.waits_for_restart =>
            {
                self.missed(connection);
                match self.keep(WaitingCall { reply, until, cause }) {
                    Ok(()) => return,
                    Err(rejected) => *rejected,
                }
            }
            rejected => rejected,
        };
        let Rejected { reply, error } = rejected;
        let error = self.in_this_case(&reply, error);
        reply.fail_taken(&error, touched);
    }

    /// Ends all waiting calls: the server does not come back.
    pub(in crate::upstream) fn shut(&self, what: &Absence) {
        // Taken out under the lock and answered behind it: answering takes the locks of clients and
        // sinks.
        let calls = {
            let mut state = self.state.lock();
            state.standing = Standing::Shut;
            state.bytes = 0;
            std::mem::take(&mut state.calls)
        };
        let mut touched = FlushSet::default();
        for (_, call) in calls {
            let error = self.gone(what.clone(), call.reply.has_run());
            fail(&call.reply, &error, &mut touched);
        }
        touched.flush();
    }

    /// Ends the waiting of tool calls that must not be sent any more. `refusal`: why, by the tool's own name.
    pub(in crate::upstream) fn refuse(&self, refusal: impl Fn(&str) -> Option<CallError>) {
        let refused: Vec<(WaitingCall, CallError)> = {
            let mut state = self.state.lock();
            let outdated: Vec<_> = state
                .calls
                .iter()
                // One that may have run is told that, whatever becomes of it.
                .filter(|(_, call)| !call.reply.has_run())
                .filter_map(|(id, call)| Some((*id, refusal(&called_tool(&call.reply)?)?)))
                .collect();
            let take = |(id, error)| Some((state.remove(id)?, error));
            outdated.into_iter().filter_map(take).collect()
        };
        let mut touched = FlushSet::default();
        for (call, error) in refused {
            fail(&call.reply, &error, &mut touched);
        }
        touched.flush();
    }

    /// Sends the calls that can be sent, and ends those whose time is up. True if calls still wait.
    pub(crate) fn sweep(self: &Arc<Self>) -> bool {
        if self.len() == 0 {
            return false;
        }
        let mut touched = FlushSet::default();
        self.release(&mut touched);
        touched.flush();
        self.expire(Instant::now())
    }

    fn expire(&self, now: Instant) -> bool {
        // Answered behind the lock, which every call of this server needs.
        let (late, left) = {
            let mut state = self.state.lock();
            let late = state.calls.iter().filter(|(_, call)| call.until <= now);
            let late: Vec<u32> = late.map(|(id, _)| *id).collect();
            let late: Vec<WaitingCall> =
                late.into_iter().filter_map(|id| state.remove(id)).collect();
            (late, !state.calls.is_empty())
        };
        let mut touched = FlushSet::default();
        for WaitingCall { reply, cause, .. } in late {
            let error = match cause {
                WaitCause::Away => self.gone(self.absence(), reply.has_run()),
                WaitCause::Turn => {
                    let why = "it has too many calls already, and none has ended in time";
                    CallError::Busy { server: self.key.to_string(), why }
                }
            };
            fail(&reply, &self.in_this_case(&reply, error), &mut touched);
        }
        touched.flush();
        left
    }

    /// Why a call has waited in vain.
    fn absence(&self) -> String {
        match self.state.lock().has_served {
            true => "did not come back in time".to_owned(),
            false => format!("was still starting after {} s", self.rules.patience.as_secs()),
        }
    }

    fn gone(&self, what: impl Into<Absence>, may_have_run: bool) -> CallError {
        CallError::ServerGone {
            server: self.key.to_string(),
            what: what.into(),
            may_have_run,
            stderr: Vec::new(),
        }
    }

    /// The error for a call that may have run before it came here.
    fn in_this_case(&self, reply: &ReplyTo, error: CallError) -> CallError {
        if reply.has_run() && error.may_retry() {
            return self.gone("went and could not be asked again", true);
        }
        error
    }
}

/// How many waiting calls are sent in this step. More with each step: if new calls came as fast as these are
/// sent, the queue would never become empty.
fn portion(step: u32, waiting: usize) -> usize {
    let more = usize::try_from(step / STEPS_TO_ONE_MORE).unwrap_or(usize::MAX);
    let most = LEAST_LET_IN.saturating_add(more).max(waiting / PARTS);
    if step < LAST_STEP { most.min(waiting) } else { waiting }
}

/// The tool that a waiting call is for, as its server calls it.
fn called_tool(reply: &ReplyTo) -> Option<String> {
    let message = scan(&reply.replay.as_ref()?.request).ok()?;
    let name = decode(message.text(message.params.name))?;
    (*message.method() == *b"tools/call").then(|| name.into_owned())
}

/// Its client has cancelled it.
fn cancelled(reply: &ReplyTo, touched: &mut FlushSet) {
    reply.cancelled(Cancel::Left, reply.has_run(), touched);
}

/// Ends a call that was taken out of the queue; its client may have cancelled it just now.
fn fail(reply: &ReplyTo, error: &CallError, touched: &mut FlushSet) {
    match reply.claim() {
        true => reply.fail_taken(error, touched),
        false => cancelled(reply, touched),
    }
}

impl WaitQueueState {
    /// The call that is sent next, if the server is there.
    fn next(&mut self) -> Option<WaitingCall> {
        if self.standing != Standing::Serving {
            return None;
        }
        let first = *self.calls.first_key_value()?.0;
        self.remove(first)
    }

    fn remove(&mut self, id: u32) -> Option<WaitingCall> {
        let call = self.calls.remove(&id)?;
        let size = call.reply.replay.as_ref().map_or(0, |replay| replay.request.len());
        self.bytes = self.bytes.saturating_sub(size);
        Some(call)
    }
}

impl CallOwner for WaitQueue {
    fn cancel(&self, id: u32, how: Cancel<'_>, touched: &mut FlushSet) {
        let call = self.state.lock().remove(id);
        if let Some(WaitingCall { reply, .. }) = call {
            reply.cancelled(how, reply.has_run(), touched);
        }
    }

    fn abandon(&self, id: u32, touched: &mut FlushSet) {
        let call = self.state.lock().remove(id);
        if let Some(WaitingCall { reply, .. }) = call {
            reply.fail(&CallError::ShuttingDown { may_have_run: reply.has_run() }, touched);
        }
    }

    /// Servers ask over a connection, never over a queue.
    fn pass(&self, _: &[u8], _: &Edits<'_>, _: &mut FlushSet) {}

    fn is_wait_queue(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crowd_is_let_in_in_small_parts_and_has_an_end() {
        for (step, waiting, expected) in [
            (0, 0, 0),
            (0, 1, 1),
            (0, 64, 2),
            (15, 64, 2),
            (16, 64, 3),
            (0, 4096, 64),
            (160, 640, 12),
            (LAST_STEP - 1, 640, 64),
            (LAST_STEP, 64_000, 64_000),
        ] {
            assert_eq!(portion(step, waiting), expected, "{step} {waiting}");
        }
        // However many wait, and come meanwhile at each step: so many steps at most.
        for (waiting, arriving, most) in [(64, 0, 28), (4096, 0, 250), (200, 5, 160), (64, 20, 700)]
        {
            let (mut left, mut step) = (waiting, 0);
            while left > 0 {
                left -= portion(step, left);
                step += 1;
                if left > 0 {
                    left += arriving;
                }
            }
            assert!(step <= most, "{waiting} with {arriving} each time took {step}");
        }
    }
}
