//! A raw HTTP/1.1 client: exact bytes out, heads, bodies and events back, every wait with a limit.

mod ask;
mod connection;
mod events;

pub use ask::Ask;
pub(crate) use connection::connect_from;
pub use connection::{Connection, Head, Response};
pub use events::{Event, Events};
