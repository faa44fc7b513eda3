//! A status line on stderr that is overwritten; log lines are written above it.

use std::io::Write as _;

use parking_lot::Mutex;

use crate::console;

/// What the line says now. There is one stderr, so there is one line; held for a write, with no other lock
/// taken meanwhile (the log takes it behind its own).
static SHOWN: Mutex<Option<String>> = Mutex::new(None);

/// A status line on stderr, where stderr is a terminal. It is gone when this is dropped.
#[derive(Debug)]
pub(crate) struct StatusLine {
    on: bool,
}

impl StatusLine {
    pub(crate) fn new() -> Self {
        Self { on: console::stderr_is_terminal() }
    }

    pub(crate) fn show(&self, text: &str) {
        if !self.on {
            return;
        }
        // A line that wraps could not be erased.
        let text: String = text.chars().take(console::stderr_width().saturating_sub(1)).collect();
        let mut shown = SHOWN.lock();
        if shown.as_ref() != Some(&text) {
            write(&format!("{ERASE}{text}"));
            *shown = Some(text);
        }
    }

    /// To be called before anything but the log is written.
    pub(crate) fn clear(&self) {
        if SHOWN.lock().take().is_some() {
            write(ERASE);
        }
    }
}

impl Drop for StatusLine {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Lets something write whole lines to stderr: above the status line, if there is one.
pub(crate) fn above_status(lines: impl FnOnce()) {
    let shown = SHOWN.lock();
    if shown.is_some() {
        write(ERASE);
    }
    lines();
    if let Some(text) = &*shown {
        write(text);
    }
}

fn write(text: &str) {
    // A closed stderr leaves no way to report the failure.
    drop(std::io::stderr().lock().write_all(text.as_bytes()));
}

/// To the line's start, and forget the rest.
const ERASE: &str = "\r\u{1b}[K";
