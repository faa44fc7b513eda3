//! What a server says of its own accord: for whom it is, and what becomes of it.

use std::sync::Arc;

use trunkline_catalog::ListKind;
use trunkline_wire::{Edits, Message, decode, member, scan, upstream_id, write_result};

use crate::call::{Ability, CallOwner, Client, Discard, Level, ReplyTo, RequestEra, ResponseSink};
use crate::era;
use crate::error::CallError;
use crate::pump::FlushSet;
use crate::upstream::calls::pending::{Entry, Pending, Waiter};
use crate::upstream::connection::Connection;
use crate::upstream::questions::attribution::{
    AttributedCall, Attribution, CallPhase, Caller, whose,
};
use crate::upstream::questions::eviction::in_the_way;
use crate::upstream::questions::parked::Parked;
use crate::upstream::transport::UpstreamId;

/// The first word on a subscription of ours.
const ACKNOWLEDGED: &[u8] = b"notifications/subscriptions/acknowledged";

/// Whom a message of a server's concerns.
enum Concern {
    /// One client; and the call that caused it, as far as that is known.
    One(Arc<Client>, Option<Cause>),
    /// No call is open: nobody in particular.
    Nobody,
    /// Several clients have calls open or have just given one up, and nothing says whose it is.
    Unclear,
}

/// The call something belongs to.
struct Cause {
    id: UpstreamId,
    door: ResponseSink,
    manner: RequestEra,
}

impl Concern {
    fn of(id: UpstreamId, path: &ReplyTo) -> Self {
        let cause = Cause { id, door: path.sink.clone(), manner: path.request_era.clone() };
        Self::One(Arc::clone(&path.client), Some(cause))
    }
}

impl Connection {
    pub(in crate::upstream) fn notified(
        self: &Arc<Self>,
        message: &Message<'_>,
        origin: Option<UpstreamId>,
        touched: &mut FlushSet,
    ) {
        match &*message.method() {
            _ if self.is_told_twice(message) => {}
            // Only clients say these: the server has written back what it was sent.
            b"notifications/initialized" | b"notifications/roots/list_changed" => {}
            method if message.params.meta_subscription.is_some() && method != ACKNOWLEDGED => {
                self.notified_of_ours(message, origin, touched);
            }
            b"notifications/progress" => self.progressed(message, touched),
            b"notifications/tools/list_changed" => self.list_changed(&[ListKind::Tools]),
            _ if self.link.simple => {}
            b"notifications/prompts/list_changed" => self.list_changed(&[ListKind::Prompts]),
            b"notifications/resources/list_changed" => {
                self.list_changed(&[ListKind::Resources, ListKind::Templates]);
            }
            b"notifications/resources/updated" => self.resource_updated(message, touched),
            b"notifications/message" => self.logged(message, origin, touched),
            b"notifications/cancelled" if self.stopped_telling(message, touched) => {}
            b"notifications/cancelled" => self.unasked(message, touched),
            ACKNOWLEDGED => {
                let id = message.params.meta_subscription.map(|at| at.of(message.bytes));
                if let Some(id) = id.and_then(upstream_id) {
                    self.listens.acknowledged(id);
                }
            }
            _ => self.announced(message, origin, touched),
        }
    }

    /// What came on a subscription of ours, without its mark.
    fn notified_of_ours(
        self: &Arc<Self>,
        message: &Message<'_>,
        origin: Option<UpstreamId>,
        touched: &mut FlushSet,
    ) {
        let untagged = era::untagged(message);
        if let Ok(message) = scan(&untagged) {
            self.notified(&message, origin, touched);
        }
    }

    /// Passes progress on to the call it belongs to.
    fn progressed(&self, message: &Message<'_>, touched: &mut FlushSet) {
        let Some(span) = message.params.progress_token else { return };
        let Some(id) = upstream_id(span.of(message.bytes)) else { return };
        if let Some(Entry { waiter: Waiter::Client(path), .. }) = self.link.pending.lock().get(id) {
            path.progress(span, message.bytes, touched);
        }
    }

