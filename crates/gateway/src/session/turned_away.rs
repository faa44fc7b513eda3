//! Requests that go to no server because there is nothing for their client to ask: answered, and told
//! to those who keep account.

use crate::call::Note;
use crate::error::CallError;
use crate::pump::Touched;
use crate::session::{Asked, Session};

impl Session {
    pub(super) fn turn_away(&self, asked: &Asked<'_>, error: &CallError, touched: &mut Touched) {
        if let Some(sink) = &self.context.events {
            Note::turned_away(asked.message, asked.client, sink);
        }
        asked.refuse(error, touched);
    }
}
