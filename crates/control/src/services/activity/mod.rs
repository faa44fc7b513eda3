//! What clients do: their calls and requests on record, those that are connected, and those that were not
//! let in.

mod clients;
mod consumer;
mod rejected;
mod requests;

pub use clients::ClientService;
pub(crate) use clients::ClientSummary;
pub(super) use consumer::EventConsumer;
pub(super) use rejected::RejectedLogins;
