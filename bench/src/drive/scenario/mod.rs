//! What is measured: one file a scenario, each with its targets.

mod big;
mod cores;
mod course;
mod guards;
mod idle;
mod lane;
mod list;
mod mem;
mod modern;
mod par64;
mod platform;
mod scale;
mod seq;
mod stalls;
mod start50;
mod turns;

use self::course::{Course, HTTP, MODERN, STDIO};
use super::affinity::Cpus;
use super::contender::{Contender, Kind};
use super::peers::Peer;
use super::report::Report;
use super::route::Sessions;
use super::target::{Place, Shape};
use crate::era::Era;

/// What every scenario needs to know.
#[derive(Debug)]
pub(super) struct Context {
    pub(super) place: Place,
    pub(super) cpus: Cpus,
    pub(super) peers: Vec<Peer>,
    pub(super) quick: bool,
}

type Scenario = fn(&Context, &mut Report) -> Result<(), String>;

const ALL: &[(&str, Scenario)] = &[
    ("seq", |context, report| seq::run(context, report, &STDIO)),
    ("par64", |context, report| par64::run(context, report, &STDIO, Sessions::One)),
    ("big", |context, report| big::run(context, report, &STDIO)),
    ("list", list::run),
    ("start50", start50::run),
    ("mem", mem::run),
    ("scale", scale::run),
    ("http-seq", |context, report| each(&HTTP, |course| seq::run(context, report, course))),
    ("http-par64", |context, report| {
        each(&HTTP, |course| par64::run(context, report, course, Sessions::One))
    }),
    ("http-sessions", |context, report| {
        each(&HTTP, |course| par64::run(context, report, course, Sessions::OneEach))
    }),
    ("http-big", |context, report| each(&HTTP, |course| big::run(context, report, course))),
    ("modern-seq", |context, report| {
        each(&MODERN, |course| modern::seq::run(context, report, course))
    }),
    ("modern-par64", |context, report| {
        each(&MODERN, |course| modern::par64::run(context, report, course))
    }),
    ("cores", cores::run),
    ("cores-stalls", stalls::run),
    ("cores-idle", idle::run),
    ("guards", guards::run),
    ("platform-seq", platform::seq::run),
    ("platform-register", platform::register::run),
    ("platform-scale", platform::scale::run),
    ("platform-search", platform::search::run),
];

/// One course after the other; a failure of the one does not keep the other from running.
fn each(
    courses: &[Course],
    mut run: impl FnMut(&Course) -> Result<(), String>,
) -> Result<(), String> {
    let failures: Vec<String> = courses
        .iter()
        .filter_map(|course| run(course).err().map(|error| format!("{}{error}", course.prefix)))
        .collect();
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}

/// Ten servers with ten tools each.
const USUAL: Shape = Shape { servers: 10, tools: 10 };

/// Runs the scenarios named in `only` (`http`: all that begin with it), or all; one that fails does not keep the others from running.
pub(super) fn run_all(context: &Context, only: &[String]) -> Result<Report, String> {
    if let Some(name) = only.iter().find(|name| !ALL.iter().any(|(known, _)| means(name, known))) {
        return Err(format!("no scenario {name}"));
    }
    let mut report = Report::default();
    for (name, scenario) in ALL {
        if only.is_empty() || only.iter().any(|wanted| means(wanted, name)) {
            let result = scenario(context, &mut report);
            if let Err(error) = result {
                eprintln!("bench: {name}: {error}");
                report.failures.push(format!("{name}: {error}"));
            }
        }
    }
    Ok(report)
}

/// Whether `wanted` is the scenario's name or the part of it before a hyphen.
fn means(wanted: &str, name: &str) -> bool {
    name.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

impl Context {
    /// Rounds of a full run; a quick one makes a third.
    fn rounds(&self, full: usize) -> usize {
        if self.quick { full.div_ceil(3) } else { full }
    }

    /// Floor, subject, the other build if there is one, and the peers.
    fn middles(&self) -> Vec<Contender> {
        let peers = self.peers.iter().cloned().map(Kind::Peer);
        let before = self.place.before.iter().map(|_| Kind::Before);
        let middles = [Kind::Floor, Kind::Subject].into_iter().chain(before).chain(peers);
        middles.map(|kind| kind.of(Era::Legacy)).collect()
    }

    /// The figures of the other build, among those of everybody.
    fn before<'a, F>(&self, figures: &'a [F]) -> Option<&'a F> {
        self.place.before.as_ref().and_then(|_| figures.get(3))
    }

    /// All middles, with the direct children first.
    fn everybody(&self) -> Vec<Contender> {
        [Kind::Direct.of(Era::Legacy)].into_iter().chain(self.middles()).collect()
    }
}
