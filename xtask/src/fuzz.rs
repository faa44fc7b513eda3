//! Fuzzing: builds the targets of `fuzz/` with libFuzzer and its coverage, runs each for a while, and says what
//! was tried and found. No other program is needed, and no other toolchain.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run;

const USAGE: &str = "usage: cargo xtask fuzz [--seconds N | --runs N] [--keep] [TARGET]...

  TARGET       one of the folders of fuzz/corpus; without: all of them, one after the other
  --seconds N  how long each [default: 60]
  --runs N     how many executions each, however long they take
  --keep       afterwards, add inputs that reach new code to fuzz/corpus";

const SEEDS: &str = "fuzz/corpus";
/// What is found and learned lies here: the corpus that grows, logs, findings.
const WORK: &str = "target/fuzz";
/// What LLVM adds so that libFuzzer sees which code an input reaches and what it was compared with.
const COVERAGE: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares";
/// Longer inputs find nothing that shorter ones do not, and are slow.
const LONGEST: u32 = 4096;
/// Texts of one line that are read from left to right: short inputs reach all of their code, and ten times as many
/// are tried in the same time.
const SHORT: [&str; 5] = ["jwt", "percent", "policy_uri", "uri_template", "url"];
const LONGEST_SHORT: u32 = 512;
/// Seconds for one input: a parser that takes longer hangs.
const TIMEOUT: &str = "-timeout=10";

struct Asked {
    bound: String,
    keep: bool,
    targets: Vec<String>,
}

/// What came out for one target.
struct Outcome {
    target: String,
    executions: u64,
    a_second: u64,
    /// The input that failed, if one did.
    finding: Option<PathBuf>,
}

pub fn run(arguments: &[String]) -> Result<(), String> {
    let asked = Asked::read(arguments)?;
    let fuzzer = build()?;
    let mut outcomes = Vec::new();
    for target in &asked.targets {
        let outcome = fuzz(&fuzzer, target, &asked.bound)?;
        if asked.keep && outcome.finding.is_none() {
            keep(&fuzzer, target)?;
        }
        outcomes.push(outcome);
    }
    report(&outcomes)
}

impl Asked {
    fn read(arguments: &[String]) -> Result<Self, String> {
        let mut asked =
            Self { bound: "-max_total_time=60".to_owned(), keep: false, targets: Vec::new() };
        let known = targets()?;
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let mut number = || match rest.next().and_then(|text| text.parse::<u64>().ok()) {
                Some(number) if number > 0 => Ok(number),
                _ => Err(format!("{argument} takes a number\n\n{USAGE}")),
            };
            match argument.as_str() {
                "--seconds" => asked.bound = format!("-max_total_time={}", number()?),
                "--runs" => asked.bound = format!("-runs={}", number()?),
                "--keep" => asked.keep = true,
                name if known.iter().any(|target| target == name) => {
                    asked.targets.push(name.to_owned());
                }
                name if name.starts_with('-') => return Err(USAGE.to_owned()),
                name => {
                    return Err(format!(
                        "no target is called {name}; there are {}",
                        known.join(", ")
                    ));
                }
            }
        }
        if asked.targets.is_empty() {
            asked.targets = known;
        }
        Ok(asked)
    }
}

/// The targets have their names from the folders of their seeds; a test of `fuzz/` wants one for each.
fn targets() -> Result<Vec<String>, String> {
    let entries = fs::read_dir(SEEDS).map_err(|error| format!("{SEEDS}: {error}"))?;
    let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
    let mut names: Vec<String> = entries.flatten().map(name).collect();
    names.sort();
    Ok(names)
}

/// Builds the fuzzer; the target's triple is given so that build scripts are built without coverage.
fn build() -> Result<PathBuf, String> {
    let host = host()?;
    let command = format!(
        "build --package trunkline-fuzz --features libfuzzer --bin fuzz --profile fuzz --locked \
         --target {host} --target-dir {WORK}"
    );
    let words: Vec<&str> = command.split_whitespace().collect();
    run::cargo_with(&words.join(" "), &[("RUSTFLAGS", COVERAGE)])?;
    Ok(Path::new(WORK).join(host).join("fuzz/fuzz"))
}

