//! `WaitQueue`: calls that wait until their server is back, or until it is their turn. Each is sent once, or
//! ends with an error that says why not.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep};
use trunkline_wire::{Edits, scan};

use crate::call::{CallHandle, CallOwner, Cancel, Rejected, ReplyTo};
use crate::error::{Absence, CallError};
use crate::identity::Identity;
use crate::limits::{LONGEST_TURN, STEP, WAITING_BYTES, WAITING_CALLS};
use crate::lock::{Mutex, rank};
use crate::pump::FlushSet;
use crate::upstream::calls::line::{CallLine, CallTicket};
use crate::upstream::calls::steps::Steps;
use crate::upstream::calls::wait_rules::WaitRules;
use crate::upstream::calls::waiting_call::{WaitCause, WaitingCall};
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
    /// Calls wait here, or are just being sent from here: new ones queue behind them.
    // Set when a call comes in and cleared when the last one is with its server, both under `state`. Acquire where it
    // is read: who sees it cleared comes behind what was sent before.
    is_crowded: AtomicBool,
    /// Notified when a call starts to wait.
    bell: Arc<Notify>,
}

#[derive(Debug, Default)]
struct WaitQueueState {
    standing: Standing,
    calls: CallLine<WaitingCall>,
    bytes: usize,
    /// The server was there before.
    has_served: bool,
    steps: Steps,
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

/// Where a call is put.
#[derive(Clone, Copy, Debug)]
enum QueuePlace {
    Last,
    /// It was sent before all that wait came.
    First,
    /// Where it was before it was taken out.
    Again(CallTicket),
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
        self.keep(WaitingCall { reply, until, cause }, QueuePlace::Last)
    }

    /// Keeps a call that was with the server, before all that wait: those came later.
    pub(in crate::upstream) fn readmit(
        self: &Arc<Self>,
        reply: ReplyTo,
        left: Option<Duration>,
    ) -> Result<(), Box<Rejected>> {
        let until = Instant::now() + left.unwrap_or(self.rules.patience).min(self.rules.patience);
        self.keep(WaitingCall { reply, until, cause: WaitCause::Away }, QueuePlace::First)
    }

