//! `test` and `ci`: runs every test, the conformance suite and the package trials, whatever fails,
//! and ends with one list of what failed and how to run each alone.

mod apart;
mod beside;
mod harness;
mod lints;
mod logs;
mod programs;
mod report;

use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::{balancers, browser, dist, leftovers, operations, peers, postgres, proxies, run, tidy};
use beside::Beside;
pub use beside::{WORD as JUDGE, judge};
use harness::Job;
use programs::{Built, Program, Scope};
use report::Report;

const USAGE: &str = "usage: cargo xtask test [--exact] [NAME]...

  NAME     only tests whose name (such as platform::audit::…) contains NAME, without the
           conformance suite and the package trials
  --exact  … whose name is NAME";

/// Runs the lints alone.
const LINTS: &str = "cargo clippy --workspace --all-targets --locked -- -D warnings";

/// Which tests are wanted.
enum Wanted {
    All,
    Containing(Vec<String>),
    Exactly(Vec<String>),
}

/// `cargo xtask test [NAME]…`
pub fn run(arguments: &[String]) -> Result<(), String> {
    let wanted = Wanted::read(arguments)?;
    logs::clear();
    let mut report = Report::default();
    let outcome = tests(&wanted, &mut report);
    report.close(outcome)
}

/// `cargo xtask ci`: the same steps on a laptop and in CI, cheapest first.
pub fn ci() -> Result<(), String> {
    logs::clear();
    let mut report = Report::default();
    run::announce("tidy");
    report.step("tidy", "cargo xtask tidy", || tidy::run(&[]));
    let arguments = "fmt --all --check";
    report.step("format", &format!("cargo {arguments}"), || run::cargo(arguments));
    let outcome = tests(&Wanted::All, &mut report);
    report.close(outcome)
}

/// An error is one without which nothing can be tried; what fails goes into the report.
fn tests(wanted: &Wanted, report: &mut Report) -> Result<(), String> {
    let built = report.timed("build", || build(wanted.scope()))?;
    if matches!(wanted, Wanted::All) {
        report.step("lints", LINTS, || judge_lints(built.warnings));
    }
    let jobs: Vec<Job> =
        built.programs.into_iter().filter_map(|program| wanted.job(program)).collect();
    if jobs.is_empty() {
        return Err("no test has such a name".to_owned());
    }
    let beside = matches!(wanted, Wanted::All).then(Beside::start).transpose()?;
    let needs_postgres = jobs.iter().any(Job::needs_postgres);
    let postgres = if needs_postgres { Some(postgres::Cluster::start()?) } else { None };
    let before = leftovers::before();
    let start = Instant::now();
    harness::run(jobs, postgres.as_ref().map(postgres::Cluster::url), report);
    report.took("tests", start.elapsed());
    drop(postgres);
    if matches!(wanted, Wanted::All) && programs::has_examples_in_docs() {
        let arguments = "test --workspace --locked --doc";
        report.step("examples in docs", &format!("cargo {arguments}"), || run::cargo(arguments));
    }
    report.step("processes left behind", "cargo xtask test", || leftovers::check(&before));
    if let Some(beside) = beside {
        beside.finish(report);
    }
    Ok(())
}

/// The programs, and beside them what they are tried with: that comes from package registries, and
/// is waited for most of the time.
fn build(scope: Scope) -> Result<Built, String> {
    std::thread::scope(|threads| {
        let others = threads.spawn(|| {
            peers::install()?;
            browser::install()?;
            balancers::install()?;
            dist::install()?;
            operations::install()?;
            proxies::install()
        });
        let built = programs::build(scope)?;
        let others = others.join();
        others.unwrap_or_else(|_| Err("the peers could not be installed".to_owned()))?;
        Ok(built)
    })
}

/// Is it a file of a library? The kit's stand in `tests/src`.
fn is_unit(path: &Path) -> bool {
    let is_of_crate = path.starts_with("crates") && path.iter().nth(2) == Some("src".as_ref());
    is_of_crate || path.starts_with("tests/src") || path.starts_with("tests/scan")
}

fn judge_lints(warnings: usize) -> Result<(), String> {
    match warnings {
        0 => Ok(()),
        _ => Err(format!("{warnings} warnings of the compiler and of Clippy, as shown above")),
    }
}

impl Wanted {
    fn read(arguments: &[String]) -> Result<Self, String> {
        let (exact, names) = match arguments {
            [flag, names @ ..] if flag == "--exact" => (true, names.to_vec()),
            names => (false, names.to_vec()),
        };
        match (exact, names.is_empty()) {
            _ if names.iter().any(|name| name.starts_with('-')) => Err(USAGE.to_owned()),
            (true, true) => Err(USAGE.to_owned()),
            (false, true) => Ok(Self::All),
            (true, false) => Ok(Self::Exactly(names)),
            (false, false) => Ok(Self::Containing(names)),
        }
    }

    /// Names that only the black-box tests or only unit tests have are looked for nowhere else: all
    /// tests take a while to build.
    fn scope(&self) -> Scope {
        let names = match self {
            Self::All => return Scope::Everything,
            Self::Containing(names) | Self::Exactly(names) => names,
        };
        let found: Vec<Vec<PathBuf>> =
            names.iter().map(|name| programs::sources_of(name)).collect();
        let all = |is: fn(&PathBuf) -> bool| {
            found.iter().all(|paths| !paths.is_empty() && paths.iter().all(is))
        };
        if all(|path| path.starts_with("tests/it")) {
            Scope::BlackBox
        } else if all(|path| is_unit(path)) {
            Scope::Units
        } else {
            Scope::Everything
        }
    }

    /// This program with those of its tests that are wanted, if there are any.
    fn job(&self, program: Program) -> Option<Job> {
        let tests = program.tests.iter().filter(|name| self.wants(name)).cloned().collect();
        let job = Job { is_whole: matches!(self, Self::All), program, tests };
        (!job.tests.is_empty()).then_some(job)
    }

    fn wants(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Containing(names) => names.iter().any(|wanted| name.contains(wanted)),
            Self::Exactly(names) => names.iter().any(|wanted| name == wanted),
        }
    }
}
