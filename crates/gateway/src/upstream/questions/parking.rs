//! Calls of stateless clients whose server has asked something: they are parked until their client
//! comes again with the answers, or for too long.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use tokio::time::{Instant, sleep};
use trunkline_wire::{Message, decode, scan};

use crate::call::{Rejected, ReplyTo, RequestEra, Stateless};
use crate::era::{self, ReplicaId, Seal, Unsealable};
use crate::error::CallError;
use crate::limits::{BUNDLE, PARKED, PARKED_CALLS, REMEMBERED_WAITS, STATE};
use crate::lock::{Mutex, rank};
use crate::pump::FlushSet;
use crate::timers::Timers;
use crate::upstream::connection::Connection;
use crate::upstream::questions::parked::{Parked, ParkedOutcome, ParkedState, gone};
use crate::upstream::questions::task_owners::TaskOwners;
use crate::upstream::transport::UpstreamId;

/// What is remembered between the requests of stateless clients.
#[derive(Debug)]
pub(crate) struct Parking {
    /// Empty: nothing was sealed yet, or there are no random numbers.
    seal: OnceLock<Arc<Seal>>,
    began: Instant,
    // Below the open calls: a call gets its handle while it is still open.
    places: Mutex<ParkingPlaces, rank::ParkingHandles>,
    /// Elicitations that were given an id of ours.
    numbered: AtomicU64,
    pub(crate) tasks: TaskOwners,
    /// For what is to be done later about calls, whose connection may have gone by then.
    pub(in crate::upstream) timers: Timers,
}

#[derive(Debug, Default)]
struct ParkingPlaces {
    last: u64,
    parked: HashMap<u64, ParkingPlace>,
    /// Those that gave way to others, the latest of them: who comes again for one is told.
    gave_way: VecDeque<u64>,
}

/// A parked call, and the connection that it is open on.
#[derive(Clone, Debug)]
struct ParkingPlace {
    parked: Arc<Parked>,
    // Weak: a parked call must not keep a connection that is over.
    connection: Weak<Connection>,
}

impl Parking {
    pub(crate) fn new() -> Self {
        Self {
            seal: OnceLock::new(),
            began: Instant::now(),
            places: Mutex::default(),
            numbered: AtomicU64::new(0),
            tasks: TaskOwners::default(),
            timers: Timers::new(),
        }
    }

    /// One that began so long ago.
    #[cfg(test)]
    pub(in crate::upstream) fn begun(ago: std::time::Duration) -> Self {
        Self { began: Instant::now().checked_sub(ago).unwrap(), ..Self::new() }
    }

    /// Seals with keys that other replicas have, too; told before the first client comes.
    pub(crate) fn share(&self, seal: &Arc<Seal>) {
        drop(self.seal.set(Arc::clone(seal)));
    }

    /// Seals what clients carry; with a key of this process unless others share it.
    fn seal(&self) -> Option<&Arc<Seal>> {
        if self.seal.get().is_none() {
            // Of two who make one at once the first counts.
            drop(self.seal.set(Seal::of_process()?));
        }
        self.seal.get()
    }