    fn list_changed(&self, kinds: &[ListKind]) {
        self.changes.mark(kinds.iter().copied());
    }

    fn resource_updated(&self, message: &Message<'_>, touched: &mut FlushSet) {
        let Some(span) = message.params.uri else { return };
        let Some(uri) = decode(span.of(message.bytes)) else { return };
        for (client, token) in self.subscriptions.of(&uri) {
            client.say(message.bytes, &Edits::one(span, &token), touched);
        }
    }

    /// A word of the server's log: for the client whose call it belongs to; if no call is open, for
    /// everybody who wants to hear it.
    fn logged(&self, message: &Message<'_>, origin: Option<UpstreamId>, touched: &mut FlushSet) {
        let level = member(message.text(message.params.span), "level").and_then(decode);
        let level = level.and_then(|level| Level::known(&level));
        match self.concern(origin) {
            Concern::One(client, cause) if hears(&client, cause.as_ref(), level) => {
                say(&client, cause.as_ref(), message, touched);
            }
            Concern::Nobody => {
                for client in
                    self.audience.of(&self.link.key.name()).iter().filter(|it| it.hears(level))
                {
                    say(client, None, message, touched);
                }
            }
            Concern::One(..) => {}
            Concern::Unclear => {
                tracing::debug!(server = %self.link.key, "a log message that may be any client's is dropped");
            }
        }
    }

    /// The server takes a question back.
    fn unasked(self: &Arc<Self>, message: &Message<'_>, touched: &mut FlushSet) {
        let Some(id_at) = message.params.request_id else { return };
        let parked: Vec<Arc<Parked>> = {
            let pending = self.link.pending.lock();
            let parked = pending.iter().filter_map(|(_, waiter)| match waiter {
                Waiter::Parked(parked) => Some(Arc::clone(parked)),
                _ => None,
            });
            parked.collect()
        };
        parked.iter().for_each(|parked| parked.unask(id_at.of(message.bytes)));
        let carrier = Arc::clone(self) as Arc<dyn CallOwner>;
        for client in self.audience.all() {
            client.unask(message, id_at, &carrier, touched);
        }
    }

    /// Something this version does not know: it goes where it can only be meant to go.
    fn announced(&self, message: &Message<'_>, origin: Option<UpstreamId>, touched: &mut FlushSet) {
        let hears = |client: &Client| self.may_hear_of_task(message, client);
        match self.concern(origin) {
            Concern::One(client, cause) if hears(&client) => {
                say(&client, cause.as_ref(), message, touched);
            }
            Concern::One(..) => {}
            Concern::Nobody => {
                let all = self.audience.of(&self.link.key.name());
                for client in all.iter().filter(|client| hears(client)) {
                    say(client, None, message, touched);
                }
            }
            Concern::Unclear => {
                tracing::debug!(server = %self.link.key, "a notification that may be any client's is dropped");
            }
        }
    }

    /// The server asks something of a client.
    pub(in crate::upstream) fn asked(
        self: &Arc<Self>,
        message: &Message<'_>,
        origin: Option<UpstreamId>,
        touched: &mut FlushSet,
    ) {
        let method = message.method();
        if *method == *b"ping" {
            let mut out = Vec::new();
            write_result(message.id(), b"{}", &mut out);
            return self.link.tell(&out, &Edits::new(), touched);
        }
        if let Err(error) = self.pass_question(message, origin, None, touched) {
            self.link.tell(&error.response(message.id()), &Edits::new(), touched);
        }
    }

    /// What was asked of this one turned out to be for another call: for another one of the same
    /// caller's, if there is one, and for nobody else.
    pub(in crate::upstream) fn asked_on(
        self: &Arc<Self>,
        message: &Message<'_>,
        who: &Caller,
        touched: &mut FlushSet,
    ) {
        if let Err(error) = self.pass_question(message, None, Some(who), touched) {
            self.link.tell(&error.response(message.id()), &Edits::new(), touched);
        }
    }

