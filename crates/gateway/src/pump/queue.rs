//! `Queue`: the messages that wait in front of one stream; `Sink`: the writing end they go to.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use rustix::io::Errno;
use trunkline_wire::Edits;

use crate::limits::{
    CLIENT_HIGH_WATER, QUEUED_BYTES, QUEUED_MESSAGES, SEGMENT_BYTES, SOCKET_SPARE, STALL,
    STALLED_MESSAGES,
};
use crate::stream::{Input, Tls, own_stdout, widen};

#[derive(Debug, Default)]
pub(super) struct Queue {
    /// Where it goes: from the moment that is known until the end.
    pub(super) sink: Option<Sink>,
    pub(super) segments: VecDeque<Segment>,
    /// How much of the first segment is written.
    pub(super) offset: usize,
    /// An emptied buffer, kept for the next messages.
    pub(super) spare: Vec<u8>,
    /// Bytes put and not yet written.
    pub(super) bytes: usize,
    /// Where the messages end, in the stream, that are not wholly written.
    pub(super) ends: VecDeque<u64>,
    /// Bytes written since the beginning.
    pub(super) written: u64,
    /// The stream was full and has been given more room, if there was any.
    pub(super) widened: bool,
    /// When the stream last took anything, while it does not take everything.
    pub(super) progress: Option<Instant>,
    /// A task waits for the queue to get shorter.
    pub(super) room_wanted: bool,
    /// Why the stream broke.
    pub(super) failure: Option<Errno>,
    /// Nothing more is put; the stream is closed when all is written.
    pub(super) closing: bool,
    pub(super) closed: bool,
    /// It was closed before all that was put had left.
    pub(super) cut: bool,
    pub(super) overflow: Overflow,
}

/// What happens when a stream is not read and its queue grows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Overflow {
    /// The sources that fill it are not read until it is shorter: nothing is lost.
    #[default]
    Hold,
    /// The stream is closed beyond so many bytes: no other stream waits for it.
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
    /// Messages that were copied: some small ones, or one.
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
// An array on the stack: `writev` takes up to 1,024, but a burst is in a few joined segments.
const GATHERED: usize = 16;
/// What `Edits::write` reserves beyond the message itself.
const EDITS_ROOM: usize = 64;
/// Capacity for the ends of messages that is kept.
const KEPT_ENDS: usize = 1024;

impl Queue {
    pub(super) fn check_open(&self) -> Result<(), Refused> {
        if self.closed || self.closing { Err(Refused::Closed) } else { Ok(()) }
    }

    pub(super) fn is_crowded(&self) -> bool {
        self.overflow == Overflow::Hold && self.is_long()
    }

    pub(super) fn is_long(&self) -> bool {
        self.bytes >= CLIENT_HIGH_WATER
    }

    /// More waits than before the last message was allowed: one large message always is.
    pub(super) fn is_overfull(&self) -> bool {
        matches!(self.overflow, Overflow::Close(most) if self.ends.len() > 1 && self.bytes > most)
    }

