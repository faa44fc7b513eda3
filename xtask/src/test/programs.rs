//! The test programs: built all at once, and which tests each of them has.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::lints;
use crate::{dist, run, source};

/// A program with tests.
pub(super) struct Program {
    pub(super) path: PathBuf,
    /// The folder of its package, where cargo would start it.
    pub(super) folder: PathBuf,
    /// `trunkline-keeper custody`, `trunkline-wire`.
    pub(super) label: String,
    /// In the order in which it runs them.
    pub(super) tests: Vec<String>,
}

/// What has to be built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    Everything,
    /// Only the one program of the black-box tests, and what it runs.
    BlackBox,
    /// Only the unit tests of the crates.
    Units,
}

impl Scope {
    /// The targets in cargo's words. They are of the whole workspace: a package built alone has
    /// other features, and would be built twice.
    const fn targets(self) -> &'static str {
        match self {
            Self::Everything => "--all-targets",
            Self::BlackBox => {
                "--bin trunkline --bin mcp-simple-aggregator --bin fake-mcp --test it"
            }
            Self::Units => "--lib",
        }
    }
}

/// What was built, and what the lints say of it.
pub(super) struct Built {
    pub(super) programs: Vec<Program>,
    /// Warnings, which have been shown.
    pub(super) warnings: usize,
}

/// Builds the shipped programs and the tests, all in one step, with Clippy as the compiler of our
/// crates: it lints what it compiles, which costs an eighth more, where a run of its own would read
/// everything a second time.
pub(super) fn build(scope: Scope) -> Result<Built, String> {
    let verb = if scope == Scope::Units { "test --no-run" } else { "build" };
    let arguments = format!("{verb} --workspace --locked {}", scope.targets());
    run::announce(&format!("cargo {arguments}"));
    let mut cargo = run::our_cargo();
    cargo.args(arguments.split(' ')).arg("--message-format=json-diagnostic-rendered-ansi");
    cargo.env("RUSTC_WORKSPACE_WRAPPER", lints::driver()?);
    if is_first() {
        // What is compiled for the first time gains nothing from notes for the next time.
        cargo.env("CARGO_INCREMENTAL", "0");
    }
    let mut child = cargo.stdout(Stdio::piped()).spawn().map_err(cannot_run)?;
    let (mut programs, mut warnings) = (Vec::new(), 0);
    let said = child.stdout.take().map(BufReader::new);
    for line in said.into_iter().flat_map(BufRead::lines).map_while(Result::ok) {
        programs.extend(artifact(&line));
        if let Some(message) = lints::message(&line) {
            eprint!("{}", message.rendered);
            warnings += usize::from(message.is_warning);
        }
    }
    if !child.wait().map_err(cannot_run)?.success() {
        return Err("the tests do not build".to_owned());
    }
    let programs: Result<Vec<Program>, String> = programs.into_iter().map(listed).collect();
    Ok(Built { programs: programs?, warnings })
}

fn cannot_run(error: std::io::Error) -> String {
    format!("cannot run cargo: {error}")
}

/// Has nothing of the product been built here yet?
fn is_first() -> bool {
    let built = dist::built().join("deps");
    let mut entries = std::fs::read_dir(built).into_iter().flatten().flatten();
    !entries.any(|entry| entry.file_name().to_string_lossy().starts_with("libtrunkline"))
}

