//! 64 calls in flight in both eras.

use super::{NO_SLOWER, both_eras, lengths, place};
use crate::drive::affinity::{BOTH, Placement};
use crate::drive::call::{Ask, SLOTS};
use crate::drive::expected::every_tool;
use crate::drive::report::{Report, Rows};
use crate::drive::route::{Route, Sessions};
use crate::drive::scenario::course::Course;
use crate::drive::scenario::par64::{Figures, check, measure, rounds};
use crate::drive::scenario::turns::{Entrant, Task, Turns, compete};
use crate::drive::scenario::{Context, USUAL};
use crate::era::Era;

pub(in crate::drive::scenario) fn run(
    context: &Context,
    report: &mut Report,
    course: &Course,
) -> Result<(), String> {
    let course = Course { route: course.route.with(SLOTS, Sessions::One), ..*course };
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
    let turns = Turns { rounds: context.rounds(rounds(course.route)), peer_rounds: 0 };
    let contenders = both_eras();
    let mut figures = vec![Figures::default(); contenders.len()];
    let entrants = compete(context, report, &contenders, task, turns, |index, lane| {
        measure(lane, &mut figures[index])
    })?;
    let connections = match course.route {
        Route::Stdio => "",
        Route::Http(_) => {
            ", without the heads of HTTP; 64 connections, in the legacy era all in one session"
        }
    };
    report.table(
        &course.title(&format!("64 calls in flight, {}", placement.label())),
        &format!(
            "Small calls, round robin over 10 × 10 tools; CPU of the middle in microseconds per call. {}{connections}. \
             The ratios are to the same contender in the legacy era; those of direct and floor say what the longer \
             messages cost anybody.",
            lengths(&entrants)
        ),
        rows(&entrants, &figures),
    );
    let scene = format!(", {}", placement.label());
    check(report, course, &scene, [&figures[1], &figures[2]]);
    let ratio = figures[2].cpu.with(&figures[5].cpu, |a, b| a / b);
    let what = format!("{}CPU per call with 64 in flight{scene}, ratio to legacy", course.prefix);
    report.at_most(&what, &ratio, NO_SLOWER, "×");
    Ok(())
}

fn rows(entrants: &[Entrant], figures: &[Figures]) -> Rows {
    let header = ["", "client → children", "calls/s", "ratio", "CPU per call", "ratio"];
    let mut rows = Rows::with_header(&header);
    for (at, (entrant, own)) in entrants.iter().zip(figures).enumerate() {
        let legacy = &figures[place(entrants, &entrant.kind, Era::Legacy).unwrap_or(at)];
        let ratio = |a: f64, b: f64| a / b;
        let cells = [
            entrant.name.clone(),
            entrant.eras.label(),
            own.rate.show(),
            own.rate.with(&legacy.rate, ratio).show(),
            own.cpu.show(),
            own.cpu.with(&legacy.cpu, ratio).show(),
        ];
        rows.push(cells);
    }
    rows
}
