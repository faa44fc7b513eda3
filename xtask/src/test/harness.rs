//! Runs test programs side by side, and reads from their output how each test ended and how long
//! it took.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::programs::{self, Program};
use super::report::Report;
use super::{apart, logs};
use crate::{postgres, run};

/// A program of which nothing is heard for so long hangs: a test with its limits takes at most two
/// or three minutes, on a busy machine a few times that.
const HANGS: Duration = Duration::from_secs(15 * 60);

/// In the names of tests that need a database server.
const ON_POSTGRES: [&str; 4] =
    ["postgres", "replicas", "platform::idempotency::", "platform::chaos::"];

/// A program, and those of its tests that are to be run.
pub(super) struct Job {
    pub(super) program: Program,
    pub(super) tests: Vec<String>,
    /// Are these all the tests it has?
    pub(super) is_whole: bool,
}

impl Job {
    pub(super) fn needs_postgres(&self) -> bool {
        let name = &self.program.label;
        let contract = name == "trunkline-store contract";
        let is_on_it = |test: &String| ON_POSTGRES.iter().any(|part| test.contains(part));
        contract || self.tests.iter().any(is_on_it)
    }
}

/// How one test ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Ended {
    pub(super) test: String,
    pub(super) passed: bool,
    pub(super) took: Duration,
    /// What it has said, if it failed.
    pub(super) log: Option<PathBuf>,
}

/// Tests of the black-box program that take longest, most of it waiting: they begin with the first
/// ones, so that none of them is left when all others have ended.
const LONG: [&str; 9] = [
    "browser::hands::",
    "browser::looks::",
    "http_upstream::requests::",
    "matrix::faults::",
    "matrix::fidelity::",
    "peers::",
    "platform::connections::",
    "platform::reliability::",
    "sharing::",
];

/// Runs everything, and tells the report: side by side, for most tests wait for processes or for a
/// time to pass most of the time. The small programs go one after the other, beside the black-box
/// tests; of these, those that take turns, the long ones and all others have a process each.
pub(super) fn run(jobs: Vec<Job>, postgres: Option<&str>, report: &mut Report) {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let (black_box, small): (Vec<Job>, Vec<Job>) =
        jobs.into_iter().partition(|job| job.program.label == "trunkline-tests it");
    let parts = black_box.into_iter().flat_map(|job| {
        let taking_turns = apart::tests();
        let (turns, rest) = split(job, |test| taking_turns.contains(test), " (one at a time)");
        let (long, short) =
            split(rest, |test| LONG.iter().any(|it| test.starts_with(it)), " (long)");
        [(turns, 1), (long, cores), (short, 3 * cores)]
    });
    let running: Vec<Running> = parts
        .filter(|(job, _)| !job.tests.is_empty())
        .map(|(job, threads)| Running::start(job, threads, postgres))
        .collect();
    for job in small {
        Running::start(job, cores, postgres).finish(report);
    }
    running.into_iter().for_each(|running| running.finish(report));
}

/// Those tests of a program for which this holds, and the others.
fn split(job: Job, holds: impl Fn(&str) -> bool, kind: &str) -> (Job, Job) {
    let Job { program, tests, .. } = job;
    let (some, others) = tests.into_iter().partition(|test| holds(test));
    let part = |tests: Vec<String>, kind: &str| {
        let label = format!("{}{kind}", program.label);
        let (path, folder) = (program.path.clone(), program.folder.clone());
        let program = Program { path, folder, label, tests: Vec::new() };
        Job { program, tests, is_whole: false }
    };
    (part(some, kind), part(others, ""))
}

/// A program that runs, and the thread that reads it.
struct Running {
    label: String,
    reader: JoinHandle<Outcome>,
}

struct Outcome {
    ended: Vec<Ended>,
    /// Tests of which nothing was heard, and why.
    unheard: Vec<String>,
    why: String,
    /// The end of what their program has said.
    log: Option<PathBuf>,
}

impl Running {
    fn start(job: Job, threads: usize, postgres: Option<&str>) -> Self {
        let label = job.program.label.clone();
        run::announce(&format!("{label}: {} tests", job.tests.len()));
        let mut command = Command::new(&job.program.path);
        // What tests start without a place of its own must not pin anything in the developer's home.
        command.env("TRUNKLINE_PINS", "off");
        command.current_dir(&job.program.folder).envs(programs::environment());
        command.arg(format!("--test-threads={threads}"));
        if let Some(url) = postgres {
            command.env(postgres::VARIABLE, url);
        }
        if !job.is_whole {
            command.arg("--exact").args(&job.tests);
        }
        let said_by = label.clone();
        let reader =
            std::thread::spawn(move || logged(watched(command, job.tests, threads), &said_by));
        Self { label, reader }
    }

    fn finish(self, report: &mut Report) {
        let outcome = self.reader.join();
        let outcome = outcome.unwrap_or_else(|_| Outcome {
            ended: Vec::new(),
            unheard: vec!["all of them".to_owned()],
            why: "its output could not be read".to_owned(),
            log: None,
        });
        for ended in outcome.ended {
            report.test(&self.label, &ended);
        }
        for test in outcome.unheard {
            report.failed(
                &format!("{}: {test} ({})", self.label, outcome.why),
                &format!("cargo xtask test --exact {test}"),
                outcome.log.clone(),
            );
        }
    }
}

