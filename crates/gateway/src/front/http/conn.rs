//! `Conn`: one client's connection as its reader, its answers and the sweeper share it. One request
//! at a time: while it is answered, what comes behind it waits.

use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use crate::front::http::caller::Remembered;
use crate::front::http::clock::Clock;
use crate::front::http::events::Stream;
use crate::front::http::exchange::Exchange;
use crate::front::http::sse::SseSession;
use crate::front::http::stateless_reply::StatelessReply;
use crate::front::http::web::Web;
use crate::limits::{
    BODY_BYTES_PER_SECOND, BODY_SECONDS, CLIENT_STALL, HEAD_SECONDS, IDLE_SECONDS, LEAVING_SECONDS,
    PIPELINED_BYTES, STREAM_BYTES, shortened_seconds,
};
use crate::pump::{Outbox, SourceHandle};

#[derive(Debug)]
pub(super) struct Conn {
    pub(super) outbox: Outbox,
    clock: Arc<Clock>,
    slot: Mutex<Slot>,
    /// Who speaks here.
    pub(super) remembered: Remembered,
}

#[derive(Debug, Default)]
struct Slot {
    /// A request is being answered.
    busy: bool,
    /// Bytes wait until it is.
    waiting: Option<SourceHandle>,
    /// There are so many that nothing more is read.
    held: bool,
    /// Nothing more will be read: the client has closed its side.
    ended: bool,
    stage: Stage,
    /// When the stage began.
    since: u32,
    /// Of a body: how much has come, and when it last grew.
    received: usize,
    grown: u32,
    open: Open,
}

/// How far the next request has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stage {
    #[default]
    Idle,
    Head,
    Body,
    /// It was refused before its end; the rest is not looked at.
    Leaving,
}

/// What the connection is busy with, for the sweeper and for its end.
#[derive(Clone, Debug, Default)]
pub(super) enum Open {
    #[default]
    Nothing,
    Exchange(Weak<Exchange>),
    Once(Weak<StatelessReply>),
    Stream(Weak<Stream>),
    Sse(Weak<SseSession>),
    Web(Weak<Web>),
}

/// What the sweeper finds.
#[derive(Debug)]
pub(super) enum Finding {
    Fine,
    /// Nobody needs it any more.
    Close,
    /// A request that does not come to its end. The connection is taken: it must be answered.
    Late,
    /// At work since then.
    Open(Open, u32),
}

impl Conn {
    pub(super) fn new(clock: Arc<Clock>) -> Self {
        let slot = Slot { since: clock.now(), ..Slot::default() };
        Self {
            outbox: Outbox::closing_at(STREAM_BYTES),
            clock,
            slot: Mutex::new(slot),
            remembered: Remembered::default(),
        }
    }

    /// Appends the date of a response that is made now.
    pub(super) fn write_date(&self, out: &mut Vec<u8>) {
        self.clock.write_date(out);
    }

    /// A request begins to be answered.
    pub(super) fn begin(&self) {
        let mut slot = self.slot.lock();
        slot.busy = true;
        slot.stage = Stage::Idle;
        slot.since = self.clock.now();
    }

    /// Who answers it, if it is not answered at once.
    pub(super) fn watch(&self, open: Open) {
        self.slot.lock().open = open;
    }

    /// The request it is busy with, if that stands for itself.
    pub(super) fn once(&self) -> Option<Arc<StatelessReply>> {
        match &self.slot.lock().open {
            Open::Once(once) => once.upgrade(),
            _ => None,
        }
    }

    /// It is answered: the next one may be looked at.
    pub(super) fn free(&self) {
        let mut slot = self.slot.lock();
        slot.busy = false;
        slot.open = Open::Nothing;
        slot.since = self.clock.now();
        let held = std::mem::take(&mut slot.held);
        let waiting = slot.waiting.take();
        let ended = slot.ended;
        drop(slot);
        if ended {
            return self.outbox.close_when_written();
        }
        if let Some(source) = waiting {
            if held {
                source.resume();
            }
            source.poke();
        }
    }

    /// It was refused before its end: the client gets some time to notice, for a connection that
    /// is closed with bytes unread takes the answer with it.
    pub(super) fn leave(&self) {
        let mut slot = self.slot.lock();
        slot.busy = false;
        slot.open = Open::Nothing;
        slot.stage = Stage::Leaving;
        slot.since = self.clock.now();
        let ended = slot.ended;
        drop(slot);
        if ended {
            self.outbox.close_when_written();
        }
    }

    /// Must these bytes wait? Then the reader is poked when they need no longer.
    pub(super) fn must_wait(&self, bytes: usize, source: &SourceHandle) -> bool {
        let mut slot = self.slot.lock();
        if slot.busy && bytes > 0 {
            slot.waiting.get_or_insert_with(|| source.clone());
            if bytes > PIPELINED_BYTES && !std::mem::replace(&mut slot.held, true) {
                source.hold();
            }
        }
        slot.busy
    }

