//! Cuts a byte stream into lines, with a limit on their length. Works for any chunking.

/// Bytes of an oversize line that are kept to find out whose it is.
// An id stands near the start or at the very end of a message: with either piece the call can be
// answered with an error instead of waiting for its timeout.
const HEAD: usize = 64 * 1024;
const TAIL: usize = 256;
/// Room offered to one read: a pipe's usual capacity.
const CHUNK: usize = 64 * 1024;
/// A buffer that grew beyond this for one message is given back afterwards.
// There is a buffer for each connection: one large message must not cost its room for as long as
// the connection lasts.
const KEPT_CAPACITY: usize = 1024 * 1024;

/// A line of a stream, without its end (`\n` or `\r\n`) and without a byte-order mark.
#[derive(Debug, PartialEq, Eq)]
pub enum StreamLine<'a> {
    Whole(&'a [u8]),
    /// The line has passed the limit; this is how it starts. The rest is skipped.
    TooLong(&'a [u8]),
    /// An oversize line has ended; this is how it ends.
    TooLongEnd(&'a [u8]),
}

/// The buffer between a stream and its reader.
#[derive(Debug)]
pub struct Lines {
    buffer: Vec<u8>,
    /// Where the line handed out last starts and ends.
    last: (usize, usize),
    /// Where the first line not yet handed out starts.
    start: usize,
    /// No newline lies before this.
    searched: usize,
    limit: usize,
    skipping: bool,
}

impl Lines {
    pub fn new(limit: usize) -> Self {
        Self { buffer: Vec::new(), last: (0, 0), start: 0, searched: 0, limit, skipping: false }
    }

    /// The buffer to append the next bytes to; it has spare room for a good read.
    pub fn room(&mut self) -> &mut Vec<u8> {
        if self.start == self.buffer.len() {
            self.rewind();
        } else if self.start > 0 {
            self.buffer.copy_within(self.start.., 0);
            self.buffer.truncate(self.buffer.len() - self.start);
            self.searched -= self.start;
            self.start = 0;
            // A stream that always has the start of another line in here never rewinds.
            if self.buffer.len() <= KEPT_CAPACITY / 2 {
                self.buffer.shrink_to(KEPT_CAPACITY);
            }
        }
        let held = self.buffer.len();
        if self.buffer.capacity() - held < CHUNK {
            // Growing may copy what is held: a large message takes few, large steps.
            let most = self.limit.saturating_sub(held).saturating_add(CHUNK);
            self.buffer.reserve_exact((3 * held).clamp(CHUNK, most));
        }
        &mut self.buffer
    }

    fn rewind(&mut self) {
        self.start = 0;
        self.searched = 0;
        if self.buffer.capacity() > KEPT_CAPACITY {
            self.buffer = Vec::new();
        } else {
            self.buffer.clear();
        }
    }

    /// The next line that is complete, or `None` until more bytes are appended.
    pub fn next_line(&mut self) -> Option<StreamLine<'_>> {
        let unsearched = self.buffer.get(self.searched..).unwrap_or_default();
        match memchr::memchr(b'\n', unsearched) {
            Some(offset) => {
                let (start, end) = (self.start, self.searched + offset);
                self.start = end + 1;
                self.searched = end + 1;
                let (bom, cr) = margins(self.buffer.get(start..end).unwrap_or_default());
                self.last = (start + bom, end - cr);
                let line = self.buffer.get(start + bom..end - cr).unwrap_or_default();
                let skipped = std::mem::take(&mut self.skipping);
                Some(match line.len() {
                    _ if skipped => StreamLine::TooLongEnd(tail(line)),
                    len if len > self.limit => StreamLine::TooLong(head(line)),
                    _ => StreamLine::Whole(line),
                })
            }
            None => self.unfinished(),
        }
    }

    /// No newline in sight: is the line already too long?
    fn unfinished(&mut self) -> Option<StreamLine<'_>> {
        // A message that comes in many reads is searched once, not once per read.
        self.searched = self.buffer.len();
        let held = self.buffer.len() - self.start;
        if self.skipping {
            // Keep what may turn out to be the line's end.
            self.start += held.saturating_sub(TAIL);
            return None;
        }
        // The limit is checked before the newline has come: a line without an end must not fill the
        // memory.
        if held <= self.limit {
            return None;
        }
        self.skipping = true;
        let start = self.start;
        self.start = self.buffer.len() - held.min(TAIL);
        Some(StreamLine::TooLong(head(self.buffer.get(start..).unwrap_or_default())))
    }

    /// Takes the line just returned by `next_line` out of the buffer: a large one leaves without
    /// being copied. Call only directly after a `Whole` line.
    pub fn take_line(&mut self) -> Vec<u8> {
        let (start, end) = std::mem::take(&mut self.last);
        let rest = self.buffer.split_off(self.start);
        let mut taken = std::mem::replace(&mut self.buffer, rest);
        self.start = 0;
        self.searched = 0;
        taken.truncate(end);
        taken.drain(..start);
        taken
    }

    /// Bytes after the last newline: at the end of a stream, a line that was cut off.
    pub fn remainder(&self) -> &[u8] {
        self.buffer.get(self.start..).unwrap_or_default()
    }
}