    pub(super) fn check_room(&self) -> Result<(), Refused> {
        let messages = self.ends.len();
        // The usual case first: no clock is read for it.
        if messages < STALLED_MESSAGES && self.bytes < QUEUED_BYTES {
            return Ok(());
        }
        if messages >= QUEUED_MESSAGES {
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
        // As much as `Edits::write` will reserve: a segment must not grow beyond its bound on the
        // way.
        let longest = edits.length(bytes).max(bytes.len()) + EDITS_ROOM;
        let buffer = self.joined(frame.head.len() + longest + frame.tail.len());
        let before = buffer.len();
        buffer.extend_from_slice(frame.head);
        edits.write(bytes, buffer);
        buffer.extend_from_slice(frame.tail);
        let added = buffer.len() - before;
        Ok(self.account(added))
    }

    /// Appends a piece of a message.
    pub(super) fn append(&mut self, piece: &[u8]) {
        if !piece.is_empty() {
            self.joined(piece.len()).extend_from_slice(piece);
        }
    }

    /// Notes a message of so many bytes, all of which are put. Returns where it ends.
    pub(super) fn account(&mut self, added: usize) -> u64 {
        self.bytes += added;
        let end = self.written + self.bytes as u64;
        self.ends.push_back(end);
        end
    }

    /// The buffer that small messages are joined in, with room for `added` more bytes. A full one is
    /// left alone: what is written of a buffer is held until all of it is, and a reader that is
    /// always a little behind would make one buffer last for ever.
    fn joined(&mut self, added: usize) -> &mut Vec<u8> {
        let fits = match self.segments.back() {
            Some(Segment::Joined(buffer)) => buffer.len() + added <= SEGMENT_BYTES,
            Some(Segment::Whole(_)) | None => false,
        };
        if !fits {
            let spare = std::mem::take(&mut self.spare);
            self.segments.push_back(Segment::Joined(spare));
        }
        let buffer = match self.segments.back_mut() {
            Some(Segment::Joined(buffer)) => buffer,
            _ => &mut self.spare, // not reached: a joined segment was just made sure of
        };
        make_room(buffer, added);
        buffer
    }

    /// Writes until nothing is left or the stream takes no more.
    pub(super) fn write_now(&mut self) -> Result<(), Errno> {
        while !self.segments.is_empty() && self.sink.is_some() {
            match self.write_some() {
                Ok(()) | Err(Errno::INTR) => {}
                // Only a pipe that was full once is widened: the system grants each user a limited
                // number of pages for pipes.
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

    /// Is it short enough for those who fill it to be read again?
    pub(super) fn is_short(&self) -> bool {
        self.bytes < CLIENT_HIGH_WATER / 2
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
            self.ends.clear();
            self.ends.shrink_to(KEPT_ENDS);
            self.progress = None;
        // The clock is read only for a stream that is behind.
        } else if count > 0 {
            self.progress = Some(Instant::now());
            while self.ends.front().is_some_and(|end| *end <= self.written) {
                self.ends.pop_front();
            }
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

    /// Takes the head of an answer, which was put in one piece.
    pub(super) fn take_head(&mut self) -> Option<Bytes> {
        let first = self.segments.front()?.bytes().get(self.offset..)?;
        let end = memchr::memmem::find(first, HEAD_END)? + HEAD_END.len();
        self.take_some(end)
    }

    /// Takes the next bytes, at most so many; `None`: there are none.
    pub(super) fn take_some(&mut self, most: usize) -> Option<Bytes> {
        let range = |length: usize| self.offset..length.min(self.offset.saturating_add(most));
        let taken = match self.segments.front()? {
            Segment::Joined(bytes) => Bytes::copy_from_slice(bytes.get(range(bytes.len()))?),
            Segment::Whole(bytes) => bytes.slice(range(bytes.len())),
        };
        self.wrote(taken.len());
        Some(taken).filter(|taken| !taken.is_empty())
    }

    /// Drops the first segment; its buffer serves again.
    fn keep_spare(&mut self) {
        let most = match self.sink {
            Some(Sink::File(_)) => SEGMENT_BYTES,
            Some(Sink::Socket(_) | Sink::Tls(_) | Sink::Taken(_)) | None => SOCKET_SPARE,
        };
        if let Some(Segment::Joined(mut buffer)) = self.segments.pop_front()
            && buffer.capacity() <= most
        {
            buffer.clear();
            self.spare = buffer;
        }
    }

    /// Gives back everything that was put, and the room for it.
    pub(super) fn discard(&mut self) {
        self.segments = VecDeque::new();
        self.ends = VecDeque::new();
        self.spare = Vec::new();
        self.offset = 0;
        self.bytes = 0;
    }
}

/// Grows like any vector, but not beyond the size of a segment unless a message needs that.
fn make_room(buffer: &mut Vec<u8>, added: usize) {
    let needed = buffer.len() + added;
    if needed > buffer.capacity() {
        let doubled = (2 * buffer.capacity()).min(SEGMENT_BYTES);
        buffer.reserve_exact(needed.max(doubled) - buffer.len());
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

/// The end of a head.
const HEAD_END: &[u8] = b"\r\n\r\n";

/// Takes the bytes of an outbox out itself (`Outbox::take_some`): a stream that shares its connection with others.
pub(crate) trait Taker: std::fmt::Debug + Send + Sync {
    /// There is something to take, or the outbox was closed. Called under the outbox's lock.
    fn ring(&self);
}

/// The writing end of a stream.
#[derive(Debug)]
pub(crate) enum Sink {
    File(OwnedFd),
    /// Closing it ends the reading side, too, which is another descriptor of the same connection.
    Socket(OwnedFd),
    /// A socket with TLS.
    Tls(Tls),
    /// No descriptor: its owner takes out what is there.
    Taken(Arc<dyn Taker>),
}

impl Sink {
    pub(crate) fn stdout() -> io::Result<Self> {
        own_stdout().map(Self::File)
    }

    /// A pipe that is already non-blocking.
    pub(crate) fn pipe(fd: OwnedFd) -> Self {
        Self::File(fd)
    }

    /// A connected socket: its two sides, each with a descriptor of its own (one may not be watched
    /// twice).
    pub(crate) fn socket(fd: OwnedFd) -> io::Result<(Input, Self)> {
        let input = Input::socket(fd)?;
        let sink = Self::Socket(input.fd.try_clone()?);
        Ok((input, sink))
    }

    /// A connected socket that speaks TLS: its two sides, and what decrypts what is read.
    pub(crate) fn secured(
        fd: OwnedFd,
        connection: rustls::Connection,
    ) -> io::Result<(Input, Self, Tls)> {
        let input = Input::socket(fd)?;
        let tls = Tls::new(input.fd.try_clone()?, connection);
        Ok((input, Self::Tls(tls.clone()), tls))
    }

    /// Makes room in a pipe that is full. False: there is no more than before.
    pub(crate) fn widen(&self) -> bool {
        match self {
            Self::File(fd) => widen(fd),
            Self::Socket(_) | Self::Tls(_) | Self::Taken(_) => false,
        }
    }

    /// Writes some of `slices` if the stream takes any now.
    pub(crate) fn write(&self, slices: &[IoSlice<'_>]) -> Result<usize, Errno> {
        let fd = match self {
            Self::File(fd) | Self::Socket(fd) => fd,
            Self::Tls(tls) => return tls.write(slices),
            Self::Taken(taker) => {
                taker.ring();
                return Err(Errno::AGAIN);
            }
        };
        match slices {
            // One segment is the usual case, and `write` is cheaper than `writev`.
            [one] => rustix::io::write(fd, one),
            _ => rustix::io::writev(fd, slices),
        }
    }

    /// Writes what the stream itself still holds back.
    pub(crate) fn flush(&self) -> Result<(), Errno> {
        match self {
            Self::File(_) | Self::Socket(_) | Self::Taken(_) => Ok(()),
            Self::Tls(tls) => tls.flush(),
        }
    }

    /// Nothing more is written.
    pub(crate) fn shut(self) {
        match self {
            Self::File(_) => {}
            Self::Socket(fd) => {
                // Not connected any more: that is what was wanted.
                let _ = rustix::net::shutdown(&fd, rustix::net::Shutdown::Both);
            }
            Self::Tls(tls) => tls.shut(),
            Self::Taken(taker) => taker.ring(),
        }
    }

    /// What the pump watches, if there is anything to watch.
    pub(crate) fn as_fd(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Self::File(fd) | Self::Socket(fd) => Some(fd.as_fd()),
            Self::Tls(tls) => Some(tls.as_fd()),
            Self::Taken(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use rustix::pipe::{PipeFlags, pipe_with};

    use super::*;

    /// Every byte of room the queue has.
    fn held(queue: &Queue) -> usize {
        let room = |segment: &Segment| match segment {
            Segment::Joined(buffer) => buffer.capacity(),
            Segment::Whole(bytes) => bytes.len(),
        };
        queue.spare.capacity() + queue.segments.iter().map(room).sum::<usize>()
    }

    #[test]
    fn a_reader_that_is_always_behind_costs_what_it_has_not_read() {
        for (length, count) in [(100, 120_000), (100_000, 3_000), (200_000, 1_000)] {
            let (from, to) = pipe_with(PipeFlags::CLOEXEC).unwrap();
            rustix::io::ioctl_fionbio(&to, true).unwrap();
            let mut queue = Queue { sink: Some(Sink::pipe(to)), widened: true, ..Queue::default() };
            let message = vec![b'x'; length];
            // Ahead of the reader by more than the pipe takes, and by no more than that.
            let ahead = 3 * length.max(100_000) / length;
            for number in 0..count {
                queue.check_room().unwrap();
                queue.put(LINE, &message, &Edits::new()).unwrap();
                let _ = queue.write_now(); // full, from the first messages on
                if number >= ahead {
                    let mut left = length + 1;
                    while left > 0 {
                        left -= rustix::io::read(&from, &mut vec![0; left][..]).unwrap();
                        let _ = queue.write_now();
                    }
                    assert!(queue.bytes > 0, "it is never empty");
                }
                let most = queue.bytes + length + 2 * SEGMENT_BYTES;
                assert!(held(&queue) <= most, "{} for {}", held(&queue), queue.bytes);
                assert!(queue.ends.len() <= ahead + 2, "{}", queue.ends.len());
            }
        }
    }
}
