//! The test programs: built all at once, and which tests each of them has.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

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
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    Everything,
    /// Only the one program of the black-box tests, and what it runs.
    BlackBox,
}

/// Builds the shipped programs, and the tests. Always of the whole workspace: a package built alone
/// has other features, and would be built twice.
pub(super) fn build(scope: Scope) -> Result<Vec<Program>, String> {
    run::cargo("build --workspace --bins --examples --locked")?;
    let targets = match scope {
        Scope::Everything => "",
        Scope::BlackBox => " --test it",
    };
    let arguments = format!("test --workspace --locked --no-run{targets}");
    run::announce(&format!("cargo {arguments}"));
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(arguments.split(' ')).arg("--message-format=json-render-diagnostics");
    let output = cargo.stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("cannot run cargo: {error}"))?;
    if !output.status.success() {
        return Err("the tests do not build".to_owned());
    }
    let said = String::from_utf8_lossy(&output.stdout);
    said.lines().filter_map(artifact).map(listed).collect()
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
