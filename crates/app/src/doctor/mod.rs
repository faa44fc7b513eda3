//! The checks of `trunkline doctor`, each with a remedy.

mod data;
mod entries;
mod finding;
mod program;
mod results;
mod sandboxes;
mod starts;
mod tools;

pub(crate) use data::{data_dir, readable_secrets};
pub(crate) use entries::{Installed, installed, repeated};
pub(crate) use finding::{Finding, Grade, json, words};
pub(crate) use program::programs;
pub(crate) use results::{harmless, mismatch};
pub(crate) use sandboxes::sandboxes;
pub(crate) use starts::{changed, start};
pub(crate) use tools::{Offered, Served, names};
