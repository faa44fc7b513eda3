//! Cuts a byte stream into server-sent events, by the rules of the HTML standard, with a limit.
//!
//! By hand: the libraries copy each event into a `String` and have no limit that still shows how a
//! too long event starts.

use std::ops::Range;
use std::time::Duration;

/// Room offered to one read.
const CHUNK: usize = 64 * 1024;
/// A buffer that grew beyond this for one event is given back afterwards.
// There is a buffer for each stream, and a stream may last for days.
const KEPT_CAPACITY: usize = 1024 * 1024;
/// Bytes read since an unfinished event's data, from which on the data is moved out of their way.
const DEAD: usize = 4 * 1024;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
const DATA: &[u8] = b"data:";
/// `data: ` is the longest that stands before a value that counts.
const PREFIX: usize = DATA.len() + 1;

#[derive(Debug, PartialEq, Eq)]
pub enum Event<'a> {
    Message {
        /// `message` when the server gave none.
        name: &'a [u8],
        /// Only if this very event carried one; see `Events::last_id`.
        id: Option<&'a [u8]>,
        data: &'a [u8],
    },
    /// An event has passed the limit; this is how the line starts that made it too long. Told
    /// once; the rest of it is skipped.
    TooLong(&'a [u8]),
}

/// The buffer between a stream of events and its reader.
#[derive(Debug)]
pub struct Events {
    buffer: Vec<u8>,
    /// Where the first line not yet read starts.
    line: usize,
    /// No line end lies between `line` and this.
    searched: usize,
    limit: usize,
    /// The byte-order mark, or that there is none, has been seen.
    begun: bool,
    /// The last line ended with CR: an LF that follows belongs to it.
    after_cr: bool,
    /// The line being received is not wanted; its bytes are not kept.
    dropping: bool,
    event: PendingData,
    last_id: Vec<u8>,
    retry: Option<Duration>,
    /// The start of a line that was too long.
    head: Vec<u8>,
}

/// Bytes of an event that is too long, to find out whose it is.
const HEAD: usize = 4 * 1024;

/// The event being received, or the one just handed out.
#[derive(Debug, Default)]
struct PendingData {
    data: Data,
    joined: Vec<u8>,
    name: Vec<u8>,
    id: Vec<u8>,
    has_id: bool,
    too_long: bool,
    handed_out: bool,
}

#[derive(Debug, Default, Clone, PartialEq)]
enum Data {
    #[default]
    None,
    /// One line, still in the buffer: the usual case, not copied.
    Line(Range<usize>),
    /// Several lines, copied to `joined`.
    Joined,
}

enum LineEffect {
    Next,
    Message,
    TooLong,
}

impl Events {
    /// `limit`: most bytes of one event's data.
    pub fn new(limit: usize) -> Self {
        Self {
            buffer: Vec::new(),
            line: 0,
            searched: 0,
            limit,
            begun: false,
            after_cr: false,
            dropping: false,
            event: PendingData::default(),
            last_id: Vec::new(),
            retry: None,
            head: Vec::new(),
        }
    }

    /// The id of the last complete event that had one: what to resume behind. Empty: none.
    pub fn last_id(&self) -> &[u8] {
        &self.last_id
    }

    /// How long the server wants clients to wait before they reconnect.
    pub fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// The stream was replaced by a new one: what was not complete is gone, id and retry stay.
    pub fn restart(&mut self) {
        let last_id = std::mem::take(&mut self.last_id);
        *self = Self { last_id, retry: self.retry, ..Self::new(self.limit) };
    }

    /// The buffer to append the next bytes to; it has spare room for a good read.
    pub fn room(&mut self) -> &mut Vec<u8> {
        self.event.release();
        self.compact();
        let held = self.buffer.len();
        if self.buffer.capacity() - held < CHUNK {
            // Growing may copy what is held: a large event takes few, large steps.
            let most = self.limit.saturating_sub(held).saturating_add(CHUNK);
            self.buffer.reserve_exact(held.saturating_mul(3).clamp(CHUNK, most));
        }
        &mut self.buffer
    }

