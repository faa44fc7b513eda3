//! How many lines of the platform the tests run through: by the crates' own tests, and together
//! with the black-box tests of the program.
//!
//! Nothing but the compiler's own instrumentation and the tools of its toolchain.

mod lines;
pub mod tools;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{conformance, postgres, run};
use lines::{Tally, tally};
use tools::Tools;

/// Crates whose lines have to be run through, and how many of them, in percent.
const PLATFORM: [&str; 2] = ["control", "store"];
const LIMIT: f64 = 80.0;

/// `--all` for every crate and every test.
pub fn run(args: &[String]) -> Result<(), String> {
    let all = match args {
        [] => false,
        [all] if all == "--all" => true,
        _ => return Err("usage: cargo xtask coverage [--all]".to_owned()),
    };
    let coverage = Coverage::prepare()?;
    let postgres = postgres::Cluster::start()?;
    let own = match all {
        true => "--workspace --exclude trunkline-tests --exclude trunkline-bench --exclude xtask",
        false => "-p trunkline-store -p trunkline-control",
    };
    // Some tests start programs of their own, or ours.
    coverage.cargo(&format!("build --locked {own} --examples"), &[])?;
    coverage.cargo("build --locked -p trunkline -p trunkline-tests --bins", &[])?;
    let mut objects = coverage.executables(&format!("{own} --lib --bins --tests"))?;
    coverage.test(&format!("{own} --lib --bins --tests"), "own", postgres.url())?;
    objects.push(coverage.place.join("debug/trunkline"));
    // Clients and servers nobody here wrote have their own command, which installs them.
    let outside = match all {
        true => {
            "-p trunkline-tests --test it -- --skip platform_foreign --skip real --skip peers --skip browser::"
        }
        false => "-p trunkline-tests --test it -- platform:: platform_issuer::",
    };
    let outcome = coverage.test(outside, "outside", postgres.url());
    drop(postgres);
    let figures =
        [coverage.figures(&["own"], &objects)?, coverage.figures(&["own", "outside"], &objects)?];
    outcome?;
    judge(&figures, all)
}

/// Where everything is built and kept, beside the usual build.
struct Coverage {
    place: PathBuf,
    tools: Tools,
}

impl Coverage {
    fn prepare() -> Result<Self, String> {
        let tools = Tools::find()?;
        let place = std::path::absolute(conformance::target().join("coverage"));
        let place = place.map_err(|error| error.to_string())?;
        for set in ["own", "outside"] {
            let dir = place.join(set);
            let _ = std::fs::remove_dir_all(&dir);
            std::fs::create_dir_all(&dir).map_err(|error| format!("{}: {error}", dir.display()))?;
        }
        tools::write_wrapper(&place)?;
        Ok(Self { place, tools })
    }

    /// Cargo with our crates, and only those, instrumented.
    fn command(&self, arguments: &str) -> Command {
        let mut command = run::our_cargo();
        command.args(arguments.split(' ')).env("CARGO_TARGET_DIR", &self.place);
        command.env("RUSTC_WORKSPACE_WRAPPER", tools::wrapper(&self.place));
        command
    }

    fn cargo(&self, arguments: &str, variables: &[(&str, &str)]) -> Result<(), String> {
        let mut command = self.command(arguments);
        command.envs(variables.iter().copied());
        run::checked(&mut command, &format!("cargo {arguments}"))
    }

    /// Runs tests; what they and the programs they start run through is kept under `set`.
    fn test(&self, arguments: &str, set: &str, postgres: &str) -> Result<(), String> {
        // One file for all processes of a program, written as they go: many of them are killed.
        let file = self.place.join(set).join("%m%c.profraw");
        let programs = self.place.join("debug");
        self.cargo(
            &format!("test --locked {arguments}"),
            &[
                ("LLVM_PROFILE_FILE", &file.to_string_lossy()),
                ("TRUNKLINE_BIN_DIR", &programs.to_string_lossy()),
                (postgres::VARIABLE, postgres),
            ],
        )
    }

    /// The test programs of these packages.
    fn executables(&self, arguments: &str) -> Result<Vec<PathBuf>, String> {
        let arguments = format!("test --locked --no-run {arguments}");
        run::announce(&format!("cargo {arguments}"));
        let output = self.command(&arguments).output();
        let output = output.map_err(|error| format!("cannot run cargo: {error}"))?;
        let said = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            return Err(format!("the tests do not build\n{said}"));
        }
        // "  Executable unittests src/lib.rs (target/debug/deps/name-hash)"
        let path = |line: &str| {
            let (_, rest) = line.trim_start().strip_prefix("Executable ")?.rsplit_once('(')?;
            Some(PathBuf::from(rest.trim_end().trim_end_matches(')')))
        };
        Ok(said.lines().filter_map(path).collect())
    }

    fn figures(&self, sets: &[&str], objects: &[PathBuf]) -> Result<Tally, String> {
        let places: Vec<PathBuf> = sets.iter().map(|set| self.place.join(set)).collect();
        let merged = self.place.join(format!("{}.profdata", sets.join("-")));
        self.tools.merge(&places, &merged)?;
        Ok(tally(&self.tools.lcov(&merged, objects)?, &lines::product()?))
    }
}

/// Shows the figures, of other crates only if their tests ran; fails if the platform's are too low.
fn judge([own, all]: &[Tally; 2], everything: bool) -> Result<(), String> {
    println!("\n| crate | lines | own tests | with black-box tests |\n|---|---|---|---|");
    let mut low = Vec::new();
    let shown = |name: &str| everything || PLATFORM.contains(&name);
    for (name, lines) in all.iter().filter(|(name, _)| shown(name)) {
        let alone = own.get(name).copied().unwrap_or_default();
        println!("| {name} | {} | {:.1} % | {:.1} % |", lines.all, alone.share(), lines.share());
        if PLATFORM.contains(&name.as_str()) && lines.share() < LIMIT {
            low.push(format!(
                "{name}: {:.1} % of its lines are run through, {LIMIT} % must be",
                lines.share()
            ));
        }
    }
    if low.is_empty() { Ok(()) } else { Err(low.join("\n")) }
}

/// A path inside the repository as its sources know it.
pub fn inside(path: &str) -> Option<&Path> {
    path.find("crates/").and_then(|at| path.get(at..)).map(Path::new)
}
