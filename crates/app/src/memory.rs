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

/// Gives back what only the start of a small process has needed: free memory, and pages of program files,
/// which the kernel reads again when they are used.
pub(crate) fn shrink() {
    trim();
    let maps = std::fs::read_to_string("/proc/self/smaps").unwrap_or_default();
    for (start, length) in clean_mappings(&maps) {
        drop_pages(start, length);
    }
}

/// The mappings of files that hold nothing but what is in the file: private, never written (no anonymous and
/// no swapped page: a relocated table has some), and not to be written.
fn clean_mappings(smaps: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut current = None;
    for line in smaps.lines() {
        let mut words = line.split_ascii_whitespace();
        let first = words.next().unwrap_or_default();
        if let Some((start, end)) = first.split_once('-') {
            let (permissions, inode) = (words.next().unwrap_or_default(), words.nth(2));
            let is_of_file = inode.is_some_and(|inode| inode != "0");
            let is_fixed = permissions.ends_with('p') && !permissions.contains('w');
            let address = |text| usize::from_str_radix(text, 16).ok();
            let range = address(start).zip(address(end));
            current = range.filter(|_| is_of_file && is_fixed);
        } else if matches!(first, "Anonymous:" | "Swap:") && words.next() != Some("0") {
            current = None;
        } else if first == "VmFlags:" {
            found.extend(current.take().map(|(start, end)| (start, end - start)));
        }
    }
    found
}

#[cfg(target_os = "linux")]
fn drop_pages(start: usize, length: usize) {
    use std::ffi::{c_int, c_void};
    const DONTNEED: c_int = 4;
    // SAFETY: the signature is that of <sys/mman.h>.
    unsafe extern "C" {
        fn madvise(start: *mut c_void, length: usize, advice: c_int) -> c_int;
    }
    // SAFETY: `clean_mappings` names pages that are exactly those of their file and that nobody can write, so
    // that dropping them loses nothing: the next access reads them again.
    unsafe { madvise(start as *mut c_void, length, DONTNEED) };
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
    fn only_pages_that_a_file_still_has_are_dropped() {
        let entry = |head: &str, anonymous: u32, swap: u32| {
            format!("{head}\nRss: 8 kB\nAnonymous: {anonymous} kB\nSwap: {swap} kB\nVmFlags: rd\n")
        };
        let smaps = [
            entry("1000-3000 r-xp 00000000 fd:00 17   /bin/x", 0, 0),
            entry("3000-4000 r--p 00001000 fd:00 17   /bin/x", 4, 0), // relocated
            entry("4000-5000 r--p 00001000 fd:00 17   /bin/x", 0, 4),
            entry("5000-6000 rw-p 00001000 fd:00 17   /bin/x", 0, 0),
            entry("6000-7000 r--s 00001000 fd:00 17   /bin/x", 0, 0),
            entry("7000-8000 r-xp 00000000 00:00 0    [vdso]", 0, 0),
            entry("8000-9000 r--p 00000000 fd:00 18   /lib/y z", 0, 0),
        ];
        assert_eq!(clean_mappings(&smaps.concat()), [(0x1000, 0x2000), (0x8000, 0x1000)]);
        shrink(); // and this test goes on
        assert!(resident_pages().is_some());
    }

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
