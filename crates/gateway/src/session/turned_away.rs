//! Requests that go to no server because there is nothing for their client to ask: answered, and told
//! to those who keep account.

use crate::call::Note;
use crate::error::CallError;
use crate::events::Outcome;
use crate::pump::Touched;
use crate::session::{Asked, Session};

impl Session {
    pub(super) fn turn_away(&self, asked: &Asked<'_>, error: &CallError, touched: &mut Touched) {
        self.note_without_server(asked, None, Outcome::Refused);
        asked.refuse(error, touched);
    }

    /// `about`: what the request is about, if that is not what its params name.
    pub(super) fn note_without_server(
        &self,
        asked: &Asked<'_>,
        about: Option<&str>,
        outcome: Outcome,
    ) {
        if let Some(sink) = &self.context.events {
            Note::without_server(asked.message, asked.client, sink, (about, outcome));
        }
    }
}
