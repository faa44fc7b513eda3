//! What becomes of calls that get no answer: they wait for their server and are sent again, or end: failed,
//! late, cancelled, or with their connection.

use std::sync::Arc;
use std::time::Duration;

use trunkline_wire::Edits;

use crate::call::{CallOwner, Cancel, ReplyTo};
use crate::deadlines::Tick;
use crate::error::CallError;
use crate::pump::FlushSet;
use crate::upstream::calls::pending::{Entry, Waiter};
use crate::upstream::calls::wait_queue::WaitQueue;
use crate::upstream::connection::{Connection, with_digits};
use crate::upstream::questions::attribution::Caller;
use crate::upstream::transport::UpstreamId;

impl Connection {
    /// The connection is over: every open call ends, each knowing whether it may have run.
    pub(crate) fn close(self: &Arc<Self>, what: &str, stderr: &[String]) {
        self.link.transport.end();
        let mut touched = FlushSet::default();
        // Closed under the lock: a call that comes now is refused with "has not run" instead of
        // being lost.
        let entries = self.link.pending.lock().close();
        let mut waiting = Vec::new();
        for (id, entry) in entries {
            let may_have_run = self.link.transport.may_have_run(id, entry.sent_at);
            let error = CallError::ServerGone {
                server: self.link.key.to_string(),
                what: what.into(),
                may_have_run,
                stderr: stderr.to_vec(),
            };
            match entry.waiter {
                Waiter::Client(reply) => {
                    let lost = self.lose(reply, entry.deadline, may_have_run, &error, &mut touched);
                    waiting.extend(lost.map(|lost| (lost, error)));
                }
                Waiter::Parked(parked) => parked.fail(&error, &mut touched),
                Waiter::Own(_) | Waiter::Listening(_) | Waiter::Fence => {}
            }
        }
        // The newest first, each before those that wait: so they are in the order in which they were sent.
        for (lost, error) in waiting.into_iter().rev() {
            lost.wait(&error, &mut touched);
        }
        self.link.transport.close();
        let owner = Arc::clone(self) as Arc<dyn CallOwner>;
        for client in self.audience.all() {
            client.forget_questions_of(&owner, "the server has gone", &mut touched);
        }
        touched.flush();
    }

    /// Ends the calls that are late and tells the server. True if any call is left open.
    pub(crate) fn expire(&self, now: Tick) -> bool {
        let expired = self.link.pending.lock().expired(now);
        let after = self.options.timeout.or(self.link.limits.call).unwrap_or_default();
        for id in expired {
            // Asked before the call is taken out.
            let who = self.link.who_called(id);
            let error = CallError::Timeout { server: self.link.key.to_string(), after };
            if self.link.fail(id, &error) {
                let mut touched = FlushSet::default();
                self.link.call_off(id, "timed out", &mut touched);
                if let Some(who) = who {
                    self.link.gave_up(who, &mut touched);
                }
                touched.flush();
            }
        }
        // A late call no longer counts: the next in the queue may go, although the server may still
        // be busy.
        self.options.made_room();
        self.link.pending.lock().len() > 0
    }
}

impl CallOwner for Connection {
    fn cancel(&self, id: u32, how: Cancel<'_>, touched: &mut FlushSet) {
        let Some(entry) = self.link.pending.lock().remove(id) else { return };
        let reply = match entry.waiter {
            Waiter::Client(reply) => reply,
            Waiter::Parked(parked) => {
                parked.leave_questions(self, touched);
                let Some(reply) = self.parking.give_up(&parked) else { return };
                reply
            }
            Waiter::Own(_) | Waiter::Listening(_) | Waiter::Fence => return,
        };
        // Who does not want an answer is not told, and looking may take a while.
        let may_have_run =
            matches!(how, Cancel::SessionEnded) && self.link.transport.is_on_its_way(id);
        reply.abandoned(how, may_have_run, touched);
        match how {
            // The client's own notification, with its reason; only the id is ours.
            Cancel::Said(message) if self.link.sends_cancellations() => {
                let Some(span) = message.params.request_id else { return };
                with_digits(id, |digits| {
                    self.link.tell(message.bytes, &Edits::one(span, digits), touched);
                });
                self.link.transport.forget(id);
            }
            Cancel::SessionEnded => {
                self.link.call_off(id, "the client has ended its session", touched);
            }
            _ => self.link.call_off(id, "the client has gone", touched),
        }
        self.link.gave_up(Caller::of(&reply.client, &reply.request_era), touched);
        self.options.made_room_in(touched);
    }

    fn abandon(&self, id: u32, touched: &mut FlushSet) {
        // Taken out first: what comes of the way that is closed next finds no call any more.
        let Some(entry) = self.link.pending.lock().remove(id) else { return };
        let may_have_run = self.link.transport.withdraw(id, entry.sent_at);
        self.link.fail_entry(entry, &CallError::ShuttingDown { may_have_run }, touched);
    }

    fn pass(&self, bytes: &[u8], edits: &Edits<'_>, touched: &mut FlushSet) {
        self.link.tell(bytes, edits, touched);
    }
}

impl Connection {
    /// The server has gone with this call: it is to wait for the server to come back, if it has not run
    /// or may be made again; otherwise it ends with the error.
    fn lose(
        &self,
        mut reply: ReplyTo,
        deadline: Option<Tick>,
        may_have_run: bool,
        error: &CallError,
        touched: &mut FlushSet,
    ) -> Option<LostCall> {
        let queue = self
            .options
            .wait_queue
            .as_ref()
            .filter(|queue| queue.takes_calls() && reply.rounds == 0);
        let Some((queue, replay)) = queue.zip(reply.replay.as_mut()) else {
            reply.fail(error, touched);
            return None;
        };
        if may_have_run
            && (replay.cut_off >= self.link.transport.most_repeats()
                || !self.repeatable.may_repeat(&replay.request))
        {
            reply.fail(error, touched);
            return None;
        }
        replay.deadline = deadline;
        replay.cut_off += u8::from(may_have_run);
        // Its client has cancelled it meanwhile, and it has its outcome.
        if !reply.claim() {
            return None;
        }
        let left = deadline.map(|deadline| self.link.deadlines.left(deadline));
        Some(LostCall { queue: Arc::clone(queue), reply, left })
    }

    /// The way of one call has broken off: it is made again if it may be, or ends with the error.
    pub(in crate::upstream) fn lose_call(
        &self,
        id: UpstreamId,
        error: &CallError,
        touched: &mut FlushSet,
    ) {
        let mut pending = self.link.pending.lock();
        if !matches!(pending.get(id), Some(Entry { waiter: Waiter::Client(_), .. })) {
            drop(pending);
            self.link.fail_into(id, error, touched);
            return;
        }
        // Looked at and taken out under one lock: its answer may come from another thread.
        let entry = pending.remove(id);
        drop(pending);
        if let Some(Entry { waiter: Waiter::Client(reply), deadline, .. }) = entry
            && let Some(lost) = self.lose(reply, deadline, !error.may_retry(), error, touched)
        {
            lost.wait(error, touched);
        }
    }
}

/// A call that was with a server that has gone, taken out of its client, and is to be sent again.
struct LostCall {
    queue: Arc<WaitQueue>,
    reply: ReplyTo,
    /// How much of its time is left.
    left: Option<Duration>,
}

impl LostCall {
    /// It waits, before those that came later. If it cannot, it ends with the error.
    fn wait(self, error: &CallError, touched: &mut FlushSet) {
        if let Err(rejected) = self.queue.readmit(self.reply, self.left) {
            rejected.reply.fail_taken(error, touched);
        }
    }
}
