//! The pump with real pipes: nothing lost, nothing out of order, ends noticed.

use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use rustix::pipe::{PipeFlags, fcntl_getpipe_size, fcntl_setpipe_size, pipe_with};
use trunkline_wire::{Edits, Lines, StreamLine, find, scan};

use crate::pump::{FlushSet, LINE, Outbox, Pump, Reader, Sink, SourceHandle};
use crate::stream::Input;

const LIMIT: Duration = Duration::from_secs(20);

fn pipe() -> (OwnedFd, OwnedFd) {
    pipe_with(PipeFlags::CLOEXEC).unwrap()
}

fn nonblocking(fd: OwnedFd) -> OwnedFd {
    rustix::io::ioctl_fionbio(&fd, true).unwrap();
    fd
}

/// Tells what comes; passes it on to an outbox if there is one.
#[derive(Debug)]
struct Heard {
    lines: Lines,
    news: Sender<String>,
    onward: Option<Outbox>,
}

impl Reader for Heard {
    fn room(&mut self) -> &mut Vec<u8> {
        self.lines.room()
    }

    fn take(&mut self, _: &SourceHandle, touched: &mut FlushSet) {
        while let Some(line) = self.lines.next_line() {
            let StreamLine::Whole(line) = line else { panic!("no line here is too long") };
            if let Some(outbox) = &self.onward {
                outbox.put(line, &Edits::new()).unwrap();
                touched.note(outbox);
            } else {
                self.news.send(String::from_utf8_lossy(line).into_owned()).unwrap();
            }
        }
    }

    fn ended(&mut self, _: &mut FlushSet) {
        let rest = String::from_utf8_lossy(self.lines.remainder());
        self.news.send(format!("end:{rest}")).unwrap();
    }
}

fn listen(pump: &Pump, fd: OwnedFd, onward: Option<Outbox>) -> Receiver<String> {
    let (sender, receiver) = channel();
    let heard = Heard { lines: Lines::new(1 << 20), news: sender, onward };
    pump.read(Input::pipe(nonblocking(fd)), Box::new(heard));
    receiver
}

#[test]
fn what_was_written_before_the_end_is_read_before_the_end() {
    let (pump, thread) = Pump::start().unwrap();
    for count in [0, 1, 1000, 20_000] {
        let (read, write) = pipe();
        let heard = listen(&pump, read, None);
        let mut write = std::fs::File::from(write);
        for number in 0..count {
            writeln!(write, "line {number}").unwrap();
        }
        write.write_all(b"cut off").unwrap();
        drop(write);
        for number in 0..count {
            assert_eq!(heard.recv_timeout(LIMIT).unwrap(), format!("line {number}"));
        }
        assert_eq!(heard.recv_timeout(LIMIT).unwrap(), "end:cut off");
    }
    pump.stop();
    thread.join().unwrap().unwrap();
}

#[test]
fn a_full_stream_is_written_on_when_it_takes_more() {
    let (pump, thread) = Pump::start().unwrap();
    let (from, to) = pipe();
    let (source, feed) = pipe();
    let outbox = Outbox::default();
    outbox.connect(Sink::pipe(nonblocking(to)), &pump);
    let heard = listen(&pump, source, Some(outbox.clone()));
    let expected: String = (0..300_000).map(|number| format!("message {number}\n")).collect();
    assert!(expected.len() > 4 << 20, "more than both pipes hold");
    let sent = expected.clone();
    let writer = std::thread::spawn(move || {
        std::fs::File::from(feed).write_all(sent.as_bytes()).unwrap();
    });
    let mut got = vec![0; expected.len()];
    std::fs::File::from(from).read_exact(&mut got).unwrap();
    assert!(got == expected.as_bytes());
    writer.join().unwrap();
    assert_eq!(heard.recv_timeout(LIMIT).unwrap(), "end:");
    assert_eq!((outbox.len(), outbox.written()), (0, expected.len() as u64));
    pump.stop();
    thread.join().unwrap().unwrap();
}

#[test]
fn a_large_message_and_small_ones_keep_their_order() {
    let (pump, thread) = Pump::start().unwrap();
    let (from, to) = pipe();
    let outbox = Outbox::default();
    let large = vec![b'x'; 3 << 20];
    outbox.put(b"first", &Edits::new()).unwrap();
    outbox.put_owned(LINE, large.clone(), &Edits::new()).unwrap();
    outbox.put(b"last", &Edits::new()).unwrap();
    outbox.connect(Sink::pipe(nonblocking(to)), &pump);
    let mut got = vec![0; large.len() + 12];
    std::fs::File::from(from).read_exact(&mut got).unwrap();
    assert!(got.starts_with(b"first\nxxx") && got.ends_with(b"xxx\nlast\n"));
    pump.stop();
    thread.join().unwrap().unwrap();
}

