//! Which way a request goes: decided from its bytes and the catalog alone.

mod meta;
mod route;

pub(crate) use meta::MetaToolQuery;
pub(crate) use route::{Forward, ResourceAction, Route, Subtool, route};

#[cfg(test)]
mod tests;
