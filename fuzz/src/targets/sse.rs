//! Server-sent events: the same as a plain reading of the HTML standard, however the stream is cut.

use trunkline_http::{Event, Events, event};

use crate::input::{pieces, settings};

/// More than any input here holds.
const NO_LIMIT: usize = 1 << 20;

pub(crate) fn run(bytes: &[u8]) {
    let Some(([cut, limit], stream)) = settings::<2>(bytes) else { return };
    let mut by_model = model(stream);
    let read = read(stream, cut, NO_LIMIT);
    // Whether a carriage return at the very end is a whole line end is known with the next byte only.
    if by_model.len() == read.len() + 1 && stream.ends_with(b"\r") {
        by_model.pop();
    }
    assert_eq!(read, by_model, "another reading than the standard's");
    // With a limit, the cut makes no difference either.
    let limit = usize::from(limit);
    assert_eq!(
        self::read(stream, cut, limit),
        self::read(stream, 0, limit),
        "the cut makes a difference"
    );
    written(stream);
}

/// An event; `None` for one that was too long.
type Seen = Option<(Vec<u8>, Option<Vec<u8>>, Vec<u8>)>;

fn read(stream: &[u8], cut: u8, limit: usize) -> Vec<Seen> {
    let mut events = Events::new(limit);
    let mut seen = Vec::new();
    for piece in pieces(stream, cut) {
        events.room().extend_from_slice(piece);
        while let Some(event) = events.next() {
            seen.push(match event {
                Event::TooLong(_) => None,
                Event::Message { name, id, data } => {
                    assert!(data.len() <= limit, "more than the limit");
                    Some((name.to_vec(), id.map(<[u8]>::to_vec), data.to_vec()))
                }
            });
        }
    }
    seen
}

/// HTML, Server-sent events, Parsing an event stream; line by line, with everything in memory.
fn model(stream: &[u8]) -> Vec<Seen> {
    let mut seen = Vec::new();
    let (mut name, mut id, mut data) = (Vec::new(), None::<Vec<u8>>, None::<Vec<u8>>);
    for line in lines(stream.strip_prefix(b"\xef\xbb\xbf").unwrap_or(stream)) {
        if line.is_empty() {
            if let Some(data) = data.take() {
                let name = if name.is_empty() { b"message".to_vec() } else { name.clone() };
                seen.push(Some((name, id.clone(), data)));
            }
            name.clear();
            id = None;
            continue;
        }
        let colon = line.iter().position(|byte| *byte == b':');
        let (field, value) = match colon {
            None => (line, &[][..]),
            Some(colon) => (&line[..colon], &line[colon + 1..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"event" => name = value.to_vec(),
            b"id" if !value.contains(&0) => id = Some(value.to_vec()),
            b"data" => match &mut data {
                None => data = Some(value.to_vec()),
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
            },
            _ => {}
        }
    }
    seen
}

/// The complete lines, without their ends: CR LF, LF or CR.
fn lines(stream: &[u8]) -> Vec<&[u8]> {
    let (mut lines, mut rest) = (Vec::new(), stream);
    while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\r' | b'\n')) {
        lines.push(&rest[..end]);
        let pair = rest[end..].starts_with(b"\r\n");
        rest = &rest[end + 1 + usize::from(pair)..];
    }
    lines
}

/// What we write is read again. A message is one line of JSON, so it holds no line end.
fn written(stream: &[u8]) {
    let data: Vec<u8> =
        stream.iter().copied().filter(|byte| !matches!(byte, b'\r' | b'\n')).collect();
    let mut out = Vec::new();
    event(Some("message"), Some("7"), &data, &mut out);
    let expected = vec![Some((b"message".to_vec(), Some(b"7".to_vec()), data))];
    assert_eq!(read(&out, 0, NO_LIMIT), expected, "events of ours are read differently");
}
