//! A line on stderr that is written over: what is being done now.

use std::cell::Cell;

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
