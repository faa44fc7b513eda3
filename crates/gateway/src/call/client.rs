//! `Client`: one client as the rest of the gateway sees it: the calls it has open, what it can do, and
//! where messages for it leave (`Responder`).

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt::Debug;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use bytes::Bytes;
use foldhash::fast::RandomState;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use trunkline_wire::{Edits, Id, Message};

use crate::call::question::{Abilities, Questions};
use crate::call::{Level, SubscriptionQuota};
use crate::call_keys::KeyedProgress;
use crate::era::Stamp;
use crate::error::CallError;
use crate::gate::{Grant, Pass};
use crate::limiter::AddressAccount;
use crate::lock::{Mutex, rank};
use crate::policy::{PolicyTarget, PolicyVerdict};
use crate::pump::{FlushSet, Frame, LINE, Outbox};

#[derive(Debug, Default)]
pub(crate) struct Client {
    // Taken under the locks of servers and queues: who takes a call out decides its outcome.
    open: Mutex<Calls, rank::ClientCalls>,
    /// The last open call has ended.
    idle: Notify,
    /// It has said `initialize`: servers may speak to it of their own accord.
    joined: AtomicBool,
    // Never held while something is written: `stream` hands out a clone.
    stream: Mutex<Option<ResponseSink>, rank::ClientStream>,
    // A question is taken out under it by whoever ends it: the answer, a cancellation or the end of
    // the client. What follows is written after it is released.
    pub(super) questions: Mutex<Questions, rank::ClientQuestions>,
    // Replaced as a whole: a question is checked against what the client said once.
    pub(super) abilities: Mutex<Abilities, rank::ClientAbilities>,
    /// From which level on it wants to hear what servers log; `None`: it has not said.
    // Never held with `said`, although a stamp needs both: `stamp` copies the level first.
    level: Mutex<Option<Level>, rank::ClientLevel>,
    /// Who it is and what it can do, as it wrote both in `initialize`.
    // The stamp that is made of it is kept under it, so that a request does not write it again.
    said: Mutex<ClientIntroduction, rank::ClientIntroduction>,
    /// The caller's name in events and audit records.
    // Set once, when the caller is known, and read by every record without a lock.
    who: OnceLock<Arc<str>>,
    /// The authenticated caller, where authentication is required: equal for equal callers.
    principal: OnceLock<Arc<[u8]>>,
    /// `None`: it may see everything.
    grant: Option<Arc<dyn Grant>>,
    /// Knows whether the client is still there; only where it need not stay connected.
    // Weak: the front's session holds this client.
    presence: OnceLock<Weak<dyn Presence>>,
    /// The process at the other end of its socket, where one is known.
    process: OnceLock<u32>,
    /// The resources it is subscribed to.
    pub(crate) subscribed: Arc<SubscriptionQuota>,
}

/// What a front knows of a client that need not be connected between its requests.
pub(crate) trait Presence: Debug + Send + Sync {
    /// Seconds since it was last heard of; `None`: it is connected, or waits for an answer.
    fn absent_seconds(&self) -> Option<u32>;
}

#[derive(Debug, Default)]
struct ClientIntroduction {
    info: Vec<u8>,
    capabilities: Vec<u8>,
    stamp: Option<Stamp>,
    /// It has no use for logs unless it says so.
    is_quiet: bool,
}

/// In a session servers log as they like until they are told; in the stateless era they say nothing
/// unless asked to.
const UNSAID_LEVEL: &str = "info";

impl Client {
    pub(crate) fn restricted_to(grant: Option<Arc<dyn Grant>>) -> Self {
        Self { grant, ..Self::default() }
    }

    /// Notes which process it is; what was noted first stays.
    pub(crate) fn set_process(&self, pid: u32) {
        let _ = self.process.set(pid);
    }

    pub(crate) fn process(&self) -> Option<u32> {
        self.process.get().copied()
    }

    /// Another one with the same rights.
    pub(crate) fn with_same_rights(&self) -> Self {
        Self::restricted_to(self.grant.clone())
    }

    /// Do policies let it read this resource, by the server's own URI, so that it may be told of it? One that they
    /// decide about at each reading is told of.
    pub(crate) fn may_follow(&self, server: &str, uri: &str) -> bool {
        let Some(policies) = self.grant.as_ref().and_then(|grant| grant.policies()) else {
            return true;
        };
        let what = PolicyTarget::Resource { server, uri };
        policies.shows(what) && !matches!(policies.verdict(what), PolicyVerdict::Refused(_))
    }

    /// May it hear what this server says outside of any call?
    pub(crate) fn may_hear(&self, server: &str) -> bool {
        self.grant.as_ref().is_none_or(|grant| grant.all_of(server))
    }

