//! The conformance suite and the package trials, which run beside the tests: they wait most of the
//! time. What they say is shown when they have ended.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::report::Report;
use crate::conformance;

/// This program again, with its output in a file.
pub(super) struct Beside {
    child: Child,
    said: PathBuf,
    start: Instant,
}

/// The word by which this program is told to be it.
pub const WORD: &str = "__judge";

/// How long they may go on after the last test: several times what they take alone.
const PATIENCE: Duration = Duration::from_secs(15 * 60);

/// Before what each check says of itself, so that it can be counted.
const PASSED: &str = "passed: ";
const FAILED: &str = "FAILED: ";

/// The path of this program. The build of the tests may have replaced the file since we started: the
/// system then marks our old one, and the new one stands at the path without the mark.
fn own_program() -> io::Result<PathBuf> {
    let own = std::env::current_exe()?;
    let path = own.to_str().and_then(|path| path.strip_suffix(" (deleted)"));
    Ok(path.map_or(own.clone(), PathBuf::from))
}

impl Beside {
    pub(super) fn start() -> Result<Self, String> {
        let said = conformance::target().join("judged.log");
        let failed = |error: io::Error| format!("{}: {error}", said.display());
        let file = File::create(&said).map_err(failed)?;
        let own = own_program().map_err(failed)?;
        // If we are killed, it goes: another run would write into the same folders.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--"]).arg(own).arg(WORD).stdin(Stdio::null());
        command.stdout(file.try_clone().map_err(failed)?).stderr(file);
        let child = command.spawn().map_err(failed)?;
        Ok(Self { child, said, start: Instant::now() })
    }

    pub(super) fn finish(mut self, report: &mut Report) {
        let waited = Instant::now();
        let is_whole = self.wait(waited + PATIENCE);
        report.took("conformance and packages, after the tests", waited.elapsed());
        report.took("conformance and packages, in all", self.start.elapsed());
        let said = fs::read_to_string(&self.said).unwrap_or_default();
        println!("{}", said.trim_end());
        let mut heard = 0;
        for line in said.lines() {
            if line.strip_prefix(PASSED).is_some() {
                report.passed();
                heard += 1;
            } else if let Some((what, command)) =
                line.strip_prefix(FAILED).and_then(|rest| rest.split_once('\t'))
            {
                report.failed(what, command, Some(self.said.clone()));
                heard += 1;
            }
        }
        if !is_whole || heard == 0 {
            let what = "conformance and packages: not all were tried";
            report.failed(what, "cargo xtask conformance", Some(self.said.clone()));
        }
    }

    /// Has it come to its end, by then at the latest?
    fn wait(&mut self, late: Instant) -> bool {
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return status.success(),
                Ok(None) if Instant::now() < late => std::thread::sleep(Duration::from_millis(50)),
                _ => return false,
            }
        }
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// What [`Beside`] runs: says of every check how it ended.
pub fn judge() -> Result<(), String> {
    let tell = |what: &str, command: &str, outcome: Result<(), String>| match outcome {
        Ok(()) => println!("{PASSED}{what}"),
        Err(message) => println!("{message}\n{FAILED}{what}\t{command}"),
    };
    for (name, outcome) in conformance::judge_each(&[]) {
        tell(&format!("conformance {name}"), &format!("cargo xtask conformance {name}"), outcome);
    }
    let command = "cargo xtask dist --programs target/debug --out target/dist-check --check";
    for (name, outcome) in crate::dist::judge_each(&crate::dist::built())? {
        tell(&format!("package {name}"), command, outcome);
    }
    Ok(())
}
