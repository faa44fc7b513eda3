//! The process itself: memory, open files, processor time, as the kernel tells.

use std::fs;

/// What could be found out.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Process {
    pub(super) cpu_seconds: Option<f64>,
    pub(super) resident_bytes: Option<u64>,
    pub(super) virtual_bytes: Option<u64>,
    pub(super) threads: Option<u64>,
    pub(super) open_fds: Option<u64>,
    pub(super) max_fds: Option<u64>,
    /// Seconds since 1970.
    pub(super) started: Option<f64>,
}

pub(super) fn look() -> Process {
    let ticks = rustix::param::clock_ticks_per_second();
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let status = read("/proc/self/status");
    let stat = read("/proc/self/stat");
    let booted = number(&read("/proc/stat"), "btime");
    // The one we look with is open as well.
    let fds = fs::read_dir("/proc/self/fd").map(|entries| entries.count().saturating_sub(1));
    let seconds = |ticks_of: u64| f64_of(ticks_of) / f64_of(ticks);
    Process {
        cpu_seconds: field(&stat, 13).zip(field(&stat, 14)).map(|(a, b)| seconds(a + b)),
        resident_bytes: number(&status, "VmRSS:").map(|kib| kib * 1024),
        virtual_bytes: number(&status, "VmSize:").map(|kib| kib * 1024),
        threads: number(&status, "Threads:"),
        open_fds: fds.ok().and_then(|count| u64::try_from(count).ok()),
        max_fds: max_fds(&read("/proc/self/limits")),
        started: field(&stat, 21).zip(booted).map(|(since, boot)| f64_of(boot) + seconds(since)),
    }
}

/// The number behind a word at the beginning of a line.
fn number(text: &str, word: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(word))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

/// By its number in proc(5), from 0. The name of the program may hold anything, brackets included:
/// what counts is behind the last one.
fn field(stat: &str, number: usize) -> Option<u64> {
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_ascii_whitespace().nth(number.checked_sub(2)?)?.parse().ok()
}

fn max_fds(limits: &str) -> Option<u64> {
    number(limits, "Max open files")
}

fn f64_of(whole: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "ticks and seconds are far below 2^52")]
    let real = whole as f64;
    real
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_tables_are_read() {
        let stat = "7 (a) b (c)) S 1 2 3 4 5 6 7 8 9 10 250 50 0 0 20 0 4 0 9876 1 2";
        assert_eq!(
            (field(stat, 13), field(stat, 14), field(stat, 21)),
            (Some(250), Some(50), Some(9876))
        );
        let status = "Name:\tx\nVmSize:\t  2048 kB\nVmRSS:\t  1024 kB\nThreads:\t3\n";
        assert_eq!((number(status, "VmRSS:"), number(status, "Threads:")), (Some(1024), Some(3)));
        let limits =
            "Limit   Soft Limit\nMax open files            1024                 4096   files\n";
        assert_eq!(max_fds(limits), Some(1024));
        assert_eq!((field("", 13), number("", "VmRSS:"), max_fds("")), (None, None, None));
    }

    #[test]
    fn something_is_known_of_this_process() {
        let process = look();
        assert!(process.resident_bytes.unwrap() > 100_000, "{process:?}");
        assert!(process.virtual_bytes >= process.resident_bytes, "{process:?}");
        assert!(process.open_fds.unwrap() >= 3 && process.threads.unwrap() >= 1, "{process:?}");
        assert!(process.started.unwrap() > 1_700_000_000.0, "{process:?}");
    }
}
