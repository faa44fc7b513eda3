//! How calls end without their answer: failed, late, cancelled, or with their connection.

use std::sync::Arc;

use trunkline_wire::Edits;

use crate::call::{CallOwner, Cancel};
use crate::deadlines::Tick;
use crate::era::Era;
use crate::error::CallError;
use crate::pump::FlushSet;
use crate::upstream::calls::pending::{Entry, Pending, Waiter};
use crate::upstream::connection::{Connection, with_digits};
use crate::upstream::questions::attribution::Caller;
use crate::upstream::transport::UpstreamId;
use crate::upstream::transport::{Heading, Transport};

impl Connection {
    /// Ends a call with an error, if it is still open. True if it was.
    pub(crate) fn fail(&self, id: UpstreamId, error: &CallError) -> bool {
        let mut touched = FlushSet::default();
        let failed = self.fail_into(id, error, &mut touched);
        touched.flush();
        failed
    }

    pub(crate) fn fail_into(
        &self,
        id: UpstreamId,
        error: &CallError,
        touched: &mut FlushSet,
    ) -> bool {
        let entry = self.pending.lock().remove(id);
        entry.is_some_and(|entry| self.fail_entry(entry, error, touched))
    }

    /// Ends what was taken out with an error. False if nobody waited for it.
    pub(in crate::upstream) fn fail_entry(
        &self,
        entry: Entry,
        error: &CallError,
        touched: &mut FlushSet,
    ) -> bool {
        match entry.waiter {
            Waiter::Client(path) => path.fail(error, touched),
            Waiter::Own(sender) | Waiter::Listening(sender) => {
                drop(sender.send(Err(error.to_string())));
            }
            Waiter::Parked(parked) => parked.fail(error, touched),
            Waiter::Fence => {
                self.fence_passed(touched);
                return false;
            }
        }
        true
    }

    /// The connection is over: every open call ends, each knowing whether it may have run.
    pub(crate) fn close(self: &Arc<Self>, what: &str, stderr: &[String]) {
        let reach = self.line.reach();
        let mut touched = FlushSet::default();
        let entries = self.pending.lock().close();
        for (id, entry) in entries {
            let may_have_run = reach.may_have_run(id, entry.sent_at);
            let error = CallError::ServerGone {
                server: self.key.to_string(),
                what: what.to_owned(),
                may_have_run,
                stderr: stderr.to_vec(),
            };
            match entry.waiter {
                Waiter::Client(path) => {
                    self.lose(path, entry.deadline, may_have_run, &error, &mut touched);
                }
                Waiter::Parked(parked) => parked.fail(&error, &mut touched),
                Waiter::Own(_) | Waiter::Listening(_) | Waiter::Fence => {}
            }
        }
        self.line.close();
        let carrier = Arc::clone(self) as Arc<dyn CallOwner>;
        for client in self.audience.all() {
            client.forget_questions_of(&carrier, "the server has gone", &mut touched);
        }
        touched.flush();
    }

    /// Ends the calls that are late and tells the server. True if any call is left open.
    pub(crate) fn expire(&self, now: Tick) -> bool {
        let expired = self.pending.lock().expired(now);
        let after = self.outfit.timeout.or(self.limits.call).unwrap_or_default();
        for id in expired {
            let who = self.who_called(id);
            let error = CallError::Timeout { server: self.key.to_string(), after };
            if self.fail(id, &error) {
                let mut touched = FlushSet::default();
                self.call_off(id, "timed out", &mut touched);
                if let Some(who) = who {
                    self.gave_up(who, &mut touched);
                }
                touched.flush();
            }
        }
        self.made_room();
        self.pending.lock().len() > 0
    }

