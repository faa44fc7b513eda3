//! `CallOwner`: whoever has calls under way, and how a client takes one back.

use std::fmt::Debug;

use trunkline_wire::{Edits, Message};

use crate::pump::FlushSet;

/// Whoever has calls under way to a server: the one side of a connection that clients know.
pub(crate) trait CallOwner: Debug + Send + Sync {
    /// The client has cancelled the call with this id of ours.
    fn cancel(&self, id: u32, how: Cancel<'_>, touched: &mut FlushSet);
    /// Trunkline ends: the call gets an error that says whether it may have run.
    fn abandon(&self, id: u32, touched: &mut FlushSet);
    /// A message to the server that needs no answer: a client's answer to its question.
    fn pass(&self, bytes: &[u8], edits: &Edits<'_>, touched: &mut FlushSet);
    /// Do calls only wait here, for a server or for a turn?
    fn is_waiting_room(&self) -> bool {
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
