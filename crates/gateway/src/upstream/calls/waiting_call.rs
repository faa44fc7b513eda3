//! `WaitingCall`: a call in a wait queue, and how it ends there.

use tokio::time::Instant;
use trunkline_wire::{decode, scan};

use crate::call::{Cancel, ReplyTo};
use crate::error::CallError;
use crate::pump::FlushSet;

#[derive(Debug)]
pub(super) struct WaitingCall {
    pub(super) reply: ReplyTo,
    pub(super) until: Instant,
    pub(super) cause: WaitCause,
}

/// Why a call waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitCause {
    Away,
    Turn,
}

impl WaitingCall {
    /// The bytes of its request.
    pub(super) fn size(&self) -> usize {
        self.reply.replay.as_ref().map_or(0, |replay| replay.request.len())
    }

    /// The tool that it is for, as its server calls it.
    pub(super) fn called_tool(&self) -> Option<String> {
        let message = scan(&self.reply.replay.as_ref()?.request).ok()?;
        let name = decode(message.text(message.params.name))?;
        (*message.method() == *b"tools/call").then(|| name.into_owned())
    }

    /// Its client has cancelled it.
    pub(super) fn cancelled(&self, touched: &mut FlushSet) {
        self.reply.cancelled(Cancel::Left, self.reply.has_run(), touched);
    }

    /// It was taken out of the queue, and ends. Its client may have cancelled it just now.
    pub(super) fn fail(&self, error: &CallError, touched: &mut FlushSet) {
        match self.reply.claim() {
            true => self.reply.fail_taken(error, touched),
            false => self.cancelled(touched),
        }
    }
}
