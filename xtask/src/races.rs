//! Data races: builds the shipped programs and Rust's own library with ThreadSanitizer, runs black-box tests
//! against them, and fails if two threads have touched the same memory without an order between them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{conformance, run};

const USAGE: &str = "usage: cargo xtask races [NAME]...

  NAME  black-box tests whose name contains NAME; without: those with several threads that move messages,
        and what shares, ends and restarts servers";

/// Where several threads do most at once.
const TESTS: [&str; 8] =
    ["faults::", "fidelity::", "lazy::", "limits::", "matrix::", "reload::", "sharing::", "tls::"];

/// A process of ours that starts a server stands still while the new one runs on its memory, until that
/// executes its program (`keeper/helper/execute.rs`). The sanitizer takes `clone` for a fork and ends it, so the call goes to the C
/// library by its other name.
const CLONE: &str =
    ".globl __wrap_clone\n__wrap_clone: jmp __clone@PLT\n.section .note.GNU-stack,\"\",@progbits\n";

/// The sources of the standard library: it is instrumented, too, or its locks would not be seen.
const COMPONENT: &str = "rust-src";

/// How much longer the tests wait for the instrumented program.
const SLOWER: &str = "10";

pub fn run(arguments: &[String]) -> Result<(), String> {
    if arguments.iter().any(|argument| argument.starts_with('-')) {
        return Err(USAGE.to_owned());
    }
    let place = conformance::target().join("races");
    let place = std::path::absolute(&place).map_err(|error| error.to_string())?;
    let programs = build(&place)?;
    let reports = place.join("reports");
    let _ = fs::remove_dir_all(&reports);
    fs::create_dir_all(&reports).map_err(|error| format!("{}: {error}", reports.display()))?;
    let tests = test(arguments, &programs, &reports);
    judge(&reports)?;
    tests
}

/// The folder with the instrumented programs.
fn build(place: &Path) -> Result<PathBuf, String> {
    let rustc = |arguments: &[&str]| {
        let output = Command::new("rustc").args(arguments).output();
        let output = output.map_err(|error| format!("cannot run rustc: {error}"))?;
        Ok::<_, String>(String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let root = rustc(&["--print", "sysroot"])?;
    if !Path::new(root.trim()).join("lib/rustlib/src/rust/library/Cargo.lock").exists() {
        let mut rustup = Command::new("rustup");
        rustup.args(["component", "add", COMPONENT]);
        run::checked(&mut rustup, &format!("rustup component add {COMPONENT}"))?;
    }
    let host = "x86_64-unknown-linux-gnu";
    if !rustc(&["-vV"])?.contains(&format!("host: {host}")) {
        return Err(format!("`races` runs on {host} only"));
    }
    let object = assemble(place)?;
    for program in ["trunkline", "mcp-simple-aggregator"] {
        let command = format!(
            "rustc --locked -Zbuild-std --target {host} --target-dir {} -p trunkline --bin {program} -- \
             -Clink-arg=-Wl,--wrap=clone -Clink-arg={}",
            place.display(),
            object.display()
        );
        // Sanitizers are not in the stable language yet; the stable toolchain has them all the same.
        let variables = [("RUSTC_BOOTSTRAP", "1"), ("RUSTFLAGS", "-Zsanitizer=thread")];
        run::cargo_with(&command, &variables)?;
    }
    Ok(place.join(host).join("debug"))
}

fn assemble(place: &Path) -> Result<PathBuf, String> {
    let (source, object) = (place.join("clone.s"), place.join("clone.o"));
    fs::create_dir_all(place)
        .and_then(|()| fs::write(&source, CLONE))
        .map_err(|error| format!("{}: {error}", source.display()))?;
    let mut assembler = Command::new("cc");
    assembler.arg("-c").arg(&source).arg("-o").arg(&object);
    run::checked(&mut assembler, "cc -c clone.s")?;
    Ok(object)
}

fn test(names: &[String], programs: &Path, reports: &Path) -> Result<(), String> {
    let mut arguments = String::from("test --workspace --locked --test it --");
    match names {
        [] => TESTS.iter().for_each(|name| arguments.push_str(&format!(" {name}"))),
        names => names.iter().for_each(|name| arguments.push_str(&format!(" {name}"))),
    }
    // A report is a file for each process, and changes nothing of how the program ends.
    let options = format!("log_path={} exitcode=0", reports.join("race").display());
    run::cargo_with(
        &arguments,
        &[
            ("TRUNKLINE_BIN_DIR", &programs.to_string_lossy()),
            ("TRUNKLINE_TEST_SLOWER", SLOWER),
            ("TRUNKLINE_PINS", "off"),
            ("TSAN_OPTIONS", &options),
        ],
    )
}

/// Shows each place that was reported once.
fn judge(reports: &Path) -> Result<(), String> {
    let entries =
        fs::read_dir(reports).map_err(|error| format!("{}: {error}", reports.display()))?;
    let texts = entries.flatten().filter_map(|entry| fs::read_to_string(entry.path()).ok());
    let (mut summaries, mut first) = (Vec::new(), None);
    for text in texts {
        for report in text.split("WARNING: ThreadSanitizer").skip(1) {
            let summary = report.lines().find_map(|line| line.strip_prefix("SUMMARY: "));
            let summary = summary.unwrap_or("a report without an end").to_owned();
            if !summaries.contains(&summary) {
                first.get_or_insert_with(|| report.to_owned());
                summaries.push(summary);
            }
        }
    }
    summaries.sort();
    match first {
        None => {
            println!("no data race was reported");
            Ok(())
        }
        Some(report) => Err(format!(
            "{} kinds of reports in {}:\n{}\n\nthe first one:{report}",
            summaries.len(),
            reports.display(),
            summaries.join("\n")
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_that_is_reported_twice_is_one_finding() {
        let folder = conformance::target().join("races-test");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        assert_eq!(judge(&folder), Ok(()));
        let report = "==\nWARNING: ThreadSanitizer: data race (pid=1)\n  Write of size 8\nSUMMARY: ThreadSanitizer: data race a.rs:1\n==\n";
        fs::write(folder.join("race.1"), report.repeat(2)).unwrap();
        fs::write(folder.join("race.2"), report.replace("a.rs", "b.rs")).unwrap();
        let said = judge(&folder).unwrap_err();
        assert!(said.starts_with("2 kinds of reports"), "{said}");
        fs::remove_dir_all(&folder).unwrap();
    }
}
