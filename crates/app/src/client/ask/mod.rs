//! Answers servers' questions by asking the person at the terminal.

mod answer;
mod dialogue;
mod question;
#[cfg(test)]
mod tests;

pub(crate) use dialogue::{Dialogue, Step, decline};
pub(crate) use question::Question;
