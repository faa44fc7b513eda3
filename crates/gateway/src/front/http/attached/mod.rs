//! Other routes on the same listener: what an attachment gets, and how it answers.

mod attachment;
mod compress;
mod web_connection;
mod web_reply;

pub use attachment::{Attachment, BodyRule, WebHeaders, WebRequest};
pub(crate) use compress::Coding;
pub use web_connection::{TooManyConnections, WebConnection};
pub(crate) use web_reply::ReplyWay;
pub use web_reply::{WebReply, WebStream};
