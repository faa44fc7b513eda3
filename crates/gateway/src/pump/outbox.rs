//! `Outbox`: the queue in front of one byte stream. Putting a message appends its bytes, flushing
//! writes all that has gathered: a burst leaves in one `write`, a large message without a copy.
//!
//! The code that puts a message also flushes, at once or at the end of the round (`FlushSet`). A write
//! never waits; the pump writes what is left when the stream takes more.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use tokio::sync::Notify;
use trunkline_wire::{Edits, Piece};

use crate::limits::LARGE_MESSAGE;
use crate::lock::{Mutex, rank};
use crate::pump::queue::{Frame, LINE, Overflow, Queue, Refused, Segment, Sink, Taker};
use crate::pump::{Pump, SourceHandle};

#[derive(Clone, Debug, Default)]
pub(crate) struct Outbox(Arc<OutboxShared>);

#[derive(Debug, Default)]
struct OutboxShared {
    // Messages are put from under almost every other lock: only what writing needs ranks below it.
    state: Mutex<OutboxState, rank::OutboxQueue>,
    drained: Notify,
    ended: Notify,
}

/// The queue, and who is told when it gets shorter.
#[derive(Debug, Default)]
struct OutboxState {
    queue: Queue,
    /// The pump that continues a write after the stream was full.
    pump: Option<(Pump, u64)>,
    /// Sources that are not read until the queue is shorter.
    held: Vec<SourceHandle>,
    /// The source that is poked when fewer than so many bytes wait.
    awaiting: Option<(usize, SourceHandle)>,
}

impl OutboxState {
    fn call_back_when_writable(&mut self) {
        self.queue.progress.get_or_insert_with(Instant::now);
        let fd = self.queue.sink.as_ref().and_then(Sink::as_fd);
        if let (Some(fd), Some((pump, token))) = (fd, &self.pump) {
            pump.rewatch(fd, *token, EventFlags::OUT | EventFlags::ONESHOT);
        }
    }

    /// Who waits for what is left to be little, if it is.
    fn take_awaiting(&mut self) -> Option<SourceHandle> {
        let (most, _) = self.awaiting.as_ref()?;
        if self.queue.bytes >= *most && !self.queue.closed {
            return None;
        }
        self.awaiting.take().map(|(_, source)| source)
    }

    /// The sources that may be read again.
    fn released(&mut self) -> Vec<SourceHandle> {
        match self.queue.is_short() {
            true => std::mem::take(&mut self.held),
            false => Vec::new(),
        }
    }
}

impl Outbox {
    /// For a stream whose reader may be slow without harm to others: closed when more than `most`
    /// bytes wait.
    pub(crate) fn closing_at(most: usize) -> Self {
        let queue = Queue { overflow: Overflow::Close(most), ..Queue::default() };
        let state = Mutex::new(OutboxState { queue, ..OutboxState::default() });
        Self(Arc::new(OutboxShared { state, ..OutboxShared::default() }))
    }

    /// Puts one message like `put`, if the queue is within its bounds: for requests, whose sender
    /// can be told "busy".
    pub(crate) fn put_bounded(&self, bytes: &[u8], edits: &Edits<'_>) -> Result<u64, Refused> {
        let mut state = self.0.state.lock();
        let queue = &mut state.queue;
        queue.check_room()?;
        queue.put(LINE, bytes, edits)
    }

    /// Puts one message: `bytes` with `edits` made, and a newline. Returns the stream position
    /// behind it. Never refuses for lack of room: for answers, which must not be lost.
    pub(crate) fn put(&self, bytes: &[u8], edits: &Edits<'_>) -> Result<u64, Refused> {
        self.put_framed(LINE, bytes, edits)
    }

    /// Like `put`, with something else than a line around the message.
    pub(crate) fn put_framed(
        &self,
        frame: Frame<'_>,
        bytes: &[u8],
        edits: &Edits<'_>,
    ) -> Result<u64, Refused> {
        let mut state = self.0.state.lock();
        let queue = &mut state.queue;
        let put = queue.put(frame, bytes, edits);
        let overfull = queue.is_overfull();
        drop(state);
        if overfull {
            tracing::warn!(
                "a client reads too slowly for what is sent to it: its stream is closed"
            );
            self.close();
        }
        put
    }

