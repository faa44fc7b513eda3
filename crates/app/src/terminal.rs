//! The person at the terminal: a line that is written over, and lines that are typed.

use std::cell::Cell;
use std::io;

use tokio::net::unix::pipe::{OpenOptions, Receiver};

use crate::speak;

/// A status line on stderr, where stderr is a terminal.
#[derive(Debug)]
pub(crate) struct StatusLine {
    on: bool,
    shown: Cell<bool>,
}

impl StatusLine {
    pub(crate) fn new() -> Self {
        Self { on: speak::stderr_is_terminal(), shown: Cell::new(false) }
    }

    pub(crate) fn show(&self, text: &str) {
        if self.on {
            self.shown.set(true);
            speak::problem(&format!("{ERASE}{text}"), 0);
        }
    }

    /// To be called before anything else is written.
    pub(crate) fn clear(&self) {
        if self.shown.replace(false) {
            speak::problem(ERASE, 0);
        }
    }
}

/// To the line's start, and forget the rest.
const ERASE: &str = "\r\u{1b}[K";

/// Lines typed at the terminal. It is opened anew: waiting without blocking is a property of the
/// opened file, and standard input is shared with the shell.
#[derive(Debug)]
pub(crate) struct Typed {
    input: Receiver,
    buffer: Vec<u8>,
}

impl Typed {
    pub(crate) fn new() -> io::Result<Self> {
        // Not a pipe, but waited for and read like one.
        let input = OpenOptions::new().unchecked(true).open_receiver("/dev/tty")?;
        Ok(Self { input, buffer: Vec::new() })
    }

    /// The next line without its end; `None` is the end of input.
    pub(crate) async fn line(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=end).collect();
                return Some(String::from_utf8_lossy(line.trim_ascii_end()).into_owned());
            }
            // A terminal gives one line at a time, however many were typed: that it gave less than
            // there was room for does not mean that it has no more.
            self.input.readable().await.ok()?;
            let mut chunk = [0; 1024];
            match self.input.try_read(&mut chunk) {
                Ok(count @ 1..) => self.buffer.extend(chunk.iter().take(count)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Ok(0) | Err(_) => return None,
            }
        }
    }
}
