//! `WaitQueue`: calls that wait for their server: until it is back, or until it is their turn. Each is
//! delivered once, or told why not.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep};
use trunkline_wire::{Edits, decode, scan};

use crate::call::{CallHandle, CallOwner, Cancel, Rejected, ReplyTo};
use crate::error::CallError;
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
    /// One at a time lets calls in to a server that takes only so many.
    // Above all locks of a call: whole calls are handed over under it.
    turnstile: Mutex<(), rank::Turnstile>,
    /// Those who waited for the server are let in a few at a time: others come behind them.
    is_crowded: AtomicBool,
    /// Rung when somebody starts to wait.
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
    /// Are calls of a server that is there looked at?
    pub(in crate::upstream) fn looks_at_calls(&self) -> bool {
        self.repeats || self.max_concurrency.is_some()
    }
}

#[derive(Debug, Default)]
struct WaitQueueState {
    standing: Standing,
    held: BTreeMap<u32, WaitingCall>,
    bytes: usize,
    last: u32,
    /// The server was there before.
    has_served: bool,
    /// The server has come back, and who waited for it is let in step by step: the next step.
    step: Option<u32>,
}

/// How it stands with the server.
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
    path: ReplyTo,
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
    pub(crate) fn new(key: Identity, rules: WaitRules, bell: Arc<Notify>) -> Self {
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

    pub(crate) fn len(&self) -> usize {
        self.state.lock().held.len()
    }

    /// The server is away and will be back: whoever calls it waits.
    pub(in crate::upstream) fn open(&self) {
        if self.rules.waits_for_restart {
            self.state.lock().standing = Standing::Away;
        }
    }

    /// A call has found this connection closed: its end will be noticed in a moment.
    pub(crate) fn missed(&self, connection: &Arc<Connection>) {
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

    /// Keeps a call, which must hold its request (`again`) and not be open in its client. `within`: how
    /// long a call to this server may take.
    pub(crate) fn admit(
        self: &Arc<Self>,
        path: ReplyTo,
        cause: WaitCause,
        within: Option<Duration>,
    ) -> Result<(), Box<Rejected>> {
        let patience = match cause {
            WaitCause::Away => self.rules.patience,
            WaitCause::Turn => LONGEST_TURN,
        };
        let until = Instant::now() + within.unwrap_or(patience).min(patience);
        self.keep(WaitingCall { path, until, cause })
    }

    fn keep(self: &Arc<Self>, held: WaitingCall) -> Result<(), Box<Rejected>> {
        let size = held.path.replay.as_ref().map_or(0, |again| again.request.len());
        let mut state = self.state.lock();
        if held.cause == WaitCause::Away && state.standing == Standing::Shut {
            let what = "is not running".to_owned();
            return Err(Rejected::new(held.path, self.gone(what, false)));
        }
        if state.held.len() >= WAITING_CALLS || state.bytes + size > WAITING_BYTES {
            let why = "too many calls wait for it";
            let error = CallError::Busy { server: self.key.to_string(), why };
            return Err(Rejected::new(held.path, error));
        }
        let id = state.last.wrapping_add(1);
        let carrier: Arc<dyn CallOwner> = Arc::clone(self) as Arc<dyn CallOwner>;
        if !held.path.client.open(&held.path.id, CallHandle::Sent { carrier, id }) {
            return Err(Rejected::new(held.path, CallError::duplicate_id()));
        }
        state.last = id;
        state.bytes += size;
        state.held.insert(id, held);
        drop(state);
        self.bell.notify_one();
        Ok(())
    }

    /// The server is there. Whoever waits for it is let in by `let_in`, if it was away, and else now.
    pub(in crate::upstream) fn welcome(self: &Arc<Self>, connection: &Arc<Connection>) {
        *self.connection.lock() = Arc::downgrade(connection);
        {
            let mut state = self.state.lock();
            // Step by step only where new calls can be made to wait behind those.
            let is_crowd = self.rules.looks_at_calls() && !state.held.is_empty();
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

    /// Lets in those who have waited for the server to come back, a few each millisecond. All at once
    /// they are as much work as the machine has, and every other call is late.
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

    /// How many are let in now; `None`: nobody has to be let in like this.
    fn next_portion(&self) -> Option<usize> {
        let mut state = self.state.lock();
        let step = state.step?;
        state.step = Some(step.saturating_add(1));
        Some(portion(step, state.held.len()))
    }

    /// Whoever comes from now on goes straight to the server: nobody is left to be overtaken, or it was
    /// the last step.
    fn end_if_through(&self) -> bool {
        let mut state = self.state.lock();
        let is_through = state.held.is_empty() || state.step.is_none_or(|step| step > LAST_STEP);
        if is_through {
            state.step = None;
            self.is_crowded.store(false, Ordering::Relaxed);
        }
        is_through
    }

    /// Has a call to wait behind others, although its server is there?
    pub(in crate::upstream) fn is_crowded(&self) -> bool {
        self.is_crowded.load(Ordering::Relaxed)
    }

    /// Lets in whoever waits, in the order they came, as far as the server takes them; unless that is
    /// done step by step.
    pub(crate) fn release(self: &Arc<Self>, touched: &mut FlushSet) {
        if self.state.lock().step.is_none() {
            self.release_some(usize::MAX, touched);
        }
    }

    fn release_some(self: &Arc<Self>, most: usize, touched: &mut FlushSet) {
        let connection = self.connection.lock().upgrade();
        let Some(connection) = connection else { return };
        let _one_at_a_time = self.turnstile.lock();
        for _ in 0..most {
            if self.rules.max_concurrency.is_some_and(|most| connection.link.open_calls() >= most) {
                return;
            }
            let Some(held) = self.state.lock().next() else { return };
            if !held.path.claim() {
                cancelled(&held.path, touched);
                continue;
            }
            self.hand_over(held, &connection, touched);
        }
    }

    fn hand_over(
        self: &Arc<Self>,
        held: WaitingCall,
        connection: &Arc<Connection>,
        touched: &mut FlushSet,
    ) {
        let WaitingCall { path, until, cause } = held;
        let request = path.replay.as_ref().map(|again| Box::clone(&again.request));
        let request = request.unwrap_or_default();
        let Ok(message) = scan(&request) else {
            return path.fail_taken(&CallError::Internal("a kept request is unreadable"), touched);
        };
        let door = path.sink.clone();
        let Err(rejected) = connection.submit_now(&message, &[], path, touched) else {
            return door.handed_over();
        };
        let rejected = match *rejected {
            // It has gone again at this very moment, and the call has not run.
            Rejected { reply, error: CallError::ServerGone { may_have_run: false, .. } }
                if self.rules.waits_for_restart =>
            {
                self.missed(connection);
                match self.keep(WaitingCall { path: reply, until, cause }) {
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

    /// Nobody needs to wait any longer: the server does not come back.
    pub(in crate::upstream) fn shut(&self, what: &str) {
        let held = {
            let mut state = self.state.lock();
            state.standing = Standing::Shut;
            state.bytes = 0;
            std::mem::take(&mut state.held)
        };
        let mut touched = FlushSet::default();
        for (_, held) in held {
            let error = self.gone(what.to_owned(), held.path.has_run());
            fail(&held.path, &error, &mut touched);
        }
        touched.flush();
    }

    /// Ends the waiting of tool calls that must not be sent any more. `refusal`: why, by the tool's own name.
    pub(in crate::upstream) fn refuse(&self, refusal: impl Fn(&str) -> Option<CallError>) {
        let refused: Vec<(WaitingCall, CallError)> = {
            let mut state = self.state.lock();
            let outdated: Vec<_> = state
                .held
                .iter()
                // One that may have run is told that, whatever becomes of it.
                .filter(|(_, held)| !held.path.has_run())
                .filter_map(|(id, held)| Some((*id, refusal(&called_tool(&held.path)?)?)))
                .collect();
            let take = |(id, error)| Some((state.remove(id)?, error));
            outdated.into_iter().filter_map(take).collect()
        };
        let mut touched = FlushSet::default();
        for (held, error) in refused {
            fail(&held.path, &error, &mut touched);
        }
        touched.flush();
    }

    /// Lets in whoever can be let in, and ends the waiting of those whose time is up. True if anybody
    /// still waits.
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
        let (late, left) = {
            let mut state = self.state.lock();
            let late = state.held.iter().filter(|(_, held)| held.until <= now);
            let late: Vec<u32> = late.map(|(id, _)| *id).collect();
            let late: Vec<WaitingCall> =
                late.into_iter().filter_map(|id| state.remove(id)).collect();
            (late, !state.held.is_empty())
        };
        let mut touched = FlushSet::default();
        for WaitingCall { path, cause, .. } in late {
            let error = match cause {
                WaitCause::Away => self.gone(self.absence(), path.has_run()),
                WaitCause::Turn => {
                    let why = "it has too many calls already, and none has ended in time";
                    CallError::Busy { server: self.key.to_string(), why }
                }
            };
            fail(&path, &self.in_this_case(&path, error), &mut touched);
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

    fn gone(&self, what: String, may_have_run: bool) -> CallError {
        CallError::ServerGone {
            server: self.key.to_string(),
            what,
            may_have_run,
            stderr: Vec::new(),
        }
    }

    /// The error as it waits for a call that may have run before it came here.
    fn in_this_case(&self, path: &ReplyTo, error: CallError) -> CallError {
        if path.has_run() && error.may_retry() {
            return self.gone("went and could not be asked again".to_owned(), true);
        }
        error
    }
}

/// How many of those who wait are let in at this step. More and more: where new calls come as fast as
/// these are let in, the crowd would never end.
fn portion(step: u32, waiting: usize) -> usize {
    let more = usize::try_from(step / STEPS_TO_ONE_MORE).unwrap_or(usize::MAX);
    let most = LEAST_LET_IN.saturating_add(more).max(waiting / PARTS);
    if step < LAST_STEP { most.min(waiting) } else { waiting }
}

/// The tool that a waiting call is for, as its server calls it.
fn called_tool(path: &ReplyTo) -> Option<String> {
    let request = &path.replay.as_ref()?.request;
    let message = scan(request).ok()?;
    let is_call = *message.method() == *b"tools/call";
    let name = decode(message.text(message.params.name)).filter(|_| is_call)?;
    Some(name.into_owned())
}

/// Its client does not wait for it any more.
fn cancelled(path: &ReplyTo, touched: &mut FlushSet) {
    path.cancelled(Cancel::Left, path.has_run(), touched);
}

/// Ends a call that was taken out of the room; at this moment its client may have cancelled it.
fn fail(path: &ReplyTo, error: &CallError, touched: &mut FlushSet) {
    match path.claim() {
        true => path.fail_taken(error, touched),
        false => cancelled(path, touched),
    }
}

impl WaitQueueState {
    /// Whoever is to be let in next, if the server is there.
    fn next(&mut self) -> Option<WaitingCall> {
        if self.standing != Standing::Serving {
            return None;
        }
        let first = *self.held.first_key_value()?.0;
        self.remove(first)
    }

    fn remove(&mut self, id: u32) -> Option<WaitingCall> {
        let held = self.held.remove(&id)?;
        let size = held.path.replay.as_ref().map_or(0, |again| again.request.len());
        self.bytes = self.bytes.saturating_sub(size);
        Some(held)
    }
}

impl CallOwner for WaitQueue {
    fn cancel(&self, id: u32, how: Cancel<'_>, touched: &mut FlushSet) {
        let held = self.state.lock().remove(id);
        if let Some(WaitingCall { path, .. }) = held {
            path.cancelled(how, path.has_run(), touched);
        }
    }

    fn abandon(&self, id: u32, touched: &mut FlushSet) {
        let held = self.state.lock().remove(id);
        if let Some(WaitingCall { path, .. }) = held {
            path.fail(&CallError::ShuttingDown { may_have_run: path.has_run() }, touched);
        }
    }

    /// Nobody here asks anything.
    fn pass(&self, _: &[u8], _: &Edits<'_>, _: &mut FlushSet) {}

    fn is_waiting_room(&self) -> bool {
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
