//! Throughput with 64 calls in flight.

use super::lane::Lane;
use super::turns::{Entrant, Task, Turns, compete};
use super::{Context, USUAL};
use crate::drive::affinity::{BOTH, Placement};
use crate::drive::call::Ask;
use crate::drive::expected::every_tool;
use crate::drive::report::{Report, Rows};
use crate::drive::stats::Series;
use crate::drive::target::Kind;

#[derive(Debug, Default, Clone)]
struct Figures {
    /// Calls per second.
    rate: Series,
    cpu: Series,
}

pub(super) fn run(context: &Context, report: &mut Report) -> Result<(), String> {
    BOTH.into_iter().try_for_each(|placement| run_placed(context, report, placement))
}

fn run_placed(context: &Context, report: &mut Report, placement: Placement) -> Result<(), String> {
    context.cpus.place(placement).map_err(|error| error.to_string())?;
    let task = Task { shape: USUAL, pairs: &every_tool(USUAL), ask: Ask::Echo };
    let turns = Turns { rounds: context.rounds(150), peer_rounds: 3 };
    let kinds = context.everybody();
    let mut figures = vec![Figures::default(); kinds.len()];
    let entrants = compete(context, report, &kinds, task, turns, |index, lane| {
        measure(lane, &mut figures[index])
    })?;
    report.table(
        &format!("64 calls in flight, {}", placement.label()),
        "Small calls, round robin over 10 × 10 tools; direct has a connection to each child and waits for all of \
         them. CPU of the middle in microseconds per call.",
        rows(&entrants, &figures),
    );
    let ratio = figures[2].rate.with(&figures[1].rate, |a, b| a / b);
    let what = format!("throughput with 64 in flight, {}, ratio to the floor", placement.label());
    report.at_least(&what, &ratio, 0.9, "×");
    Ok(())
}

fn measure(lane: &mut Lane, figures: &mut Figures) -> Result<(), String> {
    let (warm, count) = if lane.target.kind.is_peer() { (10, 128) } else { (500, 5_000) };
    let own = lane.target.own();
    lane.parallel(warm)?;
    let cpu = own.cpu();
    let time = lane.parallel(count)?;
    let cpu = own.cpu().saturating_sub(cpu);
    figures.rate.push(count as f64 / time.as_secs_f64());
    if !matches!(lane.target.kind, Kind::Direct) {
        figures.cpu.push(cpu as f64 / count as f64 / 1000.0);
    }
    Ok(())
}

fn rows(entrants: &[Entrant], figures: &[Figures]) -> Rows {
    let mut rows =
        Rows::with_header(&["", "calls/s", "ratio to direct", "ratio to floor", "CPU per call"]);
    let ratio = |a: f64, b: f64| a / b;
    for (entrant, own) in entrants.iter().zip(figures) {
        let to_direct = own.rate.with(&figures[0].rate, ratio).show();
        let to_floor = own.rate.with(&figures[1].rate, ratio).show();
        rows.push([&entrant.name, &own.rate.show(), &to_direct, &to_floor, &own.cpu.show()]);
    }
    rows
}