    /// The next request is not complete yet: so much of its body has come.
    pub(super) fn reached(&self, stage: Stage, received: usize) {
        let mut slot = self.slot.lock();
        let now = self.clock.now();
        if slot.stage != stage {
            slot.stage = stage;
            slot.since = now;
            slot.received = 0;
            slot.grown = now;
        }
        if received > slot.received {
            slot.received = received;
            slot.grown = now;
        }
    }

    /// The client has closed its side. What it is busy with is returned; a plain answer is still
    /// written, since some clients close theirs as soon as they have asked.
    pub(super) fn ended(&self) -> Open {
        let mut slot = self.slot.lock();
        slot.ended = true;
        slot.waiting = None;
        let open = slot.open.clone();
        let busy = slot.busy;
        drop(slot);
        if !busy {
            self.outbox.close_when_written();
        }
        open
    }

    pub(super) fn has_ended(&self) -> bool {
        self.slot.lock().ended || self.outbox.is_closed()
    }

    /// What has to be done about it at this time?
    pub(super) fn examine(&self, now: u32) -> Finding {
        if self.outbox.is_stalled(CLIENT_STALL) {
            return Finding::Close;
        }
        let mut slot = self.slot.lock();
        if slot.busy {
            return Finding::Open(slot.open.clone(), slot.since);
        }
        if !slot.is_overdue(now) {
            return Finding::Fine;
        }
        match slot.stage {
            Stage::Idle | Stage::Leaving => Finding::Close,
            Stage::Head | Stage::Body => {
                slot.busy = true;
                Finding::Late
            }
        }
    }
}

impl Slot {
    fn is_overdue(&self, now: u32) -> bool {
        let taken = now.saturating_sub(self.since);
        match self.stage {
            Stage::Idle => taken > IDLE_SECONDS,
            Stage::Head => taken > shortened_seconds(HEAD_SECONDS),
            Stage::Leaving => taken > LEAVING_SECONDS,
            Stage::Body => {
                let fair = u32::try_from(self.received / BODY_BYTES_PER_SECOND).unwrap_or(u32::MAX);
                let limit = shortened_seconds(BODY_SECONDS);
                now.saturating_sub(self.grown) > limit || taken > limit.saturating_add(fair)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A connection in this stage for so long, and what the sweeper finds.
    fn found(stage: Stage, seconds: u32) -> &'static str {
        let conn = Conn::new(Arc::new(Clock::new()));
        conn.reached(stage, 0);
        match conn.examine(seconds) {
            Finding::Fine => "fine",
            Finding::Close => "close",
            Finding::Late => "late",
            Finding::Open(..) => "open",
        }
    }

    #[test]
    fn what_takes_too_long() {
        for (stage, seconds, expected) in [
            (Stage::Idle, IDLE_SECONDS, "fine"),
            (Stage::Idle, IDLE_SECONDS + 1, "close"),
            (Stage::Head, HEAD_SECONDS, "fine"),
            (Stage::Head, HEAD_SECONDS + 1, "late"),
            (Stage::Body, BODY_SECONDS, "fine"),
            (Stage::Body, BODY_SECONDS + 1, "late"),
            (Stage::Leaving, LEAVING_SECONDS, "fine"),
            (Stage::Leaving, LEAVING_SECONDS + 1, "close"),
        ] {
            assert_eq!(found(stage, seconds), expected, "{stage:?} for {seconds} s");
        }
    }

    #[test]
    fn a_body_that_trickles_in_is_late_as_well() {
        for (now, grown, kib, expected) in [
            (BODY_SECONDS, BODY_SECONDS, 0, false),
            (BODY_SECONDS + 1, BODY_SECONDS + 1, 0, true),
            (BODY_SECONDS + 10, BODY_SECONDS + 10, 80, false),
            (BODY_SECONDS + 11, BODY_SECONDS + 11, 80, true),
            (BODY_SECONDS + 10, 9, 8000, true),
        ] {
            let slot = Slot { stage: Stage::Body, received: kib << 10, grown, ..Slot::default() };
            assert_eq!(slot.is_overdue(now), expected, "{kib} KiB until {grown}, at {now}");
        }
    }

    #[test]
    fn an_open_request_takes_as_long_as_it_takes() {
        let conn = Conn::new(Arc::new(Clock::new()));
        conn.reached(Stage::Body, 0);
        conn.begin();
        assert!(matches!(conn.examine(u32::MAX), Finding::Open(Open::Nothing, 0)));
        conn.free();
        assert!(matches!(conn.examine(IDLE_SECONDS), Finding::Fine));
    }

    #[test]
    fn a_late_request_is_taken_once() {
        let conn = Conn::new(Arc::new(Clock::new()));
        conn.reached(Stage::Head, 0);
        assert!(matches!(conn.examine(u32::MAX), Finding::Late));
        assert!(matches!(conn.examine(u32::MAX), Finding::Open(Open::Nothing, 0)));
    }

    #[test]
    fn a_half_closed_connection_ends_with_its_answer() {
        let conn = Conn::new(Arc::new(Clock::new()));
        conn.begin();
        conn.ended();
        assert!(!conn.outbox.is_closed());
        conn.free();
        assert!(conn.outbox.is_closed());
        let idle = Conn::new(Arc::new(Clock::new()));
        idle.ended();
        assert!(idle.outbox.is_closed());
    }
}
