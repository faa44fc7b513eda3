//! `Outbox`: the queue in front of one byte stream. Putting a message appends its bytes, flushing
//! writes all that has gathered: a burst leaves in one `write`, a large message without a copy.
//!
//! Whoever puts flushes, right there or after the last message of what it has just read. The write
//! does not wait; what the stream does not take, the pump writes when it does.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use parking_lot::Mutex;
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use tokio::sync::Notify;
use trunkline_wire::Edits;

use crate::limits::{
    CLIENT_HIGH_WATER, LARGE_MESSAGE, QUEUED_BYTES, QUEUED_MESSAGES, STALL, STALLED_MESSAGES,
};
use crate::pump::{Pump, SourceHandle};
use crate::stream::Sink;

#[derive(Clone, Debug, Default)]
pub(crate) struct Outbox(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    drained: Notify,
    ended: Notify,
}

#[derive(Debug, Default)]
struct Queue {
    /// Where it goes: from the moment that is known until the end.
    sink: Option<Sink>,
    /// Who writes on when the stream was full.
    pump: Option<(Pump, u64)>,
    /// Sources that are not read until this queue is shorter.
    held: Vec<SourceHandle>,
    segments: VecDeque<Segment>,
    /// How much of the first segment is written.
    offset: usize,
    /// An emptied buffer, kept for the next messages.
    spare: Vec<u8>,
    /// Messages and bytes put and not yet written.
    messages: usize,
    bytes: usize,
    /// Bytes written since the beginning.
    written: u64,
    /// When the stream last took anything, while it does not take everything.
    progress: Option<Instant>,
    /// Somebody waits for room.
    room_wanted: bool,
    /// Why the stream broke.
    failure: Option<Errno>,
    /// Nothing more is put; the stream is closed when all is written.
    closing: bool,
    closed: bool,
    overflow: Overflow,
}

/// What happens when a stream is not read and its queue grows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Overflow {
    /// Whoever fills it is not read until it is shorter: nothing is lost.
    #[default]
    Hold,
    /// It is closed beyond so many bytes: nobody else waits for it.
    Close(usize),
}

/// What stands around a message on its stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame<'a> {
    pub(crate) head: &'a [u8],
    pub(crate) tail: &'a [u8],
}

/// One message a line.
pub(crate) const LINE: Frame<'static> = Frame { head: b"", tail: b"\n" };

#[derive(Debug)]
enum Segment {
    Joined(Vec<u8>),
    Whole(Bytes),
}

/// Why nothing was put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    Closed,
    /// The bound of the queue, in words.
    Full(&'static str),
}

impl Outbox {
    /// For a stream whose reader may be slow without harm to others: closed when more than `most`
    /// bytes wait.
    pub(crate) fn closing_at(most: usize) -> Self {
        let queue = Queue { overflow: Overflow::Close(most), ..Queue::default() };
        Self(Arc::new(Shared { queue: Mutex::new(queue), ..Shared::default() }))
    }

