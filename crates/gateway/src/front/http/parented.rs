//! `Parented`: a door that knows which span its request came from, because the head says so. Made only
//! where requests are followed.

use std::sync::Arc;

use trunkline_wire::Edits;

use crate::call::{Door, Exit, Payload};
use crate::pump::Touched;

/// The door itself, unless there is something to know.
pub(super) fn parented(exit: Arc<dyn Exit>, parent: Option<Box<str>>) -> Door {
    match parent {
        None => Door::Exit(exit),
        Some(parent) => Door::Exit(Arc::new(Parented { exit, parent })),
    }
}

#[derive(Debug)]
struct Parented {
    exit: Arc<dyn Exit>,
    parent: Box<str>,
}

impl Exit for Parented {
    fn say(&self, bytes: &[u8], edits: &Edits<'_>, touched: &mut Touched) -> bool {
        self.exit.say(bytes, edits, touched)
    }

    fn answer(&self, payload: Payload<'_>, edits: &Edits<'_>, touched: &mut Touched) -> bool {
        self.exit.answer(payload, edits, touched)
    }

    fn refuse(
        &self,
        code: i64,
        payload: Payload<'_>,
        edits: &Edits<'_>,
        touched: &mut Touched,
    ) -> bool {
        self.exit.refuse(code, payload, edits, touched)
    }

    fn unanswered(&self, touched: &mut Touched) {
        self.exit.unanswered(touched);
    }

    fn handed_over(&self) {
        self.exit.handed_over();
    }

    fn parent(&self) -> Option<&str> {
        Some(&self.parent)
    }
}
