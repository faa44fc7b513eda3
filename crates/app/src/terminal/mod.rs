//! The terminal: colours, a status line, a full screen, and typed lines.

mod paint;
mod screen;
mod status;
mod typed;

pub(crate) use paint::{Colour, Paint};
pub(crate) use screen::{KeyPress, Screen};
pub(crate) use status::{StatusLine, above_status};
pub(crate) use typed::Typed;
