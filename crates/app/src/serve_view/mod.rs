//! Renders the answers of a running `serve` as lines for people. Pure.

mod rates;
mod record;
mod server;

pub(crate) use rates::{Rates, counts};
pub(crate) use record::record_line;
pub(crate) use server::{SORTS, ServerLine, change, detail, list, sort, summary};