    /// Like `put_framed`, for a message whose bytes can be handed over.
    pub(crate) fn put_owned(
        &self,
        frame: Frame<'_>,
        bytes: Vec<u8>,
        edits: &Edits<'_>,
    ) -> Result<u64, Refused> {
        // A small message is cheaper to copy behind the others than to write as a piece of its own.
        if bytes.len() < LARGE_MESSAGE {
            return self.put_framed(frame, &bytes, edits);
        }
        // With its spare room: less than the message again, mostly never touched. Giving it back here made a
        // message of 10 MiB twice as dear.
        let bytes = Bytes::from(bytes);
        let mut state = self.0.state.lock();
        let queue = &mut state.queue;
        queue.check_open()?;
        queue.append(frame.head);
        let mut added = frame.head.len() + frame.tail.len();
        edits.pieces(&bytes, |piece| {
            added += piece.bytes().len();
            match piece {
                Piece::Kept(kept) if kept.len() >= LARGE_MESSAGE => {
                    queue.segments.push_back(Segment::Whole(bytes.slice_ref(kept)));
                }
                // What is new is somewhere else, however long it is.
                Piece::Kept(short) => queue.append(short),
                Piece::New(new) => queue.append(new),
            }
        });
        queue.append(frame.tail);
        Ok(queue.account(added))
    }

    /// Puts a message whose body is shared: lists come from the snapshot.
    pub(crate) fn put_shared(&self, frame: Frame<'_>, body: &Bytes) -> Result<u64, Refused> {
        let mut state = self.0.state.lock();
        let queue = &mut state.queue;
        queue.check_open()?;
        queue.append(frame.head);
        if body.len() < LARGE_MESSAGE {
            queue.append(body);
        } else {
            queue.segments.push_back(Segment::Whole(body.clone()));
        }
        queue.append(frame.tail);
        Ok(queue.account(frame.head.len() + body.len() + frame.tail.len()))
    }

    /// Writes what has gathered, as far as the stream takes it now; the rest follows by itself.
    pub(crate) fn flush(&self) {
        let mut state = self.0.state.lock();
        // Under the lock: two writers would mix their bytes, and a write that the stream does not
        // take returns at once.
        match state.queue.write_now() {
            Ok(()) => {}
            Err(Errno::AGAIN) => state.call_back_when_writable(),
            Err(error) => {
                state.queue.failure = Some(error);
                drop(state);
                tracing::debug!(%error, "a stream no longer takes messages");
                return self.close();
            }
        }
        if state.queue.closing && state.queue.bytes == 0 {
            drop(state);
            return self.close();
        }
        let held = state.released();
        let awaiting = state.take_awaiting();
        // Only if it is waited for: a flush happens with every message, and a wake-up costs more
        // than that.
        if std::mem::take(&mut state.queue.room_wanted) {
            self.0.drained.notify_waiters();
        }
        drop(state);
        for source in held {
            source.resume();
        }
        if let Some(source) = awaiting {
            source.poke();
        }
    }

    /// Connects the outbox to somebody who takes its bytes out.
    pub(crate) fn hand_to(&self, taker: Arc<dyn Taker>) {
        self.accept(Sink::Taken(taker));
    }

    /// Takes the head of an answer out, up to its empty line.
    pub(crate) fn take_head(&self) -> Option<Bytes> {
        self.take(Queue::take_head)
    }

    /// Takes the next bytes out, at most so many.
    pub(crate) fn take_some(&self, most: usize) -> Option<Bytes> {
        self.take(|queue| queue.take_some(most))
    }

    fn take(&self, take: impl FnOnce(&mut Queue) -> Option<Bytes>) -> Option<Bytes> {
        let mut state = self.0.state.lock();
        let taken = take(&mut state.queue);
        let held = state.released();
        if taken.is_some() && std::mem::take(&mut state.queue.room_wanted) {
            self.0.drained.notify_waiters();
        }
        drop(state);
        for source in held {
            source.resume();
        }
        taken
    }

