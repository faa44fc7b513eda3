//! `KeyedCall`: a call as it is known under its idempotency key, in digests: nobody who keeps them learns the key, the
//! caller or the arguments.

use std::fmt::Write as _;

use ring::digest::{Context, SHA256};
use trunkline_catalog::pins::canonical;

/// Bytes of a key.
const LONGEST: usize = 255;
/// Characters of a round.
const ROUND: usize = 32;

/// The key, if it can be one: some characters, none of them a control character.
pub fn idempotency_key(text: &str) -> Option<&str> {
    let fits = (1..=LONGEST).contains(&text.len()) && !text.contains(char::is_control);
    fits.then_some(text)
}

/// A call that carries a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyedCall {
    /// The caller, the tool and the key.
    pub id: String,
    /// How and with what the tool is called: another call under the same key is a mistake of its caller.
    pub request: String,
    /// What the server was told that has asked something; empty for the first round.
    pub round: String,
}

impl KeyedCall {
    /// `tool`: the id of its server, and its name there. `interface`: answers of two differ for the same call. The order
    /// and the spelling of arguments do not matter.
    pub fn new(
        (caller, key): (&[u8], &str),
        (server, tool): (&str, &str),
        interface: &str,
        arguments: &[u8],
    ) -> Self {
        let id = digest(&[caller, server.as_bytes(), tool.as_bytes(), key.as_bytes()]);
        // No arguments and none given are the same call.
        let arguments = if arguments.is_empty() { b"{}" } else { arguments };
        let request = digest(&[interface.as_bytes(), &canonical(arguments)]);
        Self { id, request, round: String::new() }
    }

    /// The round of the call in which its server is told what it has asked.
    #[must_use]
    pub fn answering(self, state: &[u8], answers: &[u8]) -> Self {
        let mut round = digest(&[state, answers]);
        // Enough to tell the rounds of one call apart, and all of them are kept.
        round.truncate(ROUND);
        Self { round, ..self }
    }
}

fn digest(parts: &[&[u8]]) -> String {
    let mut whole = Context::new(&SHA256);
    for part in parts {
        // With the length in front, so that no two lists are one.
        whole.update(&u64::try_from(part.len()).unwrap_or(u64::MAX).to_le_bytes());
        whole.update(part);
    }
    whole.finish().as_ref().iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}"); // a text takes everything
        hex
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_a_call_another_and_what_does_not() {
        let call = |caller: &str, key: &str, tool, interface, arguments: &str| {
            KeyedCall::new((caller.as_bytes(), key), ("s", tool), interface, arguments.as_bytes())
        };
        let one = call("a", "k", "t", "rest", r#"{"x":1,"y":"A"}"#);
        let same = call("a", "k", "t", "rest", r#"{ "y" : "\u0041", "x":1 }"#);
        assert_eq!(one, same);
        assert_eq!(call("a", "k", "t", "rest", ""), call("a", "k", "t", "rest", "{}"));
        for other in [call("b", "k", "t", "rest", "{}"), call("a", "l", "t", "rest", "{}")] {
            assert_ne!(one.id, other.id);
        }
        assert_ne!(one.id, call("a", "k", "u", "rest", "{}").id);
        assert_ne!(call("ab", "k", "t", "", "").id, call("a", "bk", "t", "", "").id);
        for other in [
            call("a", "k", "t", "rest", r#"{"x":1.0,"y":"A"}"#),
            call("a", "k", "t", "session", r#"{"x":1,"y":"A"}"#),
        ] {
            assert_eq!(one.id, other.id);
            assert_ne!(one.request, other.request);
        }
        let round = one.clone().answering(b"state", b"{}");
        assert_eq!((&round.id, &round.request), (&one.id, &one.request));
        assert_ne!(round.round, one.round);
    }

    #[test]
    fn what_can_be_a_key() {
        for (text, expected) in [
            ("8e03978e-40d5-43e8-bc93-6894a57f9324", true),
            ("a b", true),
            ("é", true),
            ("", false),
            ("a\nb", false),
            ("\u{7f}", false),
        ] {
            assert_eq!(idempotency_key(text).is_some(), expected, "{text:?}");
        }
        assert!(idempotency_key(&"x".repeat(255)).is_some());
        assert!(idempotency_key(&"x".repeat(256)).is_none());
    }
}