/// The triple of this machine.
fn host() -> Result<String, String> {
    let asked = Command::new("rustc").arg("-vV").output();
    let text = asked.map_err(|error| format!("cannot run `rustc -vV`: {error}"))?.stdout;
    let text = String::from_utf8_lossy(&text).into_owned();
    let line = text.lines().find_map(|line| line.strip_prefix("host: "));
    line.map(str::to_owned).ok_or_else(|| "`rustc -vV` names no host".to_owned())
}

/// The flag that bounds the inputs of this target.
fn longest(target: &str) -> String {
    format!("-max_len={}", if SHORT.contains(&target) { LONGEST_SHORT } else { LONGEST })
}

fn fuzz(fuzzer: &Path, target: &str, bound: &str) -> Result<Outcome, String> {
    let (grown, findings) = (folder("corpus", target)?, folder("findings", target)?);
    let log = Path::new(WORK).join(format!("{target}.log"));
    run::announce(&format!("fuzz {target} {bound} (log: {})", log.display()));
    let written = fs::File::create(&log).map_err(|error| format!("{}: {error}", log.display()))?;
    let before = files(&findings);
    let status = Command::new(fuzzer)
        .env("TRUNKLINE_FUZZ_TARGET", target)
        .args([bound, &longest(target), TIMEOUT, "-print_final_stats=1", "-use_value_profile=1"])
        .arg(format!("-artifact_prefix={}/", findings.display()))
        .args([&grown, &Path::new(SEEDS).join(target)])
        .stderr(written)
        .status()
        .map_err(|error| format!("cannot run {}: {error}", fuzzer.display()))?;
    let text = fs::read_to_string(&log).unwrap_or_default();
    let finding = files(&findings).into_iter().find(|file| !before.contains(file));
    if !status.success() && finding.is_none() {
        return Err(format!(
            "the fuzzer ended ({status}) without a finding; see {}",
            log.display()
        ));
    }
    Ok(Outcome {
        target: target.to_owned(),
        executions: figure(&text, "stat::number_of_executed_units:"),
        a_second: figure(&text, "stat::average_exec_per_sec:"),
        finding,
    })
}

/// Adds to the seeds what reaches code that they do not reach.
fn keep(fuzzer: &Path, target: &str) -> Result<(), String> {
    let seeds = Path::new(SEEDS).join(target);
    let grown = folder("corpus", target)?;
    let mut command = Command::new(fuzzer);
    command
        .env("TRUNKLINE_FUZZ_TARGET", target)
        .args(["-merge=1", &longest(target)])
        .args([&seeds, &grown]);
    let done = command.output().map_err(|error| format!("cannot run the fuzzer: {error}"))?;
    if done.status.success() { Ok(()) } else { Err(format!("{target}: the seeds were not merged")) }
}

fn folder(kind: &str, target: &str) -> Result<PathBuf, String> {
    let folder = Path::new(WORK).join(kind).join(target);
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(folder)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

fn figure(log: &str, name: &str) -> u64 {
    let line = log.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|number| number.trim().parse().ok()).unwrap_or_default()
}

fn report(outcomes: &[Outcome]) -> Result<(), String> {
    println!("\n{:<14} {:>12} {:>10}  finding", "target", "executions", "a second");
    for Outcome { target, executions, a_second, finding } in outcomes {
        let found = finding.as_ref().map_or("none".to_owned(), |path| path.display().to_string());
        println!("{target:<14} {executions:>12} {a_second:>10}  {found}");
    }
    let failed: Vec<&Outcome> =
        outcomes.iter().filter(|outcome| outcome.finding.is_some()).collect();
    if failed.is_empty() {
        return Ok(());
    }
    let how = failed.iter().filter_map(|outcome| {
        let path = outcome.finding.as_ref()?.display();
        Some(format!(
            "  cp {path} {SEEDS}/{}/   # then mend it, and: cargo xtask test fuzz",
            outcome.target
        ))
    });
    let how: Vec<String> = how.collect();
    Err(format!("{} targets failed; keep the inputs as tests:\n{}", failed.len(), how.join("\n")))
}
