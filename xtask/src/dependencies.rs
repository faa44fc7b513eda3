//! What the product is built of: every package's licence is one that deny.toml allows, none is banned there, and
//! all come from one registry. `cargo deny check` says the same and knows advisories besides; this needs no
//! other program, and the network only for packages that were never built here.

use std::collections::BTreeSet;
use std::fs;

use crate::run;

const RULES: &str = "deny.toml";

pub fn check(faults: &mut Vec<String>) -> Result<(), String> {
    let rules = fs::read_to_string(RULES).map_err(|error| format!("{RULES}: {error}"))?;
    let allowed = quoted(line_of(&rules, "allow = ["));
    let banned: Vec<&str> = rules.lines().filter_map(banned_name).collect();
    if allowed.is_empty() || banned.is_empty() {
        return Err(format!("{RULES}: no list of allowed licences, or none of banned packages"));
    }
    for (package, licence) in packages()? {
        if !permits(&licence, &allowed) {
            faults.push(format!("{package}: its licence, `{licence}`, is not allowed in {RULES}"));
        }
    }
    let lock = fs::read_to_string("Cargo.lock").map_err(|error| format!("Cargo.lock: {error}"))?;
    faults.extend(banned_in(&lock, &banned));
    faults.extend(foreign_sources(&lock));
    Ok(())
}

/// Each package that is built on this machine, with its licence.
fn packages() -> Result<BTreeSet<(String, String)>, String> {
    let mut tree = run::our_cargo();
    // Not `--offline`: on a fresh machine this runs before the first build has fetched the packages.
    tree.args(["tree", "--locked", "--workspace", "--prefix", "none", "--edges", "normal,build"]);
    tree.args(["--format", "{p}\t{l}"]);
    let done = tree.output().map_err(|error| format!("cargo tree: {error}"))?;
    if !done.status.success() {
        return Err(format!("cargo tree: {}", String::from_utf8_lossy(&done.stderr)));
    }
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    let line = |line: &str| {
        let (package, licence) = line.split_once('\t')?;
        let licence = licence.trim_end_matches("(*)").trim();
        // Behind our own packages stands where they are.
        (!package.contains('(')).then(|| (package.to_owned(), licence.to_owned()))
    };
    // The first line of each tree is empty.
    Ok(text.lines().filter_map(line).collect())
}

/// Does this expression (SPDX; older packages write `/` for `OR`) leave a way that is allowed?
fn permits(licence: &str, allowed: &[&str]) -> bool {
    let text = licence.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    // `A WITH B` is a licence of its own.
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut words = words.as_slice();
    let permitted = any(&mut words, allowed);
    permitted && words.is_empty()
}

fn any(words: &mut &[&str], allowed: &[&str]) -> bool {
    let mut permitted = all(words, allowed);
    while take(words, "OR") {
        permitted |= all(words, allowed);
    }
    permitted
}

fn all(words: &mut &[&str], allowed: &[&str]) -> bool {
    let mut permitted = one(words, allowed);
    while take(words, "AND") {
        permitted &= one(words, allowed);
    }
    permitted
}

fn one(words: &mut &[&str], allowed: &[&str]) -> bool {
    if take(words, "(") {
        let permitted = any(words, allowed);
        return take(words, ")") && permitted;
    }
    let Some((first, rest)) = words.split_first() else { return false };
    *words = rest;
    if take(words, "WITH") {
        let Some((exception, rest)) = words.split_first() else { return false };
        *words = rest;
        return allowed.contains(&format!("{first} WITH {exception}").as_str());
    }
    allowed.contains(first)
}

fn take(words: &mut &[&str], word: &str) -> bool {
    match words.split_first() {
        Some((first, rest)) if *first == word => {
            *words = rest;
            true
        }
        _ => false,
    }
}

fn banned_in(lock: &str, banned: &[&str]) -> Vec<String> {
    let names = lock.lines().filter_map(|line| line.strip_prefix("name = "));
    let names = names.map(|name| name.trim_matches('"'));
    let found = names.filter(|name| banned.contains(name));
    found.map(|name| format!("Cargo.lock: {name} is banned in {RULES}")).collect()
}

/// All packages come from where most do.
fn foreign_sources(lock: &str) -> Vec<String> {
    let sources: BTreeSet<&str> =
        lock.lines().filter_map(|it| it.strip_prefix("source = ")).collect();
    let is_registry = sources.iter().all(|source| source.starts_with("\"registry+"));
    match (sources.len(), is_registry) {
        (0 | 1, true) => Vec::new(),
        _ => vec![format!("Cargo.lock: packages come from several places: {sources:?}")],
    }
}

fn line_of<'t>(text: &'t str, start: &str) -> &'t str {
    text.lines().find(|line| line.starts_with(start)).unwrap_or_default()
}

fn quoted(line: &str) -> Vec<&str> {
    line.split('"').skip(1).step_by(2).collect()
}

/// `  { name = "x", reason = "…" },`
fn banned_name(line: &str) -> Option<&str> {
    line.trim().strip_prefix("{ name = \"")?.split('"').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_licence_is_allowed_if_one_way_through_it_is() {
        let allowed = ["MIT", "Apache-2.0", "Unicode-3.0"];
        for (licence, expected) in [
            ("MIT", true),
            ("GPL-3.0", false),
            ("MIT OR GPL-3.0", true),
            ("MIT AND GPL-3.0", false),
            ("MIT/Apache-2.0", true),
            ("(MIT OR GPL-3.0) AND Unicode-3.0", true),
            ("(MIT OR GPL-3.0) AND GPL-2.0", false),
            ("Apache-2.0 WITH LLVM-exception OR MIT", true),
            ("Apache-2.0 WITH LLVM-exception", false),
            ("MIT OR", true),
            ("MIT)", false),
            ("", false),
        ] {
            assert_eq!(permits(licence, &allowed), expected, "{licence}");
        }
    }

    #[test]
    fn banned_packages_and_foreign_sources_are_named() {
        let lock =
            "name = \"a\"\nsource = \"registry+x\"\nname = \"native-tls\"\nsource = \"git+y\"\n";
        assert_eq!(banned_in(lock, &["native-tls"]).len(), 1);
        assert_eq!(foreign_sources(lock).len(), 1);
        assert!(foreign_sources("source = \"registry+x\"\nsource = \"registry+x\"\n").is_empty());
    }
}