/// How many bytes at the start and at the end do not belong to the line's text.
fn margins(line: &[u8]) -> (usize, usize) {
    // RFC 8259, 8.1 lets a reader ignore a byte-order mark, and programs on Windows end lines with
    // CRLF. Neither belongs to the message, which is passed on byte for byte.
    let bom = if line.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    (bom, usize::from(line.get(bom..).unwrap_or_default().ends_with(b"\r")))
}

fn head(line: &[u8]) -> &[u8] {
    line.get(..HEAD).unwrap_or(line)
}

fn tail(line: &[u8]) -> &[u8] {
    line.get(line.len().saturating_sub(TAIL)..).unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn feed(chunks: &[&[u8]], limit: usize) -> Vec<String> {
        let mut lines = Lines::new(limit);
        let mut got = Vec::new();
        for chunk in chunks {
            lines.room().extend_from_slice(chunk);
            while let Some(line) = lines.next_line() {
                got.push(match line {
                    StreamLine::Whole(line) => String::from_utf8_lossy(line).into_owned(),
                    StreamLine::TooLong(head) => format!("long:{}", head.len()),
                    StreamLine::TooLongEnd(tail) => {
                        format!("end:{}", String::from_utf8_lossy(tail))
                    }
                });
            }
        }
        got
    }

    #[test]
    fn lines_are_cut_at_newlines() {
        assert_eq!(feed(&[b"a\nb\r\n\n\xef\xbb\xbfc\nd"], 9), ["a", "b", "", "c"]);
        assert_eq!(feed(&[b"a", b"b", b"\n", b"c\nd\n"], 9), ["ab", "c", "d"]);
    }

    #[test]
    fn a_line_over_the_limit_is_told_at_once_and_skipped() {
        assert_eq!(feed(&[b"123456789", b"0"], 9), ["long:10"]);
        assert_eq!(feed(&[b"1234567890\nok\n"], 9), ["long:10", "ok"]);
        assert_eq!(
            feed(&[b"12345", b"67890", b"xyz", b"\nok\n"], 9),
            ["long:10", "end:1234567890xyz", "ok"]
        );
    }

    #[test]
    fn an_endless_line_does_not_grow_the_buffer() {
        let mut lines = Lines::new(1000);
        for _ in 0..10_000 {
            lines.room().extend_from_slice(&[b'x'; 1000]);
            while lines.next_line().is_some() {}
        }
        assert!(lines.buffer.capacity() < 4 * CHUNK, "{}", lines.buffer.capacity());
    }

    #[test]
    fn a_buffer_that_grew_for_one_line_is_given_back_although_it_is_never_empty() {
        let mut lines = Lines::new(64 << 20);
        for piece in std::iter::repeat_n(&[b'x'; 60_000][..], 200).chain([&b"\nstart"[..]]) {
            lines.room().extend_from_slice(piece);
            while lines.next_line().is_some() {}
        }
        assert_eq!(lines.room(), b"start");
        assert!(lines.buffer.capacity() <= KEPT_CAPACITY, "{}", lines.buffer.capacity());
    }

    #[test]
    fn a_large_line_is_taken_whole_and_the_rest_stays() {
        let mut lines = Lines::new(usize::MAX);
        lines.room().extend_from_slice(b"a\n0123456789\r\nnext\nhalf");
        assert_eq!(lines.next_line(), Some(StreamLine::Whole(b"a")));
        assert_eq!(lines.next_line(), Some(StreamLine::Whole(b"0123456789")));
        assert_eq!(lines.take_line(), b"0123456789");
        assert_eq!(lines.next_line(), Some(StreamLine::Whole(b"next")));
        assert_eq!(lines.next_line(), None);
        assert_eq!(lines.remainder(), b"half");
    }

    proptest! {
        #[test]
        fn any_chunking_gives_the_same_lines(
            text in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), b'a'..b'e'], 0..200),
            cuts in proptest::collection::vec(1_usize..9, 1..40),
        ) {
            let whole = feed(&[&text], 1000);
            let mut chunks = Vec::new();
            let mut rest = &text[..];
            for cut in cuts.iter().cycle() {
                if rest.is_empty() { break; }
                let (chunk, after) = rest.split_at((*cut).min(rest.len()));
                chunks.push(chunk);
                rest = after;
            }
            prop_assert_eq!(feed(&chunks, 1000), whole);
        }
    }
}
