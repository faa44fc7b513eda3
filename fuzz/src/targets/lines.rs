//! Lines of a stream: however it is cut, they are those between the line feeds.

use trunkline_wire::{Lines, StreamLine};

use crate::input::{pieces, settings};

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// A line may be over the limit with its carriage return and its byte-order mark, and within without.
const MARGIN: usize = 4;

pub(crate) fn run(bytes: &[u8]) {
    let Some(([limit, cut, take], stream)) = settings::<3>(bytes) else { return };
    let limit = usize::from(limit);
    let mut lines = Lines::new(limit);
    let mut read: Vec<Option<Vec<u8>>> = Vec::new();
    for piece in pieces(stream, cut) {
        lines.room().extend_from_slice(piece);
        loop {
            let whole = match lines.next_line() {
                None => break,
                Some(StreamLine::Whole(line)) => Some(line.to_vec()),
                Some(StreamLine::TooLong(_)) => None,
                // The line was told already.
                Some(StreamLine::TooLongEnd(_)) => continue,
            };
            if take % 2 == 1
                && let Some(line) = &whole
            {
                assert_eq!(&lines.take_line(), line, "a taken line is another one");
            }
            read.push(whole);
        }
    }
    let mut expected: Vec<&[u8]> = stream.split(|byte| *byte == b'\n').collect();
    let rest = expected.pop().unwrap_or_default();
    // An unfinished line that is too long has been told.
    let told = read.len().checked_sub(expected.len()).expect("a line was lost");
    assert!(told <= usize::from(rest.len() > limit), "a line that is not there");
    for (line, read) in expected.into_iter().zip(read) {
        match read {
            Some(read) => assert_eq!(read, stripped(line)),
            None => assert!(line.len() > limit, "a short line was too long"),
        }
        // … and the other way round.
        if line.len() > limit + MARGIN {
            assert!(stripped(line).len() > limit);
        }
    }
}

fn stripped(line: &[u8]) -> &[u8] {
    let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}
