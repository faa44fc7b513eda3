//! Lines that a person types.

use std::io;

use tokio::net::unix::pipe::{OpenOptions, Receiver};

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
