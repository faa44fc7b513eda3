//! Throughput with 64 calls in flight.

use super::course::Course;
use super::lane::Lane;
use super::turns::{Entrant, Task, Turns, compete};
use super::{Context, USUAL};
use crate::drive::affinity::{BOTH, Placement};
use crate::drive::call::{Ask, SLOTS};
use crate::drive::contender::Kind;
use crate::drive::expected::every_tool;
use crate::drive::report::{Report, Rows};
use crate::drive::route::{Http, Route, Sessions};
use crate::drive::stats::Series;

#[derive(Debug, Default, Clone)]
pub(super) struct Figures {
    /// Calls per second.
    pub(super) rate: Series,
    pub(super) cpu: Series,
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
    let turns = Turns { rounds: context.rounds(rounds(course.route)), peer_rounds: 3 };
    let contenders = context.everybody();
    let mut figures = vec![Figures::default(); contenders.len()];
    let entrants = compete(context, report, &contenders, task, turns, |index, lane| {
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
    let scene = format!("{flight}, {}", placement.label());
    check(report, course, &scene, [&figures[1], &figures[2]]);
    if let Some(before) = context.before(&figures) {
        let what = format!("{}throughput with 64 in flight{scene}, ratio to before", course.prefix);
        report.not_less(&what, &figures[2].rate.with(&before.rate, |a, b| a / b));
    }
    Ok(())
}

/// The targets of the subject, by the floor.
pub(super) fn check(
    report: &mut Report,
    course: &Course,
    scene: &str,
    [floor, subject]: [&Figures; 2],
) {
    let what = |what: &str| {
        format!("{}{what} with 64 in flight{scene}, ratio to the floor", course.prefix)
    };
    let ratio = subject.rate.with(&floor.rate, |a, b| a / b);
    report.at_least(&what("throughput"), &ratio, course.targets.throughput, "×");
    if let Some(limit) = course.targets.cpu_in_flight {
        let ratio = subject.cpu.with(&floor.cpu, |a, b| a / b);
        report.at_most(&what("CPU per call"), &ratio, limit, "×");
    }
}

/// Over HTTP a call takes ten times as long.
pub(super) fn rounds(route: Route) -> usize {
    match route {
        Route::Stdio => 150,
        Route::Http(_) => 100,
    }
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

pub(super) fn measure(lane: &mut Lane, figures: &mut Figures) -> Result<(), String> {
    let (warm, count) = match &lane.target {
        target if target.kind.is_peer() => (10, 128),
        target if target.is_over_http() => (250, 2_000),
        _ => (500, 5_000),
    };
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