    fn keep(self: &Arc<Self>, call: WaitingCall, place: QueuePlace) -> Result<(), Box<Rejected>> {
        let size = call.size();
        let mut state = self.state.lock();
        if call.cause == WaitCause::Away && state.standing == Standing::Shut {
            let what = "is not running".to_owned();
            return Err(Rejected::new(call.reply, self.gone(what, false)));
        }
        // Before it is opened in its client: a call that is refused must not be open there. One that was just taken
        // out has its room still.
        let is_new = !matches!(place, QueuePlace::Again(_));
        let is_full = state.calls.len() >= WAITING_CALLS || state.bytes + size > WAITING_BYTES;
        if is_new && is_full {
            let why = "too many calls wait for it";
            let error = CallError::Busy { server: self.key.to_string(), why };
            return Err(Rejected::new(call.reply, error));
        }
        let ticket = match place {
            QueuePlace::Last => state.calls.last_ticket(),
            QueuePlace::First => state.calls.first_ticket(),
            QueuePlace::Again(ticket) => ticket,
        };
        let owner: Arc<dyn CallOwner> = Arc::clone(self) as Arc<dyn CallOwner>;
        let handle = CallHandle::Sent { owner, id: ticket.handle() };
        if !call.reply.client.open(&call.reply.id, handle) {
            return Err(Rejected::new(call.reply, CallError::duplicate_id()));
        }
        state.bytes += size;
        state.calls.insert(ticket, call);
        self.is_crowded.store(true, Ordering::Release);
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
                state.steps.begin();
            }
            state.standing = Standing::Serving;
            state.has_served = true;
        }
        self.release_now();
    }

    /// Sends the calls that have waited for the server to come back, a few each millisecond. All at once
    /// they would use up the machine, and every other call would be late.
    pub(in crate::upstream) async fn let_in(self: Arc<Self>) {
        let Some(stepping) = Stepping::begin(&self) else { return };
        while let Some(most) = stepping.next_portion() {
            let mut touched = FlushSet::default();
            self.release_some(most, &mut touched);
            touched.flush();
            sleep(STEP).await;
        }
        drop(stepping);
        self.release_now(); // what has come since the last step
    }

    /// Does a new call have to queue behind others, although its server is there?
    pub(in crate::upstream) fn is_crowded(&self) -> bool {
        self.is_crowded.load(Ordering::Acquire)
    }

    /// May calls go to the server that do not look here first? Not past those that wait and can be sent.
    pub(in crate::upstream) fn may_be_passed(&self) -> bool {
        self.rules.looks_at_calls()
            || !self.is_crowded()
            || self.state.lock().standing != Standing::Serving
    }

    /// Sends waiting calls in the order they came, as far as the server takes them; unless `let_in` does
    /// that step by step.
    pub(crate) fn release(self: &Arc<Self>, touched: &mut FlushSet) {
        if !self.state.lock().steps.are_taken() {
            self.release_some(usize::MAX, touched);
        }
    }

    /// Sends waiting calls, and writes them.
    pub(in crate::upstream) fn release_now(self: &Arc<Self>) {
        let mut touched = FlushSet::default();
        self.release(&mut touched);
        touched.flush();
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
            let Some((ticket, call)) = self.next() else { return };
            // Its client may have cancelled it since it was taken out of the queue.
            if !call.reply.claim() {
                call.cancelled(touched);
                continue;
            }
            self.hand_over((ticket, call), &connection, touched);
        }
    }

    /// Takes out the call that is sent next, if the server is there. What was taken out before is with the server.
    fn next(&self) -> Option<(CallTicket, WaitingCall)> {
        let mut state = self.state.lock();
        if state.calls.is_empty() {
            self.is_crowded.store(false, Ordering::Release);
        }
        state.next()
    }

    fn hand_over(
        self: &Arc<Self>,
        (ticket, call): (CallTicket, WaitingCall),
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
                match self.keep(WaitingCall { reply, until, cause }, QueuePlace::Again(ticket)) {
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
            state.calls.take()
        };
        let mut touched = FlushSet::default();
        for call in calls {
            let error = self.gone(what.clone(), call.reply.has_run());
            call.fail(&error, &mut touched);
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
                .filter_map(|(ticket, call)| Some((ticket, refusal(&call.called_tool()?)?)))
                .collect();
            let take = |(ticket, error)| Some((state.remove(ticket)?, error));
            outdated.into_iter().filter_map(take).collect()
        };
        let mut touched = FlushSet::default();
        for (call, error) in refused {
            call.fail(&error, &mut touched);
        }
        touched.flush();
    }

    /// Sends the calls that can be sent, and ends those whose time is up. True if calls still wait.
    pub(crate) fn sweep(self: &Arc<Self>) -> bool {
        if self.len() == 0 {
            return false;
        }
        self.release_now();
        self.expire(Instant::now())
    }

    fn expire(&self, now: Instant) -> bool {
        // Answered behind the lock, which every call of this server needs.
        let (late, left) = {
            let mut state = self.state.lock();
            let late = state.calls.iter().filter(|(_, call)| call.until <= now);
            let late: Vec<CallTicket> = late.map(|(ticket, _)| ticket).collect();
            let late: Vec<WaitingCall> =
                late.into_iter().filter_map(|ticket| state.remove(ticket)).collect();
            (late, !state.calls.is_empty())
        };
        let mut touched = FlushSet::default();
        for call in late {
            let error = match call.cause {
                WaitCause::Away => self.gone(self.absence(), call.reply.has_run()),
                WaitCause::Turn => {
                    let why = "it has too many calls already, and none has ended in time";
                    CallError::Busy { server: self.key.to_string(), why }
                }
            };
            call.fail(&self.in_this_case(&call.reply, error), &mut touched);
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

impl WaitQueueState {
    /// Takes out the call with this handle.
    fn remove_by(&mut self, handle: u32) -> Option<WaitingCall> {
        let ticket = self.calls.ticket_of(handle)?;
        self.remove(ticket)
    }

    /// The call that is sent next, if the server is there.
    fn next(&mut self) -> Option<(CallTicket, WaitingCall)> {
        if self.standing != Standing::Serving {
            return None;
        }
        let first = self.calls.first()?;
        Some((first, self.remove(first)?))
    }

    fn remove(&mut self, ticket: CallTicket) -> Option<WaitingCall> {
        let call = self.calls.remove(ticket)?;
        let size = call.size();
        self.bytes = self.bytes.saturating_sub(size);
        Some(call)
    }
}

/// Who sends calls step by step: also if this is dropped between two steps, because the run of the server ends.
struct Stepping<'a>(&'a WaitQueue);

impl<'a> Stepping<'a> {
    /// `None`: there are no steps to be taken, or somebody takes them.
    fn begin(queue: &'a WaitQueue) -> Option<Self> {
        let is_mine = queue.state.lock().steps.take();
        is_mine.then(|| Self(queue))
    }

    /// How many calls are sent in this step; `None`: no call waits, or the last step is done.
    fn next_portion(&self) -> Option<usize> {
        let mut state = self.0.state.lock();
        let waiting = state.calls.len();
        state.steps.next(waiting)
    }
}

impl Drop for Stepping<'_> {
    fn drop(&mut self) {
        self.0.state.lock().steps = Steps::default();
    }
}

impl CallOwner for WaitQueue {
    fn cancel(&self, id: u32, how: Cancel<'_>, touched: &mut FlushSet) {
        let call = self.state.lock().remove_by(id);
        if let Some(WaitingCall { reply, .. }) = call {
            reply.cancelled(how, reply.has_run(), touched);
        }
    }

    fn abandon(&self, id: u32, touched: &mut FlushSet) {
        let call = self.state.lock().remove_by(id);
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
