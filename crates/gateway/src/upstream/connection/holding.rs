//! What becomes of calls whose server is not there or has no turn for them: they wait, and some are
//! made again.

use std::sync::Arc;

use trunkline_wire::{Message, Span};

use crate::call::{Rejected, Replay, ReplyTo};
use crate::deadlines::Tick;
use crate::error::CallError;
use crate::limits::KEPT_REQUEST;
use crate::pump::FlushSet;
use crate::upstream::calls::pending::{Entry, Waiter};
use crate::upstream::calls::wait_queue::{WaitCause, WaitQueue};
use crate::upstream::connection::Connection;
use crate::upstream::transport::UpstreamId;

impl Connection {
    /// Passes a request on to a server whose calls may wait.
    pub(in crate::upstream) fn submit_held(
        self: &Arc<Self>,
        queue: &Arc<WaitQueue>,
        message: &Message<'_>,
        changes: &[(Span, &[u8])],
        mut reply: ReplyTo,
        touched: &mut FlushSet,
    ) -> Result<(), Box<Rejected>> {
        // Who comes again is known by its very words, and has its place with the server already.
        if message.params.request_state.is_some() {
            return self.submit_now(message, changes, reply, touched);
        }
        let keeps = queue.waits_for_restart && message.bytes.len() <= KEPT_REQUEST;
        if reply.replay.is_none() && (keeps || queue.max_concurrency.is_some()) {
            reply.replay = Some(Replay::new(message, changes));
        }
        let cause = match queue.max_concurrency {
            Some(_) => WaitCause::Turn,
            None if queue.is_crowded() && reply.replay.is_some() => WaitCause::Away,
            None => return self.submit_now(message, changes, reply, touched),
        };
        // Behind those who came before; whose turn it is, is decided in one place.
        let within = self.options.timeout.or(self.link.limits.call);
        queue.admit(reply, cause, within)?;
        queue.release(touched);
        Ok(())
    }

    /// The server has gone with this call: it waits for the server to come back, if it has not run
    /// or may be made again; otherwise it ends with the error.
    pub(in crate::upstream) fn lose(
        &self,
        mut reply: ReplyTo,
        deadline: Option<Tick>,
        may_have_run: bool,
        error: &CallError,
        touched: &mut FlushSet,
    ) {
        let queue = self
            .options
            .wait_queue
            .as_ref()
            .filter(|queue| queue.takes_calls() && reply.rounds == 0);
        let Some((queue, replay)) = queue.zip(reply.replay.as_mut()) else {
            return reply.fail(error, touched);
        };
        if may_have_run
            && (replay.cut_off >= self.link.transport.most_repeats()
                || !self.repeatable.may_repeat(&replay.request))
        {
            return reply.fail(error, touched);
        }
        replay.deadline = deadline;
        replay.cut_off += u8::from(may_have_run);
        if !reply.claim() {
            return;
        }
        let left = deadline.map(|deadline| self.link.deadlines.left(deadline));
        if let Err(rejected) = queue.admit(reply, WaitCause::Away, left) {
            rejected.reply.fail_taken(error, touched);
        }
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
        let entry = pending.remove(id);
        drop(pending);
        if let Some(Entry { waiter: Waiter::Client(reply), deadline, .. }) = entry {
            self.lose(reply, deadline, !error.may_retry(), error, touched);
        }
    }
}
