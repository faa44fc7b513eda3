//! Sequential calls with a key, over MCP and REST, beside `serve` without a platform and the children themselves.

use crate::drive::affinity::{BOTH, Placement};
use crate::drive::call::Ask;
use crate::drive::contender::{Door, Kind};
use crate::drive::expected::every_tool;
use crate::drive::report::Report;
use crate::drive::scenario::course::HTTP;
use crate::drive::scenario::seq::{Figures, added, measure, rows};
use crate::drive::scenario::turns::{Task, Turns, compete};
use crate::drive::scenario::{Context, USUAL};
use crate::drive::stats::Series;
use crate::era::Era;

/// A call with a key against the same call without a platform: what knowing who asks and telling the log of it may cost.
const WITH_A_KEY: f64 = 1.5;
/// NFR-P4, in microseconds.
const ROUTING: f64 = 50_000.0;

pub(in crate::drive::scenario) fn run(
    context: &Context,
    report: &mut Report,
) -> Result<(), String> {
    BOTH.into_iter().try_for_each(|placement| run_placed(context, report, placement))
}

fn run_placed(context: &Context, report: &mut Report, placement: Placement) -> Result<(), String> {
    context.cpus.place(placement).map_err(|error| error.to_string())?;
    let pairs = every_tool(USUAL);
    let task = Task { shape: USUAL, route: HTTP[0].route, pairs: &pairs, ask: Ask::Echo };
    let turns = Turns { rounds: context.rounds(100), peer_rounds: 0 };
    let kinds =
        [Kind::Direct, Kind::Subject, Kind::Platform(Door::Mcp), Kind::Platform(Door::Rest)];
    let contenders = kinds.map(|kind| kind.of(Era::Legacy));
    let mut figures = vec![Figures::default(); contenders.len()];
    let entrants = compete(context, report, &contenders, task, turns, |index, lane| {
        measure(lane, &mut figures[index])
    })?;
    let label = placement.label();
    report.table(
        &format!("The platform: sequential calls, {label}"),
        "One small call after the other, round robin over 10 × 10 tools, clients and children over HTTP; microseconds. \
         *trunkline* is `serve` without a platform. *Added* is p50 less the direct p50; *CPU* is the processor time of \
         the middle's own processes per call, writing the audit log included.",
        rows(&entrants, &figures),
    );
    let [direct, plain, mcp, rest] = &figures[..] else {
        return Err("four lanes".to_owned());
    };
    let ratio = added(mcp, direct).with(&added(plain, direct), |a, b| a / b);
    let what = format!("platform: added p50 of MCP with a key, ratio to none, {label}");
    report.at_most(&what, &ratio, WITH_A_KEY, "×");
    for (way, own) in [("MCP", mcp), ("REST", rest)] {
        let added: Series = own.p99.with(&direct.p99, |via, direct| via - direct);
        let what = format!("platform: added p99 over {way}, {label} (NFR-P4)");
        report.at_most(&what, &added, ROUTING, " µs");
    }
    Ok(())
}