    /// The next event that is complete, or `None` until more bytes are appended.
    #[expect(clippy::should_implement_trait, reason = "lends from the buffer, as no Iterator can")]
    pub fn next(&mut self) -> Option<Event<'_>> {
        self.event.release();
        loop {
            let step = match self.next_line() {
                Some(line) => self.read(line),
                None if self.passes_limit() => LineEffect::TooLong,
                None => return None,
            };
            match step {
                LineEffect::Next => {}
                LineEffect::TooLong => return Some(Event::TooLong(&self.head)),
                LineEffect::Message => return Some(self.message()),
            }
        }
    }

    /// Takes the data of the event just returned by `next` out of the buffer: a large one leaves
    /// without being copied elsewhere. Call only directly after a `Message`.
    pub fn take_data(&mut self) -> Vec<u8> {
        let data = std::mem::take(&mut self.event.data);
        let taken = match data {
            Data::None => Vec::new(),
            Data::Joined => std::mem::take(&mut self.event.joined),
            Data::Line(range) => {
                let rest = self.buffer.split_off(self.line);
                let mut taken = std::mem::replace(&mut self.buffer, rest);
                self.searched -= self.line;
                self.line = 0;
                taken.truncate(range.end);
                taken.drain(..range.start);
                taken
            }
        };
        self.event.release();
        taken
    }

    fn message(&mut self) -> Event<'_> {
        self.event.handed_out = true;
        let event = &self.event;
        Event::Message {
            name: if event.name.is_empty() { b"message" } else { &event.name },
            id: event.has_id.then_some(self.last_id.as_slice()),
            data: match &event.data {
                Data::Line(range) => self.buffer.get(range.clone()).unwrap_or_default(),
                Data::None | Data::Joined => &event.joined,
            },
        }
    }

    /// The next line that is complete, without its end.
    fn next_line(&mut self) -> Option<Range<usize>> {
        if !self.begun {
            // The mark may come in pieces: nothing is decided before it is there or cannot come any
            // more.
            if self.buffer.len() < BYTE_ORDER_MARK.len()
                && BYTE_ORDER_MARK.starts_with(&self.buffer)
            {
                return None;
            }
            self.begun = true;
            if self.buffer.starts_with(BYTE_ORDER_MARK) {
                self.line = BYTE_ORDER_MARK.len();
            }
        }
        // HTML, Server-sent events, Parsing: a line ends with CR LF, LF or CR. Whether an LF
        // belongs to a CR is known only with the next byte, which may be in the next read.
        if self.after_cr {
            let next = self.buffer.get(self.line)?;
            self.after_cr = false;
            self.line += usize::from(*next == b'\n');
        }
        self.searched = self.searched.max(self.line);
        let unsearched = self.buffer.get(self.searched..)?;
        let Some(offset) = memchr::memchr2(b'\n', b'\r', unsearched) else {
            self.searched = self.buffer.len();
            return None;
        };
        let (start, end) = (self.line, self.searched + offset);
        self.after_cr = self.buffer.get(end) == Some(&b'\r');
        self.line = end + 1;
        self.searched = self.line;
        Some(start..end)
    }

    fn read(&mut self, range: Range<usize>) -> LineEffect {
        if std::mem::take(&mut self.dropping) {
            return LineEffect::Next;
        }
        let line = self.buffer.get(range.clone()).unwrap_or_default();
        let (field, value) = match memchr::memchr(b':', line) {
            None if line.is_empty() => return self.dispatch(),
            // HTML, Interpreting an event stream: a line without a colon is a field with an empty
            // value; one that starts with a colon is a comment; one space behind the colon is not
            // part of the value.
            None => (line, &[][..]),
            Some(0) => return LineEffect::Next,
            Some(colon) => {
                let (field, rest) = line.split_at_checked(colon).unwrap_or_default();
                let value = rest.get(1..).unwrap_or_default();
                (field, value.strip_prefix(b" ").unwrap_or(value))
            }
        };
        let event = &mut self.event;
        let over = line.len() > self.limit.saturating_add(PREFIX)
            || (field == b"data" && !event.too_long && event.held() + value.len() > self.limit);
        if over {
            head(line).clone_into(&mut self.head);
            return event.overflow();
        }
        match field {
            b"data" if event.too_long => {}
            b"data" => {
                let value = range.end - value.len()..range.end;
                event.add(value, &self.buffer);
            }
            b"event" => value.clone_into(&mut event.name),
            // HTML, Interpreting an event stream: an id with a NUL is ignored, and so is a `retry`
            // that is not only digits.
            b"id" if memchr::memchr(0, value).is_none() => {
                value.clone_into(&mut event.id);
                event.has_id = true;
            }
            b"retry" => self.retry = milliseconds(value).or(self.retry),
            _ => {}
        }
        LineEffect::Next
    }

    /// A blank line: the event is complete.
    fn dispatch(&mut self) -> LineEffect {
        let event = &mut self.event;
        if event.has_id {
            // Also of an event that was too long: asking for it again would give it again.
            std::mem::swap(&mut self.last_id, &mut event.id);
        }
        // HTML, Interpreting an event stream: an event without data is not dispatched, but its id
        // counts.
        if event.data == Data::None {
            event.clear();
            return LineEffect::Next;
        }
        LineEffect::Message
    }

    /// No line end in sight. Says whether the event has just become too long; then, and in a
    /// comment, the bytes at hand are dropped. What is decided here from the start of a line,
    /// `read` would decide from the whole of it, too: so the chunking makes no difference.
    fn passes_limit(&mut self) -> bool {
        if !self.begun {
            return false;
        }
        let line = self.buffer.get(self.line..).unwrap_or_default();
        let mut least = line.len().saturating_sub(PREFIX);
        if line.starts_with(DATA) {
            least += self.event.held();
        }
        let over = least > self.limit && !self.dropping;
        if over || self.dropping || line.starts_with(b":") {
            let comment = line.starts_with(b":");
            if over {
                head(line).clone_into(&mut self.head);
            }
            self.dropping = true;
            self.buffer.truncate(self.line);
            self.searched = self.line;
            return over && !comment && matches!(self.event.overflow(), LineEffect::TooLong);
        }
        false
    }

    /// Moves what is still needed to the start of the buffer.
    fn compact(&mut self) {
        if let Data::Line(range) = &self.event.data
            && self.line - range.end > DEAD
        {
            let data = self.buffer.get(range.clone()).unwrap_or_default();
            data.clone_into(&mut self.event.joined);
            self.event.data = Data::Joined;
        }
        let needed = match &self.event.data {
            Data::Line(range) => range.start,
            Data::None | Data::Joined => self.line,
        };
        if needed == self.buffer.len() && self.buffer.capacity() > KEPT_CAPACITY {
            self.buffer = Vec::new();
        } else if needed > 0 {
            self.buffer.copy_within(needed.., 0);
            self.buffer.truncate(self.buffer.len() - needed);
            // A stream that always has the start of another event in here is never empty.
            if self.buffer.len() <= KEPT_CAPACITY / 2 {
                self.buffer.shrink_to(KEPT_CAPACITY);
            }
        }
        self.line -= needed;
        self.searched = self.searched.saturating_sub(needed);
        if let Data::Line(range) = &mut self.event.data {
            *range = 0..range.end - needed;
        }
    }
}

