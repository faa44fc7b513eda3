//! Gives freed memory back to the system: a service runs for weeks.
#![expect(unsafe_code, reason = "the C library has no safe interface for it")]

use std::convert::Infallible;
use std::time::Duration;

use tokio::time::sleep;

/// Between two looks; a trim of a large heap takes milliseconds.
const PAUSE: Duration = Duration::from_secs(5);
/// Below this, in pages of usually 4 KiB, there is nothing worth giving back.
const MUCH: usize = 32 << 8;

/// Answers of megabytes to clients that read slowly leave holes between what is still in use, and the
/// allocator keeps them for itself until it is told.
pub(crate) async fn give_back() -> Infallible {
    loop {
        sleep(PAUSE).await;
        // Looked at first: a trim takes the allocator's lock, and a small process has nothing to
        // give.
        if resident_pages().is_some_and(|pages| pages > MUCH) {
            trim();
        }
    }
}

fn resident_pages() -> Option<usize> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    statm.split(' ').nth(1)?.parse().ok()
}

#[cfg(target_env = "gnu")]
fn trim() {
    use std::ffi::c_int;
    // SAFETY: the signature is that of <malloc.h>; it may be called at any time by any thread.
    unsafe extern "C" {
        safe fn malloc_trim(pad: usize) -> c_int;
    }
    malloc_trim(0);
}

/// Other allocators give it back by themselves.
#[cfg(not(target_env = "gnu"))]
fn trim() {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_freed_is_given_back() {
        // Every second block is freed: the rest keeps the allocator from giving anything back.
        let mut blocks: Vec<Vec<u8>> = (0..4096).map(|_| vec![1; 64 << 10]).collect();
        let full = resident_pages().unwrap();
        let mut index = 0;
        blocks.retain(|_| {
            index += 1;
            index % 2 == 0
        });
        trim();
        let trimmed = resident_pages().unwrap();
        assert!(trimmed + (64 << 8) < full, "{full} pages became {trimmed}");
        assert_eq!(blocks.len(), 2048);
    }
}
