//! Answers servers' questions by asking the person at the terminal.

mod answer;
mod dialogue;
mod question;
#[cfg(test)]
mod tests;

pub(crate) use dialogue::{Dialogue, DialogueStep, decline};
pub(crate) use question::PersonQuestion;