    pub(in crate::upstream) fn millis(&self) -> u64 {
        // At least 1: 0 stands for "not told yet".
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX).max(1)
    }

    /// A number that nothing else of this gateway's has had.
    pub(in crate::upstream) fn number(&self) -> u64 {
        // Relaxed: numbers have to differ, not to be ordered.
        self.numbered.fetch_add(1, Ordering::Relaxed)
    }

    /// What the client has to bring along when it comes again.
    pub(in crate::upstream) fn state_of(&self, parked: &Parked) -> Option<String> {
        let seal = self.seal()?;
        let expires = seal.now() + PARKED.as_secs();
        let way = ParkedWay { handle: parked.handle, holder: seal.own() };
        seal.seal(&way.bytes(), expires, &parked.bound())
    }

    /// A server's own state, as its client may carry it: it is no use to anybody else, nor for
    /// anything else.
    pub(in crate::upstream) fn seal_state(&self, state: &[u8], bound: &[&[u8]]) -> Option<String> {
        let seal = self.seal()?;
        seal.seal(state, seal.now() + STATE.as_secs(), bound)
    }

    pub(in crate::upstream) fn open_state(
        &self,
        text: &str,
        bound: &[&[u8]],
    ) -> Result<Vec<u8>, Unsealable> {
        let seal = self.seal().ok_or(Unsealable::Foreign)?;
        seal.open(text, bound)
    }

    pub(in crate::upstream) fn leave(&self, parked: &Parked) -> bool {
        self.places.lock().parked.remove(&parked.handle).is_some()
    }

    /// The call is not wanted any more; the client's request, if it still waits.
    pub(in crate::upstream) fn give_up(&self, parked: &Parked) -> Option<ReplyTo> {
        self.leave(parked);
        parked.state.lock().waiting.take()
    }

    /// A client comes again.
    pub(crate) fn resume(
        &self,
        message: &Message<'_>,
        reply: ReplyTo,
        touched: &mut FlushSet,
    ) -> Result<(), Box<Rejected>> {
        match self.recognise_for(message, &reply) {
            Ok(place) => self.resume_parked(&place, message, reply, touched),
            Err(error) => Err(Rejected::new(reply, error)),
        }
    }

    /// The call that a request comes again for.
    fn recognise_for(
        &self,
        message: &Message<'_>,
        reply: &ReplyTo,
    ) -> Result<ParkingPlace, CallError> {
        let RequestEra::Stateless(how) = &reply.request_era else {
            return Err(gone("it is not of this conversation"));
        };
        let place = self.recognise(message, how)?;
        // Before anything is taken out for it: what cannot be delivered must not be lost.
        if reply.client.is_open(&reply.id) {
            return Err(CallError::duplicate_id());
        }
        Ok(place)
    }

    fn resume_parked(
        &self,
        ParkingPlace { parked, connection }: &ParkingPlace,
        message: &Message<'_>,
        reply: ReplyTo,
        touched: &mut FlushSet,
    ) -> Result<(), Box<Rejected>> {
        let mut state = parked.state.lock();
        if let Some(outcome) = state.outcome.take() {
            drop(state);
            self.leave(parked);
            let connection = connection.upgrade();
            if let Some(connection) = &connection {
                pass_answers(connection, parked, message, touched);
            }
            return match (outcome, connection) {
                (ParkedOutcome::Failure(error), _) => Err(Rejected::new(reply, error)),
                (ParkedOutcome::Response(..), None) => {
                    Err(Rejected::new(reply, gone("its server has gone")))
                }
                (ParkedOutcome::Response(shape, bytes), Some(connection)) => {
                    connection.deliver_parked(parked.id, reply, (shape, bytes), touched)
                }
            };
        }
        if state.waiting.is_some() {
            return Err(Rejected::new(reply, gone("the call is being answered")));
        }
        let responses = message.text(message.params.input_responses);
        let mut answers = Vec::new();
        for question in &state.questions {
            let key = &question.request.key;
            match era::answered(responses, key) {
                Some(Ok(answer)) => answers.push((question.id.clone(), answer)),
                Some(Err(())) => {
                    let why = format!("`inputResponses.{key}` is no object");
                    return Err(Rejected::new(reply, CallError::InvalidParams(why)));
                }
                None => {}
            }
        }
        let Some(connection) = connection.upgrade() else {
            return Err(Rejected::new(reply, gone("its server has gone")));
        };
        if answers.len() == state.questions.len() {
            match connection.unpark(parked.id, message, reply)? {
                None => drop(self.leave(parked)),
                // Its answer is just being brought here.
                Some(reply) => state.waiting = Some(reply),
            }
            state.questions.clear();
        } else {
            state.questions.retain(|question| !answers.iter().any(|(id, _)| *id == question.id));
            self.ask_for(parked, &state, &reply, touched);
        }
        drop(state);
        for (id, answer) in answers {
            connection.link.answer_question(&id, answer, touched);
        }
        Ok(())
    }

    /// Why the call that a client comes again for has failed, if it has: its server may be gone, and
    /// what it was about with it.
    pub(crate) fn failed(&self, message: &Message<'_>, how: &Stateless) -> Option<CallError> {
        message.params.request_state?;
        let ParkingPlace { parked, .. } = self.recognise(message, how).ok()?;
        let mut state = parked.state.lock();
        let Some(ParkedOutcome::Failure(_)) = state.outcome else { return None };
        let Some(ParkedOutcome::Failure(error)) = state.outcome.take() else { return None };
        drop(state);
        self.leave(&parked);
        Some(error)
    }

    fn recognise(&self, message: &Message<'_>, how: &Stateless) -> Result<ParkingPlace, CallError> {
        let ParkedWay { handle, holder } = self.way_of(message, how)?;
        // Its request is passed on to the holder before it comes here; a holder that has come back is another.
        if self.seal().is_none_or(|seal| seal.own() != holder) {
            return Err(gone(OTHER_REPLICA));
        }
        let places = self.places.lock();
        match places.parked.get(&handle) {
            Some(place) => Ok(place.clone()),
            None if places.gave_way.contains(&handle) => Err(gone(GAVE_WAY)),
            None => Err(gone("the call does not wait any more")),
        }
    }

    /// The call that a request comes again for, wherever it waits.
    fn way_of(&self, message: &Message<'_>, how: &Stateless) -> Result<ParkedWay, CallError> {
        let state = decode(message.text(message.params.request_state)).unwrap_or_default();
        let digest = era::digest(message.text(message.params.span));
        let method = message.method();
        // The state opens only for the caller, the method and the params it was made for: a client
        // cannot hand it on, nor use it for another call.
        let bound: [&[u8]; 3] = [&how.principal, &method, &digest];
        let way = self.open_state(&state, &bound);
        let way = way.map_err(|why| CallError::BadState(why.to_string()))?;
        ParkedWay::read(&way).ok_or_else(|| gone("it is a server's own"))
    }

    /// The other replica at which the call waits that a request comes again for.
    pub(crate) fn holder_elsewhere(
        &self,
        message: &Message<'_>,
        how: &Stateless,
    ) -> Option<ReplicaId> {
        message.params.request_state?;
        let own = self.seal()?.own();
        self.way_of(message, how).ok().map(|way| way.holder).filter(|holder| *holder != own)
    }

    /// Asks again for what is still open.
    fn ask_for(
        &self,
        parked: &Parked,
        state: &ParkedState,
        reply: &ReplyTo,
        touched: &mut FlushSet,
    ) {
        parked.told.store(self.millis(), Ordering::Relaxed);
        let requests: Vec<_> = state.questions.iter().map(|one| one.request.clone()).collect();
        let result = era::input_required(&requests, self.state_of(parked).as_deref());
        reply.answer(&result, touched);
    }

    /// A place for a call, if there is one.
    pub(in crate::upstream) fn admit(
        &self,
        connection: &Arc<Connection>,
        id: UpstreamId,
        how: &Arc<Stateless>,
        reply: ReplyTo,
    ) -> Result<Arc<Parked>, ReplyTo> {
        let request = reply.kept.clone();
        let request = request.as_deref().map(scan);
        let (Some(Ok(request)), true) = (request, self.seal().is_some()) else { return Err(reply) };
        let mut places = self.places.lock();
        // A stateless client may never come again: what waits for it has a bound and a time.
        if places.parked.len() >= PARKED_CALLS {
            return Err(reply);
        }
        places.last += 1;
        let parked = Arc::new(Parked {
            handle: places.last,
            id,
            how: Arc::clone(how),
            client: Arc::clone(&reply.client),
            method: request.method().into(),
            digest: era::digest(request.text(request.params.span)),
            state: Mutex::new(ParkedState { waiting: Some(reply), ..ParkedState::default() }),
            told: AtomicU64::new(0),
        });
        let connection = Arc::downgrade(connection);
        let place = ParkingPlace { parked: Arc::clone(&parked), connection };
        places.parked.insert(parked.handle, place);
        Ok(parked)
    }

    /// Tells the client soon, and gives the call up when it has not come again for too long.
    pub(in crate::upstream) fn look_after(self: &Arc<Self>, parked: &Arc<Parked>) {
        let (parking, parked) = (Arc::clone(self), Arc::clone(parked));
        // The gateway's, and not the connection's: a client may come again after its server has gone.
        let timers = Arc::downgrade(&parking);
        let waited_for = Arc::clone(&parked);
        // Servers often ask several things at once: they are told together, in one round trip.
        let is_told_later = parking.timers.run(async move {
            sleep(BUNDLE).await;
            if let Some(parking) = timers.upgrade() {
                parking.tell(&waited_for);
            }
            // It may be over long before.
            let parked = Arc::downgrade(&{ waited_for });
            sleep(PARKED).await;
            if let (Some(parking), Some(parked)) = (timers.upgrade(), parked.upgrade()) {
                parking.expire(&parked);
            }
        });
        if !is_told_later {
            parking.tell(&parked);
        }
    }

    /// What was asked in the meantime is told to the client, all at once.
    fn tell(&self, parked: &Parked) {
        let mut touched = FlushSet::default();
        parked.told.store(self.millis(), Ordering::Relaxed);
        let mut state = parked.state.lock();
        if let Some(reply) = state.waiting.take()
            && reply.claim()
        {
            self.ask_for(parked, &state, &reply, &mut touched);
        }
        drop(state);
        touched.flush();
    }

    /// The client has not come again for too long.
    fn expire(&self, parked: &Parked) {
        let mut touched = FlushSet::default();
        let place = self.places.lock().parked.remove(&parked.handle);
        if let Some(connection) = place.and_then(|place| place.connection.upgrade()) {
            connection.end_parked(parked, &gone("it has waited for too long"), &mut touched);
        }
        touched.flush();
    }

    /// Ends a call whose client has not come again, because others need its server. False: it does
    /// not wait any more.
    pub(in crate::upstream) fn give_way(
        &self,
        connection: &Connection,
        parked: &Parked,
        touched: &mut FlushSet,
    ) -> bool {
        if !connection.end_parked(parked, &gone(GAVE_WAY), touched) {
            return false;
        }
        let mut places = self.places.lock();
        places.parked.remove(&parked.handle);
        places.gave_way.push_back(parked.handle);
        // Only so that the client hears a better reason: the oldest may be forgotten.
        if places.gave_way.len() > REMEMBERED_WAITS {
            places.gave_way.pop_front();
        }
        true
    }
}

