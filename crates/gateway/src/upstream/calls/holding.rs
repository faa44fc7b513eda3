//! What becomes of calls whose server is not there or has no turn for them: they wait, and some are
//! made again.

use std::sync::Arc;

use trunkline_catalog::Listing;
use trunkline_wire::{Edits, Message, Span, scan};

use crate::call::{CallRecord, Rejected, Replay, ReplyTo};
use crate::deadlines::Tick;
use crate::error::CallError;
use crate::limits::KEPT_REQUEST;
use crate::pump::FlushSet;
use crate::traces::SpanKind;
use crate::upstream::calls::pending::{Entry, Waiter};
use crate::upstream::calls::wait_queue::{Cause, WaitQueue};
use crate::upstream::connection::Connection;
use crate::upstream::lifecycle::hints::Hints;
use crate::upstream::transport::Transport;
use crate::upstream::transport::UpstreamId;

impl Replay {
    /// `changes` are made; the rest is the client's.
    pub(crate) fn new(message: &Message<'_>, changes: &[(Span, &[u8])]) -> Box<Self> {
        let mut edits = Edits::new();
        for (span, new) in changes {
            edits.add(*span, new);
        }
        let mut request = Vec::with_capacity(message.bytes.len() + 64);
        edits.write(message.bytes, &mut request);
        Box::new(Self { request: request.into(), deadline: None, cut_off: 0 })
    }
}

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
        let keeps = room.holds && message.bytes.len() <= KEPT_REQUEST;
        if path.replay.is_none() && (keeps || room.at_once.is_some()) {
            path.replay = Some(Replay::new(message, changes));
        }
        let cause = match room.at_once {
            Some(_) => Cause::Turn,
            None if room.is_crowded() && path.replay.is_some() => Cause::Away,
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
        let room = self.options.room.as_ref().filter(|room| room.takes_calls() && path.rounds == 0);
        let Some((room, again)) = room.zip(path.replay.as_mut()) else {
            return path.fail(error, touched);
        };
        if may_have_run
            && (again.cut_off >= self.most_repeats() || !self.may_repeat(&again.request))
        {
            return path.fail(error, touched);
        }
        again.deadline = deadline;
        again.cut_off += u8::from(may_have_run);
        if !path.claim() {
            return;
        }
        let left = deadline.map(|deadline| self.link.deadlines.left(deadline));
        if let Err(rejected) = room.admit(path, Cause::Away, left) {
            rejected.reply.fail_taken(error, touched);
        }
    }

    /// How often a call that may be made again is. A process that has gone is gone; in the network,
    /// who comes back at once may meet the same server going.
    fn most_repeats(&self) -> u8 {
        match self.link.transport {
            Transport::Pipe(_) => 1,
            Transport::Post(_) => 3,
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

    /// Does this request call a tool that says of itself that it may be called again?
    fn may_repeat(&self, request: &[u8]) -> bool {
        let Ok(message) = scan(request) else { return false };
        let name = message.text(message.params.name);
        *message.method() == *b"tools/call" && self.repeatable.lock().contains(name)
    }

    /// Learns which tools may be called again.
    pub(in crate::upstream) fn learn_hints(&self, listing: &Listing) {
        if !self.options.room.as_ref().is_some_and(|room| room.holds) {
            return;
        }
        let tools = listing.tools().iter();
        let repeatable = tools.filter(|tool| Hints::of(&tool.definition).may_repeat());
        *self.repeatable.lock() = repeatable.map(|tool| tool.name_token().into()).collect();
    }

    /// A call has ended: it may be another one's turn.
    pub(in crate::upstream) fn made_room_in(&self, touched: &mut FlushSet) {
        if let Some(room) = self.options.room.as_ref().filter(|room| room.at_once.is_some()) {
            room.release(touched);
        }
    }

    pub(in crate::upstream) fn made_room(&self) {
        let mut touched = FlushSet::default();
        self.made_room_in(&mut touched);
        touched.flush();
    }

    /// What is to be told about a call at its end, if anybody wants to know.
    pub(crate) fn note(
        &self,
        message: &Message<'_>,
        changes: &[(Span, &[u8])],
        path: &ReplyTo,
    ) -> Option<Arc<CallRecord>> {
        let watch = self.options.watch.as_ref()?;
        let hop = match self.link.transport {
            Transport::Pipe(_) => SpanKind::Pipe,
            Transport::Post(_) => SpanKind::Network,
        };
        CallRecord::of(message, changes, (&self.link.key, hop), path.asker(), watch)
    }

    /// What a call is told that is not sent because the server fails its health checks.
    pub(in crate::upstream) fn failing(&self) -> CallError {
        let server = self.link.key.to_string();
        let why = format!(
            "server `{server}` fails its health checks: it gets no calls until it passes one or is \
             replaced"
        );
        CallError::ServerAbsent { server, why }
    }
}
