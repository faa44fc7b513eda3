//! Puts an answer together from the bytes as they come. Pure.

use trunkline_http::{BadBody, Body, response};

use crate::net::response::Response;

/// Interim answers (100, 103) that are put up with before the real one.
const INTERIM: u8 = 8;

/// An answer on its way in.
#[derive(Debug)]
pub(super) struct Receiving {
    state: State,
    limit: usize,
    to_head: bool,
    interim: u8,
}

#[derive(Debug)]
enum State {
    /// The bytes so far.
    Head(Vec<u8>),
    Body(Response, Body),
    Done,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fault {
    TooBig,
    Malformed(String),
}

impl Receiving {
    pub(super) fn new(limit: usize, to_head: bool) -> Self {
        Self { state: State::Head(Vec::new()), limit, to_head, interim: 0 }
    }

    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    /// Takes more bytes; the answer once it is complete. What comes behind it is not looked at.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Result<Option<Response>, Fault> {
        let rest = match std::mem::replace(&mut self.state, State::Done) {
            State::Head(mut head) => {
                head.extend_from_slice(bytes);
                match self.head(head)? {
                    Some(rest) => rest,
                    None => return Ok(None),
                }
            }
            body => {
                self.state = body;
                bytes.to_vec()
            }
        };
        let State::Body(answer, body) = &mut self.state else { return Ok(None) };
        body.decode(&rest, &mut answer.body).map_err(bad_body)?;
        if body.is_complete() { Ok(self.finish()) } else { Ok(None) }
    }

    /// The stream has ended.
    pub(super) fn end(&mut self) -> Result<Response, Fault> {
        match &mut self.state {
            State::Head(bytes) if bytes.is_empty() => {
                Err(Fault::Malformed("the connection ended without one".to_owned()))
            }
            State::Body(_, body) => {
                body.end().map_err(bad_body)?;
                self.finish().ok_or_else(ended_early)
            }
            State::Head(_) | State::Done => Err(ended_early()),
        }
    }

    /// Reads heads until the real one; what follows it, or `None` when more is needed.
    fn head(&mut self, mut bytes: Vec<u8>) -> Result<Option<Vec<u8>>, Fault> {
        loop {
            let parsed = response(&bytes).map_err(|bad| Fault::Malformed(bad.to_string()))?;
            let Some((head, length)) = parsed else {
                self.state = State::Head(bytes);
                return Ok(None);
            };
            if head.is_interim() {
                self.interim += 1;
                if self.interim > INTERIM {
                    return Err(Fault::Malformed("too many interim answers".to_owned()));
                }
                bytes.drain(..length);
                continue;
            }
            if head.status == 101 {
                return Err(Fault::Malformed("it switches to another protocol".to_owned()));
            }
            let framing = head.body(self.to_head);
            let framing = framing.map_err(|bad| Fault::Malformed(bad.to_string()))?;
            let headers = head.headers.iter();
            let headers = headers.map(|(name, value)| (name.to_owned(), value.to_vec())).collect();
            let answer = Response { status: head.status, headers, body: Vec::new() };
            bytes.drain(..length);
            self.state = State::Body(answer, Body::new(framing, self.limit));
            return Ok(Some(bytes));
        }
    }

    fn finish(&mut self) -> Option<Response> {
        match std::mem::replace(&mut self.state, State::Done) {
            State::Body(answer, _) => Some(answer),
            _ => None,
        }
    }
}

fn ended_early() -> Fault {
    Fault::Malformed("it ended early".to_owned())
}

fn bad_body(bad: BadBody) -> Fault {
    match bad {
        BadBody::TooLarge => Fault::TooBig,
        bad => Fault::Malformed(bad.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn whole(bytes: &[u8], piece: usize) -> Result<Response, Fault> {
        let mut receiving = Receiving::new(10, false);
        for piece in bytes.chunks(piece) {
            if let Some(answer) = receiving.take(piece)? {
                return Ok(answer);
            }
        }
        receiving.end()
    }

    #[test]
    fn answers_of_every_framing() {
        for (bytes, status, body) in [
            (&b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcXXX"[..], 200, &b"abc"[..]),
            (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n", 200, b"abc"),
            (b"HTTP/1.1 404 No\r\n\r\nabc", 404, b"abc"),
            (b"HTTP/1.0 200 OK\r\n\r\n", 200, b""),
            (b"HTTP/1.1 204 None\r\n\r\n", 204, b""),
            (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na", 200, b"a"),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789", 200, b"0123456789"),
        ] {
            for piece in [1, 7, 10_000] {
                let answer = whole(bytes, piece).unwrap();
                assert_eq!((answer.status, answer.body.as_slice()), (status, body));
            }
        }
    }

    #[test]
    fn an_answer_to_head_has_no_body() {
        let mut receiving = Receiving::new(10, true);
        let answer = receiving.take(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n").unwrap();
        assert_eq!(answer.unwrap().body, b"");
    }

    #[test]
    fn what_is_no_answer() {
        let malformed = |words: &str| Fault::Malformed(words.to_owned());
        let endless = b"HTTP/1.1 100 Continue\r\n\r\n".repeat(20);
        for (bytes, fault) in [
            (&b""[..], malformed("the connection ended without one")),
            (b"HTTP/1.1 200 OK\r\nContent-Le", malformed("it ended early")),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", malformed("the body ended early")),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n", Fault::TooBig),
            (b"HTTP/1.1 200 OK\r\n\r\n01234567890", Fault::TooBig),
            (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nb\r\n", Fault::TooBig),
            (
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nz\r\n",
                malformed("the chunked body is malformed"),
            ),
            (
                b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
                malformed("Content-Length and Transfer-Encoding exclude each other"),
            ),
            (b"HTTP/1.1 101 Switch\r\n\r\n", malformed("it switches to another protocol")),
            (&endless, malformed("too many interim answers")),
        ] {
            assert_eq!(whole(bytes, 10_000).unwrap_err(), fault);
        }
    }

    proptest! {
        #[test]
        fn any_chunking_gives_the_same_answer(body in "[a-z]{0,10}", piece in 1_usize..60) {
            let text = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
            let answer = whole(text.as_bytes(), piece).unwrap();
            prop_assert_eq!(answer.body, body.into_bytes());
        }
    }
}
