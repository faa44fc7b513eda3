//! What everything that guards costs, in one run of the same program: pins, the scanner, limits, the standard sandbox
//! and policies, against the same without any of it. A call, and the start of servers.

use super::seq::{self, Figures};
use super::turns::{Entrant, Task, Turns, compete};
use super::{Context, USUAL};
use crate::drive::affinity::Placement;
use crate::drive::call::Ask;
use crate::drive::contender::{Contender, Guards, Kind};
use crate::drive::expected::every_tool;
use crate::drive::report::{Report, Rows};
use crate::drive::route::{Http, Route, Servers, Sessions};
use crate::drive::stats::Series;
use crate::drive::target::{Shape, Target};
use crate::era::Era;
use std::time::Instant;

/// Over HTTP, for `serve` alone takes policies; the children are commands, which alone have a sandbox.
const ROUTE: Route =
    Route::Http(Http { servers: Servers::Stdio, connections: 1, sessions: Sessions::One });

/// One server, and as many as in the other scenarios.
const STARTED: [Shape; 2] = [Shape { servers: 1, tools: 10 }, USUAL];

pub(super) fn run(context: &Context, report: &mut Report) -> Result<(), String> {
    context.cpus.place(Placement::Pinned).map_err(|error| error.to_string())?;
    calls(context, report)?;
    STARTED.into_iter().try_for_each(|shape| starts(context, report, shape))
}

fn both() -> [Contender; 2] {
    [Guards::Off, Guards::On].map(|guards| Kind::Guarded(guards).of(Era::Legacy))
}

fn calls(context: &Context, report: &mut Report) -> Result<(), String> {
    let task = Task { shape: USUAL, route: ROUTE, pairs: &every_tool(USUAL), ask: Ask::Echo };
    let turns = Turns { rounds: context.rounds(150), peer_rounds: 0 };
    let direct = Kind::Direct.of(Era::Legacy);
    let contenders: Vec<_> = [direct].into_iter().chain(both()).collect();
    let mut figures = vec![Figures::default(); contenders.len()];
    let entrants = compete(context, report, &contenders, task, turns, |index, lane| {
        seq::measure(lane, &mut figures[index])
    })?;
    report.table(
        "Guards: sequential calls, one CPU",
        "Over HTTP, children over stdio; microseconds. *Off*: no pins, scanner, limits, sandbox or policies. *On*: `onChange` and \
         `scan` are `hold`, callers, servers, tools and addresses have limits that are never reached, children run in \
         the standard sandbox, and a hundred policies hold, three of which look at each call. The last row is the difference of \
         the same rounds.",
        rows(&entrants, &figures),
    );
    Ok(())
}

fn rows(entrants: &[Entrant], figures: &[Figures]) -> Rows {
    let mut rows = seq::rows(entrants, figures);
    if let [_, off, on] = figures {
        let less = |one: &Series, other: &Series| one.with(other, |a, b| a - b).show();
        let added = less(&seq::added(on, &figures[0]), &seq::added(off, &figures[0]));
        let difference =
            [less(&on.p50, &off.p50), less(&on.p99, &off.p99), added, less(&on.cpu, &off.cpu)];
        rows.push(["on − off".to_owned()].into_iter().chain(difference));
    }
    rows
}

fn starts(context: &Context, report: &mut Report, shape: Shape) -> Result<(), String> {
    let contenders = both();
    let mut names = [String::new(), String::new()];
    let mut times = [Series::default(), Series::default()];
    for round in 0..context.rounds(60) {
        for turn in 0..contenders.len() {
            let index = (round + turn) % contenders.len();
            let (name, time) = start(context, &contenders[index], shape)?;
            names[index] = name;
            times[index].push(time);
        }
    }
    let mut rows = Rows::with_header(&["", "ms"]);
    for (name, own) in names.iter().zip(&times) {
        rows.push([name, &own.show()]);
    }
    let [off, on] = &times;
    rows.push(["on − off", &on.with(off, |a, b| a - b).show()]);
    report.table(
        &format!("Guards: {} started, one CPU", shape.label()),
        "From the start of `serve` until `tools/list` has every tool of every server, none of them remembered; \
         milliseconds. The pins of the first round are compared in all others.",
        rows,
    );
    Ok(())
}

fn start(context: &Context, contender: &Contender, shape: Shape) -> Result<(String, f64), String> {
    let begin = Instant::now();
    let target = Target::ready(&context.place, contender, shape, ROUTE)?;
    Ok((target.name.clone(), begin.elapsed().as_secs_f64() * 1000.0))
}
