//! Measures the scanner of texts in release: precision and recall on its sets and on honest definitions.

use crate::run;

const USAGE: &str = "usage: cargo xtask scan-quality [--data DIR]... [--show]

  --data  a folder with sets of honest definitions, those of the search (docs/search.md)
  --show  print what was missed and wrongly found in the part that rules may be tuned on";

pub fn run(args: &[String]) -> Result<(), String> {
    if args.iter().any(|argument| argument == "--help") {
        return Err(USAGE.to_owned());
    }
    let mut command = run::example("trunkline-catalog", "scan_quality");
    run::checked(command.args(args), "scan-quality")
}
