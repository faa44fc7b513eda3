//! The laws the compiler does not know: who may import whom, how long a file may be.

use std::collections::HashSet;
use std::path::Path;

use crate::code::{self, File, Product};
use crate::dependencies;
use crate::inner_rooms::INNER_ORDER;
use crate::laws;
use crate::rooms::{COMPLETE, FOR_ALL, MAY_IMPORT};
use crate::source::{self, Source};

const LONGEST_FILE: usize = 500;

/// The crate of the test kit, without its prefix.
const KIT: &str = "tests";

/// Our crates and those each may depend on.
const MAY_DEPEND: &[(&str, &[&str])] = &[
    ("wire", &[]),
    ("http", &[]),
    ("catalog", &["http", "wire"]),
    ("keeper", &[]),
    ("gateway", &["catalog", "http", "keeper", "search", "wire"]),
    ("search", &["wire"]),
    ("store", &["http"]),
    ("policy", &[]),
    ("control", &["catalog", "gateway", "http", "policy", "search", "store", "wire"]),
    ("dashboard", &["catalog", "control", "gateway", "http", "wire"]),
    (
        "app",
        &[
            "catalog",
            "control",
            "dashboard",
            "gateway",
            "http",
            "keeper",
            "policy",
            "search",
            "store",
            "wire",
        ],
    ),
];

const USAGE: &str = "usage: cargo xtask tidy [--bless | --rows]

  --bless  write the list of exceptions anew, if it has become shorter
  --rows   rows for rooms that have none, as they import today";

