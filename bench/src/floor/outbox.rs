//! Bytes on their way to one pipe: small messages are copied together, large ones are queued as they are.

use rustix::io::{Errno, write, writev};
use std::collections::VecDeque;
use std::io::IoSlice;
use std::os::fd::OwnedFd;
use std::rc::Rc;

/// A piece that is too large to be worth copying.
#[derive(Debug)]
pub(super) enum Piece {
    /// The bytes from the given position on.
    Owned(Vec<u8>, usize),
    Shared(Rc<[u8]>),
}

impl Piece {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Owned(bytes, from) => &bytes[*from..],
            Self::Shared(bytes) => bytes,
        }
    }
}

/// What a write left behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Empty,
    /// The pipe is full: wait until it is writable.
    Full,
}

/// The queue to one non-blocking pipe: `pieces`, then `tail`.
#[derive(Debug)]
pub(super) struct Outbox {
    pub(super) fd: OwnedFd,
    /// Whether epoll watches this pipe because it was full.
    pub(super) watched: bool,
    /// Whether there is something to write at the end of this wake-up.
    pub(super) dirty: bool,
    pieces: VecDeque<Piece>,
    tail: Vec<u8>,
    /// How much of the first piece (or of the tail) was written.
    written: usize,
}

impl Outbox {
    pub(super) fn new(fd: OwnedFd) -> Self {
        let tail = Vec::with_capacity(64 * 1024);
        Self { fd, watched: false, dirty: false, pieces: VecDeque::new(), tail, written: 0 }
    }

    /// Where small messages are appended.
    pub(super) fn tail(&mut self) -> &mut Vec<u8> {
        &mut self.tail
    }

    /// Queues a large piece behind everything appended so far.
    pub(super) fn push(&mut self, piece: Piece) {
        if !self.tail.is_empty() {
            self.pieces.push_back(Piece::Owned(std::mem::take(&mut self.tail), 0));
        }
        self.pieces.push_back(piece);
    }

    /// Writes as much as the pipe takes; buffers of written pieces go to `spare`.
    pub(super) fn flush(&mut self, spare: &mut Vec<Vec<u8>>) -> Result<State, Errno> {
        while !self.pieces.is_empty() || !self.tail.is_empty() {
            let result =
                if self.pieces.is_empty() { self.write_tail() } else { self.write_pieces(spare) };
            match result {
                Ok(()) | Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(State::Full),
                Err(error) => return Err(error),
            }
        }
        Ok(State::Empty)
    }

    fn write_tail(&mut self) -> Result<(), Errno> {
        self.written += write(&self.fd, &self.tail[self.written..])?;
        if self.written == self.tail.len() {
            self.tail.clear();
            self.written = 0;
        }
        Ok(())
    }

    fn write_pieces(&mut self, spare: &mut Vec<Vec<u8>>) -> Result<(), Errno> {
        let mut slices = [IoSlice::new(b""); 8];
        let all = self.pieces.iter().map(Piece::bytes).chain([&self.tail[..]]);
        let mut count = 0;
        for (slot, bytes) in slices.iter_mut().zip(all) {
            *slot = IoSlice::new(if count == 0 { &bytes[self.written..] } else { bytes });
            count += 1;
        }
        self.written += writev(&self.fd, &slices[..count])?;
        self.retire(spare);
        Ok(())
    }

    fn retire(&mut self, spare: &mut Vec<Vec<u8>>) {
        while let Some(first) = self.pieces.front() {
            let length = first.bytes().len();
            if self.written < length {
                return;
            }
            self.written -= length;
            if let Some(Piece::Owned(bytes, _)) = self.pieces.pop_front() {
                keep(bytes, spare);
            }
        }
        if self.written == self.tail.len() {
            self.tail.clear();
            self.written = 0;
        }
    }
}

/// A few large buffers are kept: mapping fresh pages for every large message would cost more than the copy saved.
fn keep(bytes: Vec<u8>, spare: &mut Vec<Vec<u8>>) {
    if bytes.capacity() >= super::exchange::LARGE && spare.len() < 2 {
        spare.push(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::io::{ioctl_fionbio, read};
    use rustix::pipe::pipe;

    #[test]
    fn everything_arrives_once_and_in_order() {
        let (reader, writer) = pipe().expect("pipe");
        ioctl_fionbio(&writer, true).expect("nonblocking");
        let mut outbox = Outbox::new(writer);
        let mut expected = Vec::new();
        for round in 0..20u8 {
            outbox.tail().extend_from_slice(&[round; 100]);
            outbox.push(Piece::Owned(vec![round; 200_000], 7));
            outbox.push(Piece::Shared(Rc::from(vec![b's'; 50_000])));
            outbox.tail().extend_from_slice(b"end");
            expected.extend_from_slice(&[round; 100]);
            expected.extend_from_slice(&vec![round; 200_000 - 7]);
            expected.extend_from_slice(&[b's'; 50_000]);
            expected.extend_from_slice(b"end");
        }
        let (mut got, mut spare, mut chunk) = (Vec::new(), Vec::new(), vec![0; 9_999]);
        while outbox.flush(&mut spare).expect("flush") == State::Full || got.len() < expected.len()
        {
            let n = read(&reader, &mut chunk[..]).expect("read");
            got.extend_from_slice(&chunk[..n]);
        }
        assert!(got == expected);
        assert_eq!(spare.len(), 2);
    }
}
