//! Large answers, one after the other.

use super::course::Course;
use super::lane::Lane;
use super::turns::{Entrant, Task, Turns, compete};
use super::{Context, USUAL};
use crate::drive::affinity::{BOTH, Placement};
use crate::drive::call::Ask;
use crate::drive::report::{Report, Rows};
use crate::drive::stats::Series;

const SIZE: usize = 10 << 20;

pub(super) fn run(context: &Context, report: &mut Report, course: &Course) -> Result<(), String> {
    BOTH.into_iter().try_for_each(|placement| run_placed(context, report, course, placement))
}

fn run_placed(
    context: &Context,
    report: &mut Report,
    course: &Course,
    placement: Placement,
) -> Result<(), String> {
    context.cpus.place(placement).map_err(|error| error.to_string())?;
    // Two servers in turn, so that no buffer is warm only because the same child answers again.
    let pairs = &[(0, 0), (1, 0)];
    let task = Task { shape: USUAL, route: course.route, pairs, ask: Ask::Size(SIZE) };
    let turns = Turns { rounds: context.rounds(60), peer_rounds: 3 };
    let contenders = context.everybody();
    let mut times = vec![Series::default(); contenders.len()];
    let entrants = compete(context, report, &contenders, task, turns, |index, lane| {
        measure(lane, &mut times[index])
    })?;
    let title = format!("10 MiB answers, {}", placement.label());
    report.table(
        &course.title(&title),
        &format!(
            "One call after the other whose answer is one text of 10 MiB; milliseconds from request to the last byte.{}",
            course.remark
        ),
        rows(&entrants, &times),
    );
    if let Some(limit) = course.targets.large {
        let ratio = times[2].with(&times[1], |a, b| a / b);
        report.at_most(&format!("{title}, ratio to the floor"), &ratio, limit, "×");
    }
    if let Some(before) = context.before(&times) {
        let ratio = times[2].with(before, |a, b| a / b);
        report.not_more(&format!("{}{title}, ratio to before", course.prefix), &ratio);
    }
    Ok(())
}

/// One turn: one answer checked byte by byte (at first more, until every buffer has its size), then the mean of three (a peer: one) checked by length.
fn measure(lane: &mut Lane, times: &mut Series) -> Result<(), String> {
    let count = if lane.target.kind.is_peer() { 1 } else { 3 };
    let mut length = lane.large_checked()?;
    for _ in 0..if lane.turns == 0 { 3 } else { 0 } {
        length = lane.large_checked()?;
    }
    let mut sum = 0.0;
    for _ in 0..count {
        sum += lane.large(length)?.as_secs_f64() * 1000.0;
    }
    times.push(sum / f64::from(count));
    Ok(())
}

fn rows(entrants: &[Entrant], times: &[Series]) -> Rows {
    let mut rows = Rows::with_header(&["", "ms", "ratio to direct", "ratio to floor"]);
    let ratio = |a: f64, b: f64| a / b;
    for (entrant, own) in entrants.iter().zip(times) {
        let (direct, floor) = (own.with(&times[0], ratio), own.with(&times[1], ratio));
        rows.push([&entrant.name, &own.show(), &direct.show(), &floor.show()]);
    }
    rows
}