    /// Puts one message like `put`, if the queue is within its bounds: for requests, whose sender
    /// can be told "busy".
    pub(crate) fn put_bounded(&self, bytes: &[u8], edits: &Edits<'_>) -> Result<u64, Refused> {
        let mut queue = self.0.queue.lock();
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
        let mut queue = self.0.queue.lock();
        let put = queue.put(frame, bytes, edits);
        let overfull = queue.is_overfull();
        drop(queue);
        if overfull {
            tracing::debug!("a stream that is not read is closed");
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
        if bytes.len() < LARGE_MESSAGE {
            return self.put_framed(frame, &bytes, edits);
        }
        let bytes = Bytes::from(bytes);
        let mut queue = self.0.queue.lock();
        queue.check_open()?;
        queue.joined().extend_from_slice(frame.head);
        let mut added = frame.head.len() + frame.tail.len();
        edits.pieces(&bytes, |piece| {
            added += piece.len();
            if piece.len() < LARGE_MESSAGE {
                queue.joined().extend_from_slice(piece);
            } else {
                queue.segments.push_back(Segment::Whole(bytes.slice_ref(piece)));
            }
        });
        queue.joined().extend_from_slice(frame.tail);
        Ok(queue.account(added))
    }

    /// Puts a message whose body is shared: lists come from the snapshot.
    pub(crate) fn put_shared(&self, frame: Frame<'_>, body: &Bytes) -> Result<u64, Refused> {
        let mut queue = self.0.queue.lock();
        queue.check_open()?;
        queue.joined().extend_from_slice(frame.head);
        if body.len() < LARGE_MESSAGE {
            queue.joined().extend_from_slice(body);
        } else {
            queue.segments.push_back(Segment::Whole(body.clone()));
        }
        queue.joined().extend_from_slice(frame.tail);
        Ok(queue.account(frame.head.len() + body.len() + frame.tail.len()))
    }

    /// Puts one message of our own and flushes.
    pub(crate) fn send(&self, message: &[u8]) -> Result<(), Refused> {
        self.put(message, &Edits::new())?;
        self.flush();
        Ok(())
    }

    /// Writes what has gathered, as far as the stream takes it now; the rest follows by itself.
    pub(crate) fn flush(&self) {
        let mut queue = self.0.queue.lock();
        match queue.write_now() {
            Ok(()) => {}
            Err(Errno::AGAIN) => queue.call_back_when_writable(),
            Err(error) => {
                queue.failure = Some(error);
                drop(queue);
                tracing::debug!(%error, "a stream no longer takes messages");
                return self.close();
            }
        }
        if queue.closing && queue.bytes == 0 {
            drop(queue);
            return self.close();
        }
        let held = queue.released();
        if std::mem::take(&mut queue.room_wanted) {
            self.0.drained.notify_waiters();
        }
        drop(queue);
        for source in held {
            source.resume();
        }
    }

    /// Connects the outbox to its stream and writes what is waiting.
    pub(crate) fn connect(&self, sink: Sink, pump: &Pump) {
        {
            let mut queue = self.0.queue.lock();
            if queue.closed {
                return;
            }
            queue.sink = Some(sink);
        }
        pump.write(self.clone());
        self.flush();
    }

    /// The pump has taken the stream into its care.
    pub(super) fn watched(&self, pump: &Pump, token: u64) {
        let mut queue = self.0.queue.lock();
        let Some(sink) = &queue.sink else { return };
        // Not even asked for anything, it tells when the stream breaks. A plain file is refused.
        if pump.watch(sink.as_fd(), token, EventFlags::ONESHOT).is_err() {
            return;
        }
        queue.pump = Some((pump.clone(), token));
        // Stuck: with messages of ours, or with what the stream itself holds back.
        if queue.bytes > 0 || queue.progress.is_some() {
            queue.call_back_when_writable();
        }
    }

    /// Reads no more from `source` until this queue is short again, if it is long.
    pub(crate) fn hold_if_crowded(&self, source: &SourceHandle) {
        if !self.0.queue.lock().is_crowded() {
            return;
        }
        self.flush();
        source.hold();
        let mut queue = self.0.queue.lock();
        if queue.closed || !queue.is_crowded() {
            drop(queue);
            return source.resume();
        }
        queue.held.push(source.clone());
    }

    /// Is this the same outbox?
    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Bytes not yet written.
    pub(crate) fn len(&self) -> usize {
        self.0.queue.lock().bytes
    }

    /// Stream position up to which everything has been written.
    pub(crate) fn written(&self) -> u64 {
        self.0.queue.lock().written
    }

    /// Waits until fewer than `high_water` bytes are unsent, or nobody will send them.
    pub(crate) async fn room(&self, high_water: usize) {
        loop {
            let drained = self.0.drained.notified();
            {
                let mut queue = self.0.queue.lock();
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
        // Elapsed: whoever waits goes on without the rest being taken.
        drop(tokio::time::timeout(limit, self.room(1)).await);
    }

    /// Waits until nothing more is taken: the stream broke or was closed.
    pub(crate) async fn closed(&self) {
        loop {
            let ended = self.0.ended.notified();
            if self.0.queue.lock().closed {
                return;
            }
            ended.await;
        }
    }

    /// Why the stream broke, unless its reader just went away.
    pub(crate) fn failure(&self) -> Option<std::io::Error> {
        let failure = self.0.queue.lock().failure;
        failure.filter(|failure| *failure != Errno::PIPE).map(Into::into)
    }

    /// Has it had bytes to write for so long without the stream taking any?
    pub(crate) fn is_stalled(&self, limit: Duration) -> bool {
        self.0.queue.lock().progress.is_some_and(|since| since.elapsed() >= limit)
    }

    pub(crate) fn is_closed(&self) -> bool {
        let queue = self.0.queue.lock();
        queue.closed || queue.closing
    }

    /// Takes nothing more; the stream is closed when all is written.
    pub(crate) fn close_when_written(&self) {
        self.0.queue.lock().closing = true;
        self.flush();
    }

    /// Nothing more is taken or written; the stream is closed.
    pub(crate) fn close(&self) {
        let mut queue = self.0.queue.lock();
        queue.closed = true;
        if let Some(sink) = queue.sink.take() {
            sink.shut();
        }
        queue.segments.clear();
        queue.bytes = 0;
        let pump = queue.pump.take();
        let held = std::mem::take(&mut queue.held);
        drop(queue);
        if let Some((pump, token)) = pump {
            pump.forget(token);
        }
        for source in held {
            source.resume();
        }
        self.0.drained.notify_waiters();
        self.0.ended.notify_waiters();
    }
}

/// How many segments one write gathers.
const GATHERED: usize = 16;
/// A buffer that grew beyond this is not kept.
const KEPT_CAPACITY: usize = 256 * 1024;

impl Queue {
    fn check_open(&self) -> Result<(), Refused> {
        if self.closed || self.closing { Err(Refused::Closed) } else { Ok(()) }
    }

    fn is_crowded(&self) -> bool {
        self.overflow == Overflow::Hold && self.bytes >= CLIENT_HIGH_WATER
    }

    /// More waits than before the last message was allowed: one large message always is.
    fn is_overfull(&self) -> bool {
        matches!(self.overflow, Overflow::Close(most) if self.messages > 1 && self.bytes > most)
    }

    fn check_room(&self) -> Result<(), Refused> {
        if self.messages < STALLED_MESSAGES && self.bytes < QUEUED_BYTES {
            return Ok(());
        }
        if self.messages >= QUEUED_MESSAGES {
            return Err(Refused::Full("too many calls wait for it"));
        }
        if self.bytes >= QUEUED_BYTES {
            return Err(Refused::Full("too many bytes wait for it"));
        }
        if self.progress.is_some_and(|since| since.elapsed() >= STALL) {
            return Err(Refused::Full("it does not read its input"));
        }
        Ok(())
    }

    fn put(
        &mut self,
        frame: Frame<'_>,
        bytes: &[u8],
        edits: &Edits<'_>,
    ) -> Result<u64, Refused> {
        self.check_open()?;
        let buffer = self.joined();
        let before = buffer.len();
        buffer.extend_from_slice(frame.head);
        edits.write(bytes, buffer);
        buffer.extend_from_slice(frame.tail);
        let added = buffer.len() - before;
        Ok(self.account(added))
    }

    fn account(&mut self, added: usize) -> u64 {
        self.messages += 1;
        self.bytes += added;
        self.written + self.bytes as u64
    }

    /// The buffer that small messages are joined in.
    fn joined(&mut self) -> &mut Vec<u8> {
        if !matches!(self.segments.back(), Some(Segment::Joined(_))) {
            let spare = std::mem::take(&mut self.spare);
            self.segments.push_back(Segment::Joined(spare));
        }
        match self.segments.back_mut() {
            Some(Segment::Joined(buffer)) => buffer,
            _ => &mut self.spare, // not reached: a joined segment was just made sure of
        }
    }

    /// Writes until nothing is left or the stream takes no more.
    fn write_now(&mut self) -> Result<(), Errno> {
        while !self.segments.is_empty() && self.sink.is_some() {
            match self.write_some() {
                Ok(()) | Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
        match &self.sink {
            Some(sink) => sink.flush(),
            None => Ok(()),
        }
    }

    fn call_back_when_writable(&mut self) {
        self.progress.get_or_insert_with(Instant::now);
        if let (Some(sink), Some((pump, token))) = (&self.sink, &self.pump) {
            pump.rewatch(sink.as_fd(), *token, EventFlags::OUT | EventFlags::ONESHOT);
        }
    }

    /// The sources that may be read again.
    fn released(&mut self) -> Vec<SourceHandle> {
        if self.held.is_empty() || self.bytes >= CLIENT_HIGH_WATER / 2 {
            return Vec::new();
        }
        std::mem::take(&mut self.held)
    }

    fn write_some(&mut self) -> Result<(), Errno> {
        let sink = self.sink.as_ref().ok_or(Errno::PIPE)?;
        let count = match &self.segments {
            one if one.len() == 1 => {
                let bytes = one.front().and_then(|segment| segment.bytes().get(self.offset..));
                sink.write(&[IoSlice::new(bytes.unwrap_or_default())])?
            }
            many => sink.write(slices(many, self.offset, &mut [IoSlice::new(&[]); GATHERED]))?,
        };
        self.wrote(count);
        Ok(())
    }

    fn wrote(&mut self, count: usize) {
        self.written += count as u64;
        self.bytes = self.bytes.saturating_sub(count);
        if self.bytes == 0 {
            self.messages = 0;
            self.progress = None;
        } else if count > 0 {
            self.progress = Some(Instant::now());
        }
        self.offset += count;
        while let Some(segment) = self.segments.front() {
            let len = segment.bytes().len();
            if self.offset < len {
                break;
            }
            self.offset -= len;
            self.keep_spare();
        }
    }

    /// Drops the first segment; its buffer serves again.
    fn keep_spare(&mut self) {
        if let Some(Segment::Joined(mut buffer)) = self.segments.pop_front()
            && buffer.capacity() <= KEPT_CAPACITY
        {
            buffer.clear();
            self.spare = buffer;
        }
    }
}

/// The unwritten bytes of the first segments, in `room`.
fn slices<'a, 'b>(
    segments: &'a VecDeque<Segment>,
    offset: usize,
    room: &'b mut [IoSlice<'a>; GATHERED],
) -> &'b [IoSlice<'a>] {
    let mut skip = offset;
    let mut used = 0;
    for (slot, segment) in room.iter_mut().zip(segments) {
        let bytes = segment.bytes().get(std::mem::take(&mut skip)..);
        *slot = IoSlice::new(bytes.unwrap_or_default());
        used += 1;
    }
    room.get(..used).unwrap_or_default()
}

impl Segment {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Joined(bytes) => bytes,
            Self::Whole(bytes) => bytes,
        }
    }
}
