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
        room: &Arc<WaitQueue>,
        message: &Message<'_>,
        changes: &[(Span, &[u8])],
        mut path: ReplyTo,
        touched: &mut FlushSet,
    ) -> Result<(), Box<Rejected>> {
        // Who comes again is known by its very words, and has its place with the server already.
        if message.params.request_state.is_some() {
            return self.submit_now(message, changes, path, touched);
        }
        let keeps = room.rules.repeats && message.bytes.len() <= KEPT_REQUEST;
        if path.replay.is_none() && (keeps || room.rules.max_concurrency.is_some()) {
            path.replay = Some(Replay::new(message, changes));
        }
        let cause = match room.rules.max_concurrency {
            Some(_) => WaitCause::Turn,
            None if room.is_crowded() && path.replay.is_some() => WaitCause::Away,
            None => return self.submit_now(message, changes, path, touched),
        };
        // Behind those who came before; whose turn it is, is decided in one place.
        let within = self.options.timeout.or(self.link.limits.call);
        room.admit(path, cause, within)?;
        room.release(touched);
        Ok(())
    }

    /// The server has gone with this call: it waits for the server to come back, if it has not run
    /// or may be made again; otherwise it ends with the error.
    pub(in crate::upstream) fn lose(
        &self,
        mut path: ReplyTo,
        deadline: Option<Tick>,
        may_have_run: bool,
        error: &CallError,
        touched: &mut FlushSet,
    ) {
        let room =
            self.options.wait_queue.as_ref().filter(|room| room.takes_calls() && path.rounds == 0);
        let Some((room, again)) = room.zip(path.replay.as_mut()) else {
            return path.fail(error, touched);
        };
        if may_have_run
            && (again.cut_off >= self.link.transport.most_repeats()
                || !self.repeatable.may_repeat(&again.request))
        {
            return path.fail(error, touched);
        }
        again.deadline = deadline;
        again.cut_off += u8::from(may_have_run);
        if !path.claim() {
            return;
        }
        let left = deadline.map(|deadline| self.link.deadlines.left(deadline));
        if let Err(rejected) = room.admit(path, WaitCause::Away, left) {
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
        if let Some(Entry { waiter: Waiter::Client(path), deadline, .. }) = entry {
            self.lose(path, deadline, !error.may_retry(), error, touched);
        }
    }
}