    fn pass_question(
        self: &Arc<Self>,
        message: &Message<'_>,
        origin: Option<UpstreamId>,
        only: Option<&Caller>,
        touched: &mut FlushSet,
    ) -> Result<(), CallError> {
        let method = String::from_utf8_lossy(&message.method()).into_owned();
        if self.link.simple {
            return Err(CallError::UnknownMethod(method));
        }
        let unasked = |why: &str| CallError::Unaskable { method: method.clone(), why: why.into() };
        let needed = Ability::needed_for(&message.method(), message.text(message.params.span));
        let found = self.asked_client(origin, needed, touched);
        let (client, cause) = found.map_err(|why| unasked(&why))?;
        if only.is_some_and(|only| *only != who_of(&client, cause.as_ref())) {
            return Err(unasked(NOBODY));
        }
        if let Some(Cause { id, manner: RequestEra::Stateless(how), .. }) = &cause {
            return self.park(*id, how, message).map_err(|why| unasked(&why));
        }
        if let Some(ability) = needed.filter(|ability| !client.can(*ability)) {
            let why = format!("the client does not support {}", ability.word());
            return Err(unasked(&why));
        }
        let carrier = Arc::clone(self) as Arc<dyn CallOwner>;
        let doors = [cause.map(|cause| cause.door), client.stream()];
        for door in doors.iter().flatten() {
            if client.ask(message, &carrier, door, touched) {
                return Ok(());
            }
        }
        Err(unasked("the client has no stream open on which it could be asked"))
    }

    /// The client a question is for that needs this of it, and the call it is about. `Err`: why
    /// nobody can be asked.
    fn asked_client(
        &self,
        origin: Option<UpstreamId>,
        needed: Option<Ability>,
        touched: &mut FlushSet,
    ) -> Result<(Arc<Client>, Option<Cause>), String> {
        let pending = self.link.pending.lock();
        if let Some(known) = origin.and_then(|id| pending.cause(id)) {
            return Ok(known);
        }
        // What comes with a call that is over is about that one, and so about none that is open.
        let is_over = origin.is_some_and(|id| pending.get(id).is_none());
        let calls = pending.iter().filter(|_| !is_over);
        let open: Vec<AttributedCall> =
            calls.filter_map(|(id, waiter)| self.open_call(id, waiter, needed)).collect();
        let gone: Vec<Caller> = pending.given_up.all().cloned().collect();
        let why = match whose(&open, &gone) {
            Attribution::Call(id) => return pending.cause(id).ok_or_else(|| NOBODY.to_owned()),
            Attribution::Nobodys => {
                let sole = self.audience.sole();
                let sole = sole.filter(|sole| pending.given_up.spares(&Caller::session(sole)));
                return match sole {
                    Some(sole) => Ok((sole, None)),
                    None if pending.given_up.is_empty() => Err(NOBODY.to_owned()),
                    None => Err(UNCLEAR.to_owned()),
                };
            }
            Attribution::Unclear => {
                drop(pending);
                self.clear_the_way(&in_the_way(&open), touched);
                UNCLEAR.to_owned()
            }
            Attribution::Unable => {
                let what = needed.map_or("this", Ability::word);
                format!("no client that has a call open here supports {what}")
            }
        };
        Err(why)
    }

    /// What is known of a client's call when its server asks for something that needs this.
    fn open_call(
        &self,
        id: UpstreamId,
        waiter: &Waiter,
        needed: Option<Ability>,
    ) -> Option<AttributedCall> {
        let (who, able, place) = match waiter {
            Waiter::Client(path) => {
                let can = |ability| match &path.request_era {
                    RequestEra::Session => path.client.can(ability),
                    RequestEra::Stateless(how) => how.can(ability),
                };
                let who = Caller::of(&path.client, &path.request_era);
                (who, needed.is_none_or(can), CallPhase::Running)
            }
            Waiter::Parked(parked) => {
                let able = needed.is_none_or(|ability| parked.how.can(ability));
                (parked.who(), able, parked.place(self.parking.millis()))
            }
            Waiter::Own(_) | Waiter::Listening(_) | Waiter::Fence => return None,
        };
        Some(AttributedCall { id, who, able, place })
    }

