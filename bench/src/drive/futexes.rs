//! Counts the futex calls of a process while something runs, with `strace`.

use super::process;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long `strace` may take to attach itself.
const ATTACHED_WITHIN: Duration = Duration::from_secs(10);

/// What `run` made `pid` and its threads ask of the kernel. An error if there is no `strace`, or it may not look.
pub(super) fn counted(
    pid: i32,
    directory: &Path,
    run: impl FnOnce() -> Result<(), String>,
) -> Result<u64, String> {
    let summary = directory.join("futexes.txt");
    let mut tracer = start(pid, &summary)?;
    let attached = wait_attached(pid, &mut tracer);
    let ran = attached.and_then(|()| run());
    if let Some(own) = Pid::from_raw(tracer.id().cast_signed()) {
        // It writes its summary and lets go. An error: it has ended by itself.
        let _ = kill_process(own, Signal::INT);
    }
    tracer.wait().map_err(|error| format!("strace: {error}"))?;
    ran?;
    let text = fs::read_to_string(&summary).map_err(|error| format!("strace: {error}"))?;
    Ok(calls(&text))
}

#[expect(clippy::disallowed_methods, reason = "the driver starts what it measures with")]
fn start(pid: i32, summary: &Path) -> Result<Child, String> {
    let mut command = Command::new("strace");
    command.args(["-f", "-c", "-e", "trace=futex", "-p", &pid.to_string(), "-o"]).arg(summary);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().map_err(|error| format!("strace (apt-get install strace): {error}"))
}

/// Every thread is looked at.
fn wait_attached(pid: i32, tracer: &mut Child) -> Result<(), String> {
    let begin = Instant::now();
    loop {
        let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        let traced = |status: String| {
            status.lines().any(|line| {
                line.strip_prefix("TracerPid:").is_some_and(|tracer| tracer.trim() != "0")
            })
        };
        let mut threads = tasks.map(|task| fs::read_to_string(task.path().join("status")));
        if threads.all(|status| status.is_ok_and(traced)) {
            return Ok(());
        }
        let ended = tracer.try_wait().is_ok_and(|status| status.is_some());
        if ended || begin.elapsed() > ATTACHED_WITHIN {
            return Err("strace could not attach itself".to_owned());
        }
        process::pause(Duration::from_millis(5));
    }
}

/// The number of calls in a summary: the fourth column; no row, no call.
fn calls(summary: &str) -> u64 {
    let row = summary.lines().find(|line| line.split_whitespace().last() == Some("futex"));
    let column = row.and_then(|row| row.split_whitespace().nth(3));
    column.and_then(|calls| calls.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_read_from_a_summary() {
        let summary = "\
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
100.00    0.000312           6        52         3 futex
------ ----------- ----------- --------- --------- ----------------
100.00    0.000312           6        52         3 total
";
        assert_eq!(calls(summary), 52);
        assert_eq!(calls(""), 0);
    }
}
