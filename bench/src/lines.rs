//! A read buffer that hands out whole lines; the cost is linear in the bytes also for very long lines.

use memchr::memchr;
use rustix::buffer::spare_capacity;
use rustix::io::{Errno, read};
use std::ops::Range;
use std::os::fd::AsFd;

/// One default pipe's content fits.
pub const INITIAL: usize = 64 * 1024;

/// Bytes read from one pipe and not yet handed out.
#[derive(Debug)]
pub struct Lines {
    bytes: Vec<u8>,
    /// Everything before this was handed out.
    start: usize,
    /// No newline between `start` and here.
    scanned: usize,
}

impl Default for Lines {
    fn default() -> Self {
        Self { bytes: Vec::with_capacity(INITIAL), start: 0, scanned: 0 }
    }
}

impl Lines {
    /// One `read`; `Ok(0)` is the end of the stream.
    pub fn fill(&mut self, fd: impl AsFd) -> Result<usize, Errno> {
        self.make_room();
        loop {
            match read(fd.as_fd(), spare_capacity(&mut self.bytes)) {
                Err(Errno::INTR) => {}
                other => return other,
            }
        }
    }

    /// The span of the next whole line without its newline.
    pub fn next_line(&mut self) -> Option<Range<usize>> {
        let Some(step) = memchr(b'\n', &self.bytes[self.scanned..]) else {
            self.scanned = self.bytes.len();
            return None;
        };
        let end = self.scanned + step;
        let line = self.start..end;
        self.start = end + 1;
        self.scanned = self.start;
        Some(line)
    }

    /// What `next_line`'s spans refer to.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Gives away the buffer up to the end of the line handed out last; what follows moves to `fresh`.
    pub fn take(&mut self, mut fresh: Vec<u8>) -> Vec<u8> {
        fresh.clear();
        fresh.extend_from_slice(&self.bytes[self.start..]);
        self.bytes.truncate(self.start);
        self.start = 0;
        self.scanned = 0;
        std::mem::replace(&mut self.bytes, fresh)
    }

    /// Whether a line longer than the buffer is arriving, so that a bigger buffer would help.
    pub fn outgrown(&self) -> bool {
        self.start == 0 && self.bytes.len() == self.bytes.capacity()
    }

    /// Continues in `bigger`, which is empty and has more room.
    pub fn move_to(&mut self, mut bigger: Vec<u8>) {
        bigger.clear();
        bigger.extend_from_slice(&self.bytes);
        self.bytes = bigger;
    }

    fn make_room(&mut self) {
        if self.start == self.bytes.len() {
            self.bytes.clear();
            self.start = 0;
            self.scanned = 0;
            return;
        }
        if self.start > 0 && self.bytes.capacity() - self.bytes.len() < INITIAL / 2 {
            self.bytes.drain(..self.start);
            self.scanned -= self.start;
            self.start = 0;
        }
        if self.bytes.len() == self.bytes.capacity() {
            self.bytes.reserve(self.bytes.capacity());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::io::write;
    use rustix::pipe::pipe;

    #[test]
    fn lines_survive_any_chunking() {
        let text: Vec<u8> = (0..200)
            .flat_map(|n| [vec![b'a' + n % 26; usize::from(n)], vec![b'\n']].concat())
            .collect();
        for chunk in [1, 7, 64, 4096] {
            let (reader, writer) = pipe().expect("pipe");
            let mut lines = Lines::default();
            let mut got = Vec::new();
            for part in text.chunks(chunk) {
                write(&writer, part).expect("write");
                lines.fill(&reader).expect("fill");
                while let Some(span) = lines.next_line() {
                    got.extend_from_slice(&lines.bytes()[span]);
                    got.push(b'\n');
                }
            }
            assert_eq!(got, text, "chunks of {chunk}");
        }
    }

    #[test]
    fn a_taken_line_leaves_the_rest() {
        let (reader, writer) = pipe().expect("pipe");
        let mut lines = Lines::default();
        write(&writer, b"first\nsec").expect("write");
        lines.fill(&reader).expect("fill");
        let span = lines.next_line().expect("a line");
        let taken = lines.take(Vec::with_capacity(100));
        assert_eq!((&taken[span], taken.len()), (&b"first"[..], 6));
        write(&writer, b"ond\n").expect("write");
        lines.fill(&reader).expect("fill");
        let span = lines.next_line().expect("a line");
        assert_eq!(&lines.bytes()[span], b"second");
    }
}
