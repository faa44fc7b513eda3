//! `trunkline consolidate CLIENT`: a client's servers move behind Trunkline, which takes their place.

mod plan;
mod run;

pub(crate) use run::{ConsolidateRequest, consolidate};

#[cfg(test)]
mod tests;
