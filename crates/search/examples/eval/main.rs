//! Measures the search: quality on sets of requests, skills on held-out servers, time and memory.
//!
//! `cargo xtask eval-search --data DIR [--data DIR]…`; docs/search.md tells where the sets come from.

mod draws;
mod memory;
mod quality;
mod sets;
mod skills;
mod speed;
mod table;
mod vectors;

use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};

type Outcome = Result<(), Box<dyn Error>>;

const USAGE: &str = "usage: --data DIR [--data DIR]… [--vectors DIR], or --memory TOOLS CORPUS";

fn main() -> Outcome {
    let mut folders = Vec::new();
    let mut vectors = None;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        if argument == "--memory" {
            let (count, corpus) = arguments.next().zip(arguments.next()).ok_or(USAGE)?;
            return memory::report(Path::new(&corpus), count.parse()?, &mut std::io::stdout());
        }
        match (argument.as_str(), arguments.next()) {
            ("--data", Some(folder)) => folders.push(PathBuf::from(folder)),
            ("--vectors", Some(folder)) => vectors = Some(PathBuf::from(folder)),
            _ => return Err(USAGE.into()),
        }
    }
    let mut out = std::io::stdout().lock();
    table::report(&folders, vectors.as_deref(), &mut out)?;
    skills::report(&folders, &mut out)?;
    speed::report(&folders, &mut out)?;
    Ok(out.flush()?)
}