    /// How much is left to take, and whether more may come.
    pub(crate) fn remainder(&self) -> Remainder {
        let state = self.0.state.lock();
        let queue = &state.queue;
        match queue.bytes {
            _ if queue.cut => Remainder::Cut,
            0 if queue.closing || queue.closed => Remainder::Finished,
            bytes => Remainder::Bytes(bytes),
        }
    }

    /// Pokes `source` once fewer than `most` bytes wait here, or the outbox is closed.
    pub(crate) fn poke_below(&self, most: usize, source: &SourceHandle) {
        let mut state = self.0.state.lock();
        state.awaiting = Some((most, source.clone()));
        let now = state.take_awaiting();
        drop(state);
        if let Some(source) = now {
            source.poke();
        }
    }

    /// Connects the outbox to its stream and writes what is waiting.
    pub(crate) fn connect(&self, sink: Sink, pump: &Pump) {
        if self.accept(sink) {
            pump.write(self);
            self.flush();
        }
    }

    /// From now on this is the stream. False: there is nothing to be written any more.
    pub(super) fn accept(&self, sink: Sink) -> bool {
        let mut state = self.0.state.lock();
        let queue = &mut state.queue;
        if !queue.closed {
            queue.sink = Some(sink);
        }
        !queue.closed
    }

    /// The pump has taken the stream into its care.
    pub(super) fn watched(&self, pump: &Pump, token: u64) {
        let mut state = self.0.state.lock();
        let Some(fd) = state.queue.sink.as_ref().and_then(Sink::as_fd) else { return };
        // Not even asked for anything, it tells when the stream breaks. A plain file is refused.
        if pump.watch(fd, token, EventFlags::ONESHOT).is_err() {
            return;
        }
        state.pump = Some((pump.clone(), token));
        // Stuck: with messages of ours, or with what the stream itself holds back.
        if state.queue.bytes > 0 || state.queue.progress.is_some() {
            state.call_back_when_writable();
        }
    }

    /// Reads no more from `source` until this queue is short again, if it is long and others may wait
    /// for its reader.
    pub(crate) fn hold_if_crowded(&self, source: &SourceHandle) {
        self.hold_if(source, Queue::is_crowded);
    }

    /// Reads no more from the peer that this queue is for until the queue is short again, if it is long.
    pub(crate) fn hold_own_reader(&self, source: &SourceHandle) {
        self.hold_if(source, Queue::is_long);
    }

    fn hold_if(&self, source: &SourceHandle, is_too_long: impl Fn(&Queue) -> bool) {
        if !is_too_long(&self.0.state.lock().queue) {
            return;
        }
        self.flush();
        source.hold();
        let mut state = self.0.state.lock();
        // Looked at again, now that the source is held: the queue may have been emptied in between,
        // and then nothing else would resume it.
        if state.queue.closed || !is_too_long(&state.queue) {
            drop(state);
            return source.resume();
        }
        state.held.push(source.clone());
    }

    /// Is this the same outbox?
    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Bytes not yet written.
    pub(crate) fn len(&self) -> usize {
        self.0.state.lock().queue.bytes
    }

    /// Stream position up to which everything has been written.
    pub(crate) fn written(&self) -> u64 {
        self.0.state.lock().queue.written
    }

    /// Waits until fewer than `high_water` bytes are unsent, or the outbox is closed.
    pub(crate) async fn room(&self, high_water: usize) {
        loop {
            // Made before looking: a flush in between still wakes this one.
            let drained = self.0.drained.notified();
            {
                let mut state = self.0.state.lock();
                let queue = &mut state.queue;
                if queue.closed || queue.bytes < high_water {
                    return;
                }
                queue.room_wanted = true;
            }
            drained.await;
        }
    }

    /// Waits until everything is written, at most `limit`.
    pub(crate) async fn flushed(&self, limit: Duration) {
        // Elapsed: the rest stays unwritten.
        drop(tokio::time::timeout(limit, self.room(1)).await);
    }

    /// Waits until nothing more is taken: the stream broke or was closed.
    pub(crate) async fn closed(&self) {
        loop {
            // Made before looking: an end in between still wakes this one.
            let ended = self.0.ended.notified();
            if self.0.state.lock().queue.closed {
                return;
            }
            ended.await;
        }
    }

