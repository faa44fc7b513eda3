//! Other routes on the same listener: what an attachment gets, and how it answers.

mod attachment;
mod web_connection;
mod web_reply;

pub use attachment::{Attachment, BodyRule, WebHeaders, WebRequest};
pub use web_connection::{TooManyConnections, WebConnection};
pub use web_reply::{WebReply, WebStream};