/// Keeps what failed tests have said, and the end of what a program has said that owes some.
fn logged((mut outcome, said): (Outcome, Vec<String>), label: &str) -> Outcome {
    let texts = logs::of_tests(&said);
    for ended in outcome.ended.iter_mut().filter(|ended| !ended.passed) {
        let text = texts.get(&ended.test);
        ended.log = text.and_then(|text| logs::keep(&ended.test, text));
    }
    if !outcome.unheard.is_empty() {
        outcome.log = logs::keep(label, &logs::tail(&said));
    }
    outcome
}

/// Runs the program and passes on what it says, until its end or until it hangs. All that it said.
fn watched(mut command: Command, tests: Vec<String>, threads: usize) -> (Outcome, Vec<String>) {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut clock = Clock::new(tests, threads, Instant::now());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return (clock.over(format!("cannot be started: {error}")), Vec::new()),
    };
    let heard = lines(&mut child);
    let mut said: Vec<String> = Vec::new();
    // What failed tests have said comes last, and is shown in one piece.
    let mut of_failed = None;
    let is_hung = loop {
        match heard.recv_timeout(HANGS) {
            Ok(line) => {
                if line == "failures:" {
                    of_failed.get_or_insert(said.len());
                }
                if of_failed.is_none() {
                    println!("{line}");
                    clock.hear(&line, Instant::now());
                }
                said.push(line);
            }
            Err(error) => break error == RecvTimeoutError::Timeout,
        }
    };
    if let Some(rest) = of_failed {
        println!("{}", said[rest..].join("\n"));
    }
    let why = if is_hung {
        drop(child.kill());
        drop(child.wait());
        format!("nothing was heard for {} s", HANGS.as_secs())
    } else {
        child.wait().map_or_else(|error| error.to_string(), |status| status.to_string())
    };
    (clock.over(why), said)
}

/// Both outputs, line by line.
fn lines(child: &mut Child) -> Receiver<String> {
    let (sender, lines) = channel();
    read(child.stdout.take(), sender.clone());
    read(child.stderr.take(), sender);
    lines
}

fn read(pipe: Option<impl Read + Send + 'static>, to: Sender<String>) {
    std::thread::spawn(move || {
        let mut lines = pipe.map(BufReader::new);
        let mut bytes = Vec::new();
        while let Some(Ok(1..)) = lines.as_mut().map(|pipe| pipe.read_until(b'\n', &mut bytes)) {
            let line = String::from_utf8_lossy(&bytes).trim_end().to_owned();
            bytes.clear();
            if to.send(line).is_err() {
                return;
            }
        }
    });
}

/// Reads the end of each test, and tells when it began: a program begins its tests in order, one
/// for each thread, and the next one when one has ended.
struct Clock {
    waiting: VecDeque<String>,
    running: Vec<(String, Instant)>,
    ended: Vec<Ended>,
}

impl Clock {
    fn new(tests: Vec<String>, threads: usize, now: Instant) -> Self {
        let mut clock = Self { waiting: tests.into(), running: Vec::new(), ended: Vec::new() };
        (0..threads).for_each(|_| clock.begin(now));
        clock
    }

    fn begin(&mut self, now: Instant) {
        self.running.extend(self.waiting.pop_front().map(|test| (test, now)));
    }

    /// `test NAME ... ok`
    fn hear(&mut self, line: &str, now: Instant) {
        let Some((test, how)) =
            line.strip_prefix("test ").and_then(|rest| rest.rsplit_once(" ... "))
        else {
            return;
        };
        let passed = match how {
            "ok" => true,
            "FAILED" => false,
            _ => return,
        };
        // `NAME - should panic` is no other test.
        let test = test.split(" - ").next().unwrap_or(test);
        let begun = match self.running.iter().position(|(running, _)| running == test) {
            Some(at) => self.running.swap_remove(at).1,
            None => {
                self.waiting.retain(|waiting| waiting != test);
                now
            }
        };
        let took = now.saturating_duration_since(begun);
        self.ended.push(Ended { test: test.to_owned(), passed, took, log: None });
        self.begin(now);
    }

    /// Nothing more will be heard.
    fn over(self, why: String) -> Outcome {
        let running = self.running.into_iter().map(|(test, _)| test);
        let unheard = running.chain(self.waiting).collect();
        Outcome { ended: self.ended, unheard, why, log: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tests() -> Vec<String> {
        ["a", "b", "c", "d"].map(str::to_owned).to_vec()
    }

    #[test]
    fn a_test_begins_when_one_before_it_has_ended() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut clock = Clock::new(tests(), 2, start);
        clock.hear("test b ... ok", at(3));
        clock.hear("test c ... FAILED", at(7));
        clock.hear("test c has been running for over 60 seconds", at(8));
        clock.hear("test a ... ok", at(9));
        let outcome = clock.over("gone".to_owned());
        let ended: Vec<_> = outcome
            .ended
            .iter()
            .map(|it| (it.test.as_str(), it.passed, it.took.as_secs()))
            .collect();
        assert_eq!(ended, [("b", true, 3), ("c", false, 4), ("a", true, 9)]);
        assert_eq!(outcome.unheard, ["d"], "it was never heard of");
    }

    #[test]
    fn a_hung_or_crashed_program_owes_its_tests() {
        let mut clock = Clock::new(tests(), 1, Instant::now());
        clock.hear("running 4 tests", Instant::now());
        clock.hear("test a - should panic ... ok", Instant::now());
        assert_eq!(clock.over(String::new()).unheard, ["b", "c", "d"]);
    }
}
