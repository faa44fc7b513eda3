//! JSON-RPC as raw bytes. Pure: a message is scanned once, shallowly, and never re-serialised.
//!
//! `scan` finds the few fields Trunkline looks at and proves that the rest is JSON; `splice`
//! replaces single values and copies every other byte; `lines` cuts a byte stream into messages.
//!
//! By hand: no JSON library finds the few members we touch, proves the rest to be JSON and leaves
//! every byte as it came, in one pass.

mod fault;
mod lines;
mod message;
mod outline;
mod pretty;
mod repeat;
mod reply;
mod scan;
mod skip;
mod splice;
mod text;
mod value;
mod version;

pub use fault::{FaultKind, MessageFault};
pub use lines::{Lines, StreamLine};
pub use message::{Id, Kind, Message, Params, ParamsMeta, upstream_id};
pub use outline::{Outline, salvage_id, salvage_token};
pub use pretty::pretty;
pub use reply::{write_error, write_result};
pub use scan::scan;
pub use skip::is_json;
pub use splice::{Edits, Piece, Span};
pub use text::{decode, encode, encode_all_into, encode_into};
pub use value::{elements, find, member, members, pick};
pub use version::{ALL_VERSIONS, LATEST_LEGACY, MODERN, Revision};