    /// Why the stream broke, unless its reader just went away.
    pub(crate) fn failure(&self) -> Option<std::io::Error> {
        let failure = self.0.state.lock().queue.failure;
        failure.filter(|failure| *failure != Errno::PIPE).map(Into::into)
    }

    /// Has it had bytes to write for so long without the stream taking any?
    pub(crate) fn is_stalled(&self, limit: Duration) -> bool {
        self.0.state.lock().queue.progress.is_some_and(|since| since.elapsed() >= limit)
    }

    pub(crate) fn is_closed(&self) -> bool {
        let state = self.0.state.lock();
        let queue = &state.queue;
        queue.closed || queue.closing
    }

    /// Takes nothing more; the stream is closed when all is written.
    pub(crate) fn close_when_written(&self) {
        self.0.state.lock().queue.closing = true;
        self.flush();
    }

    /// Nothing more is taken or written; the stream is closed.
    pub(crate) fn close(&self) {
        let mut state = self.0.state.lock();
        let queue = &mut state.queue;
        if !queue.closed {
            queue.cut = !queue.closing || queue.bytes > 0;
        }
        queue.closed = true;
        if let Some(sink) = queue.sink.take() {
            sink.shut();
        }
        queue.discard();
        // Unlocked before others are called: the pump's orders have a lock of their own.
        let pump = state.pump.take();
        let held = std::mem::take(&mut state.held);
        let awaiting = state.take_awaiting();
        drop(state);
        if let Some((pump, token)) = pump {
            pump.forget(token);
        }
        for source in held {
            source.resume();
        }
        if let Some(source) = awaiting {
            source.poke();
        }
        self.0.drained.notify_waiters();
        self.0.ended.notify_waiters();
    }
}

/// What is left in an outbox whose bytes are taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Remainder {
    /// So many for now; more may come.
    Bytes(usize),
    /// Everything was taken, and nothing more will come.
    Finished,
    /// It was closed before everything was taken.
    Cut,
}

/// The outboxes that something was put into during one round. Each is flushed once, at the end of the
/// round: ten servers that answer together cost their client one `write`. A debug build panics if a set is
/// dropped unflushed.
#[derive(Debug, Default)]
#[must_use]
pub(crate) struct FlushSet {
    outboxes: Vec<Outbox>,
    /// Messages put since the last flush.
    messages: usize,
}

impl FlushSet {
    pub(crate) fn note(&mut self, outbox: &Outbox) {
        self.messages += 1;
        // A round touches few outboxes: a search costs less than a set.
        if !self.outboxes.iter().any(|known| known.is(outbox)) {
            self.outboxes.push(outbox.clone());
        }
    }

    /// Writes what was put; returns how many messages that were.
    pub(crate) fn flush(&mut self) -> usize {
        for outbox in self.outboxes.drain(..) {
            outbox.flush();
        }
        std::mem::take(&mut self.messages)
    }

    /// What was put is written together with something that is put into the same outboxes next.
    pub(crate) fn leave_to_next(mut self) {
        self.outboxes.clear();
    }

    /// Reads no more from `source` while one of the outboxes is too long.
    pub(crate) fn hold_if_crowded(&self, source: &SourceHandle) {
        for outbox in &self.outboxes {
            outbox.hold_if_crowded(source);
        }
    }
}

#[cfg(debug_assertions)]
impl Drop for FlushSet {
    fn drop(&mut self) {
        let is_flushed = self.outboxes.is_empty() || std::thread::panicking();
        debug_assert!(is_flushed, "messages were put into an outbox that nobody flushes");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_flushed_or_left_on_purpose_may_be_dropped() {
        let outbox = Outbox::default();
        let mut flushed = FlushSet::default();
        flushed.note(&outbox);
        assert_eq!(flushed.flush(), 1);
        let mut left = FlushSet::default();
        left.note(&outbox);
        left.leave_to_next();
    }

    #[test]
    #[should_panic(expected = "nobody flushes")]
    fn a_forgotten_flush_fails_the_test() {
        let mut forgotten = FlushSet::default();
        forgotten.note(&Outbox::default());
        drop(forgotten);
    }
}
