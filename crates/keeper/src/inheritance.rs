//! Keeps what this process was left open by its starter from the programs that it starts.
#![expect(unsafe_code, reason = "descriptors that nobody here owns have numbers only; see SAFETY")]

use std::fs;

/// From now on no program that this process starts inherits a descriptor above standard error. A process that
/// outlives its starter would keep the starter's pipes open otherwise.
pub fn keep_descriptors_from_programs() {
    // Not there: nothing can be told about what is open, and programs are started as usual.
    let entries = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    for number in numbers.filter(|number| *number > libc::STDERR_FILENO) {
        // SAFETY: sets a flag that matters at the next exec only. The number may be closed by now (the one
        // that lists the directory is), which is an error without effect.
        unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
}