    /// Whom something that came with `origin` concerns.
    fn concern(&self, origin: Option<UpstreamId>) -> Concern {
        let pending = self.link.pending.lock();
        if let Some((client, cause)) = origin.and_then(|id| pending.cause(id)) {
            return Concern::One(client, cause);
        }
        let mut paths = pending.iter().filter_map(|(id, waiter)| match waiter {
            Waiter::Client(path) => Some((id, path)),
            Waiter::Own(_) | Waiter::Listening(_) | Waiter::Parked(_) | Waiter::Fence => None,
        });
        let parked = || {
            pending.iter().filter_map(|(id, waiter)| match waiter {
                Waiter::Parked(parked) => Some((id, parked)),
                _ => None,
            })
        };
        let Some((id, first)) = paths.next() else {
            // Of one client's calls it may be any: the same person is asked. One that has only just
            // begun to ask is the likeliest.
            let asking = parked().find(|(_, parked)| parked.is_being_asked());
            if let Some((id, first)) = asking.or_else(|| parked().next()) {
                let one = parked().all(|(_, other)| other.is_of(&first.client));
                return match one && pending.given_up.spares(&first.who()) {
                    true => Concern::of_parked(id, first),
                    false => Concern::Unclear,
                };
            }
            return match self.audience.sole() {
                Some(sole) if pending.given_up.spares(&Caller::session(&sole)) => {
                    Concern::One(sole, None)
                }
                None if pending.given_up.is_empty() => Concern::Nobody,
                _ => Concern::Unclear,
            };
        };
        let one = paths.all(|(_, path)| Arc::ptr_eq(&path.client, &first.client))
            && parked().all(|(_, parked)| parked.is_of(&first.client));
        if !one || !pending.given_up.spares(&Caller::of(&first.client, &first.request_era)) {
            return Concern::Unclear;
        }
        Concern::of(id, first)
    }
}

const NOBODY: &str = "no client has a call open here";
const UNCLEAR: &str = "several clients have calls open here, and nothing says whose this is (give \
                       the server `\"share\": \"per-session\"`)";

impl Pending {
    /// The client and the way back of the call with this id.
    fn cause(&self, id: UpstreamId) -> Option<(Arc<Client>, Option<Cause>)> {
        let concern = match &self.get(id)?.waiter {
            Waiter::Client(path) => Concern::of(id, path),
            Waiter::Parked(parked) => Concern::of_parked(id, parked),
            Waiter::Own(_) | Waiter::Listening(_) | Waiter::Fence => return None,
        };
        match concern {
            Concern::One(client, cause) => Some((client, cause)),
            Concern::Nobody | Concern::Unclear => None,
        }
    }
}

fn who_of(client: &Arc<Client>, cause: Option<&Cause>) -> Caller {
    match cause {
        Some(cause) => Caller::of(client, &cause.manner),
        None => Caller::session(client),
    }
}

impl Concern {
    fn of_parked(id: UpstreamId, parked: &Parked) -> Self {
        let (door, manner) = (ResponseSink::Responder(Arc::new(Discard)), parked.manner());
        Self::One(Arc::clone(&parked.client), Some(Cause { id, door, manner }))
    }
}

/// Does a client want to hear a word of the log?
fn hears(client: &Client, cause: Option<&Cause>, level: Option<Level>) -> bool {
    match cause {
        Some(Cause { manner: RequestEra::Stateless(how), .. }) => how.hears(level),
        _ => client.hears(level),
    }
}

/// Through the door of the call it belongs to, or else the client's own.
fn say(client: &Client, cause: Option<&Cause>, message: &Message<'_>, touched: &mut FlushSet) {
    let said = cause.is_some_and(|cause| cause.door.say(message.bytes, &Edits::new(), touched));
    if !said && !client.say(message.bytes, &Edits::new(), touched) {
        tracing::debug!("a notification found no stream of its client");
    }
}
