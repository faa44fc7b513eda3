//! What the architecture measures, beside its goals, now and at another revision.

mod calls;
mod measure;
mod revision;

use std::path::Path;

use crate::code::Product;
use measure::{Figures, ROWS};
use revision::Checkout;

const USAGE: &str = "usage: cargo xtask house [--at REV] [--calls] [--list]

  --at REV  beside what another revision measures: before and after
  --calls   also the files that run for every `tools/call`: builds an instrumented program
  --list    also who makes up each figure: members of cycles, the largest types, repeated names";

/// `cargo xtask house`
pub fn run(arguments: &[String]) -> Result<(), String> {
    let (mut before, mut is_listed, mut is_called) = (None, false, false);
    let mut words = arguments.iter().map(String::as_str);
    while let Some(word) = words.next() {
        match word {
            "--at" => before = Some(words.next().ok_or(USAGE)?),
            "--list" => is_listed = true,
            "--calls" => is_called = true,
            _ => return Err(USAGE.to_owned()),
        }
    }
    let before = before.map(|revision| measured_at(revision, is_called)).transpose()?;
    let now = measured(Path::new("."), is_called.then_some("coverage"))?;
    show(before.as_ref(), &now);
    if is_listed {
        now.list();
    }
    Ok(())
}

fn measured_at(revision: &str, is_called: bool) -> Result<(String, Figures), String> {
    let checkout = Checkout::of(revision)?;
    Ok((revision.to_owned(), measured(checkout.place(), is_called.then_some("coverage-at"))?))
}

/// The way of a call is measured with what is built in this folder.
fn measured(root: &Path, calls_in: Option<&str>) -> Result<Figures, String> {
    let ways = calls_in.map(|place| calls::measure(root, place)).transpose()?;
    Figures::of(root, Product::read(root)?, ways)
}

fn show(before: Option<&(String, Figures)>, now: &Figures) {
    let Some((revision, before)) = before else {
        println!("| measure | now | goal |\n|---|---|---|");
        for row in ROWS {
            println!("| {} | {} | {} |", row.what, (row.value)(now), row.goal);
        }
        return;
    };
    println!("| measure | at {revision} | now | goal |\n|---|---|---|---|");
    for row in ROWS {
        let (was, is) = ((row.value)(before), (row.value)(now));
        println!("| {} | {was} | {is} | {} |", row.what, row.goal);
    }
}
