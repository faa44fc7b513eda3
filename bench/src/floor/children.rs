//! Starts the children without waiting for any to be ready.

use super::config::Server;
use rustix::pipe::fcntl_setpipe_size;
use std::io;
use std::os::fd::AsFd;
use std::process::{Child, Command, Stdio};
use std::thread;

/// Room of the pipes that carry answers: the most an unprivileged process may ask for. Measured with 10 MiB answers,
/// time relative to this choice on one CPU and on two: 64 KiB (the default) 1.26 and 2.1, 128 KiB 1.17 and 1.6,
/// 256 KiB 1.08 and 1.4, 512 KiB 1.03 and 1.0. Small calls and the start of 50 children do not notice.
const ANSWER_PIPE: usize = 1 << 20;

/// A thread per CPU: starting a process blocks the caller until the new program is loaded.
pub(super) fn start(servers: &[Server]) -> io::Result<Vec<Child>> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let share = servers.len().div_ceil(threads).max(1);
    thread::scope(|scope| {
        let start_share = |share| scope.spawn(move || start_some(share));
        let shares: Vec<_> = servers.chunks(share).map(start_share).collect();
        let mut children = Vec::with_capacity(servers.len());
        for share in shares {
            children.extend(share.join().map_err(|_| io::Error::other("a thread panicked"))??);
        }
        Ok(children)
    })
}

fn start_some(servers: &[Server]) -> io::Result<Vec<Child>> {
    servers.iter().map(start_one).collect()
}

#[expect(
    clippy::disallowed_methods,
    reason = "the floor has no keeper: that is part of being the floor"
)]
pub(super) fn start_one(server: &Server) -> io::Result<Child> {
    let child = Command::new(&server.command)
        .args(&server.args)
        .envs(server.env.iter().map(|(key, value)| (key, value)))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    if let Some(stdout) = &child.stdout {
        widen(stdout);
    }
    Ok(child)
}

/// Best effort: what is not a pipe, or may not grow, stays as it is.
pub(super) fn widen(fd: impl AsFd) {
    let _ = fcntl_setpipe_size(fd, ANSWER_PIPE);
}