/// What the programs that tests start have to find in their environment: the product that is built.
pub(super) fn environment() -> [(&'static str, PathBuf); 2] {
    let built = std::path::absolute(dist::built()).unwrap_or_else(|_| dist::built());
    [("TRUNKLINE_BIN_DIR", built), ("CARGO", PathBuf::from(env!("CARGO")))]
}

/// The files of tests whose names have this in them, as far as names can be told from sources.
pub(super) fn sources_of(name: &str) -> Vec<PathBuf> {
    let sources = source::all().unwrap_or_default();
    let has = |file: &source::Source| {
        let path = file.path.with_extension("");
        let module = path.to_string_lossy().trim_end_matches("/mod").replace('/', "::");
        let mut tests = file.text.split("#[test]").skip(1).filter_map(|rest| {
            let (_, rest) = rest.split_once("fn ")?;
            Some(rest.split_once('(')?.0)
        });
        tests.any(|test| format!("{module}::{test}").contains(name))
    };
    sources.into_iter().filter(has).map(|file| file.path).collect()
}

/// Has any crate an example in its documentation that would be run?
pub(super) fn has_examples_in_docs() -> bool {
    let sources = source::all().unwrap_or_default();
    sources.iter().any(|file| file.path.starts_with("crates") && has_example(&file.text))
}

/// A fence opens a block and closes it; one that opens says what the block is, or it is Rust.
fn has_example(text: &str) -> bool {
    let docs = text.lines().filter_map(|line| {
        let line = line.trim_start();
        line.strip_prefix("///").or(line.strip_prefix("//!"))
    });
    let fences = docs.filter_map(|line| line.trim().strip_prefix("```"));
    fences.step_by(2).any(|kind| matches!(kind, "" | "rust" | "no_run" | "should_panic"))
}

/// A line of cargo's that is about a test program.
fn artifact(line: &str) -> Option<Program> {
    // The target says `"test":true`, too, of a program that could be tested.
    let (_, profile) = line.split_once("\"profile\":{")?;
    let (profile, _) = profile.split_once('}')?;
    if !line.contains("\"reason\":\"compiler-artifact\"") || !profile.contains("\"test\":true") {
        return None;
    }
    let path = PathBuf::from(text(line, "\"executable\":\"")?);
    let manifest = PathBuf::from(text(line, "\"manifest_path\":\"")?);
    let package = text(line, "\"package_id\":\"")?;
    // path+file:///somewhere/crates/keeper#trunkline-keeper@0.1.0, or …/bench#0.1.0
    let (folder, named) = package.rsplit_once('#')?;
    let package = match named.split_once('@') {
        Some((name, _)) => name,
        None => folder.rsplit_once('/')?.1,
    };
    let (_, target) = line.split_once("\"target\":{")?;
    let (kind, name) = (text(target, "\"kind\":[\"")?, text(target, "\"name\":\"")?);
    let label = match kind.as_str() {
        "lib" => package.to_owned(),
        _ => format!("{package} {name}"),
    };
    let folder = manifest.parent().map(Path::to_owned)?;
    Some(Program { path, folder, label, tests: Vec::new() })
}

/// The JSON string behind this.
fn text(line: &str, before: &str) -> Option<String> {
    let (_, rest) = line.split_once(before)?;
    Some(rest.split_once('"')?.0.to_owned())
}

/// The program with the tests it says it has.
fn listed(program: Program) -> Result<Program, String> {
    let mut command = Command::new(&program.path);
    let output = command.arg("--list").current_dir(&program.folder).output();
    let output = output.map_err(|error| format!("{}: {error}", program.path.display()))?;
    let said = String::from_utf8_lossy(&output.stdout);
    let tests = said.lines().filter_map(|line| Some(line.strip_suffix(": test")?.to_owned()));
    let tests = tests.collect();
    Ok(Program { tests, ..program })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_in_docs_are_told_from_drawings() {
        for (text, expected) in [
            ("//! ```text\n//! a -> b\n//! ```\n", false),
            ("/// ```\n/// one();\n/// ```\n", true),
            ("/// ```text\n/// a\n/// ```\n/// ```no_run\n/// b\n/// ```", true),
            ("let text = \"```\";", false),
        ] {
            assert_eq!(has_example(text), expected, "{text}");
        }
    }

    #[test]
    fn what_cargo_says_of_test_programs_is_read() {
        let line = r#"{"reason":"compiler-artifact","package_id":"path+file:///r/crates/keeper#trunkline-keeper@0.1.0","manifest_path":"/r/crates/keeper/Cargo.toml","target":{"kind":["test"],"crate_types":["bin"],"name":"custody","test":true},"profile":{"opt_level":"0","test":true},"features":[],"filenames":["/r/d/custody-1"],"executable":"/r/d/custody-1","fresh":true}"#;
        let program = artifact(line).unwrap();
        assert_eq!(program.label, "trunkline-keeper custody");
        assert_eq!(program.path, Path::new("/r/d/custody-1"));
        assert_eq!(program.folder, Path::new("/r/crates/keeper"));
        let library = line.replace("\"kind\":[\"test\"]", "\"kind\":[\"lib\"]");
        assert_eq!(artifact(&library).unwrap().label, "trunkline-keeper");
        let own = line.replace("#trunkline-keeper@0.1.0", "#0.1.0");
        assert_eq!(artifact(&own).unwrap().label, "keeper custody");
        assert!(
            artifact(&line.replace("\"opt_level\":\"0\",\"test\":true", "\"test\":false"))
                .is_none()
        );
        assert!(artifact(&line.replace(":\"/r/d/custody-1\",\"fresh", ":null,\"fresh")).is_none());
    }
}