    /// It has opened its session. False: it had done so before.
    pub(crate) fn join(&self) -> bool {
        // Relaxed: the flag publishes nothing.
        !self.has_joined() && !self.joined.swap(true, Ordering::Relaxed)
    }

    pub(crate) fn has_joined(&self) -> bool {
        // Relaxed: the flag publishes nothing else.
        self.joined.load(Ordering::Relaxed)
    }

    /// Records an open call. False if the client has another one open under that id.
    pub(crate) fn open(&self, id: &Id, handle: CallHandle) -> bool {
        self.open.lock().insert(id, handle)
    }

    pub(crate) fn is_open(&self, id: &Id) -> bool {
        self.open.lock().contains(id)
    }

    /// Takes the call out. The caller that gets the handle decides the outcome of the call.
    pub(crate) fn take(&self, id: &Id) -> Option<CallHandle> {
        let mut open = self.open.lock();
        let handle = open.remove(id);
        // Under the lock: `idle` looks under it, too, and cannot miss the last call.
        if open.is_empty() {
            self.idle.notify_waiters();
        }
        handle
    }

    /// The calls that still have no outcome.
    pub(crate) fn open_calls(&self) -> Vec<(Id, CallHandle)> {
        let open = self.open.lock();
        open.iter().map(|(id, handle)| (id.clone(), handle.clone())).collect()
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.open.lock().is_empty()
    }

    /// Waits until no call is open.
    pub(crate) async fn idle(&self) {
        loop {
            // Made before looking: a call that ends in between still wakes this one.
            let idle = self.idle.notified();
            if self.is_idle() {
                return;
            }
            idle.await;
        }
    }

    /// Names the caller in events and audit records of this client's calls.
    pub(crate) fn set_label(&self, who: Arc<str>) {
        drop(self.who.set(who)); // once known, it stays the same
    }

    pub(crate) fn who(&self) -> Option<Arc<str>> {
        self.who.get().cloned()
    }

    /// As this client may read it. What a server writes to stderr is for those who run it: where callers have
    /// to say who they are, they are others.
    pub(crate) fn shown<'e>(&self, error: &'e CallError) -> Cow<'e, CallError> {
        if self.who.get().is_some() { error.without_stderr() } else { Cow::Borrowed(error) }
    }

    /// Names the authenticated caller behind this client.
    pub(crate) fn belongs_to(&self, caller: &Pass) {
        self.set_label(Arc::clone(&caller.label));
        drop(self.principal.set(Arc::clone(&caller.who)));
    }

    pub(crate) fn principal(&self) -> Option<&Arc<[u8]>> {
        self.principal.get()
    }

    /// The front that knows whether the client is still there.
    pub(crate) fn watched_by(&self, presence: Weak<dyn Presence>) {
        drop(self.presence.set(presence)); // a client has one front
    }

    /// Seconds since it was last heard of; `None`: it is connected, as far as is known.
    pub(crate) fn absent_seconds(&self) -> Option<u32> {
        self.presence.get()?.upgrade()?.absent_seconds()
    }

    /// Messages that concern no call leave through this sink from now on.
    pub(crate) fn set_stream(&self, sink: Option<ResponseSink>) {
        *self.stream.lock() = sink;
    }

    pub(crate) fn stream(&self) -> Option<ResponseSink> {
        self.stream.lock().clone()
    }

    /// Sends a message that concerns no call. False: the client has no open stream.
    pub(crate) fn say(&self, bytes: &[u8], edits: &Edits<'_>, touched: &mut FlushSet) -> bool {
        let stream = self.stream();
        stream.is_some_and(|stream| stream.say(bytes, edits, touched))
    }

    pub(crate) fn set_level(&self, level: Level) {
        *self.level.lock() = Some(level);
        // The stamp names the level: it is made anew for the next request.
        self.said.lock().stamp = None;
    }

    /// The client says who it is and what can be passed on of what it can do.
    pub(crate) fn introduces_itself(&self, info: &[u8], capabilities: &[u8]) {
        let (info, capabilities) = (info.to_vec(), capabilities.to_vec());
        let mut said = self.said.lock();
        *said = ClientIntroduction { info, capabilities, stamp: None, is_quiet: said.is_quiet };
    }

    /// The client wants to hear no logs unless it says from which level on.
    pub(crate) fn silence_logs(&self) {
        self.said.lock().is_quiet = true;
    }

    /// Who the client says it is: an object as it wrote it, or nothing.
    pub(crate) fn info(&self) -> Vec<u8> {
        self.said.lock().info.clone()
    }

    /// What stands in its requests to servers of the stateless era.
    pub(crate) fn stamp(&self) -> Stamp {
        // First, so that no two of a client's locks are held at once.
        let level = self.level().map(Level::name);
        let mut said = self.said.lock();
        let ClientIntroduction { info, capabilities, stamp, is_quiet } = &mut *said;
        let level = level.or(if *is_quiet { None } else { Some(UNSAID_LEVEL) });
        stamp.get_or_insert_with(|| Stamp::new(info, capabilities, level)).clone()
    }

    pub(crate) fn level(&self) -> Option<Level> {
        *self.level.lock()
    }

    /// Does it want to hear a message of this level?
    pub(crate) fn hears(&self, level: Option<Level>) -> bool {
        match (self.level(), level) {
            (Some(least), Some(level)) => level >= least,
            _ => true,
        }
    }
}