/// Where a parked call waits: what its client carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ParkedWay {
    handle: u64,
    holder: ReplicaId,
}

impl ParkedWay {
    fn bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        let (handle, holder) = (self.handle.to_le_bytes(), self.holder.0.to_le_bytes());
        for (to, from) in bytes.iter_mut().zip(handle.into_iter().chain(holder)) {
            *to = from;
        }
        bytes
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let (handle, rest) = bytes.split_first_chunk()?;
        let holder = u64::from_le_bytes(rest.try_into().ok()?);
        Some(Self { handle: u64::from_le_bytes(*handle), holder: ReplicaId(holder) })
    }
}

const OTHER_REPLICA: &str = "the replica that the call waits at is not this one (any more); the call may have run in \
                             part; make it again without the state";

const GAVE_WAY: &str = "it has expired: its client had not come again when others needed the server, \
                        and the call was cancelled (it may have run); make it again without the state";

/// What was asked may have been for something else: the server gets its answers all the same,
/// and learns what will not be answered any more.
fn pass_answers(
    connection: &Connection,
    parked: &Parked,
    message: &Message<'_>,
    touched: &mut FlushSet,
) {
    let responses = message.text(message.params.input_responses);
    parked.state.lock().questions.retain(|question| {
        match era::answered(responses, &question.request.key) {
            Some(Ok(answer)) => connection.link.answer_question(&question.id, answer, touched),
            _ => return true,
        }
        false
    });
    parked.leave_questions(connection, touched);
}
