//! Takes the framing off a body, in pieces as they come.
//!
//! By hand: hyper keeps its decoder to itself, and chunks here have bounds for extensions and
//! trailers.

use crate::head::Framing;

/// Most bytes of extensions behind one chunk's size. Nobody uses them.
// RFC 9112, 7.1.1: a recipient ought to limit chunk extensions: they are skipped byte by byte, and
// could go on for ever.
const EXTENSION_LIMIT: usize = 1024;
/// Most bytes of trailer fields. They are skipped.
const TRAILER_LIMIT: usize = 16 * 1024;

/// A body on its way in.
#[derive(Debug)]
pub struct Body {
    state: BodyState,
    /// Decoded bytes that may still come.
    budget: u64,
    /// Bytes of the extension or trailer skipped so far.
    skipped: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadBody {
    #[error("the body is too large")]
    TooLarge,
    #[error("the chunked body is malformed")]
    BadChunk,
    #[error("the body ended early")]
    Truncated,
}

impl BadBody {
    /// The status to answer with.
    pub fn status(self) -> u16 {
        match self {
            Self::TooLarge => 413,
            Self::BadChunk | Self::Truncated => 400,
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum BodyState {
    Length(u64),
    UntilClose,
    Size {
        value: u64,
        digits: u8,
    },
    /// Behind the size: white space, then `;` or the line's end.
    Padding(u64),
    Extension(u64),
    SizeLf(u64),
    Data(u64),
    DataCr,
    DataLf,
    Trailer {
        blank: bool,
    },
    TrailerLf {
        blank: bool,
    },
    Complete,
    Bad(BadBody),
}

const NEXT_CHUNK: BodyState = BodyState::Size { value: 0, digits: 0 };

impl Body {
    /// `limit`: most decoded bytes of the whole body; `usize::MAX` for streams without an end.
    pub fn new(framing: Framing, limit: usize) -> Self {
        let budget = u64::try_from(limit).unwrap_or(u64::MAX);
        let state = match framing {
            Framing::None | Framing::Length(0) => BodyState::Complete,
            // Refused by what the head says, before a byte of the body is kept.
            Framing::Length(length) if length > budget => BodyState::Bad(BadBody::TooLarge),
            Framing::Length(length) => BodyState::Length(length),
            Framing::Chunked => NEXT_CHUNK,
            Framing::UntilClose => BodyState::UntilClose,
        };
        Self { state, budget, skipped: 0 }
    }

    /// Appends what `input` holds of the body to `out`, and says how many bytes of `input` that
    /// took. What is left belongs to the next message. An error is final.
    pub fn decode(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<usize, BadBody> {
        let mut rest = input;
        loop {
            rest = match self.state {
                BodyState::Bad(bad) => return Err(bad),
                BodyState::Complete => break,
                _ if rest.is_empty() => break,
                BodyState::Length(left) => {
                    let (left, rest) = pass(left, rest, out);
                    self.state =
                        if left == 0 { BodyState::Complete } else { BodyState::Length(left) };
                    rest
                }
                BodyState::Data(left) => {
                    let (left, rest) = pass(left, rest, out);
                    self.state = if left == 0 { BodyState::DataCr } else { BodyState::Data(left) };
                    rest
                }
                // A body without a declared length is counted as it comes in.
                BodyState::UntilClose => match self.spend(rest.len()) {
                    Ok(()) => pass(u64::MAX, rest, out).1,
                    Err(bad) => return self.fail(bad),
                },
                state => {
                    let Some((byte, rest)) = rest.split_first() else { break };
                    match self.step(state, *byte) {
                        Ok(state) => self.state = state,
                        Err(bad) => return self.fail(bad),
                    }
                    rest
                }
            };
        }
        Ok(input.len() - rest.len())
    }

    pub fn is_complete(&self) -> bool {
        matches!(self.state, BodyState::Complete)
    }

    /// The stream has ended: was that the end of the body?
    pub fn end(&mut self) -> Result<(), BadBody> {
        match self.state {
            BodyState::Complete => Ok(()),
            BodyState::UntilClose => {
                self.state = BodyState::Complete;
                Ok(())
            }
            BodyState::Bad(bad) => Err(bad),
            // Ended within a declared length or between chunks: the message is incomplete (RFC
            // 9112, 8).
            _ => {
                self.state = BodyState::Bad(BadBody::Truncated);
                Err(BadBody::Truncated)
            }
        }
    }

    /// One byte of the framing. Lines end with CR LF and nothing else here: a lone LF or CR is
    /// where chunk readers disagree.
    fn step(&mut self, state: BodyState, byte: u8) -> Result<BodyState, BadBody> {
        match (state, byte) {
            (BodyState::Size { digits: 1.., value }, b'\r') => Ok(BodyState::SizeLf(value)),
            (BodyState::Size { digits: 1.., value }, b' ' | b'\t' | b';') => {
                self.skipped = 0;
                Ok(if byte == b';' {
                    BodyState::Extension(value)
                } else {
                    BodyState::Padding(value)
                })
            }
            (BodyState::Size { value, digits }, _) => {
                let digit = char::from(byte).to_digit(16).ok_or(BadBody::BadChunk)?;
                // Sixteen digits fill the number; zeros in front have no good reason.
                let digits = if digits < 16 { digits + 1 } else { return Err(BadBody::BadChunk) };
                Ok(BodyState::Size { value: (value << 4) | u64::from(digit), digits })
            }
            (BodyState::Padding(value) | BodyState::Extension(value), b'\r') => {
                Ok(BodyState::SizeLf(value))
            }
            (BodyState::Padding(value), b';') => Ok(BodyState::Extension(value)),
            (BodyState::Padding(_), b' ' | b'\t') => self.skip(state, EXTENSION_LIMIT),
            (BodyState::Extension(_), _) if is_text(byte) => self.skip(state, EXTENSION_LIMIT),
            (BodyState::SizeLf(0), b'\n') => {
                self.skipped = 0;
                Ok(BodyState::Trailer { blank: true })
            }
            (BodyState::SizeLf(size), b'\n') => {
                // The size alone is enough: a chunk over the limit is refused before its bytes
                // come.
                self.budget = self.budget.checked_sub(size).ok_or(BadBody::TooLarge)?;
                Ok(BodyState::Data(size))
            }
            (BodyState::DataCr, b'\r') => Ok(BodyState::DataLf),
            (BodyState::DataLf, b'\n') => Ok(NEXT_CHUNK),
            (BodyState::Trailer { blank }, b'\r') => Ok(BodyState::TrailerLf { blank }),
            (BodyState::Trailer { .. }, _) if is_text(byte) => {
                self.skip(BodyState::Trailer { blank: false }, TRAILER_LIMIT)
            }
            (BodyState::TrailerLf { blank: true }, b'\n') => Ok(BodyState::Complete),
            (BodyState::TrailerLf { blank: false }, b'\n') => {
                Ok(BodyState::Trailer { blank: true })
            }
            _ => Err(BadBody::BadChunk),
        }
    }

    fn skip(&mut self, next: BodyState, limit: usize) -> Result<BodyState, BadBody> {
        self.skipped += 1;
        if self.skipped > limit { Err(BadBody::BadChunk) } else { Ok(next) }
    }

    fn spend(&mut self, length: usize) -> Result<(), BadBody> {
        let length = u64::try_from(length).unwrap_or(u64::MAX);
        self.budget = self.budget.checked_sub(length).ok_or(BadBody::TooLarge)?;
        Ok(())
    }

    fn fail(&mut self, bad: BadBody) -> Result<usize, BadBody> {
        self.state = BodyState::Bad(bad);
        Err(bad)
    }
}

/// Moves at most `left` bytes from `input` to `out`: what is then left of both.
fn pass<'i>(left: u64, input: &'i [u8], out: &mut Vec<u8>) -> (u64, &'i [u8]) {
    let most = usize::try_from(left).unwrap_or(usize::MAX);
    let (taken, rest) = input.split_at_checked(most).unwrap_or((input, &[]));
    out.extend_from_slice(taken);
    (left.saturating_sub(u64::try_from(taken.len()).unwrap_or(u64::MAX)), rest)
}

fn is_text(byte: u8) -> bool {
    crate::head::is_value_byte(byte)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cut::cut;
    use proptest::prelude::*;

    /// What is decoded, and what is left of the pieces; or the error.
    fn feed(body: &mut Body, pieces: &[&[u8]]) -> Result<(Vec<u8>, Vec<u8>), BadBody> {
        let (mut out, mut left) = (Vec::new(), Vec::new());
        for piece in pieces {
            let taken = body.decode(piece, &mut out)?;
            assert!(taken == piece.len() || body.is_complete(), "stopped at {taken} in {piece:?}");
            left.extend_from_slice(&piece[taken..]);
        }
        Ok((out, left))
    }

    fn chunked(bytes: &[u8]) -> Result<(String, String), BadBody> {
        let mut body = Body::new(Framing::Chunked, 1000);
        let (out, left) = feed(&mut body, &[bytes])?;
        body.end()?;
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Ok((text(out), text(left)))
    }

    #[test]
    fn no_body_takes_nothing() {
        for framing in [Framing::None, Framing::Length(0)] {
            let mut body = Body::new(framing, 0);
            assert!(body.is_complete());
            assert_eq!(feed(&mut body, &[b"next"]), Ok((vec![], b"next".to_vec())));
            assert_eq!(body.end(), Ok(()));
        }
    }

    #[test]
    fn a_length_is_taken_exactly() {
        let mut body = Body::new(Framing::Length(5), 5);
        assert_eq!(feed(&mut body, &[b"ab", b"", b"cdeNEXT"]).unwrap().1, b"NEXT");
        assert!(body.is_complete());
        let mut body = Body::new(Framing::Length(5), 5);
        feed(&mut body, &[b"abcd"]).unwrap();
        assert!(!body.is_complete());
        assert_eq!(body.end(), Err(BadBody::Truncated));
        assert_eq!(body.decode(b"e", &mut Vec::new()), Err(BadBody::Truncated));
    }

    #[test]
    fn until_close_ends_with_the_stream() {
        let mut body = Body::new(Framing::UntilClose, 4);
        assert_eq!(feed(&mut body, &[b"ab", b"cd"]).unwrap().0, b"abcd");
        assert!(!body.is_complete());
        assert_eq!(body.end(), Ok(()));
        assert!(body.is_complete());
    }

    #[test]
    fn chunks() {
        for (bytes, out, left) in [
            ("0\r\n\r\n", "", ""),
            ("3\r\nabc\r\n0\r\n\r\nNEXT", "abc", "NEXT"),
            ("1\r\na\r\n0000000000000002\r\nbc\r\n0\r\n\r\n", "abc", ""),
            ("A\r\n0123456789\r\n00\r\n\r\n", "0123456789", ""),
            ("a\r\n01234\r\n\r\n6\r\n0\r\n\r\n", "01234\r\n\r\n6", ""),
            ("3;a=b;c=\"d\"\r\nabc\r\n0;x\r\n\r\n", "abc", ""),
            ("3 \t\r\nabc\r\n0 ; x = y\r\n\r\n", "abc", ""),
            ("1\r\na\r\n0\r\nDigest: x\r\nB: y\r\n\r\nNEXT", "a", "NEXT"),
        ] {
            assert_eq!(chunked(bytes.as_bytes()), Ok((out.into(), left.into())), "{bytes:?}");
        }
    }

    #[test]
    fn chunks_that_two_readers_could_take_differently_are_refused() {
        for bytes in [
            "\r\n",
            "x\r\n",
            "-1\r\n",
            "+1\r\na\r\n0\r\n\r\n",
            "0x1\r\na\r\n0\r\n\r\n",
            " 1\r\na\r\n0\r\n\r\n",
            "1 1\r\n",
            ";\r\n",
            // lines that end with LF or CR alone
            "1\na\r\n0\r\n\r\n",
            "1\r\na\n0\r\n\r\n",
            "1\r\na\r0\r\n\r\n",
            "1\ra\r\n0\r\n\r\n",
            "1;x\na\r\n0\r\n\r\n",
            "1;x\ry\r\na\r\n0\r\n\r\n",
            "1\r\na\r\n0\n\r\n",
            "1\r\na\r\n0\r\n\n",
            "0\r\nX: y\n\r\n",
            "0\r\nX: y\rZ: a\r\n\r\n",
            "1;\0\r\na\r\n0\r\n\r\n",
            // longer or shorter than announced
            "1\r\nab\r\n0\r\n\r\n",
            "2\r\na\r\n0\r\n\r\n",
            // a size that would not fit
            "10000000000000000\r\n",
            "00000000000000001\r\na\r\n0\r\n\r\n",
        ] {
            assert_eq!(chunked(bytes.as_bytes()), Err(BadBody::BadChunk), "{bytes:?}");
        }
    }

    #[test]
    fn a_chunked_body_ends_with_its_last_chunk_only() {
        let whole = b"3;x\r\nabc\r\n0\r\nT: u\r\n\r\n";
        for length in 0..whole.len() {
            assert_eq!(chunked(&whole[..length]), Err(BadBody::Truncated), "{length}");
        }
    }

    #[test]
    fn extensions_and_trailers_have_limits() {
        let extension = |length| format!("1;{}\r\na\r\n0\r\n\r\n", "x".repeat(length));
        assert!(chunked(extension(EXTENSION_LIMIT).as_bytes()).is_ok());
        assert_eq!(chunked(extension(EXTENSION_LIMIT + 1).as_bytes()), Err(BadBody::BadChunk));
        let many = format!("{}0\r\n\r\n", format!("1;{}\r\na\r\n", "x".repeat(900)).repeat(50));
        assert!(chunked(many.as_bytes()).is_ok(), "the limit is per chunk");
        let padded = format!("1{}\r\n", " ".repeat(EXTENSION_LIMIT + 2));
        assert_eq!(chunked(padded.as_bytes()), Err(BadBody::BadChunk));
        let trailer = format!("0\r\n{}\r\n", "Name: value\r\n".repeat(TRAILER_LIMIT / 11 + 1));
        assert_eq!(chunked(trailer.as_bytes()), Err(BadBody::BadChunk));
    }

    #[test]
    fn the_limit_holds_for_every_framing() {
        for (framing, fits, exceeds) in [
            (Framing::Length(4), &b""[..], &b""[..]),
            (Framing::UntilClose, b"abc", b"d"),
            (Framing::Chunked, b"3\r\nabc\r\n", b"1\r\n"),
            (Framing::Chunked, b"3\r\nabc\r\n", b"ffffffffffffffff\r\n"),
        ] {
            let mut body = Body::new(framing, 3);
            if !fits.is_empty() {
                feed(&mut body, &[fits]).unwrap();
            }
            let mut out = Vec::new();
            for _ in 0..2 {
                let refused = body.decode(exceeds, &mut out);
                assert_eq!(refused, Err(BadBody::TooLarge), "{framing:?}");
            }
            assert_eq!(body.end(), Err(BadBody::TooLarge));
            assert!(out.is_empty() && !body.is_complete());
        }
        let mut body = Body::new(Framing::Chunked, 3);
        assert!(feed(&mut body, &[b"3\r\nabc\r\n0\r\n\r\n"]).is_ok());
    }

    #[test]
    fn the_statuses() {
        let statuses = [BadBody::TooLarge, BadBody::BadChunk, BadBody::Truncated];
        assert_eq!(statuses.map(BadBody::status), [413, 400, 400]);
    }

    fn wire(chunks: &[Vec<u8>], extension: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        for chunk in chunks.iter().filter(|chunk| !chunk.is_empty()) {
            bytes.extend_from_slice(format!("{:X}{extension}\r\n", chunk.len()).as_bytes());
            bytes.extend_from_slice(chunk);
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(b"0\r\nTrailer: x\r\n\r\nNEXT");
        bytes
    }

    proptest! {
        #[test]
        fn any_pieces_give_the_same_body(
            chunks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..8),
            extension in prop_oneof![Just(""), Just(";a=b"), Just(" ; c")],
            cuts in proptest::collection::vec(1_usize..9, 1..40),
        ) {
            let bytes = wire(&chunks, extension);
            let mut body = Body::new(Framing::Chunked, usize::MAX);
            let (out, left) = feed(&mut body, &cut(&bytes, &cuts)).unwrap();
            prop_assert_eq!(out, chunks.concat());
            prop_assert_eq!(left, b"NEXT");
            prop_assert!(body.is_complete());
        }

        /// Also of nonsense: the same bytes or the same error, however it is cut.
        #[test]
        fn any_pieces_of_nonsense_give_the_same(
            bytes in proptest::collection::vec(
                prop_oneof![Just(b'\r'), Just(b'\n'), Just(b'1'), Just(b'0'), Just(b';'), Just(b'2'), Just(b' ')],
                0..40,
            ),
            cuts in proptest::collection::vec(1_usize..5, 1..40),
        ) {
            let whole = feed(&mut Body::new(Framing::Chunked, 20), &[&bytes]);
            let pieces = feed(&mut Body::new(Framing::Chunked, 20), &cut(&bytes, &cuts));
            prop_assert_eq!(whole, pieces);
        }
    }
}