/// Where an open call is.
#[derive(Clone, Debug)]
pub(crate) enum CallHandle {
    /// With a server, under our id.
    Sent { owner: Arc<dyn CallOwner>, id: u32 },
    /// Still here, waiting for a server to start.
    Waiting(Waiting),
}

/// A request that waits.
#[derive(Clone, Debug)]
pub(crate) struct Waiting {
    pub(crate) cancelled: CancellationToken,
    pub(crate) sink: ResponseSink,
}

/// The calls a client has open, by the ids it gave. The first needs no map: a stateless request is all that
/// its client has open.
#[derive(Debug, Default)]
struct Calls {
    first: Option<(Id, CallHandle)>,
    more: HashMap<Id, CallHandle, RandomState>,
}

/// Capacity for open calls that is kept after a burst.
// One burst of calls must not cost a session its memory for as long as it lasts.
const KEPT_CAPACITY: usize = 4096;

impl Calls {
    /// False if there is one of that id.
    fn insert(&mut self, id: &Id, handle: CallHandle) -> bool {
        match &self.first {
            Some((first, _)) if first == id => false,
            Some(_) => match self.more.entry(id.clone()) {
                Entry::Occupied(_) => false,
                Entry::Vacant(place) => {
                    place.insert(handle);
                    true
                }
            },
            // The first place may be free while the map is not empty: no id is open twice,
            // whichever place it has (JSON-RPC 2.0, 4).
            None if self.more.contains_key(id) => false,
            None => {
                self.first = Some((id.clone(), handle));
                true
            }
        }
    }

    fn contains(&self, id: &Id) -> bool {
        self.first.as_ref().is_some_and(|(first, _)| first == id) || self.more.contains_key(id)
    }

    fn remove(&mut self, id: &Id) -> Option<CallHandle> {
        if let Some((_, handle)) = self.first.take_if(|(first, _)| first == id) {
            return Some(handle);
        }
        let handle = self.more.remove(id);
        if self.more.is_empty() && self.more.capacity() > KEPT_CAPACITY {
            self.more.shrink_to(0);
        }
        handle
    }

    fn is_empty(&self) -> bool {
        self.first.is_none() && self.more.is_empty()
    }

    fn iter(&self) -> impl Iterator<Item = (&Id, &CallHandle)> {
        self.first.iter().map(|(id, handle)| (id, handle)).chain(&self.more)
    }
}

/// The holder of open calls to one server, as clients know it: a connection, a wait queue, or a round of
/// questions.
pub(crate) trait CallOwner: Debug + Send + Sync {
    /// The client has cancelled the call with this id of ours.
    fn cancel(&self, id: u32, how: Cancel<'_>, touched: &mut FlushSet);
    /// Trunkline ends: the call gets an error that says whether it may have run.
    fn abandon(&self, id: u32, touched: &mut FlushSet);
    /// A message to the server that needs no answer: a client's answer to its question.
    fn pass(&self, bytes: &[u8], edits: &Edits<'_>, touched: &mut FlushSet);
    /// Do calls only wait here, for their server or for their turn?
    fn is_wait_queue(&self) -> bool {
        false
    }
}

/// How a client has cancelled a call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cancel<'a> {
    /// By saying so.
    Said(&'a Message<'a>),
    /// By not waiting any more.
    Left,
    /// It has not: it may not be here any more, and still waits.
    TurnedOut,
    /// By ending its session: it still waits for the answers to its requests.
    SessionEnded,
}

/// A message that is being delivered: borrowed from a read buffer, or handed over. It holds no raw
/// newline: those between tokens are dropped where they come in.
#[derive(Debug)]
pub(crate) enum Payload<'a> {
    Borrowed(&'a [u8]),
    Owned(Vec<u8>),
}

impl Payload<'_> {
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Borrowed(bytes) => bytes,
            Self::Owned(bytes) => bytes,
        }
    }

    /// Puts it into an outbox, framed and with these changes. False: the stream is closed.
    pub(crate) fn put(self, outbox: &Outbox, frame: Frame<'_>, edits: &Edits<'_>) -> bool {
        let put = match self {
            Self::Borrowed(bytes) => outbox.put_framed(frame, bytes, edits),
            Self::Owned(bytes) => outbox.put_owned(frame, bytes, edits),
        };
        put.is_ok()
    }
}

