//! The sessions of HTTP clients: their streams, the table of them, and what they share.

mod contexts;
mod resumable_stream;
mod session_names;
mod session_streams;
mod session_table;

pub(crate) use contexts::{Contexts, client_of};
pub(crate) use resumable_stream::{EventRole, ResumableStream, ResumeFrom, spliced};
pub(crate) use session_names::SessionNames;
pub(crate) use session_streams::SessionStreams;
pub(crate) use session_table::{HttpSession, NoSession, Sessions};
