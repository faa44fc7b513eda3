//! Words for people, on the two streams; the only place that writes to them besides the front.

use std::io::{IsTerminal as _, Write as _};

use crate::{FAILED, OK};

/// Writes a command's result to standard output.
pub(crate) fn out(text: &str) -> u8 {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Ok(()) => OK,
        Err(_) => FAILED, // `trunkline check | head`: nobody is there to be told
    }
}

/// Writes a problem to standard error; returns `code` for the caller to exit with.
pub(crate) fn problem(text: &str, code: u8) -> u8 {
    // If even stderr is gone there is no one left to tell.
    drop(std::io::stderr().lock().write_all(text.as_bytes()));
    code
}

pub(crate) fn stderr_is_terminal() -> bool {
    std::io::stderr().is_terminal()
}