/// Where messages for a client leave: its one stream, or the exchange in which it asked.
pub(crate) type ResponseSink = Arc<dyn Responder>;

/// Writes messages to a client in the framing of its front. False: the client has gone.
pub(crate) trait Responder: Debug + Send + Sync {
    /// A message before or besides the answer: progress, a question, a word of the log.
    fn say(&self, bytes: &[u8], edits: &Edits<'_>, touched: &mut FlushSet) -> bool;
    /// The answer to the request that came in here.
    fn answer(&self, payload: Payload<'_>, edits: &Edits<'_>, touched: &mut FlushSet) -> bool;
    /// The answer to the request that came in here, which is an error with this code.
    fn refuse(
        &self,
        _code: i64,
        payload: Payload<'_>,
        edits: &Edits<'_>,
        touched: &mut FlushSet,
    ) -> bool {
        self.answer(payload, edits, touched)
    }
    /// An answer made of a head, a body that others share, and a tail.
    fn answer_shared(
        &self,
        head: &[u8],
        body: &Bytes,
        tail: &[u8],
        touched: &mut FlushSet,
    ) -> bool {
        // A copy: HTTP needs the length in front, and lists are asked for rarely.
        let whole = [head, body, tail].concat();
        self.answer(Payload::Owned(whole), &Edits::new(), touched)
    }
    /// The request that came in here gets no answer: it was cancelled.
    fn unanswered(&self, _touched: &mut FlushSet) {}
    /// The request that came in here had to wait, and is with its server now.
    fn handed_over(&self) {}
    /// How far its call is that has an idempotency key; `None`: it has none.
    fn keyed(&self) -> Option<&KeyedProgress> {
        None
    }
    /// Does everything for the client leave here, so that the end of an answer ends no stream?
    fn is_only_stream(&self) -> bool {
        false
    }
    /// The `traceparent` of the head that the request came under, where requests are followed.
    fn parent(&self) -> Option<&str> {
        None
    }
    /// Where its client comes from, if that is limited.
    fn address(&self) -> Option<&Arc<AddressAccount>> {
        None
    }
    /// The address of its client, if it came over the network.
    fn peer(&self) -> Option<IpAddr> {
        None
    }
    /// What its client calls the tool, where the request itself does not say.
    fn asked(&self) -> Option<&str> {
        None
    }
}

/// One message a line. A put never blocks; the flush at the end of the round writes it.
impl Responder for Outbox {
    fn say(&self, bytes: &[u8], edits: &Edits<'_>, touched: &mut FlushSet) -> bool {
        touched.note(self);
        self.put(bytes, edits).is_ok()
    }

    fn answer(&self, payload: Payload<'_>, edits: &Edits<'_>, touched: &mut FlushSet) -> bool {
        touched.note(self);
        payload.put(self, LINE, edits)
    }

    fn answer_shared(
        &self,
        head: &[u8],
        body: &Bytes,
        tail: &[u8],
        touched: &mut FlushSet,
    ) -> bool {
        touched.note(self);
        let tail = [tail, LINE.tail].concat();
        self.put_shared(Frame { head, tail: &tail }, body).is_ok()
    }

    fn is_only_stream(&self) -> bool {
        true
    }
}

/// The sink of messages that have no answer: it drops everything.
#[derive(Debug)]
pub(crate) struct Discard;

impl Responder for Discard {
    fn say(&self, _: &[u8], _: &Edits<'_>, _: &mut FlushSet) -> bool {
        false
    }

    fn answer(&self, _: Payload<'_>, _: &Edits<'_>, _: &mut FlushSet) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio_util::sync::CancellationToken;

    fn handle() -> CallHandle {
        let sink = Arc::new(Discard);
        CallHandle::Waiting(Waiting { cancelled: CancellationToken::new(), sink })
    }

    #[test]
    fn each_id_is_open_once_whichever_place_it_has() {
        let mut calls = Calls::default();
        let ids: Vec<_> = [&b"1"[..], b"\"1\"", b"2", b"1.5"].into_iter().map(Id::new).collect();
        for _ in 0..2 {
            assert!(ids.iter().all(|id| calls.insert(id, handle())));
            assert!(!ids.iter().any(|id| calls.insert(id, handle())));
            assert!(ids.iter().all(|id| calls.contains(id)) && calls.iter().count() == ids.len());
            // The place that is there is free again, and still no id is open twice.
            assert!(ids.iter().take(1).all(|id| calls.remove(id).is_some()));
            assert!(!ids.iter().skip(1).any(|id| calls.insert(id, handle())));
            assert!(!calls.is_empty());
            assert!(ids.iter().skip(1).all(|id| calls.remove(id).is_some()));
            assert!(calls.is_empty() && ids.iter().all(|id| calls.remove(id).is_none()));
        }
    }
}
