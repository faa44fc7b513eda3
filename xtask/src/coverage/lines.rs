//! Lines of the product by crate: how many there are, and how many were run through.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::inside;
use crate::source;

/// By crate.
pub type Tally = BTreeMap<String, Lines>;

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Lines {
    pub all: usize,
    pub covered: usize,
}

impl Lines {
    /// In percent.
    pub fn share(self) -> f64 {
        100.0 * self.covered as f64 / self.all.max(1) as f64
    }
}

/// How many lines of each file are the product's; tests stand behind them.
pub fn product() -> Result<BTreeMap<PathBuf, usize>, String> {
    let is_product = |path: &Path| {
        let mut parts = path.iter().map(|part| part.to_string_lossy());
        path.starts_with("crates")
            && !parts.any(|part| {
                matches!(&*part, "tests" | "tests.rs" | "scratch.rs" | "fake.rs" | "cut.rs")
            })
    };
    let files = source::all()?.into_iter().filter(|file| is_product(&file.path));
    Ok(files.map(|file| (file.path.clone(), file.code().lines().count())).collect())
}

/// Counts what `lcov` says of the product's lines.
pub fn tally(lcov: &str, product: &BTreeMap<PathBuf, usize>) -> Tally {
    let mut tally = Tally::new();
    let mut file: Option<(&str, usize)> = None;
    for line in lcov.lines() {
        if let Some(path) = line.strip_prefix("SF:") {
            file = inside(path).and_then(|path| {
                let name = path.iter().nth(1)?.to_str()?;
                Some((name, *product.get(path)?))
            });
        } else if let (Some((number, count)), Some((name, last))) = (counted(line), file)
            && number <= last
        {
            let lines = tally.entry(name.to_owned()).or_default();
            lines.all += 1;
            lines.covered += usize::from(count > 0);
        }
    }
    tally
}

/// `DA:line,count`
fn counted(line: &str) -> Option<(usize, u64)> {
    let (number, count) = line.strip_prefix("DA:")?.split_once(',')?;
    Some((number.parse().ok()?, count.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_product_are_counted_by_crate_and_those_of_tests_are_not() {
        let product = BTreeMap::from([
            (PathBuf::from("crates/store/src/a.rs"), 2),
            (PathBuf::from("crates/control/src/b.rs"), 9),
        ]);
        let lcov = "SF:/x/crates/store/src/a.rs\nDA:1,4\nDA:2,0\nDA:3,7\nend_of_record\n\
                    SF:/x/crates/control/src/b.rs\nDA:9,1\nLF:1\nend_of_record\n\
                    SF:/x/crates/store/src/tests.rs\nDA:1,1\nend_of_record\n\
                    SF:/registry/else.rs\nDA:1,1\nend_of_record\n";
        let expected = Tally::from([
            ("control".to_owned(), Lines { all: 1, covered: 1 }),
            ("store".to_owned(), Lines { all: 2, covered: 1 }),
        ]);
        assert_eq!(tally(lcov, &product), expected);
        assert_eq!(format!("{:.0}", Lines { all: 3, covered: 2 }.share()), "67");
    }
}
