//! The seeds in the repository, and inputs made of them without a fuzzer.

use std::fs;
use std::path::{Path, PathBuf};

/// The files of `fuzz/corpus/TARGET`, in the order of their names.
pub fn seeds(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    let read = |path: PathBuf| fs::read(&path).ok().map(|bytes| (path, bytes));
    paths.into_iter().filter_map(read).collect()
}

/// The input of that number: `seed` with a few small changes, some of them pieces of `other`. The same
/// number makes the same input, so that a failure can be repeated.
pub fn mutated(seed: &[u8], other: &[u8], number: u64) -> Vec<u8> {
    let mut random = Random(number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut bytes = seed.to_vec();
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len() + 1);
        match random.below(6) {
            0 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
            1 if at < bytes.len() => drop(bytes.remove(at)),
            2 => bytes.insert(at, INTERESTING[random.below(INTERESTING.len())]),
            3 => bytes.truncate(at),
            4 => {
                let from = random.below(other.len() + 1);
                let to = from + random.below(other.len() - from + 1);
                drop(bytes.splice(at..at, other[from..to].iter().copied()));
            }
            _ => {
                let to = at + random.below(bytes.len() - at + 1);
                let piece = bytes[at..to].to_vec();
                drop(bytes.splice(at..at, piece));
            }
        }
    }
    bytes
}

/// Bytes that mean something to one of the parsers.
const INTERESTING: &[u8] = b"\0\t\n\r \"#%&',-./0:;<=>?@[\\]_{|}~\x7f\x80\xbf\xc3\xed\xef\xf4\xff";

/// Xorshift: repeatable, and needs no library.
struct Random(u64);

impl Random {
    /// A number below `most`; 0 if there is none.
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        match u64::try_from(most) {
            Ok(most) if most > 0 => usize::try_from(self.0 % most).unwrap_or_default(),
            _ => 0,
        }
    }
}
