//! The slow reader over standard input and output.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{ChildStdin, ChildStdout, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{Calls, Cell, Growth, Work, assert_result};
use crate::pace::Paced;
use crate::room::{Room, patient};
use crate::{LIMIT, mcp};

/// How many calls were answered, and by how much the memory grew.
pub(super) fn run(cell: Cell, room: &Room, work: Work) -> (u64, u64) {
    let mut command = room.trunkline(&patient(&[]));
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("the gateway starts");
    let (mut stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut output = BufReader::new(stdout);
    let mut ask = |words: String, waits: bool| {
        stdin.write_all(format!("{words}\n").as_bytes()).expect("the gateway reads");
        let mut line = String::new();
        if waits {
            output.read_line(&mut line).expect("the gateway answers");
        }
        line
    };
    ask(mcp::initialize("1", "2025-11-25"), true);
    ask(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_owned(), false);
    let listed = ask(r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#.to_owned(), true);
    assert!(listed.contains("bulk:call"), "{listed}");
    let growth = Growth::begin(i32::try_from(child.id()).expect("a pid"));
    let calls = Calls::new(work);
    let (free, turns) = channel();
    for _ in 0..cell.window() {
        free.send(()).expect("somebody waits");
    }
    let answered = std::thread::scope(|scope| {
        let free = free; // gone with this reader, even if it panics: then the writer ends, too
        let calls = &calls;
        let writer = scope.spawn(move || write(cell, stdin, turns, calls));
        let answered = read(cell, output, &free, calls);
        drop(free);
        drop(writer.join().expect("it writes to the end")); // and closes our side only now
        answered
    });
    let grown = growth.most_kib();
    child.wait().expect("the gateway ends with its input");
    (answered, grown)
}

fn is_readable(output: &Paced<ChildStdout>) -> bool {
    let limit = Timespec::try_from(LIMIT).expect("a limit of seconds");
    let mut watched = [PollFd::new(output.inner(), PollFlags::IN)];
    poll(&mut watched, Some(&limit)).is_ok_and(|ready| ready > 0)
}

/// One call for every turn.
fn write(cell: Cell, mut stdin: ChildStdin, turns: Receiver<()>, calls: &Calls) -> ChildStdin {
    while turns.recv().is_ok()
        && let Some(id) = calls.next()
    {
        let request = cell.request("bulk:call", id) + "\n";
        stdin.write_all(request.as_bytes()).expect("the gateway reads");
    }
    stdin
}

fn read(cell: Cell, output: BufReader<ChildStdout>, free: &Sender<()>, calls: &Calls) -> u64 {
    assert!(output.buffer().is_empty(), "nothing comes unasked");
    let mut output = Paced::new(output.into_inner(), cell.client_pace());
    let (mut chunk, mut start, mut answered) = (vec![0; 64 << 10], Vec::new(), 0);
    loop {
        assert!(is_readable(&output), "no answer within {LIMIT:?}, after {answered} answers");
        let count = output.read(&mut chunk).expect("the gateway writes");
        assert!(count > 0, "the gateway has ended after {answered} answers");
        let mut lines = chunk[..count].split(|byte| *byte == b'\n').peekable();
        while let Some(piece) = lines.next() {
            let missing = 300_usize.saturating_sub(start.len()).min(piece.len());
            start.extend_from_slice(&piece[..missing]);
            if lines.peek().is_none() {
                break; // of a line that goes on
            }
            assert_result(&start);
            start.clear();
            answered += 1;
            let _ = free.send(()); // whoever writes may be done
        }
        if answered == calls.given() && calls.is_over() {
            return answered;
        }
    }
}
