//! What Trunkline tells servers it can do for them: what its clients can.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;
use trunkline_wire::{encode_into, members};

/// The capabilities declared to servers.
#[derive(Clone, Debug)]
pub struct Declared(watch::Sender<Option<Arc<[u8]>>>);

/// For clients yet unknown: everything that can be passed on. Who cannot is not asked.
const EVERYTHING: &[u8] = br#"{"roots":{"listChanged":true},"sampling":{"context":{},"tools":{}},"elicitation":{"form":{},"url":{}}}"#;

/// A client says `initialize` at once; whoever says nothing for so long gets servers that were told
/// of everything.
const PATIENCE: Duration = Duration::from_secs(2);

/// What a client declares and Trunkline passes on. Its tasks, for one, it cannot.
const PASSED_ON: [&str; 5] = ["roots", "sampling", "elicitation", "experimental", "extensions"];

impl Declared {
    /// Many clients: everything that can be passed on.
    pub fn everything() -> Self {
        Self(watch::Sender::new(Some(EVERYTHING.into())))
    }

    /// No client will ever be asked anything.
    pub fn nothing() -> Self {
        Self(watch::Sender::new(Some((*b"{}").into())))
    }

    /// One client, which has not said yet what it can do.
    pub fn of_the_client() -> Self {
        Self(watch::Sender::new(None))
    }

    /// The client has said what it can do. Only its first word counts: true if it was that.
    pub(crate) fn settle(&self, capabilities: &[u8]) -> bool {
        self.0.send_if_modified(|declared| {
            // Servers that are running were told already: what a later client can do is checked
            // when it is asked.
            let first = declared.is_none();
            if first {
                *declared = Some(passed_on(capabilities).into());
            }
            first
        })
    }

    /// What servers are told now; `None`: the client has not said it yet.
    pub(crate) fn now(&self) -> Option<Arc<[u8]>> {
        self.0.borrow().clone()
    }

    pub(crate) async fn get(&self) -> Arc<[u8]> {
        let mut declared = self.0.subscribe();
        let said = timeout(PATIENCE, declared.wait_for(Option::is_some)).await;
        let said = said.ok().and_then(|said| said.ok()?.clone());
        said.unwrap_or_else(|| EVERYTHING.into())
    }
}

/// For which clients a server lists that was told this, where it was not told of everything: it may list by that.
pub(in crate::upstream) fn particular(told: &[u8]) -> Option<&[u8]> {
    (told != EVERYTHING).then_some(told)
}

/// Of what a client can do, what servers are told of.
pub(crate) fn passed_on(capabilities: &[u8]) -> Vec<u8> {
    let passed = members(capabilities).filter(|(key, _)| PASSED_ON.contains(&&**key));
    object_of(passed.map(|(key, value)| (key, value.of(capabilities))))
}

/// The JSON of these members, their values as they are.
pub(crate) fn object_of<'a>(members: impl Iterator<Item = (Cow<'a, str>, &'a [u8])>) -> Vec<u8> {
    let mut out = vec![b'{'];
    for (key, value) in members {
        if out.len() > 1 {
            out.push(b',');
        }
        encode_into(&key, &mut out);
        out.push(b':');
        out.extend_from_slice(value);
    }
    out.push(b'}');
    out
}

impl Default for Declared {
    fn default() -> Self {
        Self::everything()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_first_word_counts() {
        for first in [&b"{}"[..], br#"{"roots":{}}"#] {
            let client = Declared::of_the_client();
            client.settle(first);
            client.settle(br#"{"sampling":{}}"#);
            assert_eq!(&*client.get().await, first);
        }
    }

    #[test]
    fn what_can_be_passed_on_is_declared_as_the_client_spelt_it() {
        for (client, expected) in [
            ("{}", "{}"),
            (r#"{"roots":{"listChanged":true},"tasks":{}}"#, r#"{"roots":{"listChanged":true}}"#),
            (
                r#"{"sampling":{ },"x":1,"elicitation":{"url":{}}}"#,
                r#"{"sampling":{ },"elicitation":{"url":{}}}"#,
            ),
            ("5", "{}"),
        ] {
            assert_eq!(String::from_utf8(passed_on(client.as_bytes())).unwrap(), expected);
        }
    }
}
