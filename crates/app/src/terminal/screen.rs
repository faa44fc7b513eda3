//! A full-screen terminal: alternate screen and raw keys, restored on drop.

use std::io;
use std::os::fd::AsFd;

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use tokio::net::unix::pipe::{OpenOptions, Receiver};

use crate::console;

/// A key that was pressed, as far as anybody asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyPress {
    Letter(char),
    Up,
    Down,
    /// Ctrl-C, or the end of input.
    Leave,
    Other,
}

/// While it lives, the terminal shows the other screen and tells every key. Dropping it gives back what
/// was there before.
#[derive(Debug)]
pub(crate) struct Screen {
    input: Receiver,
    before: Termios,
}

/// The other screen, without a cursor; and back.
const ENTER: &str = "\u{1b}[?1049h\u{1b}[?25l";
const LEAVE: &str = "\u{1b}[?25h\u{1b}[?1049l";
/// To the upper left corner.
const HOME: &str = "\u{1b}[H";
/// Forget the rest of the line; of the screen.
const REST_OF_LINE: &str = "\u{1b}[K";
const REST: &str = "\u{1b}[J";

impl Screen {
    pub(crate) fn open() -> io::Result<Self> {
        // Not a pipe, but waited for and read like one.
        let input = OpenOptions::new().unchecked(true).open_receiver("/dev/tty")?;
        let before = tcgetattr(input.as_fd())?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(input.as_fd(), OptionalActions::Now, &raw)?;
        console::out(ENTER);
        Ok(Self { input, before })
    }

    /// Shows these lines, as many as there is room for, in one write: nothing flickers.
    pub(crate) fn show(&self, lines: &[String]) {
        let rows = console::height();
        let shown = lines.iter().take(rows).map(|line| format!("{line}{REST_OF_LINE}"));
        let text = shown.collect::<Vec<_>>().join("\r\n");
        console::out(&format!("{HOME}{text}{REST}"));
    }

    /// The next key.
    pub(crate) async fn key(&self) -> KeyPress {
        loop {
            if self.input.readable().await.is_err() {
                return KeyPress::Leave;
            }
            let mut room = [0; 16];
            match self.input.try_read(&mut room) {
                Ok(count @ 1..) => return key(room.get(..count).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Ok(0) | Err(_) => return KeyPress::Leave,
            }
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        console::out(LEAVE);
        // If the terminal is gone there is nothing to give back.
        let _ = tcsetattr(self.input.as_fd(), OptionalActions::Now, &self.before);
    }
}

fn key(bytes: &[u8]) -> KeyPress {
    match bytes {
        [3] | [4] => KeyPress::Leave,
        b"\x1b[A" | b"\x1bOA" => KeyPress::Up,
        b"\x1b[B" | b"\x1bOB" => KeyPress::Down,
        [letter, ..] if letter.is_ascii_graphic() => KeyPress::Letter(char::from(*letter)),
        _ => KeyPress::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_told_apart() {
        for (bytes, expected) in [
            (&b"q"[..], KeyPress::Letter('q')),
            (b"\x03", KeyPress::Leave),
            (b"\x1b[A", KeyPress::Up),
            (b"\x1bOB", KeyPress::Down),
            (b"\x1b[H", KeyPress::Other),
            ("\u{e9}".as_bytes(), KeyPress::Other),
        ] {
            assert_eq!(key(bytes), expected, "{bytes:?}");
        }
    }
}
