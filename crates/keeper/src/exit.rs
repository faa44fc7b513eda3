//! How a server ended, in words.

use std::fmt;

/// How the main process of a tree ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessExit {
    Code(i32),
    Signal(i32),
    /// The keeper was killed, so nobody saw the end. The tree is killed.
    Lost,
}

impl fmt::Display for ProcessExit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            ProcessExit::Code(code) => write!(f, "exited with code {code}"),
            ProcessExit::Signal(signal) => match name(signal) {
                Some(name) => write!(f, "was killed by signal {signal} ({name})"),
                None => write!(f, "was killed by signal {signal}"),
            },
            ProcessExit::Lost => write!(f, "was lost: the process that watched it was killed"),
        }
    }
}

/// The signals by which processes do end. The numbers differ between systems, hence `libc`.
fn name(signal: i32) -> Option<&'static str> {
    let name = match signal {
        libc::SIGHUP => "SIGHUP",
        libc::SIGINT => "SIGINT",
        libc::SIGQUIT => "SIGQUIT",
        libc::SIGILL => "SIGILL",
        libc::SIGTRAP => "SIGTRAP",
        libc::SIGABRT => "SIGABRT",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGKILL => "SIGKILL",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGALRM => "SIGALRM",
        libc::SIGTERM => "SIGTERM",
        libc::SIGUSR1 => "SIGUSR1",
        libc::SIGUSR2 => "SIGUSR2",
        libc::SIGXCPU => "SIGXCPU",
        libc::SIGXFSZ => "SIGXFSZ",
        libc::SIGSYS => "SIGSYS",
        _ => return None,
    };
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::ProcessExit;

    #[test]
    fn reads_after_the_name_of_a_server() {
        let cases = [
            (ProcessExit::Code(7), "exited with code 7"),
            (ProcessExit::Signal(11), "was killed by signal 11 (SIGSEGV)"),
            (ProcessExit::Signal(64), "was killed by signal 64"),
            (ProcessExit::Lost, "was lost: the process that watched it was killed"),
        ];
        for (exit, words) in cases {
            assert_eq!(exit.to_string(), words);
        }
    }
}