    /// Tells the server that a request is not wanted any more.
    pub(in crate::upstream) fn call_off(
        &self,
        id: UpstreamId,
        reason: &str,
        touched: &mut FlushSet,
    ) {
        if self.is_told() {
            let cancelled = format!(
                "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":\
                 {{\"requestId\":{id},\"reason\":\"{reason}\"}}}}"
            );
            self.tell(cancelled.as_bytes(), &Edits::new(), touched);
        }
        self.line.forget(id);
    }

    /// Is a server told what is cancelled? Over HTTP in the stateless era nobody waiting says it.
    fn is_told(&self) -> bool {
        self.era() == Era::Legacy || matches!(self.line, Transport::Pipe(_))
    }

    /// The server has just been told that a call of this one's is not wanted any more.
    pub(in crate::upstream) fn gave_up(&self, who: Caller, touched: &mut FlushSet) {
        if self.simple || self.era() == Era::Modern || self.line.says_whose() {
            return; // nobody is asked anything, or it is always clear who is
        }
        let mut pending = self.pending.lock();
        if pending.given_up.add(who) {
            self.send_fence(&mut pending, touched);
        }
    }

    pub(in crate::upstream) fn fence_passed(&self, touched: &mut FlushSet) {
        let mut pending = self.pending.lock();
        if pending.given_up.passed() {
            self.send_fence(&mut pending, touched);
        }
    }

    fn send_fence(&self, pending: &mut Pending, touched: &mut FlushSet) {
        let fence = pending.next_id().and_then(|id| {
            let ping = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
            let heading = Heading { method: b"ping", name: None, arguments: None };
            let sent = self.line.request(id, &heading, ping.as_bytes(), &Edits::new(), touched);
            let (waiter, deadline) = (Waiter::Fence, self.deadlines.for_call());
            pending.insert(id, Entry { waiter, deadline, sent_at: sent.ok()? });
            Some(id)
        });
        pending.given_up.sent(fence);
    }

    fn who_called(&self, id: UpstreamId) -> Option<Caller> {
        match self.pending.lock().get(id) {
            Some(Entry { waiter: Waiter::Client(path), .. }) => {
                Some(Caller::of(&path.client, &path.request_era))
            }
            _ => None,
        }
    }
}

impl CallOwner for Connection {
    fn cancel(&self, id: u32, how: Cancel<'_>, touched: &mut FlushSet) {
        let Some(entry) = self.pending.lock().remove(id) else { return };
        let path = match entry.waiter {
            Waiter::Client(path) => path,
            Waiter::Parked(parked) => {
                parked.leave_questions(self, touched);
                let Some(path) = self.parking.give_up(&parked) else { return };
                path
            }
            Waiter::Own(_) | Waiter::Listening(_) | Waiter::Fence => return,
        };
        // Who does not want an answer is not told, and looking may take a while.
        let may_have_run = matches!(how, Cancel::SessionEnded) && self.line.is_on_its_way(id);
        path.cancelled(how, may_have_run, touched);
        match how {
            Cancel::Said(message) if self.is_told() => {
                let Some(span) = message.params.request_id else { return };
                with_digits(id, |digits| {
                    self.tell(message.bytes, &Edits::one(span, digits), touched);
                });
                self.line.forget(id);
            }
            Cancel::SessionEnded => {
                self.call_off(id, "the client has ended its session", touched);
            }
            _ => self.call_off(id, "the client has gone", touched),
        }
        self.gave_up(Caller::of(&path.client, &path.request_era), touched);
        self.made_room_in(touched);
    }

    fn abandon(&self, id: u32, touched: &mut FlushSet) {
        let sent_at = self.pending.lock().get(id).map(|entry| entry.sent_at);
        let Some(sent_at) = sent_at else { return };
        let may_have_run = self.line.reach().may_have_run(id, sent_at);
        self.fail_into(id, &CallError::ShuttingDown { may_have_run }, touched);
    }

    fn pass(&self, bytes: &[u8], edits: &Edits<'_>, touched: &mut FlushSet) {
        self.tell(bytes, edits, touched);
    }
}
