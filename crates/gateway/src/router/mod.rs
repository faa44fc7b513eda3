//! Which way a request goes: decided from its bytes and the catalog alone.

mod meta;
mod route;

pub(crate) use meta::Seek;
pub(crate) use route::{Deed, Forward, Route, Subtool, route};

#[cfg(test)]
mod tests;