fn head(line: &[u8]) -> &[u8] {
    line.get(..HEAD).unwrap_or(line)
}

impl PendingData {
    /// Bytes that the data so far adds to a further line.
    fn held(&self) -> usize {
        match &self.data {
            Data::None => 0,
            Data::Line(range) => range.len() + 1,
            Data::Joined => self.joined.len() + 1,
        }
    }

    fn add(&mut self, value: Range<usize>, buffer: &[u8]) {
        self.data = match std::mem::take(&mut self.data) {
            Data::None => Data::Line(value),
            before => {
                if let Data::Line(first) = before {
                    buffer.get(first).unwrap_or_default().clone_into(&mut self.joined);
                }
                // Several `data` lines are one value, joined with line feeds.
                self.joined.push(b'\n');
                self.joined.extend_from_slice(buffer.get(value).unwrap_or_default());
                Data::Joined
            }
        };
    }

    fn overflow(&mut self) -> LineEffect {
        self.data = Data::None;
        // Given back, not cleared: what was too long has just filled it.
        self.joined = Vec::new();
        if std::mem::replace(&mut self.too_long, true) {
            LineEffect::Next
        } else {
            LineEffect::TooLong
        }
    }

    /// Forgets the event if its reader has had it.
    fn release(&mut self) {
        if self.handed_out {
            self.clear();
        }
    }

    fn clear(&mut self) {
        self.data = Data::None;
        self.joined.clear();
        self.joined.shrink_to(KEPT_CAPACITY);
        self.name.clear();
        self.has_id = false;
        self.too_long = false;
        self.handed_out = false;
    }
}

