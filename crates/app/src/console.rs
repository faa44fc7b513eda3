//! Standard output and standard error. Only this module and the stdio front write to them.

use std::io::{IsTerminal as _, Write as _};

use crate::{FAILED, OK};

/// Writes a command's result to standard output.
pub(crate) fn out(text: &str) -> u8 {
    out_bytes(text.as_bytes())
}

/// Writes a message and a line end to standard output.
pub(crate) fn out_line(bytes: &[u8]) -> u8 {
    out_bytes(&[bytes, b"\n"].concat())
}

/// Writes bytes that need not be text to standard output.
pub(crate) fn out_bytes(bytes: &[u8]) -> u8 {
    match write(&mut std::io::stdout().lock(), bytes) {
        Ok(()) => OK,
        Err(None) => FAILED,
        Err(Some(why)) => problem(&why, FAILED),
    }
}

/// Writes to standard output; false when its reader has gone.
pub(crate) fn reaches(text: &str) -> bool {
    write(&mut std::io::stdout().lock(), text.as_bytes()).is_ok()
}

/// `Err`: what to say about it. Nothing where the reader has gone (`trunkline check | head`): it has
/// seen enough.
fn write(to: &mut impl std::io::Write, bytes: &[u8]) -> Result<(), Option<String>> {
    to.write_all(bytes).and_then(|()| to.flush()).map_err(|error| {
        let gone = error.kind() == std::io::ErrorKind::BrokenPipe;
        (!gone).then(|| format!("error: standard output cannot be written: {error}\n"))
    })
}

/// Writes a problem to standard error; returns `code` for the caller to exit with.
pub(crate) fn problem(text: &str, code: u8) -> u8 {
    // A closed stderr leaves no way to report the failure.
    drop(std::io::stderr().lock().write_all(text.as_bytes()));
    code
}

pub(crate) fn stderr_is_terminal() -> bool {
    std::io::stderr().is_terminal()
}

pub(crate) fn stdout_is_terminal() -> bool {
    std::io::stdout().is_terminal()
}

/// Is a person there who reads our stderr and can answer?
pub(crate) fn person_is_there() -> bool {
    std::io::stdin().is_terminal() && stderr_is_terminal()
}

/// Characters in a line of standard output; unlimited where it is no terminal.
pub(crate) fn width() -> usize {
    width_of(&std::io::stdout())
}

/// Characters in a line of standard error; unlimited where it is no terminal.
pub(crate) fn stderr_width() -> usize {
    width_of(&std::io::stderr())
}

/// Lines of the terminal that standard output is; a few where it is none.
pub(crate) fn height() -> usize {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok();
    size.map(|size| usize::from(size.ws_row)).filter(|rows| *rows > 0).unwrap_or(24)
}

fn width_of(stream: &impl std::os::fd::AsFd) -> usize {
    let size = rustix::termios::tcgetwinsize(stream).ok();
    size.map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_that_cannot_be_written_is_told() {
        let mut full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let why = write(&mut full, b"x").unwrap_err().unwrap();
        assert!(why.starts_with("error: standard output cannot be written: "), "{why}");
        let (reader, mut pipe) = std::io::pipe().unwrap();
        drop(reader);
        assert_eq!(write(&mut pipe, b"x"), Err(None));
    }
}
