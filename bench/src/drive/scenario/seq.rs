//! Sequential small calls, round robin over all tools, everything on one CPU: latency and processor time per call.

use super::course::Course;
use super::lane::Lane;
use super::turns::{Entrant, Task, Turns, compete};
use super::{Context, USUAL};
use crate::drive::affinity::Placement;
use crate::drive::call::Ask;
use crate::drive::contender::Kind;
use crate::drive::expected::every_tool;
use crate::drive::process;
use crate::drive::report::{Report, Rows};
use crate::drive::route::Route;
use crate::drive::stats::{Series, micros};
use crate::era::Era;
use std::time::Duration;

/// One lane's figures, once per round.
#[derive(Debug, Default, Clone)]
pub(super) struct Figures {
    pub(super) p50: Series,
    pub(super) p99: Series,
    pub(super) cpu: Series,
}

pub(super) fn run(context: &Context, report: &mut Report, course: &Course) -> Result<(), String> {
    context.cpus.place(Placement::Pinned).map_err(|error| error.to_string())?;
    let task =
        Task { shape: USUAL, route: course.route, pairs: &every_tool(USUAL), ask: Ask::Echo };
    let turns = Turns { rounds: context.rounds(150), peer_rounds: 5 };
    let mut contenders = context.everybody();
    if course.route == Route::Stdio {
        contenders.push(Kind::Shared.of(Era::Legacy));
    }
    let mut figures = vec![Figures::default(); contenders.len()];
    let entrants = compete(context, report, &contenders, task, turns, |index, lane| {
        measure(lane, &mut figures[index])
    })?;
    report.table(
        &course.title("Sequential calls, one CPU"),
        &format!("One small call after the other, round robin over 10 × 10 tools; microseconds. *Added* is p50 less the \
         direct p50; *CPU* is the processor time of the middle's own processes per call.{}", course.remark),
        rows(&entrants, &figures),
    );
    check(report, course, [&figures[0], &figures[1], &figures[2]]);
    if let Some(before) = context.before(&figures) {
        let [direct, subject] = [&figures[0], &figures[2]];
        let what = |what: &str| format!("{}{what}, ratio to before", course.prefix);
        let ratio = added(subject, direct).with(&added(before, direct), |a, b| a / b);
        report.not_more(&what("added p50 of sequential calls"), &ratio);
        let ratio = subject.cpu.with(&before.cpu, |a, b| a / b);
        report.not_more(&what("CPU per call"), &ratio);
    }
    Ok(())
}

/// The targets of the subject, by the floor.
pub(super) fn check(report: &mut Report, course: &Course, [direct, floor, subject]: [&Figures; 3]) {
    let ratio = added(subject, direct).with(&added(floor, direct), |a, b| a / b);
    let what = format!("{}added p50 of sequential calls, ratio to the floor", course.prefix);
    report.at_most(&what, &ratio, course.targets.added, "×");
    let ratio = subject.cpu.with(&floor.cpu, |a, b| a / b);
    let what = format!("{}CPU per call, ratio to the floor", course.prefix);
    report.at_most(&what, &ratio, course.targets.cpu, "×");
}

/// A platform writes down what was called a moment later: that is part of the calls.
const WRITTEN: Duration = Duration::from_millis(150);

/// One turn: a few calls to warm the caches, then 500 (a peer: 10).
pub(super) fn measure(lane: &mut Lane, figures: &mut Figures) -> Result<(), String> {
    let (warm, count) = if lane.target.kind.is_peer() { (2, 10) } else { (50, 500) };
    let own = lane.target.own();
    let mut samples = Vec::with_capacity(count);
    let is_written = matches!(lane.target.kind, Kind::Platform(_));
    lane.sequential(warm, &mut samples)?;
    samples.clear();
    if is_written {
        process::pause(WRITTEN);
    }
    let cpu = own.cpu();
    lane.sequential(count, &mut samples)?;
    if is_written {
        process::pause(WRITTEN);
    }
    let cpu = own.cpu().saturating_sub(cpu);
    figures.p50.push(micros(&mut samples, 0.5));
    figures.p99.push(micros(&mut samples, 0.99));
    if !matches!(lane.target.kind, Kind::Direct) {
        figures.cpu.push(cpu as f64 / count as f64 / 1000.0);
    }
    Ok(())
}

pub(super) fn added(via: &Figures, direct: &Figures) -> Series {
    via.p50.with(&direct.p50, |via, direct| via - direct)
}

pub(super) fn rows(entrants: &[Entrant], figures: &[Figures]) -> Rows {
    let mut rows = Rows::with_header(&["", "p50", "p99", "added p50", "CPU per call"]);
    for (entrant, own) in entrants.iter().zip(figures) {
        let added = match entrant.kind {
            Kind::Direct => Series::default(),
            _ => added(own, &figures[0]),
        };
        let figures = [own.p50.show(), own.p99.show(), added.show(), own.cpu.show()];
        rows.push([entrant.name.clone()].into_iter().chain(figures));
    }
    rows
}
