//! Whom something concerns that a server says or asks: which client, and which of its calls.

use std::sync::Arc;

use trunkline_wire::{Edits, Message};

use crate::call::{Ability, Audience, Client, Discard, Level, ReplyTo, RequestEra, ResponseSink};
use crate::pump::FlushSet;
use crate::upstream::calls::link::Link;
use crate::upstream::calls::pending::{Pending, Waiter};
use crate::upstream::questions::attribution::{
    AttributedCall, Attribution, CallPhase, Caller, in_the_way, whose,
};
use crate::upstream::questions::parked::Parked;
use crate::upstream::transport::UpstreamId;

/// Whom a message of a server's concerns.
pub(in crate::upstream) enum Concern {
    /// One client; and the call that caused it, as far as that is known.
    One(Arc<Client>, Option<Cause>),
    /// No call is open: nobody in particular.
    Nobody,
    /// Several clients have calls open or have just given one up, and nothing says whose it is.
    Unclear,
}

/// The call something belongs to.
pub(in crate::upstream) struct Cause {
    pub(in crate::upstream) id: UpstreamId,
    pub(in crate::upstream) sink: ResponseSink,
    pub(in crate::upstream) request_era: RequestEra,
}

impl Concern {
    fn of(id: UpstreamId, reply: &ReplyTo) -> Self {
        let cause = Cause { id, sink: reply.sink.clone(), request_era: reply.request_era.clone() };
        Self::One(Arc::clone(&reply.client), Some(cause))
    }
}

/// Why nobody can be asked.
pub(in crate::upstream) struct Unaskable {
    pub(in crate::upstream) why: String,
    /// Calls without which somebody could be: they have waited for their clients for long.
    pub(in crate::upstream) in_the_way: Vec<UpstreamId>,
}

impl From<String> for Unaskable {
    fn from(why: String) -> Self {
        Self { why, in_the_way: Vec::new() }
    }
}

/// The calls that are open with one server, as far as they tell whom its words concern.
pub(in crate::upstream) struct Concerned<'a> {
    pub(in crate::upstream) link: &'a Link,
    pub(in crate::upstream) audience: &'a Audience,
    /// As `Parking::millis` counts.
    pub(in crate::upstream) now: u64,
}

