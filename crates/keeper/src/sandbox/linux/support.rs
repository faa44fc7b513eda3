//! What of the walls this kernel can hold.

use std::fmt;

use super::{landlock, listener};

/// What this kernel offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Support {
    /// The version of Landlock, if it is there and switched on.
    pub landlock: Option<u32>,
    /// Whether refused system calls and new processes can be asked about.
    pub notices: bool,
}

/// From 3 on (Linux 6.2) Landlock guards against every change of a file's contents.
const FULL: u32 = 3;
/// From 6 on (Linux 6.12) it keeps signals and abstract sockets from others.
const SCOPED: u32 = 6;

impl Support {
    /// Whether files are guarded completely: what `required` asks for.
    pub fn is_full(self) -> bool {
        self.landlock.is_some_and(|version| version >= FULL) && self.notices
    }

    /// What is missing, in words; `None`: nothing.
    pub fn gap(self) -> Option<&'static str> {
        match self.landlock {
            None => Some(
                "this kernel has no Landlock: files are not guarded (Linux 5.13 or later, with `landlock` in lsm=)",
            ),
            Some(version) if version < FULL => Some(
                "this kernel's Landlock does not guard against cutting files short (Linux 6.2 does)",
            ),
            Some(_) if !self.notices => Some(
                "this kernel does not report what seccomp refuses: processes are not counted (Linux 5.5 does)",
            ),
            Some(version) if version < SCOPED => Some(
                "this kernel's Landlock does not keep a server from signals to processes of the same user (Linux 6.12 does)",
            ),
            Some(_) => None,
        }
    }
}

impl fmt::Display for Support {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.landlock {
            Some(version) => write!(f, "Landlock {version}, seccomp"),
            None => write!(f, "seccomp without Landlock"),
        }
    }
}

/// Asks the kernel.
pub fn support() -> Support {
    Support { landlock: landlock::version(), notices: listener::is_available() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_said() {
        for (landlock, notices, full, words) in [
            (None, true, false, Some("no Landlock")),
            (Some(2), true, false, Some("cutting files short")),
            (Some(3), false, false, Some("processes are not counted")),
            (Some(4), true, true, Some("signals")),
            (Some(6), true, true, None),
        ] {
            let support = Support { landlock, notices };
            assert_eq!(support.is_full(), full, "{support}");
            assert_eq!(support.gap().is_some(), words.is_some(), "{support}");
            assert!(words.is_none_or(|words| support.gap().unwrap().contains(words)), "{support}");
        }
    }
}
