//! Who is who among gateways that may be connected in a circle: each has a random name, tells it to
//! the servers it opens, and tells those of its kind who can be reached through it.

use std::collections::BTreeSet;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use memchr::memmem;
use trunkline_wire::{Message, decode, elements, encode_all_into, find, member};

/// Where `_meta` of `initialize` holds the names.
pub(crate) const KEY: &str = "trunkline/instances";

/// More of them are not told: a circle is much smaller.
const MOST: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Instance(String);

impl Instance {
    pub(crate) fn new() -> Self {
        let mut random = [0; 16];
        if rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty()).is_err() {
            // Not secret, only unlikely to be another's.
            let hash = RandomState::new().build_hasher().finish();
            return Self(format!("{hash:016x}"));
        }
        Self(random.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// An array of this name and those others, as JSON.
    pub(crate) fn with<'a>(&self, others: impl Iterator<Item = &'a String>) -> Vec<u8> {
        let others: BTreeSet<&String> = others.collect();
        let others = others.into_iter().take(MOST).map(String::as_str);
        let mut out = Vec::new();
        encode_all_into(std::iter::once(self.0.as_str()).chain(others), &mut out);
        out
    }

    pub(crate) fn is_among(&self, instances: &[String]) -> bool {
        instances.contains(&self.0)
    }
}

/// The names in the result of `initialize`, if there are any.
pub(crate) fn read(result: &[u8]) -> Vec<String> {
    // Lists are long, and next to no server is one of our kind. Without the slash, which may be
    // written in two ways.
    if memmem::find(result, b"instances").is_none() {
        return Vec::new();
    }
    let names = member(result, "_meta").and_then(|meta| member(meta, KEY)).unwrap_or_default();
    let names = elements(names).filter_map(|at| decode(at.of(names)));
    names.take(MOST + 1).map(Into::into).collect()
}

/// Does this `initialize` come from a gateway of our kind?
pub(crate) fn is_asked_for(message: &Message<'_>) -> bool {
    message.params.span.is_some_and(|params| find(message.bytes, params, &["_meta", KEY]).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_and_found_again() {
        let (one, two) = (Instance::new(), Instance::new());
        assert_ne!(one, two);
        let told = one.with(std::iter::once(&two.0));
        let result = [br#"{"_meta":{"trunkline/instances":"#, &told[..], b"}}"].concat();
        let read = read(&result);
        assert_eq!(read, [one.0.clone(), two.0.clone()]);
        assert!(one.is_among(&read) && two.is_among(&read));
        assert!(!Instance::new().is_among(&read));
        assert!(super::read(b"{}").is_empty());
    }
}