pub fn run(arguments: &[String]) -> Result<(), String> {
    let mut faults = Vec::new();
    let sources = source::all()?;
    let listed: Vec<&str> = MAY_IMPORT.iter().map(|(room, _)| *room).collect();
    match arguments {
        [] => {}
        [word] if word == "--bless" => return laws::bless(&sources, &listed),
        [word] if word == "--rows" => return laws::print_rows(&listed),
        _ => return Err(USAGE.to_owned()),
    }
    for file in &sources {
        check_plate(file, &mut faults);
        check_length(file, &mut faults);
        check_imports(file, &mut faults);
        check_locks(file, &mut faults);
        check_inner_order(file, &mut faults);
    }
    check_crates(&mut faults)?;
    let product = Product::read(Path::new("."))?;
    check_rooms(&product, MAY_IMPORT, &mut faults);
    laws::check(&product, &sources, &listed, &mut faults)?;
    check_requirements(&sources, &mut faults)?;
    dependencies::check(&mut faults)?;
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

fn check_plate(file: &Source, faults: &mut Vec<String>) {
    if file.plate().is_none() {
        faults.push(format!("{}: starts without a `//!` line", file.path.display()));
    }
}

fn check_length(file: &Source, faults: &mut Vec<String>) {
    let lines = file.code().lines().count();
    if lines > LONGEST_FILE {
        faults.push(format!("{}: {lines} lines, at most {LONGEST_FILE}", file.path.display()));
    }
}

/// `super::super` hides which room a path leads to.
fn check_imports(file: &Source, faults: &mut Vec<String>) {
    for (number, line) in file.code().lines().enumerate() {
        if file.room().is_some() && line.contains("super::super") {
            faults.push(format!("{}:{}: say `crate::…`", file.path.display(), number + 1));
        }
    }
}

/// Every file needs only rooms that its own may import, and every row is of a room that there is.
fn check_rooms(product: &Product, rows: &[(&str, &[&str])], faults: &mut Vec<String>) {
    for (from, to) in code::edges(product) {
        let (from, to) = (&product.files[from], &product.files[to]);
        let (Some(own), Some(other)) = (from.room(), to.room()) else { continue };
        let name = format!("{}/{own}", from.krate);
        let row = rows.iter().find(|(room, _)| *room == name);
        if row.is_none() && COMPLETE.split(' ').any(|krate| krate == from.krate) {
            faults.push(format!("{}: `{name}` is not in tidy's table", from.path));
        }
        let is_for_all = FOR_ALL.contains(&other);
        let is_refused = row.is_some_and(|(_, allowed)| !allowed.contains(&other));
        if own != other && is_refused && !is_for_all {
            faults.push(format!("{}: `{own}` may not import `{other}` ({})", from.path, to.path));
        }
    }
    for (row, _) in rows {
        let is_room =
            |file: &File| file.room().is_some_and(|it| *row == format!("{}/{it}", file.krate));
        if !product.files.iter().any(is_room) {
            faults.push(format!("MAY_IMPORT: there is no room `{row}`"));
        }
    }
}

/// In the gateway, a lock has a rank.
fn check_locks(file: &Source, faults: &mut Vec<String>) {
    let room = file.room().unwrap_or_default();
    let may_name_it = !room.starts_with("gateway/") || room == "gateway/lock";
    for (number, line) in file.code().lines().enumerate() {
        if !may_name_it && line.contains("parking_lot::") {
            let place = format!("{}:{}", file.path.display(), number + 1);
            faults.push(format!("{place}: use `crate::lock`, with a rank"));
        }
    }
}

fn check_inner_order(file: &Source, faults: &mut Vec<String>) {
    let Some(room) = file.room() else { return };
    let Some((_, order)) = INNER_ORDER.iter().find(|(name, _)| *name == room) else { return };
    let parts: Vec<_> = file.path.iter().skip(4).map(|part| part.to_string_lossy()).collect();
    let Some(own) = parts.first().map(|part| part.trim_end_matches(".rs")) else { return };
    if own == "mod" {
        return;
    }
    let place = |name: &str| order.iter().position(|inner| *inner == name);
    let Some(own_place) = place(own) else {
        faults.push(format!("{}: `{own}` has no place in `{room}`", file.path.display()));
        return;
    };
    // In `services/x.rs` and `services/x/mod.rs`, `super` is the room itself.
    let is_door = parts.len() == 1 || parts.get(1).is_some_and(|part| part == "mod.rs");
    let outer = format!("crate::{}::", room.rsplit('/').next().unwrap_or_default());
    for (number, line) in file.code().lines().enumerate() {
        let named = line.split(&outer).skip(1);
        let above = line.split("super::").skip(1).filter(|_| is_door);
        for import in named.chain(above) {
            let target: String =
                import.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            if place(&target).is_some_and(|target| target > own_place) {
                let at = format!("{}:{}", file.path.display(), number + 1);
                faults.push(format!("{at}: `{own}` comes before `{target}` in `{room}`"));
            }
        }
    }
}

fn check_crates(faults: &mut Vec<String>) -> Result<(), String> {
    for (name, allowed) in MAY_DEPEND {
        let path = format!("crates/{name}/Cargo.toml");
        let manifest =
            std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
        let ours = manifest.lines().filter_map(|line| line.strip_prefix("trunkline-"));
        // The kit depends on no crate of ours; it is for tests only, which the next line sees to.
        let is_for_tests = |line: &&str| line.starts_with(KIT);
        let (product, _) = manifest.split_once("[dev-dependencies]").unwrap_or((&manifest, ""));
        if product.contains(&format!("trunkline-{KIT}")) {
            faults.push(format!("{path}: the kit is a dev-dependency"));
        }
        let ours = ours.filter(|line| !is_for_tests(line));
        for dependency in ours.filter_map(|line| line.split(['.', ' ', '=']).next()) {
            if !allowed.contains(&dependency) {
                faults.push(format!("{path}: `{name}` may not depend on `{dependency}`"));
            }
        }
    }
    Ok(())
}

/// Every test that `docs/requirements.md` names exists, and no row is without one.
fn check_requirements(sources: &[Source], faults: &mut Vec<String>) -> Result<(), String> {
    let functions: HashSet<&str> = sources
        .iter()
        .flat_map(|file| file.text.split("fn ").skip(1))
        .filter_map(|rest| Some(rest.split_once('(')?.0))
        .collect();
    let path = "docs/requirements.md";
    let page = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let rows = page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| ID"));
    for row in rows.filter(|row| !row.starts_with("| fault")) {
        let id = row.split('|').nth(1).unwrap_or_default().trim();
        let tests = row.rsplit('|').nth(1).unwrap_or_default().split('`').skip(1).step_by(2);
        let tests: Vec<&str> = tests.collect();
        if tests.is_empty() {
            faults.push(format!("{path}: {id} has no test"));
        }
        for test in tests {
            if !functions.contains(test) {
                faults.push(format!("{path}: {id}: there is no test `{test}`"));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_room_imports_what_its_row_names_and_a_row_is_of_a_room() {
        let product = code::product_of(&[
            ("crates/a/src/lib.rs", "mod low; mod high; pub use low::Low;"),
            ("crates/a/src/low.rs", "pub struct Low;"),
            ("crates/a/src/high.rs", "fn high(_: crate::Low) {}"),
        ]);
        for (rows, expected) in [
            (&[("a/high", &["low"][..]), ("a/low", &[])][..], &[][..]),
            (&[("a/high", &[])], &["crates/a/src/high.rs: `high` may not import `low`"]),
            (&[("a/gone", &[])], &["MAY_IMPORT: there is no room `a/gone`"]),
        ] {
            let mut faults = Vec::new();
            check_rooms(&product, rows, &mut faults);
            assert_eq!(faults.len(), expected.len(), "{faults:?}");
            let is_so = faults.iter().zip(expected).all(|(fault, it)| fault.starts_with(it));
            assert!(is_so, "{faults:?}");
        }
    }
}
