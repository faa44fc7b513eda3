//! `trunkline install CLIENT`: writes our entry into the client's own config file, and nothing else.

mod apply;
mod diff;
mod document;
mod entry;
mod error;
mod place;
mod plan;
mod report;
mod request;
mod run;

pub(crate) use request::{Environment, InstallRequest, Os};
pub(crate) use run::run;

#[cfg(test)]
mod tests;
