//! Measures the search: quality on sets of requests, skills on held-out servers, time and memory.
//!
//! `cargo xtask eval-search --data DIR [--data DIR]…`; docs/search.md tells where the sets come from.

mod draws;
mod quality;
mod sets;
mod skills;
mod speed;
mod table;
mod vectors;

use std::error::Error;
use std::io::Write;
use std::path::PathBuf;

type Outcome = Result<(), Box<dyn Error>>;

fn main() -> Outcome {
    let mut folders = Vec::new();
    let mut vectors = None;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match (argument.as_str(), arguments.next()) {
            ("--data", Some(folder)) => folders.push(PathBuf::from(folder)),
            ("--vectors", Some(folder)) => vectors = Some(PathBuf::from(folder)),
            _ => return Err("usage: --data DIR [--data DIR]… [--vectors DIR]".into()),
        }
    }
    let mut out = std::io::stdout().lock();
    table::report(&folders, vectors.as_deref(), &mut out)?;
    skills::report(&folders, &mut out)?;
    speed::report(&folders, &mut out)?;
    Ok(out.flush()?)
}
