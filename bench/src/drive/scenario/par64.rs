//! Throughput with 64 calls in flight.

use super::course::Course;
use super::lane::Lane;
use super::turns::{Entrant, Task, Turns, compete};
use super::{Context, USUAL};
use crate::drive::affinity::{BOTH, Placement};
use crate::drive::call::{Ask, SLOTS};
use crate::drive::expected::every_tool;
use crate::drive::report::{Report, Rows};
use crate::drive::route::{Http, Route, Sessions};
use crate::drive::stats::Series;
use crate::drive::target::Kind;

#[derive(Debug, Default, Clone)]
struct Figures {
    /// Calls per second.
    rate: Series,
    cpu: Series,
}

/// `sessions`: whether the 64 connections over HTTP are one client's or 64 clients'.
pub(super) fn run(
    context: &Context,
    report: &mut Report,
    course: &Course,
    sessions: Sessions,
) -> Result<(), String> {
    let course = Course { route: course.route.with(SLOTS, sessions), ..*course };
    BOTH.into_iter().try_for_each(|placement| run_placed(context, report, &course, placement))
}

fn run_placed(
    context: &Context,
    report: &mut Report,
    course: &Course,
    placement: Placement,
) -> Result<(), String> {
    context.cpus.place(placement).map_err(|error| error.to_string())?;
    let pairs = every_tool(USUAL);
    let task = Task { shape: USUAL, route: course.route, pairs: &pairs, ask: Ask::Echo };
    let turns = Turns { rounds: context.rounds(150), peer_rounds: 3 };
    let kinds = context.everybody();
    let mut figures = vec![Figures::default(); kinds.len()];
    let entrants = compete(context, report, &kinds, task, turns, |index, lane| {
        measure(lane, &mut figures[index])
    })?;
    let (flight, how) = words(course.route);
    report.table(
        &course.title(&format!("64 calls in flight{flight}, {}", placement.label())),
        &format!(
            "Small calls, round robin over 10 × 10 tools; {how}. CPU of the middle in microseconds per call.{}",
            course.remark
        ),
        rows(&entrants, &figures),
    );
    let what = |what: &str| {
        let (prefix, placement) = (course.prefix, placement.label());
        format!("{prefix}{what} with 64 in flight{flight}, {placement}, ratio to the floor")
    };
    let ratio = figures[2].rate.with(&figures[1].rate, |a, b| a / b);
    report.at_least(&what("throughput"), &ratio, course.targets.throughput, "×");
    if let Some(limit) = course.targets.cpu_in_flight {
        let ratio = figures[2].cpu.with(&figures[1].cpu, |a, b| a / b);
        report.at_most(&what("CPU per call"), &ratio, limit, "×");
    }
    Ok(())
}

/// What is in flight where, for the title and in full.
fn words(route: Route) -> (&'static str, &'static str) {
    match route {
        Route::Stdio => ("", "direct has a connection to each child and waits for all of them"),
        Route::Http(Http { sessions: Sessions::One, .. }) => (
            "",
            "64 connections in one session; direct has a session and as many as it needs with each child",
        ),
        Route::Http(_) => (
            " in 64 sessions",
            "64 connections, each in its own session; direct has as many as it needs with each child",
        ),
    }
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