#[test]
fn a_large_message_with_a_larger_change_goes_out_as_edited() {
    for (old, new) in [(10, 3 << 20), (3 << 20, 10), (3 << 20, 3 << 20), (600_000, 300_000)] {
        let (pump, thread) = Pump::start().unwrap();
        let (from, to) = pipe();
        let outbox = Outbox::default();
        let (old, rest) = ("o".repeat(old), "z".repeat(300_000));
        let whole =
            format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"state":"{old}","rest":"{rest}"}}}}"#);
        let whole = whole.into_bytes();
        let new = format!("\"{}\"", "n".repeat(new));
        let message = scan(&whole).unwrap();
        let state = find(&whole, message.result.unwrap(), &["state"]).unwrap();
        let mut edits = Edits::one(message.id.unwrap(), b"77");
        edits.add(state, new.as_bytes());
        let mut expected = Vec::new();
        edits.write(&whole, &mut expected);
        outbox.put_owned(LINE, whole.clone(), &edits).unwrap();
        outbox.connect(Sink::pipe(nonblocking(to)), &pump);
        expected.push(b'\n');
        let mut got = vec![0; expected.len()];
        std::fs::File::from(from).read_exact(&mut got).unwrap();
        assert!(got == expected, "{} {}", old.len(), new.len());
        pump.stop();
        thread.join().unwrap().unwrap();
    }
}

#[test]
fn a_pipe_gets_more_room_when_it_has_been_full() {
    let (pump, thread) = Pump::start().unwrap();
    let ((spare, _writer), (from, to), (heard_from, heard_to)) = (pipe(), pipe(), pipe());
    let usual = fcntl_getpipe_size(&spare).unwrap();
    // A user may have had all that is allowed.
    let most = fcntl_setpipe_size(&spare, 1 << 20).unwrap_or(usual);
    let size = |fd: &OwnedFd| fcntl_getpipe_size(fd).unwrap();
    // One we write to,
    let outbox = Outbox::default();
    outbox.connect(Sink::pipe(nonblocking(to)), &pump);
    for (length, expected) in [(100, usual), (usual, most)] {
        outbox.put(&vec![b'x'; length], &Edits::new()).unwrap();
        outbox.flush();
        assert_eq!(size(&from), expected, "after {length} bytes");
    }
    // and one we read from: full before anybody looks.
    let mut writer = std::fs::File::from(heard_to);
    let line = [&vec![b'x'; usual - 1][..], b"\n"].concat();
    writer.write_all(&line).unwrap();
    let heard = listen(&pump, heard_from, None);
    assert_eq!(heard.recv_timeout(LIMIT).unwrap().len(), usual - 1);
    assert_eq!(size(&writer.into()), most);
    pump.stop();
    thread.join().unwrap().unwrap();
}

#[test]
fn an_outbox_whose_stream_breaks_is_closed_without_being_used() {
    let (pump, thread) = Pump::start().unwrap();
    let (from, to) = pipe();
    let outbox = Outbox::default();
    outbox.connect(Sink::pipe(nonblocking(to)), &pump);
    drop(from);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(LIMIT, outbox.closed()).await.unwrap() });
    assert!(outbox.put(b"late", &Edits::new()).is_err());
    pump.stop();
    thread.join().unwrap().unwrap();
}

/// A reader with a defect where nothing guards the thread against it: when it is dropped.
#[derive(Debug, Default)]
struct Clumsy(Vec<u8>);

impl Reader for Clumsy {
    fn room(&mut self) -> &mut Vec<u8> {
        self.0.reserve(10);
        &mut self.0
    }

    fn take(&mut self, source: &SourceHandle, _: &mut FlushSet) {
        source.forget();
    }

    fn ended(&mut self, _: &mut FlushSet) {}
}

impl Drop for Clumsy {
    fn drop(&mut self) {
        panic!("as it must never");
    }
}

#[test]
fn whoever_waits_for_the_end_learns_of_a_panic() {
    let (pump, thread) = Pump::start().unwrap();
    let (from, to) = pipe();
    pump.read(Input::pipe(nonblocking(from)), Box::new(Clumsy::default()));
    std::fs::File::from(to).write_all(b"x").unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(LIMIT, pump.ended()).await.unwrap() });
    assert!(thread.join().is_err());
}

/// Holds its source at the first bytes, and tells of all that come.
#[derive(Debug)]
struct Holding(Vec<u8>, Sender<usize>);

