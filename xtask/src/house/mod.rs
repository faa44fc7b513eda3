//! What the architecture measures, beside its goals, now and at another revision.

mod measure;
mod revision;

use std::path::Path;

use crate::code::Product;
use measure::{House, ROWS};
use revision::Checkout;

const USAGE: &str = "usage: cargo xtask house [--at REV] [--list]

  --at REV  beside what another revision measures: before and after
  --list    also who makes up each figure: members of cycles, the largest types, repeated names";

/// `cargo xtask house`
pub fn run(arguments: &[String]) -> Result<(), String> {
    let (mut before, mut is_listed) = (None, false);
    let mut words = arguments.iter().map(String::as_str);
    while let Some(word) = words.next() {
        match word {
            "--at" => before = Some(words.next().ok_or(USAGE)?),
            "--list" => is_listed = true,
            _ => return Err(USAGE.to_owned()),
        }
    }
    let now = House::of(Path::new("."), Product::read(Path::new("."))?)?;
    let before = before.map(measured_at).transpose()?;
    show(before.as_ref(), &now);
    if is_listed {
        now.list();
    }
    Ok(())
}

fn measured_at(revision: &str) -> Result<(String, House), String> {
    let checkout = Checkout::of(revision)?;
    let house = House::of(checkout.place(), Product::read(checkout.place())?)?;
    Ok((revision.to_owned(), house))
}

fn show(before: Option<&(String, House)>, now: &House) {
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
