//! `TracedSink`: a door that knows which span its request came from, because the head says so. Made only
//! where requests are followed.

use std::sync::Arc;

use trunkline_wire::Edits;

use crate::call::{Payload, Responder, ResponseSink};
use crate::pump::FlushSet;

/// The door itself, unless there is something to know.
pub(super) fn parented(exit: Arc<dyn Responder>, parent: Option<Box<str>>) -> ResponseSink {
    match parent {
        None => ResponseSink::Responder(exit),
        Some(parent) => ResponseSink::Responder(Arc::new(TracedSink { exit, parent })),
    }
}

#[derive(Debug)]
struct TracedSink {
    exit: Arc<dyn Responder>,
    parent: Box<str>,
}

impl Responder for TracedSink {
    fn say(&self, bytes: &[u8], edits: &Edits<'_>, touched: &mut FlushSet) -> bool {
        self.exit.say(bytes, edits, touched)
    }

    fn answer(&self, payload: Payload<'_>, edits: &Edits<'_>, touched: &mut FlushSet) -> bool {
        self.exit.answer(payload, edits, touched)
    }

    fn refuse(
        &self,
        code: i64,
        payload: Payload<'_>,
        edits: &Edits<'_>,
        touched: &mut FlushSet,
    ) -> bool {
        self.exit.refuse(code, payload, edits, touched)
    }

    fn unanswered(&self, touched: &mut FlushSet) {
        self.exit.unanswered(touched);
    }

    fn handed_over(&self) {
        self.exit.handed_over();
    }

    fn parent(&self) -> Option<&str> {
        Some(&self.parent)
    }
}