impl Concerned<'_> {
    /// The client a question is for that needs this of it, and the call it is about. `Err`: why
    /// nobody can be asked.
    pub(in crate::upstream) fn asked_client(
        &self,
        origin: Option<UpstreamId>,
        needed: Option<Ability>,
    ) -> Result<(Arc<Client>, Option<Cause>), Unaskable> {
        let pending = self.link.pending.lock();
        if let Some(known) = origin.and_then(|id| pending.cause(id)) {
            return Ok(known);
        }
        // What comes with a call that is over is about that one, and so about none that is open.
        let is_over = origin.is_some_and(|id| pending.get(id).is_none());
        let calls = pending.iter().filter(|_| !is_over);
        let open: Vec<AttributedCall> =
            calls.filter_map(|(id, waiter)| self.open_call(id, waiter, needed)).collect();
        let gone: Vec<Caller> = pending.cancelled.all().cloned().collect();
        let why = match whose(&open, &gone) {
            Attribution::Call(id) => {
                return pending.cause(id).ok_or_else(|| NOBODY.to_owned().into());
            }
            Attribution::Nobodys => {
                let sole = self.audience.sole();
                let sole = sole.filter(|sole| pending.cancelled.spares(&Caller::session(sole)));
                return match sole {
                    Some(sole) => Ok((sole, None)),
                    None if pending.cancelled.is_empty() => Err(NOBODY.to_owned().into()),
                    None => Err(UNCLEAR.to_owned().into()),
                };
            }
            Attribution::Unclear => {
                return Err(Unaskable { why: UNCLEAR.to_owned(), in_the_way: in_the_way(&open) });
            }
            Attribution::Unable => {
                let what = needed.map_or("this", Ability::word);
                format!("no client that has a call open here supports {what}")
            }
        };
        Err(why.into())
    }

    /// What is known of a client's call when its server asks for something that needs this.
    fn open_call(
        &self,
        id: UpstreamId,
        waiter: &Waiter,
        needed: Option<Ability>,
    ) -> Option<AttributedCall> {
        let (who, able, place) = match waiter {
            Waiter::Client(reply) => {
                let can = |ability| match &reply.request_era {
                    RequestEra::Session => reply.client.can(ability),
                    RequestEra::Stateless(how) => how.can(ability),
                };
                let who = Caller::of(&reply.client, &reply.request_era);
                (who, needed.is_none_or(can), CallPhase::Running)
            }
            Waiter::Parked(parked) => {
                let able = needed.is_none_or(|ability| parked.how.can(ability));
                (parked.who(), able, parked.place(self.now))
            }
            Waiter::Own(_) | Waiter::Listening(_) | Waiter::Fence => return None,
        };
        Some(AttributedCall { id, who, able, place })
    }

    /// Whom something that came with `origin` concerns.
    pub(in crate::upstream) fn concern(&self, origin: Option<UpstreamId>) -> Concern {
        let pending = self.link.pending.lock();
        if let Some((client, cause)) = origin.and_then(|id| pending.cause(id)) {
            return Concern::One(client, cause);
        }
        let mut replies = pending.iter().filter_map(|(id, waiter)| match waiter {
            Waiter::Client(reply) => Some((id, reply)),
            Waiter::Own(_) | Waiter::Listening(_) | Waiter::Parked(_) | Waiter::Fence => None,
        });
        let parked = || {
            pending.iter().filter_map(|(id, waiter)| match waiter {
                Waiter::Parked(parked) => Some((id, parked)),
                _ => None,
            })
        };
        let Some((id, first)) = replies.next() else {
            // Of one client's calls it may be any: the same person is asked. One that has only just
            // begun to ask is the likeliest.
            let asking = parked().find(|(_, parked)| parked.is_being_asked());
            if let Some((id, first)) = asking.or_else(|| parked().next()) {
                let one = parked().all(|(_, other)| other.is_of(&first.client));
                return match one && pending.cancelled.spares(&first.who()) {
                    true => Concern::of_parked(id, first),
                    false => Concern::Unclear,
                };
            }
            return match self.audience.sole() {
                Some(sole) if pending.cancelled.spares(&Caller::session(&sole)) => {
                    Concern::One(sole, None)
                }
                None if pending.cancelled.is_empty() => Concern::Nobody,
                _ => Concern::Unclear,
            };
        };
        let one = replies.all(|(_, reply)| Arc::ptr_eq(&reply.client, &first.client))
            && parked().all(|(_, parked)| parked.is_of(&first.client));
        if !one || !pending.cancelled.spares(&Caller::of(&first.client, &first.request_era)) {
            return Concern::Unclear;
        }
        Concern::of(id, first)
    }
}

pub(in crate::upstream) const NOBODY: &str = "no client has a call open here";
const UNCLEAR: &str = "several clients have calls open here, and nothing says whose this is (give \
                       the server `\"share\": \"per-session\"`)";

impl Pending {
    /// The client and the way back of the call with this id.
    fn cause(&self, id: UpstreamId) -> Option<(Arc<Client>, Option<Cause>)> {
        let concern = match &self.get(id)?.waiter {
            Waiter::Client(reply) => Concern::of(id, reply),
            Waiter::Parked(parked) => Concern::of_parked(id, parked),
            Waiter::Own(_) | Waiter::Listening(_) | Waiter::Fence => return None,
        };
        match concern {
            Concern::One(client, cause) => Some((client, cause)),
            Concern::Nobody | Concern::Unclear => None,
        }
    }
}

pub(in crate::upstream) fn who_of(client: &Arc<Client>, cause: Option<&Cause>) -> Caller {
    match cause {
        Some(cause) => Caller::of(client, &cause.request_era),
        None => Caller::session(client),
    }
}

impl Concern {
    fn of_parked(id: UpstreamId, parked: &Parked) -> Self {
        let (sink, request_era) = (Arc::new(Discard), parked.request_era());
        Self::One(Arc::clone(&parked.client), Some(Cause { id, sink, request_era }))
    }
}

/// Does a client want to hear a word of the log?
pub(in crate::upstream) fn hears(
    client: &Client,
    cause: Option<&Cause>,
    level: Option<Level>,
) -> bool {
    match cause {
        Some(Cause { request_era: RequestEra::Stateless(how), .. }) => how.hears(level),
        _ => client.hears(level),
    }
}

/// Through the door of the call it belongs to, or else the client's own.
pub(in crate::upstream) fn say(
    client: &Client,
    cause: Option<&Cause>,
    message: &Message<'_>,
    touched: &mut FlushSet,
) {
    let said = cause.is_some_and(|cause| cause.sink.say(message.bytes, &Edits::new(), touched));
    if !said && !client.say(message.bytes, &Edits::new(), touched) {
        tracing::debug!("a notification found no stream of its client");
    }
}
