//! `RequestToken`: what the head of a request between replicas shows, so that its body is read at all; and the
//! proof in the head of its answer.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ring::rand::{SecureRandom as _, SystemRandom};
use trunkline_http::Request;

use super::FORWARD;
use crate::era::{FOR_EVER, ReplicaId, Seal, SealUse};
use crate::limits::FORWARD_SECONDS;
use crate::replicas::ReplicaAnswer;

/// The header of a request that another replica sends.
pub(super) const REQUEST: &str = "Trunkline-Request";
/// The header of its answer.
pub(crate) const ANSWER: &str = "Trunkline-Answer";

/// It was meant for a replica that is not here.
pub(crate) const MISDIRECTED: u16 = 421;
/// It came before, or cannot be remembered.
pub(crate) const SEEN_BEFORE: u16 = 409;

pub(super) type RequestNumber = [u8; 16];

/// One request from one replica to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RequestToken {
    /// For whom it is.
    pub(crate) to: ReplicaId,
    /// It is taken once.
    pub(super) number: RequestNumber,
    /// The second of the shared clock from which on it is worth nothing.
    pub(super) expires: u64,
}

impl RequestToken {
    /// Before it is known for whom it is.
    pub(super) const NONE: Self = Self { to: ReplicaId(0), number: [0; 16], expires: 0 };

    /// A new one; `None`: there are no random numbers.
    pub(super) fn new(seal: &Seal, to: ReplicaId) -> Option<Self> {
        let mut number = [0; 16];
        SystemRandom::new().fill(&mut number).ok()?;
        Some(Self { to, number, expires: seal.now() + FORWARD_SECONDS })
    }

    pub(super) fn header(&self, seal: &Seal) -> Option<String> {
        let what =
            [&self.to.0.to_le_bytes()[..], &self.number, &self.expires.to_le_bytes()].concat();
        let sealed = seal.seal_bytes(SealUse::Replica, &what, self.expires, &[b"request"])?;
        Some(BASE64_STANDARD.encode(sealed))
    }

    /// The token of a request between replicas. `None`: it is none, or it is forged or too old.
    pub(crate) fn of(request: &Request<'_>, seal: &Seal) -> Option<Self> {
        if request.method != "POST" || request.path() != FORWARD {
            return None;
        }
        let shown = request.headers.once(REQUEST).ok().flatten()?;
        let sealed = BASE64_STANDARD.decode(shown).ok()?;
        let opened = seal.open_bytes(SealUse::Replica, &sealed, &[b"request"]).ok()?;
        let (to, rest) = opened.split_first_chunk()?;
        let (number, expires) = rest.split_first_chunk()?;
        let expires = u64::from_le_bytes(expires.try_into().ok()?);
        Some(Self { to: ReplicaId(u64::from_le_bytes(*to)), number: *number, expires })
    }

    pub(super) fn seal_body(&self, seal: &Seal, body: &[u8]) -> Option<Vec<u8>> {
        seal.seal_bytes(SealUse::Replica, body, self.expires, &[b"body", &self.number])
    }

    pub(crate) fn open_body(&self, seal: &Seal, body: &[u8]) -> Option<Vec<u8>> {
        seal.open_bytes(SealUse::Replica, body, &[b"body", &self.number]).ok()
    }

    /// The value of the header that shows who answers.
    pub(crate) fn proof(&self, seal: &Seal) -> Option<String> {
        let bound: [&[u8]; 2] = [b"answer", &self.number];
        let sealed = seal.seal_bytes(SealUse::Replica, b"", FOR_EVER, &bound)?;
        Some(BASE64_STANDARD.encode(sealed))
    }

    /// Has a replica answered, and this very request?
    pub(super) fn is_answered_by(&self, seal: &Seal, answer: &ReplicaAnswer) -> bool {
        let shown = answer.header(ANSWER).and_then(|shown| BASE64_STANDARD.decode(shown).ok());
        let bound: [&[u8]; 2] = [b"answer", &self.number];
        shown.is_some_and(|shown| seal.open_bytes(SealUse::Replica, &shown, &bound).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use trunkline_http::request;

    use super::*;

    fn read(seal: &Seal, method: &str, path: &str, header: &str) -> Option<RequestToken> {
        let head = format!("{method} {path} HTTP/1.1\r\nHost: a\r\n{header}\r\n");
        RequestToken::of(&request(head.as_bytes()).unwrap().unwrap().0, seal)
    }

    #[test]
    fn a_token_is_read_by_who_has_the_key_while_it_is_new_and_in_its_place() {
        let seal: Arc<Seal> = Seal::of_process().unwrap();
        let token = RequestToken::new(&seal, ReplicaId(7)).unwrap();
        let shown = format!("{REQUEST}: {}\r\n", token.header(&seal).unwrap());
        assert_eq!(read(&seal, "POST", FORWARD, &shown), Some(token));
        for (method, path, header) in [
            ("GET", FORWARD, shown.clone()),
            ("POST", "/mcp", shown.clone()),
            ("POST", FORWARD, String::new()),
            ("POST", FORWARD, format!("{shown}{shown}")),
            ("POST", FORWARD, format!("{REQUEST}: x\r\n")),
            ("POST", FORWARD, format!("{REQUEST}: {}\r\n", token.proof(&seal).unwrap())),
        ] {
            assert_eq!(read(&seal, method, path, &header), None, "{method} {path} {header}");
        }
        assert_eq!(read(&Seal::of_process().unwrap(), "POST", FORWARD, &shown), None);
        seal.set_clock(seal.now() + FORWARD_SECONDS);
        assert_eq!(read(&seal, "POST", FORWARD, &shown), None);
    }

    #[test]
    fn a_body_and_an_answer_belong_to_one_request() {
        let seal = Seal::of_process().unwrap();
        let [one, other] = [0, 1].map(|_| RequestToken::new(&seal, ReplicaId(7)).unwrap());
        let body = one.seal_body(&seal, b"body").unwrap();
        assert_eq!(one.open_body(&seal, &body), Some(b"body".to_vec()));
        assert_eq!(other.open_body(&seal, &body), None);
        assert!(!body.windows(4).any(|part| part == b"body"));
        struct Nothing;
        impl crate::replicas::ReplicaBody for Nothing {
            fn next(
                &mut self,
            ) -> crate::replicas::WaitingFor<'_, Option<Result<bytes::Bytes, String>>> {
                Box::pin(std::future::ready(None))
            }
        }
        let answer = ReplicaAnswer {
            status: 200,
            headers: vec![("trunkline-answer".to_owned(), one.proof(&seal).unwrap().into_bytes())],
            body: Box::new(Nothing),
        };
        assert!(one.is_answered_by(&seal, &answer) && !other.is_answered_by(&seal, &answer));
        let nothing = ReplicaAnswer { headers: Vec::new(), ..answer };
        assert!(!one.is_answered_by(&seal, &nothing));
    }
}
