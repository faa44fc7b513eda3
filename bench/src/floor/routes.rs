//! Which server a tool name begins with.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// From a server's name to its number.
pub(super) type Routes = HashMap<Vec<u8>, usize, BuildHasherDefault<Fnv>>;

/// FNV-1a: server names are short and ours.
#[derive(Debug)]
pub(super) struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}