fn milliseconds(digits: &[u8]) -> Option<Duration> {
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    str::from_utf8(digits).ok()?.parse().ok().map(Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cut::cut;
    use proptest::prelude::*;

    fn show(event: &Event<'_>) -> String {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match event {
            Event::TooLong(_) => "too long".into(),
            Event::Message { name, id, data } => {
                let id = id.map_or(String::new(), |id| format!("#{}", text(id)));
                format!("{}{id}={}", text(name), text(data).replace('\n', "|"))
            }
        }
    }

    fn feed(events: &mut Events, pieces: &[&[u8]]) -> Vec<String> {
        let mut got = Vec::new();
        for piece in pieces {
            events.room().extend_from_slice(piece);
            while let Some(event) = events.next() {
                got.push(show(&event));
            }
        }
        got
    }

    fn all(stream: &str) -> Vec<String> {
        feed(&mut Events::new(1000), &[stream.as_bytes()])
    }

    #[test]
    fn the_rules_of_the_standard() {
        for (stream, expected) in [
            ("data: a\n\n", &["message=a"][..]),
            ("data: a\r\rdata: b\r\n\r\ndata: c\n\n", &["message=a", "message=b", "message=c"]),
            ("data:a\n\ndata:  a\n\n", &["message=a", "message= a"]),
            ("data: a\ndata: b\r\ndata:\rdata\n\n", &["message=a|b||"]),
            // the standard's own examples
            ("data: YHOO\ndata: +2\ndata: 10\n\n", &["message=YHOO|+2|10"]),
            (
                ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event",
                &["message#1=first event", "message#=second event"],
            ),
            ("data\n\ndata\ndata\n\ndata:", &["message=", "message=|"]),
            ("data:test\n\ndata: test\n\n", &["message=test", "message=test"]),
            // names
            ("event: endpoint\ndata: /x\n\n", &["endpoint=/x"]),
            ("event: a\nevent: b\ndata: x\n\ndata: y\n\n", &["b=x", "message=y"]),
            ("event:\ndata: x\n\n", &["message=x"]),
            ("event: a\n\ndata: x\n\n", &["message=x"]),
            // ids
            ("id: 1\ndata: x\n\ndata: y\n\n", &["message#1=x", "message=y"]),
            ("id: 1\nid: 2\ndata: x\n\n", &["message#2=x"]),
            ("id: a\0b\ndata: x\n\n", &["message=x"]),
            ("id:\ndata:\n\n", &["message#="]),
            ("id: 1\n\ndata: x\n\n", &["message=x"]),
            // comments, fields that are none, and lines without a colon
            (":\n: x\n:data: y\ndata: a\n:\n\n", &["message=a"]),
            ("foo: x\nDATA: y\n data: z\ndata : w\ndatas\ndata: a\n\n", &["message=a"]),
            ("data: a:b: c\n\n", &["message=a:b: c"]),
            // a byte-order mark, once
            ("\u{feff}data: a\n\n", &["message=a"]),
            ("\u{feff}\u{feff}data: a\n\n", &[]),
            ("data: a\n\n\u{feff}data: b\n\n", &["message=a"]),
            // nothing to hand out, or not yet
            ("", &[]),
            ("\n\r\n\r", &[]),
            ("data: a", &[]),
            ("data: a\n", &[]),
            ("data: a\r\n", &[]),
        ] {
            assert_eq!(all(stream), expected, "{stream:?}");
        }
    }

    #[test]
    fn a_line_that_ends_with_cr_is_complete_at_once() {
        let mut events = Events::new(100);
        assert_eq!(feed(&mut events, &[b"data: a\r\r"]), ["message=a"]);
        assert_eq!(feed(&mut events, &[b"\ndata: b\r", b"\n", b"\r"]), ["message=b"]);
        assert_eq!(feed(&mut events, &[b"\n"]), [""; 0]);
    }

    #[test]
    fn the_last_id_is_that_of_a_complete_event() {
        let mut events = Events::new(100);
        assert_eq!(events.last_id(), b"");
        feed(&mut events, &[b"id: 1\ndata: x\n"]);
        assert_eq!(events.last_id(), b"");
        feed(&mut events, &[b"\n"]);
        assert_eq!(events.last_id(), b"1");
        feed(&mut events, &[b"data: y\n\n"]);
        assert_eq!(events.last_id(), b"1");
        feed(&mut events, &[b"id: 2\n\n"]);
        assert_eq!(events.last_id(), b"2", "without data, too");
        feed(&mut events, &[b"id\ndata: z\n\n"]);
        assert_eq!(events.last_id(), b"");
    }

    #[test]
    fn retry_is_digits() {
        let mut events = Events::new(100);
        assert_eq!(events.retry(), None);
        feed(&mut events, &[b"retry: x\nretry: -1\nretry: 1.5\nretry:\nretry: +3\nretry\n\n"]);
        assert_eq!(events.retry(), None);
        feed(&mut events, &[b"retry: 1500\n"]);
        assert_eq!(events.retry(), Some(Duration::from_millis(1500)));
        feed(&mut events, &[b"retry: 99999999999999999999\n\n"]);
        assert_eq!(events.retry(), Some(Duration::from_millis(1500)));
    }

    #[test]
    fn a_new_stream_keeps_id_and_retry_only() {
        let mut events = Events::new(100);
        feed(
            &mut events,
            &[b"\xef\xbb\xbfid: 1\nretry: 5\ndata: x\n\nid: 2\nevent: e\ndata: half"],
        );
        events.restart();
        assert_eq!((events.last_id(), events.retry()), (&b"1"[..], Some(Duration::from_millis(5))));
        assert_eq!(feed(&mut events, &[b"\xef\xbb\xbfdata: y\n\n"]), ["message=y"]);
    }

    #[test]
    fn an_event_over_the_limit_is_told_once_and_skipped() {
        for (stream, expected) in [
            ("data: 12345\n\n", &["message=12345"][..]),
            ("data: 123456\n\ndata: a\n\n", &["too long", "message=a"]),
            ("data:123456\ndata: x\ndata: 1234567\n\ndata: a\n\n", &["too long", "message=a"]),
            ("data: 12\ndata: 45\n\n", &["message=12|45"]),
            ("data: 12\ndata: 456\n\n", &["too long"]),
            ("data\ndata\ndata\ndata\ndata\ndata\n\n", &["message=|||||"]),
            ("data\ndata\ndata\ndata\ndata\ndata\ndata\n\n", &["too long"]),
            ("event: 12345678901\ndata: a\n\ndata: b\n\n", &["too long", "message=b"]),
            (": a long comment is nothing\ndata: a\n\n", &["message=a"]),
            ("data: a\n: a long comment is nothing\n\n", &["message=a"]),
            ("data: 123456789012\n: a long comment\n\n", &["too long"]),
        ] {
            assert_eq!(feed(&mut Events::new(5), &[stream.as_bytes()]), expected, "{stream:?}");
            let bytes: Vec<_> = stream.as_bytes().chunks(1).collect();
            assert_eq!(feed(&mut Events::new(5), &bytes), expected, "{stream:?} by bytes");
        }
    }

    #[test]
    fn an_event_over_the_limit_is_told_before_it_ends_and_its_id_counts() {
        let mut events = Events::new(5);
        assert_eq!(feed(&mut events, &[b"data: 123\ndata: 45"]), ["too long"]);
        assert_eq!(feed(&mut events, &[b"\n\nid: 7\ndata: 123456"]), ["too long"]);
        assert_eq!(feed(&mut events, &[b"789", b"\n", b"data: x\n"]), [""; 0]);
        assert_eq!(events.last_id(), b"");
        feed(&mut events, &[b"\n"]);
        assert_eq!(events.last_id(), b"7");
        feed(&mut events, &[b"data: 1234567\nid: 8\n\n"]);
        assert_eq!(events.last_id(), b"8");
    }

    #[test]
    fn the_one_line_of_data_is_not_copied() {
        let mut events = Events::new(100);
        events.room().extend_from_slice(b"id: 1\ndata: abc\nevent: x\n\n");
        let held = events.buffer.as_ptr_range();
        let Some(Event::Message { data, .. }) = events.next() else { panic!("no event") };
        assert!(held.contains(&data.as_ptr()));
    }

    #[test]
    fn endless_streams_do_not_grow_the_buffers() {
        for (head, piece) in [
            ("", ": comment\n"),
            ("", ":"),
            ("", "x"),
            ("", "data: x"),
            ("", "data: x\n"),
            ("", "event: x\n"),
            ("", "data: x\n\n"),
            ("data: held\n", ": comment\n"),
            ("data: held\n", ":"),
            ("data: held\n", "event: x\n"),
            ("data: held\n", "x"),
            ("\u{feff}data: a\ndata: b\n", "unknown\r\n"),
        ] {
            let mut events = Events::new(1000);
            feed(&mut events, &[head.as_bytes()]);
            let piece = piece.repeat(1000);
            for _ in 0..1000 {
                feed(&mut events, &[piece.as_bytes()]);
            }
            let held = events.buffer.capacity() + events.event.joined.capacity();
            assert!(held < 4 * CHUNK, "{head:?} {piece:.20?}: {held}");
        }
    }

    #[test]
    fn data_survives_whatever_comes_before_the_blank_line() {
        let mut events = Events::new(1000);
        feed(&mut events, &[b"id: 9\nevent: e\ndata: held\n"]);
        for _ in 0..1000 {
            assert_eq!(feed(&mut events, &[b": a comment, a comment\n"]), [""; 0]);
        }
        assert_eq!(feed(&mut events, &[b"data: more\n", b"\n"]), ["e#9=held|more"]);
    }

    #[test]
    fn a_large_buffer_is_given_back() {
        let large = vec![b'x'; 2 * KEPT_CAPACITY];
        let mut events = Events::new(usize::MAX);
        for stream in [
            [b"data: ", &large[..], b"\n\n"].concat(),
            [b"data: ", &large[..], b"\ndata: y\n\n"].concat(),
        ] {
            assert_eq!(feed(&mut events, &[&stream]).len(), 1);
            events.room();
            assert!(events.buffer.capacity() < KEPT_CAPACITY);
            assert!(events.event.joined.capacity() <= KEPT_CAPACITY);
        }
    }

    #[test]
    fn data_is_taken_whole_and_the_rest_stays() {
        let mut events = Events::new(1000);
        events
            .room()
            .extend_from_slice(b"data: a\n\ndata: one\n\ndata: t\ndata: wo\n\ndata: z\n\nda");
        assert!(events.next().is_some() && events.next().is_some());
        assert_eq!(events.take_data(), b"one");
        assert!(events.next().is_some());
        assert_eq!(events.take_data(), b"t\nwo");
        assert_eq!(events.next().as_ref().map(show).as_deref(), Some("message=z"));
        assert_eq!(events.next(), None);
        assert_eq!(feed(&mut events, &[b"ta: end\n\n"]), ["message=end"]);
        assert_eq!(events.take_data(), b"");
    }

    /// The standard's algorithm as it is written there, over the whole stream at once.
    fn model(stream: &str) -> Vec<String> {
        let text = stream.strip_prefix('\u{feff}').unwrap_or(stream);
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let (mut got, mut data, mut name, mut id) = (Vec::new(), String::new(), "", None);
        let Some((lines, _unfinished)) = text.rsplit_once('\n') else { return got };
        for line in lines.split('\n') {
            if line.is_empty() {
                if let Some(data) = data.strip_suffix('\n') {
                    let id = id.map_or(String::new(), |id| format!("#{id}"));
                    let name = if name.is_empty() { "message" } else { name };
                    got.push(format!("{name}{id}={}", data.replace('\n', "|")));
                }
                (data, name, id) = (String::new(), "", None);
                continue;
            }
            let (field, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "data" => data = format!("{data}{value}\n"),
                "event" => name = value,
                "id" if !value.contains('\0') => id = Some(value),
                _ => {}
            }
        }
        got
    }

    fn stream() -> impl Strategy<Value = String> {
        let word = prop_oneof![
            4 => Just("\n"), 2 => Just("\r"), 2 => Just("\r\n"), 4 => Just("data"), 2 => Just("data: "),
            2 => Just(":"), 2 => Just(" "), 1 => Just("id: "), 1 => Just("event:"), 1 => Just("retry: 7"),
            1 => Just("\u{feff}"), 1 => Just("\0"), 3 => Just("é"), 3 => Just("xyz"),
        ];
        proptest::collection::vec(word, 0..60).prop_map(|words| words.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        #[test]
        fn any_pieces_give_what_the_standard_says(
            stream in stream(),
            cuts in proptest::collection::vec(1_usize..9, 1..40),
        ) {
            let got = feed(&mut Events::new(1000), &cut(stream.as_bytes(), &cuts));
            prop_assert_eq!(got, model(&stream));
        }

        #[test]
        fn any_pieces_give_the_same_at_the_limit(
            stream in stream(),
            limit in 0_usize..12,
            cuts in proptest::collection::vec(1_usize..9, 1..40),
        ) {
            let (mut whole, mut pieces) = (Events::new(limit), Events::new(limit));
            let expected = feed(&mut whole, &[stream.as_bytes()]);
            let got = feed(&mut pieces, &cut(stream.as_bytes(), &cuts));
            prop_assert_eq!(got, expected);
            prop_assert_eq!(pieces.last_id(), whole.last_id());
            prop_assert_eq!(pieces.retry(), whole.retry());
        }
    }
}
