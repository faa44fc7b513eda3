//! What servers ask: passed on to the client that it can only be meant for.

use std::sync::Arc;

use trunkline_wire::{Edits, Message, write_result};

use crate::call::{Ability, CallOwner, RequestEra};
use crate::error::CallError;
use crate::pump::FlushSet;
use crate::upstream::connection::Connection;
use crate::upstream::questions::attribution::Caller;
use crate::upstream::transport::UpstreamId;

use crate::upstream::questions::concern::{Cause, NOBODY, who_of};

impl Connection {
    /// The server asks something of a client.
    pub(in crate::upstream) fn asked(
        self: &Arc<Self>,
        message: &Message<'_>,
        origin: Option<UpstreamId>,
        touched: &mut FlushSet,
    ) {
        let method = message.method();
        // 2025-11-25, Ping: either side may ping, and the receiver MUST answer promptly. The server
        // means this connection, not a client behind it.
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
        let found = self.concerned().asked_client(origin, needed);
        let (client, cause) = found.map_err(|unaskable| {
            self.clear_the_way(&unaskable.in_the_way, touched);
            unasked(&unaskable.why)
        })?;
        // A question that was meant for one caller is never moved on to another.
        if only.is_some_and(|only| *only != who_of(&client, cause.as_ref())) {
            return Err(unasked(NOBODY));
        }
        if let Some(Cause { id, request_era: RequestEra::Stateless(how), .. }) = &cause {
            return self.park(*id, how, message).map_err(|why| unasked(&why));
        }
        // 2025-11-25, Lifecycle, Operation: only negotiated capabilities may be used.
        if let Some(ability) = needed.filter(|ability| !client.can(*ability)) {
            let why = format!("the client does not support {}", ability.word());
            return Err(unasked(&why));
        }
        let owner = Arc::clone(self) as Arc<dyn CallOwner>;
        // On the stream of its call first: over HTTP the client then knows which call it belongs
        // to.
        let sinks = [cause.map(|cause| cause.sink), client.stream()];
        for sink in sinks.iter().flatten() {
            if client.ask(message, &owner, sink, touched) {
                return Ok(());
            }
        }
        Err(unasked("the client has no stream open on which it could be asked"))
    }
}