impl Reader for Holding {
    fn room(&mut self) -> &mut Vec<u8> {
        self.0.reserve(16);
        &mut self.0
    }

    fn take(&mut self, source: &SourceHandle, _: &mut FlushSet) {
        source.hold();
        self.1.send(self.0.len()).unwrap();
    }

    fn ended(&mut self, _: &mut FlushSet) {
        self.1.send(usize::MAX).unwrap();
    }
}

#[test]
fn a_file_that_was_held_is_read_on_by_a_thread_that_sleeps() {
    let (pump, thread) = Pump::start().unwrap();
    let path = std::env::temp_dir().join(format!("trunkline-held-{}", std::process::id()));
    std::fs::write(&path, vec![b'x'; 1 << 20]).unwrap();
    let (told, came) = channel();
    let file = OwnedFd::from(std::fs::File::open(&path).unwrap());
    let input = Input { fd: file, nature: crate::stream::Nature::File };
    let source = pump.read(input, Box::new(Holding(Vec::new(), told)));
    let mut before = 0;
    for _ in 0..3 {
        let now = came.recv_timeout(LIMIT).unwrap();
        assert!(now > before && now < usize::MAX, "{now} behind {before}");
        before = now;
        assert!(came.recv_timeout(Duration::from_millis(50)).is_err(), "it is held");
        source.resume();
    }
    pump.stop();
    thread.join().unwrap().unwrap();
    std::fs::remove_file(&path).unwrap();
}

/// Reads on when it is let.
#[derive(Debug)]
struct Stuck(Vec<u8>, Sender<()>, Receiver<()>);

impl Reader for Stuck {
    fn room(&mut self) -> &mut Vec<u8> {
        self.0.reserve(16);
        &mut self.0
    }

    fn take(&mut self, _: &SourceHandle, _: &mut FlushSet) {
        self.1.send(()).unwrap();
        self.2.recv_timeout(LIMIT).unwrap();
    }

    fn ended(&mut self, _: &mut FlushSet) {}
}

#[test]
fn a_thread_that_is_stuck_does_not_answer_until_it_goes_on() {
    let (pump, thread) = Pump::start().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let answers =
        |time| runtime.block_on(async { tokio::time::timeout(time, pump.answers()).await.is_ok() });
    assert!(answers(LIMIT));
    let ((from, to), (stuck, is_stuck), (go, goes)) = (pipe(), channel(), channel());
    pump.read(Input::pipe(nonblocking(from)), Box::new(Stuck(Vec::new(), stuck, goes)));
    std::fs::File::from(to).write_all(b"x").unwrap();
    is_stuck.recv_timeout(LIMIT).unwrap();
    assert!(!answers(Duration::from_millis(50)));
    go.send(()).unwrap();
    assert!(answers(LIMIT));
    pump.stop();
    thread.join().unwrap().unwrap();
    assert!(answers(LIMIT), "one that has ended is not waited for");
}

/// Panics when it reads this line.
#[derive(Debug)]
struct Fragile(Heard);

impl Reader for Fragile {
    fn room(&mut self) -> &mut Vec<u8> {
        self.0.room()
    }

    fn take(&mut self, source: &SourceHandle, touched: &mut FlushSet) {
        let before = self.0.lines.remainder().len();
        self.0.take(source, touched);
        assert!(before < 7, "injected");
    }

    fn ended(&mut self, touched: &mut FlushSet) {
        self.0.ended(touched);
    }
}

#[test]
fn a_panic_in_one_reader_ends_its_stream_and_no_other() {
    let (pump, thread) = Pump::start().unwrap();
    let (read, write) = pipe();
    let (sender, broken) = channel();
    let heard = Heard { lines: Lines::new(1 << 20), news: sender, onward: None };
    pump.read(Input::pipe(nonblocking(read)), Box::new(Fragile(heard)));
    let (other_read, other_write) = pipe();
    let other = listen(&pump, other_read, None);
    let (mut write, mut other_write) =
        (std::fs::File::from(write), std::fs::File::from(other_write));
    write.write_all(b"fine\n").unwrap();
    assert_eq!(broken.recv_timeout(LIMIT).unwrap(), "fine");
    write.write_all(b"this is fatal\n").unwrap();
    assert_eq!(broken.recv_timeout(LIMIT).unwrap(), "this is fatal");
    assert!(broken.recv_timeout(LIMIT).unwrap().starts_with("end:"), "it is told that it ends");
    assert!(broken.recv_timeout(LIMIT).is_err(), "and dropped");
    writeln!(other_write, "still here").unwrap();
    assert_eq!(other.recv_timeout(LIMIT).unwrap(), "still here");
    pump.stop();
    thread.join().unwrap().unwrap();
}
