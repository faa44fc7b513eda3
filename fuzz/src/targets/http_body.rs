//! Bodies of HTTP messages: the same however they are cut, and what was written as chunks is read again.

use trunkline_http::{BadBody, Body, Framing, LAST_CHUNK, chunk};

use crate::input::{pieces, settings};

pub(crate) fn run(bytes: &[u8]) {
    let Some(([kind, limit, cut], stream)) = settings::<3>(bytes) else { return };
    let framing = match kind % 4 {
        0 => Framing::Length(u64::from(kind / 4)),
        1 => Framing::UntilClose,
        2 => Framing::None,
        _ => Framing::Chunked,
    };
    let limit = usize::from(limit);
    let whole = decoded(framing, limit, pieces(stream, 0));
    let in_pieces = decoded(framing, limit, pieces(stream, cut));
    assert_eq!(whole, in_pieces, "the cut makes a difference");
    if let Ok(read) = &whole {
        assert!(read.bytes.len() <= limit, "more than the limit");
        assert!(read.used <= stream.len());
    }
    written(stream, cut);
}

#[derive(Debug, PartialEq)]
struct Read {
    bytes: Vec<u8>,
    /// How much of the stream it took.
    used: usize,
    is_complete: bool,
    /// What it says if the stream ends there.
    at_end: Result<(), BadBody>,
}

fn decoded<'a>(
    framing: Framing,
    limit: usize,
    pieces: impl Iterator<Item = &'a [u8]>,
) -> Result<Read, BadBody> {
    let mut body = Body::new(framing, limit);
    let (mut bytes, mut used) = (Vec::new(), 0);
    for piece in pieces {
        used += body.decode(piece, &mut bytes)?;
    }
    Ok(Read { bytes, used, is_complete: body.is_complete(), at_end: body.end() })
}

fn written(data: &[u8], cut: u8) {
    let mut stream = Vec::new();
    for piece in pieces(data, cut) {
        chunk(piece, &mut stream);
    }
    stream.extend_from_slice(LAST_CHUNK);
    let length = stream.len();
    stream.extend_from_slice(b"HTTP/1.1 200 OK\r\n");
    let read = decoded(Framing::Chunked, usize::MAX, std::iter::once(stream.as_slice()));
    let expected = Read { bytes: data.to_vec(), used: length, is_complete: true, at_end: Ok(()) };
    assert_eq!(read, Ok(expected), "chunks of ours are read differently");
}
