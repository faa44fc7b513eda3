//! What is measured: one file a scenario, each with its targets.

mod big;
mod lane;
mod list;
mod mem;
mod par64;
mod scale;
mod seq;
mod start50;
mod turns;

use super::affinity::Cpus;
use super::peers::Peer;
use super::report::Report;
use super::target::{Kind, Place, Shape};

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
    ("seq", seq::run),
    ("par64", par64::run),
    ("big", big::run),
    ("list", list::run),
    ("start50", start50::run),
    ("mem", mem::run),
    ("scale", scale::run),
];

/// Ten servers with ten tools each.
const USUAL: Shape = Shape { servers: 10, tools: 10 };

/// Runs the scenarios named in `only`, or all; one that fails does not keep the others from running.
pub(super) fn run_all(context: &Context, only: &[String]) -> Result<Report, String> {
    if let Some(name) = only.iter().find(|name| ALL.iter().all(|(known, _)| known != name)) {
        return Err(format!("no scenario {name}"));
    }
    let mut report = Report::default();
    for (name, scenario) in ALL {
        if only.is_empty() || only.iter().any(|wanted| wanted == name) {
            let result = scenario(context, &mut report);
            if let Err(error) = result {
                eprintln!("bench: {name}: {error}");
                report.failures.push(format!("{name}: {error}"));
            }
        }
    }
    Ok(report)
}

impl Context {
    /// Rounds of a full run; a quick one makes a third.
    fn rounds(&self, full: usize) -> usize {
        if self.quick { full.div_ceil(3) } else { full }
    }

    /// Floor, subject and the peers.
    fn middles(&self) -> Vec<Kind> {
        let peers = self.peers.iter().cloned().map(Kind::Peer);
        [Kind::Floor, Kind::Subject].into_iter().chain(peers).collect()
    }

    /// The same with the direct children first.
    fn everybody(&self) -> Vec<Kind> {
        [Kind::Direct].into_iter().chain(self.middles()).collect()
    }
}
