//! Asks the person at the terminal.

use std::io::{self, BufRead as _};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::console;

/// The typed line; `None` is the end of input.
pub(super) fn ask(question: &str) -> Option<String> {
    console::problem(question, 0);
    let mut typed = String::new();
    let read = io::stdin().lock().read_line(&mut typed).ok()?;
    (read > 0).then(|| typed.trim_end_matches(['\n', '\r']).to_owned())
}

/// The typed line, which the terminal does not show.
pub(super) fn ask_secret(question: &str) -> Option<String> {
    let hidden = HiddenTyping::start();
    let typed = ask(question);
    if hidden.is_some() {
        // The line end was not shown either.
        console::problem("\n", 0);
    }
    typed
}

/// The terminal shows what is typed again when this is dropped.
struct HiddenTyping(Termios);

impl HiddenTyping {
    fn start() -> Option<Self> {
        let before = tcgetattr(io::stdin()).ok()?;
        let mut hidden = before.clone();
        hidden.local_modes.remove(LocalModes::ECHO);
        tcsetattr(io::stdin(), OptionalActions::Flush, &hidden).ok()?;
        Some(Self(before))
    }
}

impl Drop for HiddenTyping {
    fn drop(&mut self) {
        // The terminal may have gone.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
    }
}
