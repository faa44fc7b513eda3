//! The messages that wait in front of one stream, and how they are written.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::time::Instant;

use bytes::Bytes;
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use trunkline_wire::Edits;

use crate::limits::{CLIENT_HIGH_WATER, QUEUED_BYTES, QUEUED_MESSAGES, STALL, STALLED_MESSAGES};
use crate::pump::{Pump, SourceHandle};
use crate::stream::Sink;

#[derive(Debug, Default)]
pub(super) struct Queue {
    /// Where it goes: from the moment that is known until the end.
    pub(super) sink: Option<Sink>,
    /// Who writes on when the stream was full.
    pub(super) pump: Option<(Pump, u64)>,
    /// Sources that are not read until this queue is shorter.
    pub(super) held: Vec<SourceHandle>,
    pub(super) segments: VecDeque<Segment>,
    /// How much of the first segment is written.
    pub(super) offset: usize,
    /// An emptied buffer, kept for the next messages.
    pub(super) spare: Vec<u8>,
    /// Messages and bytes put and not yet written.
    pub(super) messages: usize,
    pub(super) bytes: usize,
    /// Bytes written since the beginning.
    pub(super) written: u64,
    /// The stream was full and has been given more room, if there was any.
    pub(super) widened: bool,
    /// When the stream last took anything, while it does not take everything.
    pub(super) progress: Option<Instant>,
    /// Somebody waits for room.
    pub(super) room_wanted: bool,
    /// Why the stream broke.
    pub(super) failure: Option<Errno>,
    /// Nothing more is put; the stream is closed when all is written.
    pub(super) closing: bool,
    pub(super) closed: bool,
    pub(super) overflow: Overflow,
}

/// What happens when a stream is not read and its queue grows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Overflow {
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
pub(super) enum Segment {
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

/// How many segments one write gathers.
const GATHERED: usize = 16;
/// A buffer that grew beyond this is not kept.
const KEPT_CAPACITY: usize = 256 * 1024;

impl Queue {
    pub(super) fn check_open(&self) -> Result<(), Refused> {
        if self.closed || self.closing { Err(Refused::Closed) } else { Ok(()) }
    }

    pub(super) fn is_crowded(&self) -> bool {
        self.overflow == Overflow::Hold && self.bytes >= CLIENT_HIGH_WATER
    }

    /// More waits than before the last message was allowed: one large message always is.
    pub(super) fn is_overfull(&self) -> bool {
        matches!(self.overflow, Overflow::Close(most) if self.messages > 1 && self.bytes > most)
    }

    pub(super) fn check_room(&self) -> Result<(), Refused> {
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

    pub(super) fn put(
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

    pub(super) fn account(&mut self, added: usize) -> u64 {
        self.messages += 1;
        self.bytes += added;
        self.written + self.bytes as u64
    }

    /// The buffer that small messages are joined in.
    pub(super) fn joined(&mut self) -> &mut Vec<u8> {
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
    pub(super) fn write_now(&mut self) -> Result<(), Errno> {
        while !self.segments.is_empty() && self.sink.is_some() {
            match self.write_some() {
                Ok(()) | Err(Errno::INTR) => {}
                Err(Errno::AGAIN) if self.widen() => {}
                Err(error) => return Err(error),
            }
        }
        match &self.sink {
            Some(sink) => sink.flush(),
            None => Ok(()),
        }
    }

    /// Makes room in a pipe that is full for the first time.
    fn widen(&mut self) -> bool {
        let is_first = !std::mem::replace(&mut self.widened, true);
        is_first && self.sink.as_ref().is_some_and(Sink::widen)
    }

    pub(super) fn call_back_when_writable(&mut self) {
        self.progress.get_or_insert_with(Instant::now);
        if let (Some(sink), Some((pump, token))) = (&self.sink, &self.pump) {
            pump.rewatch(sink.as_fd(), *token, EventFlags::OUT | EventFlags::ONESHOT);
        }
    }

    /// The sources that may be read again.
    pub(super) fn released(&mut self) -> Vec<SourceHandle> {
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
