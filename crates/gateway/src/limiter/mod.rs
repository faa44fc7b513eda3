//! Limits of rates, open calls, result bytes and places: one module for callers, servers, tools and addresses.
//!
//! By hand and not with the `governor` crate: its buckets have a fixed quota (a reload would lose the count), give
//! nothing back if a second scope refuses, read the clock once per bucket, and count neither open calls nor bytes.

mod account;
mod admit;
mod meter;
mod refused;
mod server_meters;
mod table;

pub(crate) use account::{AddressAccount, CallerAccount, ConnectionShare, SubscriptionRoom};
pub use account::{Allowance, CallerAddress};
pub(crate) use admit::{Exceeded, Meters, Permit, PermitSlot, admit};
pub(crate) use meter::Meter;
pub use refused::LimitedCalls;
pub(crate) use refused::{LimitScope, Overrun};
pub(crate) use server_meters::{ServerMeters, ToolMeters};
pub(crate) use table::Limiter;
