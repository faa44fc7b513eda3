//! The person at the terminal: colours, a line that is written over, a whole screen, and what is typed.

mod paint;
mod screen;
mod status;
mod typed;

pub(crate) use paint::{Colour, Paint};
pub(crate) use screen::{KeyPress, Screen};
pub(crate) use status::{StatusLine, above_status};
pub(crate) use typed::Typed;
