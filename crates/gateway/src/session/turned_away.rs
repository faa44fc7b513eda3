//! Requests that go to no server because there is nothing for their client to ask: answered, and told
//! to those who keep account.

use crate::call::CallRecord;
use crate::error::CallError;
use crate::events::Outcome;
use crate::pump::FlushSet;
use crate::session::{Session, SessionRequest};

impl Session {
    pub(super) fn turn_away(
        &self,
        asked: &SessionRequest<'_>,
        error: &CallError,
        touched: &mut FlushSet,
    ) {
        self.note_without_server(asked, None, Outcome::Refused);
        asked.refuse(error, touched);
    }

    /// `about`: what the request is about, if that is not what its params name.
    pub(super) fn note_without_server(
        &self,
        asked: &SessionRequest<'_>,
        about: Option<&str>,
        outcome: Outcome,
    ) {
        if let Some(sink) = &self.context.events {
            CallRecord::without_server(asked.message, asked.client, sink, (about, outcome));
        }
    }
}
